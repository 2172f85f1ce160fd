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
    """r, s, strides, dilations, pads [top, left, bottom, right], and what a transposed one adds, of such a node."""
    shape = graph.shape(node.inputs[0])
    axes = len(shape) - 2
    stride, dilation = _two(node.attr("strides"), axes, 1), _two(node.attr("dilations"), axes, 1)
    r, s = _two(kernel, axes, 1)
    auto = node.attr("auto_pad", b"NOTSET").decode()
    pads = (node.attr("pads") if auto == "NOTSET" else None) or [0] * 2 * axes
    top, left, bottom, right = pads if axes == 2 else (0, pads[0], 0, pads[1])
    found = dict(r=r, s=s, stride=stride, dilation=dilation, pads=[top, left, bottom, right],
                 out_pad=_two(node.attr("output_padding"), axes, 0))
    if node.op.endswith("ConvTranspose"):
        if auto != "NOTSET" or node.attr("output_shape"):
            _fit_output(found, planes(shape)[2:], planes(graph.shape(node.output))[2:], auto)
    elif auto.startswith("SAME"):
        for axis, (extent, k, step, d) in enumerate(zip(planes(shape)[2:], (r, s), stride, dilation)):
            missing = max(0, (-(-extent // step) - 1) * step + (k - 1) * d + 1 - extent)
            less, more = missing // 2, missing - missing // 2
            found["pads"][axis::2] = (less, more) if auto == "SAME_UPPER" else (more, less)
    return found


def _fit_output(found: dict[str, Any], before: tuple[int, ...], after: tuple[int, ...], auto: str) -> None:
    """Pads of a transposed convolution that give the output's extents, and what is added where none do."""
    pads, more = found["pads"], found["out_pad"]
    for axis, (small, large, k) in enumerate(zip(before, after, (found["r"], found["s"]))):
        spare = found["stride"][axis] * (small - 1) + more[axis] + (k - 1) * found["dilation"][axis] + 1 - large
        if spare < 0:
            more[axis], spare = more[axis] - spare, 0
        half = spare // 2 if auto == "SAME_UPPER" else spare - spare // 2
        pads[axis::2] = half, spare - half


def _pair(name: str, both: list[int], default: int) -> dict[str, int | None]:
    h, w = both
    return {name: h if h != default else None} if h == w else {name + "_h": h, name + "_w": w}


def fields(found: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The same as fields of a problem line; `more` follow the sizes."""
    r, s, pads = found["r"], found["s"], found["pads"]
    if min(pads) < 0:
        raise Unsupported("a negative pad")
    sides = {"pad": pads[0]} if len(set(pads)) == 1 else {f"pad_{side}": pad for side, pad in zip("tlbr", pads)}
    return {"r": r, "s": s, **more, **_pair("stride", found["stride"], 1),
            **_pair("dilation", found["dilation"], 1), **sides, **_pair("out_pad", found["out_pad"], 0)}


def squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The same elements in at most four axes, for ops that go element by element."""
    return shape if 0 < len(shape) <= 4 else (math.prod(shape),)
