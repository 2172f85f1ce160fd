# SPDX-License-Identifier: MIT
"""The same for what works on maps, and for what moves elements."""
import math
from itertools import groupby

import numpy as np

import geometry
import mappers
import spell
from emit import Emitter, Mapper, Node
from problems import Unsupported


def pool(e: Emitter, node: Node) -> None:
    if any(e.graph.readers.get(o) or o in e.graph.outputs for o in node.outputs[1:]):
        raise Unsupported("the places of the largest elements are read")
    n, c, h, w = shape = geometry.planes(e.graph.shape(node.inputs[0]))
    found = geometry.window(e.graph, node, node.attr("kernel_shape"))
    if found["dilation"] != [1, 1]:
        raise Unsupported("pooling with dilations")
    made = geometry.planes(e.graph.shape(node.output))
    mode = "max" if node.op == "MaxPool" else "avg"
    top, left, bottom, right = found["pads"]
    exact = [(x + before + after - k) // step + 1 for x, before, after, k, step in
             zip((h, w), (top, left), (bottom, right), (found["r"], found["s"]), found["stride"])]
    ceil = exact != list(made[2:])
    include = mode == "avg" and node.attr("count_include_pad", 0) and (any(found["pads"]) or ceil)
    e.map(node, "pool2d", shape, made, ("x", "y"), n=n, c=c, h=h, w=w, **geometry.fields(found, mode=mode),
          count_include_pad=1 if include else None, ceil_mode=int(ceil))


def global_pool(e: Emitter, node: Node) -> None:
    n, c, h, w = shape = geometry.planes(e.graph.shape(node.inputs[0]))
    e.map(node, "pool2d", shape, (n, c, 1, 1), ("x", "y"), n=n, c=c, h=h, w=w, mode="max" if "Max" in node.op else "avg",
          **{"global": True})


def reduce(e: Emitter, node: Node) -> None:
    shape, axes = e.graph.shape(node.inputs[0]), e.graph.axes_of(node)
    if axes is None and node.input(1):
        raise Unsupported("its axes change with the inputs")
    if not axes and node.attr("noop_with_empty_axes"):
        raise Unsupported("it reduces nothing")
    axes = sorted(a % len(shape) for a in axes) if axes else list(range(len(shape)))
    what = node.op.removeprefix("Reduce").lower()
    if len(shape) == 4 and axes == [2, 3] and what in ("mean", "max"):
        global_pool(e, node)
        return
    used, reduced = _runs(shape, axes) if len(shape) > 4 else (shape, axes)
    if len(used) > 4:
        raise Unsupported(f"it reduces {len(used)} axes that cannot be merged")
    made = tuple(1 if a in reduced else x for a, x in enumerate(used))
    e.map(node, "reduce", used, made, op=what, shape=used, axes=reduced)


def _runs(shape: tuple[int, ...], axes: list[int]) -> tuple[tuple[int, ...], list[int]]:
    """Neighbouring axes that are all reduced, or all kept, as one."""
    runs = [(math.prod(shape[axis] for axis in run), kind)
            for kind, run in groupby(range(len(shape)), lambda axis: axis in axes)]
    return tuple(x for x, _ in runs), [at for at, (_, kind) in enumerate(runs) if kind]


def lrn(e: Emitter, node: Node) -> None:
    n, c, h, w = shape = geometry.planes(e.graph.shape(node.inputs[0]))
    numbers = {name: float(node.attr(name, usual)) for name, usual in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1))}
    e.map(node, "lrn", shape, shape, ("x", "y"), n=n, c=c, h=h, w=w, size=node.attr("size"), **numbers)


def resize(e: Emitter, node: Node) -> None:
    shape, made = (geometry.planes(e.graph.shape(name)) for name in (node.inputs[0], node.output))
    mode = node.attrs["mode"].decode()
    coord = node.attr("coordinate_transformation_mode", b"half_pixel").decode()
    nearest = node.attr("nearest_mode", b"round_prefer_floor").decode()
    if mode not in ("nearest", "linear"):
        raise Unsupported(f"mode {mode}")
    if coord not in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"):
        raise Unsupported(f"coordinates {coord}")
    if node.attr("antialias") or shape[:2] != made[:2]:
        raise Unsupported("it is smoothed, or resizes other axes than the last two")
    scales = zip("hw", _scales(node, shape), shape[2:], made[2:])
    fields = {f"scale_{name}": scale for name, scale, before, after in scales
              if abs(scale * before - after) > 1e-6 * after}
    n, c, h, w = shape
    inputs = {"x": e.read(node.inputs[0], shape), **mappers.added(e, node, made)}
    e.launch(node, "resize", inputs, {"y": (node.output, made)}, n=n, c=c, h=h, w=w, oh=made[2], ow=made[3], mode=mode,
             coord=coord, nearest=nearest if mode == "nearest" else None, **fields, residual="r" in inputs)


def _scales(node: Node, shape: tuple[int, ...]) -> list[float]:
    """Of rows and columns; empty where it is what the extents say."""
    scales, sizes = node.attr("scales") or [], node.attr("sizes") or []
    if any(math.isnan(s) for s in [*scales, *sizes]):
        raise Unsupported("its scale changes with the inputs")
    axes = [a % len(shape) for a in node.attr("axes") or range(4)]
    policy = node.attr("keep_aspect_ratio_policy", b"stretch").decode()
    if sizes and policy != "stretch":
        one = (min if policy == "not_larger" else max)(size / shape[axis] for axis, size in zip(axes, sizes))
        scales = [one] * len(axes)
    by_axis = dict(zip(axes, scales))
    return [by_axis[axis] for axis in (2, 3)] if len(by_axis) > 1 and {2, 3} <= set(by_axis) else []


