# SPDX-License-Identifier: MIT
"""How clam's problem lines are spelled: what of a launch's fields is written, and how."""
import math
from typing import Any

import numpy as np

# An activation is clam's name of it, and its numbers: ("clip", 0, 6). These may stand in another op.
FUSED = {"relu", "relu6", "silu", "gelu", "gelu_tanh", "sigmoid", "tanh", "exp", "hard_swish", "clip", "leaky_relu"}
REQUIRED = {"n", "c", "h", "w", "k", "r", "s", "m", "oh", "ow", "batch", "heads", "nq", "nk", "d", "rows", "size", "op",
            "shape", "axis", "perm", "shape_a", "shape_b"}
CONCAT_MOST = 4  # inputs of a concat node

DEFAULTS: dict[str, dict[str, Any]] = {
    "conv2d": dict(n=1, groups=1, stride_h=1, stride_w=1, dilation_h=1, dilation_w=1),
    "conv_transpose": dict(n=1, groups=1, stride_h=1, stride_w=1, dilation_h=1, dilation_w=1),
    "dense": dict(trans_w=1),
    "batch_matmul": dict(batch=1, scale=1),
    "attention": dict(batch=1),
    "unary": dict(scale=1, shift=0),
    "layer_norm": dict(eps=1e-05),
    "pool2d": dict(mode="avg", stride_h=1, stride_w=1),
    "softmax": dict(scale=1),
}


def make_clip(low: float, high: float) -> tuple:
    return {(0, math.inf): ("relu",), (0, 6): ("relu6",)}.get((low, high), ("clip", low, high))


def number(value: float) -> str:
    """The shortest text that reads as the same f32."""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = str(np.float32(value))
    return text[:-2] if text.endswith(".0") else text


def _text(name: str, value: Any) -> str:
    """A tuple is extents, a list numbers by axis."""
    if isinstance(value, tuple):
        return "x".join(map(str, value)) or "1"
    if isinstance(value, list):
        return ("-" if name in ("axes", "perm") else ",").join(map(str, value))
    return str(value) if isinstance(value, (str, int)) else number(float(value))


def problem(op: str, dtype: str, fields: dict[str, Any]) -> str:
    """A problem line. Fields at their defaults are left out; True is a flag, and False and None are nothing."""
    words = [op]
    for name, value in fields.items():
        if value is not None and value is not False and DEFAULTS.get(op, {}).get(name) != value:
            words.append(name if value is True else f"{name}={_text(name, value)}")
    words.insert(_required(op, words), f"dtype={dtype}")
    return " ".join(words)


def _required(op: str, words: list[str]) -> int:
    """Where dtype stands: behind the extents, before what is optional."""
    names = REQUIRED - {"shape_b"} if op == "binary" else REQUIRED
    return next((at for at, word in enumerate(words) if at and word.split("=")[0] not in names), len(words))
