# SPDX-License-Identifier: MIT
"""The written graph: tensors, views and launches, as the mappers ask for them."""
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import spell
import views
from graph import Graph, Node, fresh
from problems import Unsupported


@dataclass
class Tensor:
    shape: tuple[int, ...]
    integer: bool = False
    values: np.ndarray | None = None  # of what no node makes
    view_of: str = ""
    first: int = 0
    parts: tuple[str, ...] = ()
    known: bool = False  # the model has this tensor, so its value was recorded


class Emitter:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.tensors: dict[str, Tensor] = {}
        self.launches: list[dict] = []  # as they are written, with the names of the model
        self.names: set[str] = set()
        self.joined: set[str] = set()  # tensors that are parts of another one
        self.dummies: dict[str, tuple[str, np.ndarray]] = {}  # the base of a tensor, and where it lies in that

    # ---- tensors that are read

    def read(self, name: str, shape: tuple[int, ...] | None = None) -> str:
        """The tensor `name` in one piece, in this shape: made, a view, or an input of the graph."""
        self._in_one_piece(name)
        return name if shape in (None, self.tensors[name].shape) else self.view(name, tuple(shape))

    def view(self, name: str, shape: tuple[int, ...]) -> str:
        held = self.tensors[name]
        if held.view_of and held.first == 0 and self.tensors[held.view_of].shape == shape:
            return held.view_of
        made = f"{name}.as_{'x'.join(map(str, shape))}"
        if made not in self.tensors:
            self.tensors[made] = Tensor(shape, held.integer, view_of=held.view_of or name, first=held.first)
        return made

    def weights(self, near: str, values: np.ndarray) -> str:
        """An input of the graph that no tensor of the model is."""
        name = fresh(near, self.tensors, self.graph.recording)
        self._give(name, values)
        return name

    def _give(self, name: str, values: np.ndarray) -> None:
        self.tensors[name] = Tensor(values.shape or (1,), values.dtype.kind != "f", values)

    def stand_in(self, name: str) -> None:
        """Of an unsupported node: what was recorded."""
        if name not in self.tensors and name in self.graph.recording:
            self._give(name, self.graph.recording.value(name))

    def _in_one_piece(self, name: str) -> None:
        if name in self.tensors:
            return
        value = self.graph.const(name)
        if value is not None:
            if value.size == 0:
                raise Unsupported(f"'{name}' has no elements")
            self._give(name, value)
            return
        node = self.graph.made_by(name, *views.OPS)
        if node is None:
            if name not in self.graph.recording:
                raise Unsupported(f"'{name}' is not there")
            self.stand_in(name)  # an input of the model
            return
        base, dummy = self._dummy(name)
        if dummy.flags.c_contiguous:
            held = self.tensors[base]
            first = held.first + views.first_of(dummy, self.dummies[base][1])
            self.tensors[name] = Tensor(dummy.shape or (1,), held.integer, view_of=held.view_of or base, first=first,
                                        known=True)
            self._view_fate(node, name)
            return
        try:
            if node.op in views.RESHAPES:  # what it reads has to be in one piece
                del self.dummies[name]
                self._in_one_piece(node.inputs[0])
                self._in_one_piece(name)
            else:
                views.materialise(self, node, name)
        except Unsupported as reason:
            self.give_up(node, str(reason))

    def give_up(self, node: Node, why: str) -> None:
        self.graph.fate(node, "unsupported", "", why)
        for name in filter(None, node.outputs):
            self.stand_in(name)

    def _view_fate(self, node: Node, into: str) -> None:
        self.graph.fate(node, "view", into, over=("", "fused", "view", "unsupported"))

    # ---- where a tensor lies, without moving it

    def lies(self, name: str) -> tuple[str, int, tuple[int, ...], tuple[int, ...]]:
        """The tensor that holds it, its first element there, its shape and strides in elements."""
        base, dummy = self._dummy(name)
        while (node := self.graph.made_by(name, *views.OPS)) and self.dummies.get(name, ("",))[0] != name:
            self._view_fate(node, base)
            name = node.inputs[0]
        return base, views.first_of(dummy, self.dummies[base][1]), dummy.shape, dummy.strides

    def _dummy(self, name: str) -> tuple[str, np.ndarray]:
        """An array of bytes that nobody touches, whose strides say where the tensor's elements lie."""
        if name in self.dummies:
            return self.dummies[name]
        node = self.graph.made_by(name, *views.OPS)
        if name not in self.tensors and node:
            base, source = self._dummy(node.inputs[0])
            try:
                self.dummies[name] = base, views.apply(self.graph, node, name, source)
            except views.NeedsOnePiece:
                base, source = self._base(node.inputs[0])
                self.dummies[name] = base, views.apply(self.graph, node, name, source)
            return self.dummies[name]
        return self._base(name)

    def _base(self, name: str) -> tuple[str, np.ndarray]:
        self._in_one_piece(name)
        self.dummies[name] = name, np.empty(self.graph.shape(name), np.uint8)
        return self.dummies[name]

    # ---- launches

    def launch(self, node: Node, op: str, inputs: dict[str, str], outputs: dict[str, tuple[str, tuple[int, ...]]], /,
               last: bool = True, **fields: Any) -> None:
        """Adds a launch. An output whose shape is not the model's is made under another name, with a view."""
        problem = spell.problem(op, "f32" if self.graph.is_float(node.output) else "i32", fields)
        made = {key: self._made(name, tuple(shape)) for key, (name, shape) in outputs.items()}
        main = self.graph.originals[node.main]
        own = next(iter(outputs.values()))[0]
        name = (self.graph.originals[max(node.sources)].name or own) if last else own
        while name in self.names:
            name += "_"
        self.names.add(name)
        self.launches.append({"name": name, "what": f"{main.op} {main.name}".strip(), "problem": problem, "calls": 1,
                              "inputs": inputs, "outputs": made})
        for source in node.sources:
            o = self.graph.originals[source]
            if o.became in ("", "fused", "view"):
                o.became, o.into, o.why = "mapped" if source == node.main else "fused", name, ""

    def map(self, node: Node, op: str, shape: tuple[int, ...], made: tuple[int, ...] | None = None,
            keys: tuple[str, str] = ("src", "dst"), /, **fields: Any) -> None:
        """A launch that reads the node's first input in this shape, and makes its output; of the same where none is
        given."""
        source, target = keys
        self.launch(node, op, {source: self.read(node.inputs[0], shape)}, {target: (node.output, made or shape)}, **fields)

    def _made(self, name: str, shape: tuple[int, ...]) -> str:
        known = name in self.graph.recording
        right = self.graph.shape(name) or (1,)
        integer = not self.graph.is_float(name)
        if shape == right:
            self.tensors[name] = Tensor(shape, integer, known=known)
            return name
        held = f"{name}.made"
        self.tensors[held] = Tensor(shape, integer)
        self.tensors[name] = Tensor(right, integer, view_of=held, known=known)
        return held

    def join(self, node: Node, names: list[str], axis: int) -> bool:
        """A concatenation in place, where the bytes of the parts follow each other and each is free to lie there."""
        shape = self.graph.shape(node.output)
        if any(extent != 1 for extent in shape[:axis]):
            return False
        held = self._holders(names)
        for name in held:
            tensor = self.tensors[name]
            if tensor.values is not None or tensor.view_of or name in self.joined or held.count(name) > 1:
                return False
        self.joined |= {*held}
        self.tensors[node.output] = Tensor(shape, not self.graph.is_float(node.output), parts=tuple(held), known=True)
        self.graph.fate(node, "view", node.output)
        return True

    def _holders(self, names: list[str]) -> list[str]:
        """With a tensor in place of views that follow each other and are all of it."""
        result: list[str] = []
        run: list[str] = []
        for name in names:
            tensor = self.tensors[name]
            first = self.tensors[run[-1]].first + math.prod(self.tensors[run[-1]].shape) if run else 0
            follows = tensor.view_of and tensor.first == first and (
                not run or tensor.view_of == self.tensors[run[0]].view_of)
            if not follows:
                result += [*run, name]
                run = []
                continue
            run.append(name)
            if first + math.prod(tensor.shape) == math.prod(self.tensors[tensor.view_of].shape):
                result.append(tensor.view_of)
                run = []
        return result + run