def concat(e: Emitter, node: Node) -> None:
    shape = e.graph.shape(node.output)
    axis = node.attr("axis") % len(shape)
    names = [i for i in node.inputs if 0 not in e.graph.shape(i)]
    held = [e.read(name) for name in names]
    if e.join(node, held, axis):
        return
    own = len(shape) <= 4

    def used(name: str) -> tuple[int, ...]:
        extents = e.graph.shape(name)
        return extents if own else (math.prod(shape[:axis]), math.prod(extents[axis:]))

    left = names[0]
    for at in range(1, len(names), spell.CONCAT_MOST - 1):
        parts, last = [left, *names[at:at + spell.CONCAT_MOST - 1]], at + spell.CONCAT_MOST > len(names)
        whole = (*shape[:axis], sum(e.graph.shape(name)[axis] for name in parts), *shape[axis + 1:])
        made = node.output if last else e.graph.new_tensor(f"{node.output}.{at}", whole)
        e.launch(node, "concat", {key: e.read(name, used(name)) for key, name in zip("abcd", parts)},
                 {"dst": (made, used(made))}, last, axis=axis if own else 1,
                 **{f"shape_{key}": used(name) for key, name in zip("abcd", parts)})
        left = made


def gather(e: Emitter, node: Node) -> None:
    shape, index = e.graph.shape(node.inputs[0]), node.inputs[1]
    axis = node.attr("axis", 0) % len(shape)
    value = e.graph.const(index)
    count = math.prod(e.graph.shape(index))
    if value is not None:
        rows = np.where(value < 0, value + shape[axis], value).astype(np.int32).reshape(count)
        read = e.weights(node.output + ".index", rows)
    else:
        if e.graph.recording.value(index).min() < 0:
            raise Unsupported("computed indices that count from the end")
        read = e.read(index, (count,))
    made = (*shape[:axis], count, *shape[axis + 1:])
    e.launch(node, "gather", {"src": e.read(node.inputs[0], shape), "index": read}, {"dst": (node.output, made)},
             shape=shape, axis=axis, count=count)


def pad(e: Emitter, node: Node) -> None:
    shape = e.graph.shape(node.inputs[0])
    if any(i and e.graph.const(i) is None for i in node.inputs[1:]):
        raise Unsupported("what it pads changes with the inputs")
    pads, axes = node.attr("pads") or e.graph.const(node.inputs[1]).tolist(), e.graph.const(node.input(3))
    value = float(node.attr("value", e.graph.scalar(node.input(2)) or 0.0))
    axes = range(len(shape)) if axes is None else axes.tolist()
    before, after = [0] * len(shape), [0] * len(shape)
    for axis, less, more in zip(axes, pads, pads[len(axes):]):
        before[axis], after[axis] = less, more
    if min(pads) < 0:
        raise Unsupported("it takes elements away")
    mode = node.attr("mode", b"constant").decode()
    made = tuple(b + x + a for b, x, a in zip(before, shape, after))
    e.map(node, "pad", shape, made, shape=shape, before=before, after=after, mode=mode,
          value=value if mode == "constant" else None)


def expand(e: Emitter, node: Node) -> None:
    """Repeats along axes: the sum with zeros of the wanted shape."""
    shape, made = e.graph.shape(node.inputs[0]), e.graph.shape(node.output)
    if len(made) > 4:
        raise Unsupported(f"it makes {len(made)} axes")
    zeros = e.weights(node.output + ".zeros", np.zeros(made, np.float32))
    e.launch(node, "binary", {"a": e.read(node.inputs[0], shape or (1,)), "b": zeros}, {"c": (node.output, made)},
             op="add", shape=shape or (1,), shape_b=made)


# The mapper of each op, and how many of its output and inputs have to be floats.
MAPPERS: dict[str, tuple[Mapper, int]] = {op: (mapper, floats) for mapper, floats, ops in (
    (mappers.conv, 2, ("Conv", "FreeConv", "ConvTranspose", "FreeConvTranspose")),
    (mappers.dense, 3, ("Dense",)), (mappers.batch_matmul, 3, ("MatMul", "Gemm")),
    (mappers.attention, 5, ("Attention",)), (mappers.layer_norm, 2, ("LayerNorm",)),
    (mappers.softmax, 2, ("Softmax", "LogSoftmax")), (mappers.unary, 2, ("Act",)), (mappers.affine, 2, ("Affine",)),
    (mappers.binary, 3, ("Add", "Sub", "Mul", "Div", "Max", "Min")),
    (pool, 2, ("MaxPool", "AveragePool")), (global_pool, 2, ("GlobalAveragePool", "GlobalMaxPool")),
    (reduce, 2, ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin")), (lrn, 2, ("LRN",)), (resize, 2, ("Resize",)),
    (expand, 2, ("Expand",)), (concat, 0, ("Concat",)), (gather, 0, ("Gather",)), (pad, 0, ("Pad",))) for op in ops}
