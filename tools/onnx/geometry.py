# SPDX-License-Identifier: MIT
"""Windows of convolutions and poolings: what ONNX says in several ways, as clam's fields."""
import math
from typing import Any

from graph import Graph, Node
from problems import Unsupported


def planes(shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    """n, c, h, w of an image; a row of a 1-D map is an image of one row."""
    if len(shape) == 3:
        return shape[0], shape[1], 1, shape[2]
    if len(shape) != 4:
        raise Unsupported(f"maps of {len(shape)} axes; clam has 3 and 4")
    return shape  # type: ignore[return-value]


def _two(values: Any, count: int, fill: int) -> list[int]:
    values = [fill] * count if values is None else list(values)
    return [fill, *values] if count == 1 else values


def window(graph: Graph, node: Node, kernel: list[int]) -> dict[str, Any]:
    """r, s, strides, dilations and pads [top, left, bottom, right] of a node with such attributes."""
    shape = graph.shape(node.inputs[0])
    axes = len(shape) - 2
    stride, dilation = _two(node.attr("strides"), axes, 1), _two(node.attr("dilations"), axes, 1)
    r, s = _two(kernel, axes, 1)
    auto = node.attr("auto_pad", b"NOTSET").decode()
    pads = (node.attr("pads") if auto == "NOTSET" else None) or [0] * 2 * axes
    top, left, bottom, right = pads if axes == 2 else (0, pads[0], 0, pads[1])
    if auto.startswith("SAME"):
        sides = []
        for extent, k, step, d in zip(planes(shape)[2:], (r, s), stride, dilation):
            missing = max(0, (-(-extent // step) - 1) * step + (k - 1) * d + 1 - extent)
            less, more = missing // 2, missing - missing // 2
            sides.append((less, more) if auto == "SAME_UPPER" else (more, less))
        (top, bottom), (left, right) = sides
    return dict(r=r, s=s, stride=stride, dilation=dilation, pads=[top, left, bottom, right])


def fields(found: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The same as fields of a problem line, the shortest way; `more` follow the sizes."""
    result = {"r": found["r"], "s": found["s"] if found["s"] != found["r"] else None, **more}
    for name in ("stride", "dilation"):
        h, w = found[name]
        if h == w:
            result[name] = h if h != 1 else None
        else:
            result[name + "_h"], result[name + "_w"] = h, w
    pads = found["pads"]
    if min(pads) < 0:
        raise Unsupported("a negative pad")
    if len(set(pads)) == 1:
        result["pad"] = pads[0] or None
    else:
        result.update({f"pad_{side}": pad for side, pad in zip("tlbr", pads)})
    return result


def transposed(graph: Graph, node: Node, kernel: list[int]) -> tuple[dict[str, Any], list[int]]:
    """The window of a transposed convolution, with pads that give the output's extents, and what is added."""
    auto = node.attr("auto_pad", b"NOTSET")
    found = window(graph, Node(node.op, node.inputs, node.outputs, {**node.attrs, "auto_pad": b"NOTSET"}), kernel)
    axes = len(graph.shape(node.inputs[0])) - 2
    more = _two(node.attr("output_padding"), axes, 0)
    before, after = planes(graph.shape(node.inputs[0]))[2:], planes(graph.shape(node.output))[2:]
    if auto != b"NOTSET" or node.attr("output_shape"):
        for axis, (small, large) in enumerate(zip(before, after)):
            k = (found["r"], found["s"])[axis]
            spare = found["stride"][axis] * (small - 1) + more[axis] + (k - 1) * found["dilation"][axis] + 1 - large
            if spare < 0:
                more[axis], spare = more[axis] - spare, 0
            half = spare // 2 if auto == b"SAME_UPPER" else spare - spare // 2
            found["pads"][axis], found["pads"][axis + 2] = half, spare - half
    return found, more


def squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The same elements in at most four axes, for ops that go element by element."""
    return shape if 0 < len(shape) <= 4 else (math.prod(shape),)