Mapper = Callable[[Emitter, Node], None]


def emit(graph: Graph, mappers: dict[str, tuple[Mapper, int]]) -> Emitter:
    """Maps every node. One that cannot be mapped leaves its recorded outputs as inputs of the graph."""
    emitter = Emitter(graph)
    for name in graph.model.shapes:
        emitter.stand_in(name)
    for node in graph.order():
        try:
            if node.op in views.OPS:
                views.check(graph, node)  # it is made when it is read
            elif node.op in mappers:
                mapper, floats = mappers[node.op]
                _need_floats(emitter, [node.output, *node.inputs][:floats])
                mapper(emitter, node)
            else:
                raise Unsupported(f"there is no op for {node.op}")
        except Unsupported as reason:
            emitter.give_up(node, str(reason))
    graph.outputs = [name for name in graph.outputs if _readable(emitter, name)]
    for node in graph.order():
        graph.fate(node, "view", node.output, over=("",))
    return emitter


def _need_floats(emitter: Emitter, names: list[str]) -> None:
    for name in filter(None, names):
        if not emitter.graph.is_float(name):
            raise Unsupported(f"'{name}' holds whole numbers; clam computes with f32 and f16")


def _readable(emitter: Emitter, name: str) -> bool:
    """An output may be a text, a list, or empty; then clam does not know it."""
    try:
        emitter.read(name)
    except Unsupported:
        return False
    return True
