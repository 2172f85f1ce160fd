# SPDX-License-Identifier: MIT
"""The graph that the passes rewrite: nodes of the model, then fewer and larger ones."""
import math
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import helper

from model import Model
from problems import Unsupported
from record import Recording

SHAPES_ONLY = {"Shape", "Size"}
NOISE = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli"}


@dataclass(eq=False)
class Node:
    op: str
    inputs: list[str]
    outputs: list[str]
    attrs: dict[str, Any] = field(default_factory=dict)
    sources: list[int] = field(default_factory=list)  # nodes of the model that this one stands for
    main: int = -1  # that of them which counts as mapped; the others are fused

    @property
    def output(self) -> str:
        return self.outputs[0]

    def input(self, place: int) -> str:
        """Empty where it is left out."""
        return self.inputs[place] if place < len(self.inputs) else ""

    def attr(self, name: str, default: Any = None) -> Any:
        return self.attrs.get(name, default)

    def beside(self, op: str, inputs: list[str], outputs: list[str], attrs: dict[str, Any] | None = None) -> "Node":
        """A further node that stands for the same ones of the model."""
        return Node(op, inputs, outputs, attrs or {}, list(self.sources), self.main)


def fresh(near: str, *taken: Container[str]) -> str:
    """The name itself, or NAME_2, NAME_3, ...: one that is not taken."""
    name, count = near, 1
    while any(name in names for names in taken):
        count += 1
        name = f"{near}_{count}"
    return name


def line(scale: Any, shift: Any, axis: int | None = None) -> dict[str, Any]:
    """What an Affine does: x * scale + shift, with one number each or one a channel of `axis`."""
    return dict(scale=np.float64(scale), shift=np.float64(shift), axis=axis)


@dataclass
class Original:
    name: str
    op: str
    outputs: list[str]
    products: int = 0
    became: str = ""
    into: str = ""
    why: str = ""


