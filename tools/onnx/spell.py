# SPDX-License-Identifier: MIT
"""How clam's problem lines are spelled."""
import math
from typing import Any

import numpy as np

# An activation is clam's name of it, and its numbers: ("clip", 0, 6). These may stand in another op.
FUSED = {"relu", "relu6", "silu", "gelu", "gelu_tanh", "sigmoid", "tanh", "exp", "hard_swish", "clip", "leaky_relu"}
CONCAT_MOST = 4  # inputs of a concat node


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
    """A problem line, in which True is a flag, and False and None are nothing. clam leaves out what is usual."""
    words = [op, f"dtype={dtype}"]
    for name, value in fields.items():
        if value is not None and value is not False:
            words.append(name if value is True else f"{name}={_text(name, value)}")
    return " ".join(words)
