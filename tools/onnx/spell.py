# SPDX-License-Identifier: MIT
"""How clam's problem lines are spelled: the one place that knows names of fields and their defaults."""
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

# What an activation of the graph is called in clam, and the fields of its numbers.
ACTS = {
    "Relu": "relu", "Relu6": "relu6", "Silu": "silu", "Gelu": "gelu", "GeluTanh": "gelu_tanh",
    "Sigmoid": "sigmoid", "Tanh": "tanh", "Exp": "exp", "HardSwish": "hard_swish", "Clip": "clip",
    "LeakyRelu": "leaky_relu", "Log": "log", "Erf": "erf", "Sqrt": "sqrt", "Sin": "sin", "Cos": "cos",
    "Abs": "abs", "Reciprocal": "reciprocal", "Pow": "pow", "Softplus": "softplus", "Elu": "elu", "Mish": "mish",
    "Neg": "neg", "HardSigmoid": "hard_sigmoid",
}
FUSED = {"Relu", "Relu6", "Silu", "Gelu", "GeluTanh", "Sigmoid", "Tanh", "Exp", "HardSwish", "Clip", "LeakyRelu"}
NUMBERS = {"Clip": 2, "LeakyRelu": 1, "HardSigmoid": 2, "Pow": 1, "Elu": 1}  # how many an activation has
ACT_FIELDS = ("act_alpha", "act_beta")  # of a fused one; least and most of clip
UNARY_FIELDS = ("alpha", "beta")  # of op unary
CONCAT_MOST = 4  # inputs of a concat node

DEFAULTS: dict[str, dict[str, Any]] = {
    "conv2d": dict(n=1, groups=1, stride_h=1, stride_w=1, dilation_h=1, dilation_w=1),
    "conv_transpose": dict(n=1, groups=1, stride_h=1, stride_w=1, dilation_h=1, dilation_w=1),
    "dense": dict(trans_w=1, alpha=1),
    "batch_matmul": dict(batch=1, scale=1),
    "attention": dict(batch=1),
    "unary": dict(scale=1, shift=0),
    "layer_norm": dict(eps=1e-05),
    "pool2d": dict(mode="avg", stride_h=1, stride_w=1),
    "softmax": dict(scale=1),
}


@dataclass(frozen=True)
class Act:
    kind: str
    a: float | None = None
    b: float | None = None


def make_clip(low: float, high: float) -> Act:
    if low == 0 and high == math.inf:
        return Act("Relu")
    return Act("Relu6") if (low, high) == (0, 6) else Act("Clip", low, high)


def _act(act: Act | None, name: str, fields: tuple[str, str]) -> dict[str, Any]:
    if act is None:
        return {}
    numbers = [act.a, act.b][:NUMBERS.get(act.kind, 0)]
    return {name: ACTS[act.kind], **dict(zip(fields, numbers))}


def fused_act(act: Act | None, scale: float = 1, shift: float = 0) -> dict[str, Any]:
    """Fields of act(...) * scale + shift within another op."""
    after = {"act_scale": scale} if scale != 1 else {}
    return {**_act(act, "act", ACT_FIELDS), **after, **({"act_shift": shift} if shift else {})}


def unary_act(act: Act) -> dict[str, Any]:
    return _act(act, "op", UNARY_FIELDS)


def number(value: float) -> str:
    """The shortest text that reads as the same f32."""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = str(np.float32(value))
    return text[:-2] if text.endswith(".0") else text


def extents(shape: tuple[int, ...] | list[int]) -> str:
    return "x".join(map(str, shape)) if shape else "1"


def listed(numbers: list[int] | tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))


def axes(numbers: list[int] | tuple[int, ...]) -> str:
    return "-".join(map(str, numbers))


def problem(op: str, dtype: str = "f32", /, **fields: Any) -> str:
    """A problem line. Fields at their defaults are left out; True is a flag, and False and None are nothing."""
    words = [op]
    for name, value in fields.items():
        if value is None or value is False or DEFAULTS.get(op, {}).get(name) == value:
            continue
        if value is True:
            words.append(name)
        else:
            words.append(f"{name}={value if isinstance(value, (str, int)) else number(float(value))}")
    words.insert(_required(op, words), f"dtype={dtype}")
    return " ".join(words)


def _required(op: str, words: list[str]) -> int:
    """Where dtype stands: behind the extents, before what is optional."""
    first = {"conv2d", "conv_transpose", "pool2d", "dense", "batch_matmul", "attention", "lrn", "resize", "layer_norm"}
    names = {"n", "c", "h", "w", "k", "r", "s", "m", "oh", "ow", "batch", "heads", "nq", "nk", "d", "rows", "size"}
    if op not in first:
        names = {"op", "shape", "axis", "perm", "shape_a", "shape_b"} - ({"shape_b"} if op == "binary" else set())
    place = 1
    while place < len(words) and words[place].split("=")[0] in names:
        place += 1
    return place
