# SPDX-License-Identifier: MIT
"""Operations that move no element, or that only say where elements lie: what numpy does with strides."""
import math
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from graph import Graph, Node
from problems import Unsupported

if TYPE_CHECKING:
    from emit import Emitter

RESHAPES = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Same"}
OPS = RESHAPES | {"Transpose", "Slice", "Split", "Pick"}


class NeedsOnePiece(Exception):
    """The strides do not say it; the tensor has to be copied first."""


def first_of(part: np.ndarray, whole: np.ndarray) -> int:
    return part.__array_interface__["data"][0] - whole.__array_interface__["data"][0]


def to_picks(graph: Graph) -> None:
    """A Gather of one constant index, or of a run of them, is a slice."""
    for node in graph.find("Gather"):
        index = graph.const(node.inputs[1])
        if index is None or index.size == 0:
            continue
        axis = node.attr("axis", 0) % len(graph.shape(node.inputs[0]))
        extent = graph.shape(node.inputs[0])[axis]
        numbers = [int(i) + (extent if i < 0 else 0) for i in index.reshape(-1)]
        if index.ndim <= 1 and numbers == list(range(numbers[0], numbers[0] + len(numbers))):
            attrs = dict(pick=axis, first=numbers[0], last=numbers[-1] + 1)
            graph.replace([node], Node("Pick", node.inputs[:1], node.outputs, attrs))


def check(graph: Graph, node: Node) -> None:
    """Refuses a node of OPS that cannot be said by strides."""
    if node.op in ("Slice", "Split") and any(i and graph.const(i) is None for i in node.inputs[1:]):
        raise Unsupported(f"what {node.op} takes changes with the inputs")
    if 0 in graph.shape(node.outputs[0]):
        raise Unsupported("it makes no elements")


def slices_of(graph: Graph, node: Node, name: str) -> list[slice]:
    shape = graph.shape(node.inputs[0])
    result = [slice(0, extent, 1) for extent in shape]
    if node.op == "Pick":
        result[node.attrs["pick"]] = slice(node.attrs["first"], node.attrs["last"], 1)
    elif node.op == "Split":
        axis = node.attr("axis", 0) % len(shape)
        sizes = [graph.shape(o)[axis] for o in node.outputs]
        at = node.outputs.index(name)
        result[axis] = slice(sum(sizes[:at]), sum(sizes[:at + 1]), 1)
    else:
        said = [graph.const(i).reshape(-1).tolist() if i else None for i in node.inputs[1:]]
        said = said or [node.attr(name) for name in ("starts", "ends", "axes")]
        starts, ends, axes, steps = [*said, None, None][:4]
        for start, end, axis, step in zip(starts, ends, axes or range(len(starts)), steps or [1] * len(starts)):
            result[axis % len(shape)] = slice(*slice(start, end, step).indices(shape[axis]))
    return result


def _index(slices: list[slice]) -> tuple[slice, ...]:
    """With None for an end before the first element, which numpy would count from the end."""
    return tuple(slice(s.start, None if s.stop < 0 else s.stop, s.step) for s in slices)


def apply(graph: Graph, node: Node, name: str, source: np.ndarray) -> np.ndarray:
    if node.op == "Transpose":
        return source.transpose(node.attr("perm", list(range(source.ndim))[::-1]))
    part = source if node.op in RESHAPES else source[_index(slices_of(graph, node, name))]
    try:
        return np.reshape(part, graph.shape(name), copy=False)
    except ValueError:
        raise NeedsOnePiece from None


def materialise(emitter: "Emitter", node: Node, name: str) -> None:
    """Copies the tensor: by a transpose, or by a slice."""
    graph = emitter.graph
    emitter.dummies.pop(name, None)
    source = node.inputs[0]
    shape = graph.shape(source)
    if node.op == "Transpose":
        shape, order = merge_axes(shape, node.attr("perm", list(range(len(shape)))[::-1]))
        if len(shape) > 4:
            raise Unsupported(f"a transpose of {len(shape)} axes that cannot be merged")
        op, made, fields = "transpose", tuple(shape[axis] for axis in order), dict(perm=order)
    else:
        slices = slices_of(graph, node, name)
        op, made = "slice", tuple(len(range(s.start, s.stop, s.step)) for s in slices)
        steps = [s.step for s in slices]
        fields = dict(start=[s.start for s in slices], count=made, step=steps if set(steps) != {1} else None)
    emitter.launch(node, op, {"src": emitter.read(source, shape)},
                   {"dst": (name, made)}, last=len(node.outputs) == 1, shape=shape, **fields)


def merge_axes(shape: tuple[int, ...], perm: list[int]) -> tuple[tuple[int, ...], list[int]]:
    """The same transposition without axes of one element, and with those that stay together as one."""
    order = [axis for axis in perm if shape[axis] != 1]
    if not order:
        return (1,), [0]
    kept = sorted(order)  # of axes that follow each other, place here less place in `order` is the same
    runs = groupby(enumerate(order), lambda place: kept.index(place[1]) - place[0])
    groups = [[axis for _, axis in run] for _, run in runs]
    sources = sorted(groups)
    return tuple(math.prod(shape[a] for a in g) for g in sources), [sources.index(g) for g in groups]