class Graph:
    def __init__(self, model: Model, recording: Recording) -> None:
        self.recording = recording
        self.opset = model.opset
        self.model = model
        self.consts: dict[str, np.ndarray] = {}  # weights, and what passes make
        self.made_shapes: dict[str, tuple[int, ...]] = {}  # of tensors that the model does not have
        self.outputs = [o.name for o in model.proto.graph.output]
        self.originals: list[Original] = []
        self.maker: dict[str, Node] = {}
        self.readers: dict[str, list[Node]] = {}
        self.rank: dict[str, int] = {}  # where in the model's order a tensor is made
        self.live: dict[Node, None] = {}
        self._read_model(model, recording)

    # ---- what is known of a tensor

    def const(self, name: str) -> np.ndarray | None:
        """Its value, where no input of the model changes it."""
        return self.consts.get(name)

    def _fact(self, name: str) -> tuple[tuple[int, ...] | None, str]:
        """Shape, and kind of numpy's type."""
        if name in self.made_shapes:
            return self.made_shapes[name], "f"
        if name in self.consts:
            return self.consts[name].shape, self.consts[name].dtype.kind
        return self.recording.fact(name) if name in self.recording else (None, "")

    def shape(self, name: str) -> tuple[int, ...]:
        shape = self._fact(name)[0]
        if shape is None:
            raise Unsupported(f"'{name}' is no tensor")
        return shape

    def is_float(self, name: str) -> bool:
        return self._fact(name)[1] == "f"

    def scalar(self, name: str) -> float | None:
        value = self.const(name)
        return float(value.reshape(-1)[0]) if value is not None and value.size == 1 else None

    def axes_of(self, node: Node) -> list[int] | None:
        """From its attribute, or from its second input."""
        given = self.const(node.input(1))
        return node.attr("axes") if given is None else given.tolist()

    def private(self, name: str) -> bool:
        """One node alone reads it, once, and it is no output of the model."""
        return len(self.readers.get(name, ())) == 1 and name not in self.outputs

    def reader(self, name: str) -> Node | None:
        return self.readers[name][0] if self.private(name) else None

    def made_by(self, name: str, *ops: str) -> Node | None:
        node = self.maker.get(name)
        return node if node is not None and node.op in ops else None

    def before(self, node: Node, *ops: str) -> Node | None:
        """The node of these ops that makes its first input, which nobody else reads."""
        return self.made_by(node.inputs[0], *ops) if self.private(node.inputs[0]) else None

    # ---- rewriting

    def add(self, node: Node) -> Node:
        self.live[node] = None
        for name in node.outputs:
            if name:
                self.maker[name] = node
        for name in filter(None, node.inputs):
            self.readers.setdefault(name, []).append(node)
        return node

    def remove(self, node: Node) -> None:
        del self.live[node]
        for name in node.outputs:
            if self.maker.get(name) is node:
                del self.maker[name]
        for name in filter(None, node.inputs):
            self.readers[name].remove(node)

    def replace(self, old: Iterable[Node], new: Node, main: int | None = None) -> Node:
        """Takes away the nodes `old`, whose inner tensors nobody else reads, and adds `new` for them."""
        for node in old:
            self.remove(node)
            new.sources += [s for s in node.sources if s not in new.sources]
        new.main = max(new.sources) if main is None else main
        return self.add(new)

    def unite(self, before: Node, after: Node, kept: Node, inputs: list[str] | None = None, **attrs: Any) -> Node:
        """Two nodes, one behind the other, as one: that of them which is `kept`, with more attributes."""
        new = Node(kept.op, inputs or before.inputs, after.outputs, {**kept.attrs, **attrs})
        return self.replace([before, after], new, kept.main)

    def drop(self, node: Node, source: str) -> None:
        """Whoever read the node reads `source`, which is the same. An output of the model stays, as a view."""
        if node.output in self.outputs:
            node.op = "Same"
            return
        self.remove(node)
        for reader in set(self.readers.get(node.output, ())):
            self.remove(reader)
            reader.inputs = [source if i == node.output else i for i in reader.inputs]
            self.add(reader)
        self.fate(node, "dropped", source)

    def fate(self, node: Node, became: str, into: str = "", why: str = "", over: Container[str] | None = None) -> None:
        """What the model's nodes behind `node` became, whatever they were, or where they were one of `over`."""
        for source in node.sources:
            o = self.originals[source]
            if over is None or o.became in over:
                o.became, o.into, o.why = became, into, why

    def new_tensor(self, near: str, shape: tuple[int, ...]) -> str:
        name = near
        while name in self.made_shapes or name in self.recording:
            name += "_"
        self.made_shapes[name] = shape
        return name

    def order(self) -> list[Node]:
        """The nodes, each behind those that make its inputs, else in the model's order."""
        done: dict[Node, None] = {}

        def finish(node: Node) -> None:
            for name in reversed(node.inputs):
                if name in self.maker and self.maker[name] not in done:
                    finish(self.maker[name])
            done[node] = None

        for node in sorted(self.live, key=lambda node: max(node.sources)):
            if node not in done:
                finish(node)
        return list(done)

    def find(self, *ops: str) -> Iterable[Node]:
        """Nodes of these ops that are still there when their turn comes."""
        for node in self.order():
            if node.op in ops and node in self.live:
                yield node

    # ---- the model's nodes

    def _read_model(self, model: Model, recording: Recording) -> None:
        self.consts.update(model.weights)
        self.consts.update({name: recording.value(name) for name in model.fixed})
        for index, proto in enumerate(model.proto.graph.node):
            node = Node(proto.op_type, list(proto.input), list(proto.output),
                        {a.name: helper.get_attribute_value(a) for a in proto.attribute}, [index], index)
            self.originals.append(Original(proto.name, proto.op_type, list(proto.output)))
            for name in node.outputs:
                self.rank[name] = index
            if self._is_constant(node):
                self.fate(node, "constant", next(filter(None, node.outputs)))
                self.consts.update({o: self.recording.value(o) for o in node.outputs if o in self.recording})
            else:
                self.originals[index].products = self._products(node)
                self.add(node)
        self._drop_unread()

    def _is_constant(self, node: Node) -> bool:
        if not all(not o or o in self.recording for o in node.outputs) or node.op in NOISE:
            return False
        return node.op in SHAPES_ONLY or all(not i or i in self.consts for i in node.inputs)

    def _drop_unread(self) -> None:
        for node in reversed(self.order()):
            if not any(self.readers.get(o) or o in self.outputs for o in node.outputs):
                self.remove(node)
                self.fate(node, "dropped")

    def _products(self, node: Node) -> int:
        """Multiply-adds of a convolution or a product."""
        if not all(i in self.recording for i in node.inputs[:2]) or node.output not in self.recording:
            return 0
        if node.op in ("Conv", "ConvTranspose"):
            per_window = node.output if node.op == "Conv" else node.inputs[0]
            return math.prod(self.shape(per_window)) * math.prod(self.shape(node.inputs[1])[1:])
        if node.op in ("MatMul", "Gemm"):
            return math.prod(self.shape(node.output)) * self.shape(node.inputs[0])[0 if node.attr("transA") else -1]
        return 0
