# SPDX-License-Identifier: MIT
"""--replace: the model with what clam supports as nodes com.clam::Workload, which tools/onnxruntime runs."""
import contextlib
import os
from collections import Counter
from collections.abc import Iterable

import numpy as np
import onnx
from onnx import NodeProto, helper, numpy_helper

import emit
import passes
from emit import Emitter
from folder import Writer
from graph import Graph
from mappers_maps import MAPPERS
from model import Model
from problems import Refused, refusing


class Split:
    """The nodes that the model's outputs need, in parts by their level. `kept` are those that stay as they are."""

    def __init__(self, whole: Writer) -> None:
        self.graph, self.whole = whole.emitter.graph, whole
        self.nodes = self.graph.model.proto.graph.node
        self.ends = [o.name for o in self.graph.model.proto.graph.output]
        self.maker = {o: i for i, node in enumerate(self.nodes) for o in node.output if o and self.graph.const(o) is None}
        self.readers: dict[str, set[int]] = {}
        self.needed: list[int] = []
        for index in reversed(range(len(self.nodes))):
            if any(o in self.maker and (o in self.ends or o in self.readers) for o in self.nodes[index].output):
                self.needed.insert(0, index)
                for name in self.nodes[index].input:
                    self.readers.setdefault(name, set()).add(index)
        self.kept = {i for i in self.needed if self.graph.originals[i].became == "unsupported"}
        while more := self._misfits():
            self.kept |= more
        if not self.parts:
            raise Refused("no node can be replaced: none that clam supports lies between tensors of floats")

    def _misfits(self) -> set[int]:
        """Makes the parts. Returns nodes that cannot be in them."""
        self.levels, self.parts, found = self._levels(), {}, set()
        for level in sorted({self.levels[i] for i in self.needed if i not in self.kept}):
            nodes = [i for i in self.needed if self.levels[i] == level and i not in self.kept]
            inside, writer = {*nodes}, self.whole
            reads = dict.fromkeys(name for i in nodes for name in self.nodes[i].input if name and self.graph.const(name) is None
                                  and self.maker.get(name) not in inside)
            makes = [o for i in nodes for o in self.nodes[i].output if o in self.ends or self.readers.get(o, set()) - inside]
            for name in (*reads, *makes):
                if not self._is_tensor_of_floats(name):
                    found |= {self.maker.get(name), *self.readers.get(name, ())} & inside
            if self.kept and not found:
                writer = Writer(self._import(nodes, reads, makes), "", whole=False)
                found |= {i for i, o in zip(nodes, writer.emitter.graph.originals) if o.became == "unsupported"}
            if not found:
                found |= {self.maker[name] for name in makes if not _is_made(writer.emitter, name)}
            self.parts[level] = writer
        return found

    def _levels(self) -> dict[int, int]:
        """How many kept nodes lie before each, one behind the other. So no way leads out of a part and back into it."""
        levels: dict[int, int] = {}
        for index in self.needed:
            before = [self.maker[name] for name in self.nodes[index].input if name in self.maker]
            levels[index] = max((levels[b] + (b in self.kept and index not in self.kept) for b in before), default=0)
        return levels

    def _is_tensor_of_floats(self, name: str) -> bool:
        shape, kind = self.graph.recording.fact(name) if name in self.graph.recording else ((), "")
        return kind == "f" and bool(shape) and 0 not in shape

    def _import(self, nodes: list[int], reads: Iterable[str], makes: list[str]) -> Emitter:
        whole, recording = self.graph.model, self.graph.recording
        ends = [onnx.ValueInfoProto(name=name) for name in makes]
        graph = helper.make_graph([self.nodes[i] for i in nodes], "part", [], ends)
        weights = {name: self.graph.consts[name] for node in graph.node for name in node.input if name in self.graph.consts}
        model = Model(helper.make_model(graph, opset_imports=whole.proto.opset_import), whole.file, weights,
                      {name: recording.fact(name)[0] for name in reads})
        part = Graph(model, recording)
        passes.rewrite(part)
        return emit.emit(part, MAPPERS)

    def write(self, folder: str, called: str) -> onnx.ModelProto:
        """The parts in `folder`, which will be called otherwise. One that is the whole model is there already."""
        whole, recording, nodes, workloads = self.graph.model.proto, self.graph.recording, [], {}
        for number, (level, part) in enumerate(self.parts.items(), 1):
            workloads[level] = self._workload(part, os.path.join(called, f"part{number}") if self.kept else called)
            if self.kept:
                part.folder, title = os.path.join(folder, f"part{number}"), f"Part {number} of {self.graph.model.file}"
                part.write(f"{title}, which ONNX Runtime runs with the others.", title, self.graph.model.file)
        for level in sorted({*self.levels.values()}):
            nodes += workloads.get(level, [])
            nodes += [self.nodes[i] for i in self.needed if self.levels[i] == level and i in self.kept]
        read = dict.fromkeys([*(name for node in nodes for name in node.input), *self.ends])
        weights = [numpy_helper.from_array(np.asarray(self.graph.consts[name]), name) for name in read if name in self.graph.consts]
        inputs = [i for i in whole.graph.input if i.name in self.graph.model.shapes]
        graph = helper.make_graph(nodes, whole.graph.name, inputs, whole.graph.output, weights)
        for value in graph.output:
            value.type.tensor_type.shape.SetInParent()
            for extent in recording.fact(value.name)[0] if value.name in recording else ():
                value.type.tensor_type.shape.dim.add().dim_value = extent
        return helper.make_model(graph, opset_imports=[*whole.opset_import, helper.make_opsetid("com.clam", 1)],
                                 ir_version=whole.ir_version, producer_name="clam")

    def _workload(self, part: Writer, folder: str) -> list[NodeProto]:
        """The node, between casts of what is no f32."""
        before, after, names = [], [], {}
        outputs = [name for name in part.emitter.graph.outputs if name in self.maker]
        for name in (*part.inputs, *outputs):
            kind = self.graph.recording.value(name).dtype
            names[name] = name if kind == np.float32 else f"{name}.as_f32"
            if kind != np.float32 and name in outputs:
                after.append(helper.make_node("Cast", [names[name]], [name], to=helper.np_dtype_to_tensor_dtype(kind)))
            elif kind != np.float32:
                before.append(helper.make_node("Cast", [name], [names[name]], to=onnx.TensorProto.FLOAT))
        node = helper.make_node("Workload", [names[n] for n in part.inputs], [names[n] for n in outputs],
                                os.path.basename(folder), domain="com.clam", folder=folder)
        return [*before, node, *after]

    def counts(self) -> dict:
        return {"nodes": len(self.nodes) - len(self.kept), "workload_nodes": len(self.parts),
                "kept": dict(Counter(self.nodes[i].op_type for i in sorted(self.kept)))}


def _is_made(emitter: Emitter, name: str) -> bool:
    """By launches: it is no view of an input or of a constant."""
    tensor = emitter.tensors.get(name)
    while tensor is not None and tensor.view_of:
        tensor = emitter.tensors[tensor.view_of]
    return tensor is not None and tensor.values is None


def save(proto: onnx.ModelProto, path: str) -> None:
    partial = f"{path}.partial-{os.getpid()}"
    try:
        with refusing(f"--replace {path} cannot be written", ": {}"):
            onnx.save(proto, partial)
            os.replace(partial, path)
    finally:
        with contextlib.suppress(OSError):
            os.remove(partial)
