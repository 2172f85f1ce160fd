# SPDX-License-Identifier: MIT
"""Computes a workload folder in double precision: each op by its formula, dull and slow.

It shares no code with the importer: what it reads is the written folder alone."""
import itertools
import json
import math
import os

import numpy as np

ERF = np.vectorize(math.erf, otypes=[float])


class Words(dict):
    """The fields of a problem line."""

    def __init__(self, line: str) -> None:
        op, *words = line.split()
        super().__init__((w.split("=", 1) if "=" in w else (w, "1")) for w in words)
        self.op = op
        self.used: set[str] = {"dtype"}

    def text(self, name: str, fallback: str = "") -> str:
        self.used.add(name)
        return self.get(name, fallback)

    def int(self, name: str, fallback: int = 0) -> int:
        return int(self.text(name, str(fallback)))

    def float(self, name: str, fallback: float = 0) -> float:
        return float(self.text(name, str(fallback)))

    def flag(self, name: str) -> bool:
        return self.text(name) == "1"

    def extents(self, name: str) -> tuple[int, ...]:
        text = self.text(name, "none")
        return () if text == "none" else tuple(map(int, text.split("x")))

    def numbers(self, name: str, separator: str) -> list[int]:
        return [int(n) for n in self.text(name).split(separator)]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


FUNCTIONS = {
    "none": lambda x, a, b: x, "relu": lambda x, a, b: np.maximum(x, 0), "relu6": lambda x, a, b: np.clip(x, 0, 6),
    "silu": lambda x, a, b: x * sigmoid(x), "gelu": lambda x, a, b: x * (1 + ERF(x / math.sqrt(2))) / 2,
    "gelu_tanh": lambda x, a, b: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "sigmoid": lambda x, a, b: sigmoid(x), "tanh": lambda x, a, b: np.tanh(x), "exp": lambda x, a, b: np.exp(x),
    "hard_swish": lambda x, a, b: x * np.clip(x / 6 + 0.5, 0, 1), "clip": lambda x, a, b: np.minimum(np.maximum(x, a), b),
    "leaky_relu": lambda x, a, b: np.where(x < 0, a * x, x), "log": lambda x, a, b: np.log(x),
    "erf": lambda x, a, b: ERF(x), "sqrt": lambda x, a, b: np.sqrt(x), "sin": lambda x, a, b: np.sin(x),
    "cos": lambda x, a, b: np.cos(x), "abs": lambda x, a, b: np.abs(x), "reciprocal": lambda x, a, b: 1 / x,
    "pow": lambda x, a, b: x**a, "softplus": lambda x, a, b: np.log1p(np.exp(x)),
    "elu": lambda x, a, b: np.where(x < 0, a * np.expm1(x), x),
    "mish": lambda x, a, b: x * np.tanh(np.log1p(np.exp(x))),
}


def activate(p: Words, x):
    y = FUNCTIONS[p.text("act", "none")](x, p.float("act_alpha"), p.float("act_beta"))
    return y * p.float("act_scale", 1) + p.float("act_shift", 0)


def pair(p: Words, name: str, fallback: int) -> tuple[int, int]:
    both = p.int(name, fallback)
    return p.int(name + "_h") or both, p.int(name + "_w") or both


def pads(p: Words) -> list[int]:
    both = p.int("pad")
    sides = [p.int("pad_" + side, -1) for side in "tlbr"]
    return [both if side < 0 else side for side in sides]


def image(p: Words) -> tuple[int, int, int, int]:
    return p.int("n", 1), p.int("c"), p.int("h"), p.int("w")


def taps(x, r: int, s: int, stride, dilation, oh: int, ow: int):
    """For each tap of a window, what it sees of the padded x."""
    for i, j in itertools.product(range(r), range(s)):
        top, left = i * dilation[0], j * dilation[1]
        yield i, j, x[:, :, top:top + stride[0] * (oh - 1) + 1:stride[0], left:left + stride[1] * (ow - 1) + 1:stride[1]]


def conv2d(p, t):
    n, c, h, w = image(p)
    k, r, groups = p.int("k"), p.int("r"), p.int("groups", 1)
    s = p.int("s") or r
    stride, dilation, (top, left, bottom, right) = pair(p, "stride", 1), pair(p, "dilation", 1), pads(p)
    oh = (h + top + bottom - (r - 1) * dilation[0] - 1) // stride[0] + 1
    ow = (w + left + right - (s - 1) * dilation[1] - 1) // stride[1] + 1
    x = np.pad(t["x"].reshape(n, c, h, w), ((0, 0), (0, 0), (top, bottom), (left, right)))
    weights = t["w"].reshape(groups, k // groups, c // groups, r, s)
    y = np.zeros((n, groups, k // groups, oh, ow))
    for i, j, seen in taps(x, r, s, stride, dilation, oh, ow):
        rows = seen.reshape(n, groups, c // groups, oh * ow)
        y += np.matmul(weights[None, :, :, :, i, j], rows).reshape(y.shape)
    y = y.reshape(n, k, oh, ow)
    if p.flag("bias"):
        y = y + t["b"].reshape(1, k, 1, 1)
    y = activate(p, y)
    return y + t["r"].reshape(y.shape) if p.flag("residual") else y


def conv_transpose(p, t):
    n, c, h, w = image(p)
    k, r, groups = p.int("k"), p.int("r"), p.int("groups", 1)
    s = p.int("s") or r
    stride, dilation, (top, left, bottom, right) = pair(p, "stride", 1), pair(p, "dilation", 1), pads(p)
    more = pair(p, "out_pad", 0)
    weights = t["w"].reshape(groups, c // groups, k // groups, r, s)
    x = t["x"].reshape(n, groups, c // groups, h * w)
    tall = (h - 1) * stride[0] + (r - 1) * dilation[0] + 1 + more[0]
    wide = (w - 1) * stride[1] + (s - 1) * dilation[1] + 1 + more[1]
    y = np.zeros((n, k, tall, wide))
    for i, j, place in taps(y, r, s, stride, dilation, h, w):
        place += np.einsum("gck,ngcx->ngkx", weights[:, :, :, i, j], x).reshape(n, k, h, w)
    y = y[:, :, top:tall - bottom, left:wide - right]
    return activate(p, y + t["b"].reshape(1, k, 1, 1) if p.flag("bias") else y)


def dense(p, t):
    m, n, k = p.int("m"), p.int("n"), p.int("k")
    w = t["w"].reshape(n, k).T if p.int("trans_w", 1) else t["w"].reshape(k, n)
    y = p.float("alpha", 1) * (t["x"].reshape(m, k) @ w)
    y = activate(p, y + t["b"] if p.flag("bias") else y)
    return y + t["r"].reshape(m, n) if p.flag("residual") else y


def strided(p, t, key: str, tag: str, shape, fallback, names):
    """The operand `key` at its strides and offset, copied."""
    steps = [p.int(name + tag) for name in names]
    steps = [given or own for given, own in zip(steps, fallback(steps))]
    whole = t[key].reshape(-1)
    first = p.int("off" + tag)
    grid = sum(np.arange(x).reshape([-1 if a == at else 1 for a in range(len(shape))]) * step
               for at, (x, step) in enumerate(zip(shape, [*steps, 1])))
    return whole[first + grid]


def batch_matmul(p, t):
    batch, m, n, k = p.int("batch", 1), p.int("m"), p.int("n"), p.int("k")
    found = []
    for key, rows, columns in (("a", m, k), ("b", k, n)):
        turned = p.int("t" + key)
        own = p.int("batch_" + key) or batch
        rows, columns = (columns, rows) if turned else (rows, columns)
        matrix = strided(p, t, key, key, (own, rows, columns),
                         lambda s, rows=rows, columns=columns: [rows * (s[1] or columns), columns], ("stride", "ld"))
        found.append(matrix.swapaxes(1, 2) if turned else matrix)
    y = p.float("scale", 1) * np.matmul(*found)
    return activate(p, np.broadcast_to(y, (batch, m, n)))


def attention(p, t):
    batch, heads, nq, nk, d = p.int("batch", 1), p.int("heads"), p.int("nq"), p.int("nk"), p.int("d")
    dv = p.int("dv") or d
    names = ("stride", "head", "ld")

    def operand(key, rows, columns):
        def own(s):
            ld = s[2] or columns
            head = s[1] or rows * ld
            return [heads * head, head, ld]
        return strided(p, t, key, key, (batch, heads, rows, columns), own, names)

    q, k, v = operand("q", nq, d), operand("k", nk, d), operand("v", nk, dv)
    scores = (p.float("scale") or 1 / math.sqrt(d)) * np.matmul(q, k.swapaxes(2, 3))
    kind = p.text("mask", "none")
    if kind != "none":
        shape = {"qk": (1, 1, nq, nk), "bqk": (batch, 1, nq, nk), "bhqk": scores.shape}[kind]
        scores = scores + t["mask"].reshape(shape)
    o = np.matmul(soft(scores, 3), v)
    if p.int("ldo"):
        assert p.int("ldo") == heads * dv and p.int("heado") == dv
        assert batch == 1 or p.int("strideo") == nq * heads * dv
        p.used.add("strideo")
        return o.swapaxes(1, 2)
    return o


def soft(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def softmax(p, t):
    y = soft(p.float("scale", 1) * t["src"].reshape(p.extents("shape")), p.int("axis", -1))
    return np.log(y) if p.int("log") else y


def layer_norm(p, t):
    x = t["src"].reshape(p.int("rows"), p.int("n"))
    x = x - x.mean(1, keepdims=True)
    return activate(p, x / np.sqrt((x * x).mean(1, keepdims=True) + p.float("eps", 1e-5)) * t["gamma"] + t["beta"])


def unary(p, t):
    x = p.float("scale", 1) * t["src"].reshape(p.extents("shape")) + p.float("shift")
    return FUNCTIONS[p.text("op")](x, p.float("alpha"), p.float("beta"))


def binary(p, t):
    a = t["a"].reshape(p.extents("shape"))
    b = t["b"].reshape(p.extents("shape_b") or a.shape)
    return {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum,
            "min": np.minimum}[p.text("op")](a, b)


def scale_shift(p, t):
    shape, axis = p.extents("shape"), p.int("axis")
    by = [-1 if a == axis else 1 for a in range(len(shape))]
    return activate(p, t["src"].reshape(shape) * t["scale"].reshape(by) + t["shift"].reshape(by))


def pool2d(p, t):
    n, c, h, w = image(p)
    x = t["x"].reshape(n, c, h, w)
    largest = p.text("mode", "avg") == "max"
    if p.flag("global"):
        return x.max((2, 3), keepdims=True) if largest else x.mean((2, 3), keepdims=True)
    r = p.int("r")
    s = p.int("s") or r
    stride, (top, left, bottom, right) = pair(p, "stride", 1), pads(p)
    made = []
    for extent, before, after, k, step in zip((h, w), (top, left), (bottom, right), (r, s), stride):
        windows = (extent + before + after - k) / step
        count = math.ceil(windows) + 1 if p.flag("ceil_mode") else math.floor(windows) + 1
        made.append(count - 1 if (count - 1) * step >= extent + before else count)
    y = np.zeros((n, c, *made))
    for i, j in np.ndindex(*made):
        y0, x0 = i * stride[0] - top, j * stride[1] - left
        seen = x[:, :, max(y0, 0):min(y0 + r, h), max(x0, 0):min(x0 + s, w)]
        if largest:
            y[:, :, i, j] = seen.max((2, 3))
            continue
        count = seen.shape[2] * seen.shape[3]
        if p.flag("count_include_pad"):
            count = (min(y0 + r, h + bottom) - y0) * (min(x0 + s, w + right) - x0)
        y[:, :, i, j] = seen.sum((2, 3)) / count
    return y


def lrn(p, t):
    n, c, h, w = image(p)
    x, size = t["x"].reshape(n, c, h, w), p.int("size")
    sums = np.zeros_like(x)
    for channel in range(c):
        first = max(0, channel - (size - 1) // 2)
        sums[:, channel] = (x[:, first:channel + size // 2 + 1] ** 2).sum(1)
    return x / (p.float("bias", 1) + p.float("alpha", 1e-4) / size * sums) ** p.float("beta", 0.75)


def resize(p, t):
    n, c, h, w = image(p)
    y = t["x"].reshape(n, c, h, w)
    mode, coord, near = p.text("mode"), p.text("coord"), p.text("nearest", "round_prefer_floor")
    for axis, (before, after, tag) in enumerate(((h, p.int("oh"), "h"), (w, p.int("ow"), "w")), 2):
        at = np.arange(after)
        scale = p.float("scale_" + tag) or after / before
        at = {"half_pixel": (at + 0.5) / scale - 0.5, "asymmetric": at / scale,
              "align_corners": at * (before - 1) / max(after - 1, 1),
              "pytorch_half_pixel": (at + 0.5) / scale - 0.5 if after > 1 else at * 0.0,
              "half_pixel_symmetric": before / 2 * (1 - after / (before * scale)) + (at + 0.5) / scale - 0.5}[coord]
        if mode == "nearest":
            index = {"floor": np.floor(at), "ceil": np.ceil(at), "round_prefer_floor": np.ceil(at - 0.5),
                     "round_prefer_ceil": np.floor(at + 0.5)}[near]
            y = y.take(np.clip(index, 0, before - 1).astype(int), axis)
        else:
            at = np.clip(at, 0, before - 1)
            low = np.floor(at).astype(int)
            part = (at - low).reshape([-1 if a == axis else 1 for a in range(4)])
            y = y.take(low, axis) * (1 - part) + y.take(np.minimum(low + 1, before - 1), axis) * part
    return y + t["r"].reshape(y.shape) if p.flag("residual") else y


def reduce(p, t):
    by = {"mean": np.mean, "sum": np.sum, "max": np.max, "min": np.min}[p.text("op")]
    return by(t["src"].reshape(p.extents("shape")), tuple(p.numbers("axes", "-")), keepdims=True)


def transpose(p, t):
    return t["src"].reshape(p.extents("shape")).transpose(p.numbers("perm", "-"))


def concat(p, t):
    parts = [t[key].reshape(p.extents("shape_" + key)) for key in "abcd" if "shape_" + key in p]
    return np.concatenate(parts, p.int("axis"))


def slice_(p, t):
    shape, counts = p.extents("shape"), p.extents("count")
    steps = p.numbers("step", ",") if "step" in p else [1] * len(shape)
    x = t["src"].reshape(shape)
    for axis, (start, count, step) in enumerate(zip(p.numbers("start", ","), counts, steps)):
        x = x.take(start + step * np.arange(count), axis)
    return x


def pad(p, t):
    mode = p.text("mode", "constant")
    sides = list(zip(p.numbers("before", ","), p.numbers("after", ",")))
    more = {"constant_values": p.float("value")} if mode == "constant" else {}
    return np.pad(t["src"].reshape(p.extents("shape")), sides, mode, **more)


def gather(p, t):
    return t["src"].reshape(p.extents("shape")).take(t["index"].reshape(p.int("count")), p.int("axis"))


OPS = {f.__name__.rstrip("_"): f for f in (
    conv2d, conv_transpose, dense, batch_matmul, attention, softmax, layer_norm, unary, binary, scale_shift, pool2d, lrn,
    resize, reduce, transpose, concat, slice_, pad, gather)}


class Workload:
    def __init__(self, folder: str) -> None:
        self.folder = folder
        with open(os.path.join(folder, "workload.json"), encoding="utf-8") as text:
            self.json = json.load(text)
        self.entries = self.json["tensors"]
        self.values: dict[str, np.ndarray] = {}

    def load(self, name: str, what: str) -> np.ndarray:
        values = np.load(os.path.join(self.folder, self.entries[name][what]["file"]))
        assert list(values.shape) == self.entries[name]["shape"], name
        assert str(values.dtype) == {"f32": "float32", "i32": "int32"}[self.entries[name]["dtype"]], name
        return values

    def value(self, name: str) -> np.ndarray:
        if name in self.values:
            return self.values[name]
        entry = self.entries[name]
        if "values" in entry:
            values = self.load(name, "values")
            self.values[name] = values.astype(np.float64) if values.dtype.kind == "f" else values
        elif "view_of" in entry:
            assert "view_of" not in self.entries[entry["view_of"]], name
            count, first = math.prod(entry["shape"]), entry.get("first", 0)
            held = self.value(entry["view_of"]).reshape(-1)
            assert first + count <= held.size, name
            return held[first:first + count].reshape(entry["shape"])
        elif "parts" in entry:
            return np.concatenate([self.value(p).reshape(-1) for p in entry["parts"]]).reshape(entry["shape"])
        return self.values[name]

    def run(self) -> None:
        """Chained from the inputs; nodes may stand in any order."""
        made = {name for node in self.json["nodes"] for name in node["outputs"].values()}
        waiting = list(self.json["nodes"])
        while waiting:
            later = []
            for node in waiting:
                if all(self._ready(name, made) for name in node["inputs"].values()):
                    self._run_node(node)
                else:
                    later.append(node)
            assert len(later) < len(waiting), "no node can run"
            waiting = later

    def _ready(self, name: str, made: set[str]) -> bool:
        entry = self.entries.get(name, {})
        held = [entry["view_of"]] if "view_of" in entry else entry.get("parts", [])
        return all(self._ready(h, made) for h in held) if held else name in self.values or "values" in entry

    def _run_node(self, node: dict) -> None:
        p = Words(node["problem"])
        values = OPS[p.op](p, {key: self.value(name) for key, name in node["inputs"].items()})
        unknown = set(p) - p.used
        assert not unknown, f"{node['problem']}: {unknown}"
        (name,) = node["outputs"].values()
        shape = self.entries[name]["shape"]
        assert "values" not in self.entries[name] and "view_of" not in self.entries[name]
        assert math.prod(shape) == values.size, f"{node['problem']} makes {values.shape}, {name} is {shape}"
        self.values[name] = np.ascontiguousarray(values).reshape(shape)

    def largest(self) -> float:
        """Of all recorded numbers."""
        return max(float(np.abs(self.load(name, "recorded")).max()) for name, e in self.entries.items() if "recorded" in e)

    def worst(self) -> tuple[float, str, int]:
        """The largest rms error over its bound of 1e-4 of the tensor's rms and 1e-6; where; of how many tensors."""
        worst, where, count = 0.0, "", 0
        for name, entry in self.entries.items():
            if "recorded" in entry:
                right = self.load(name, "recorded").astype(np.float64)
                error = np.sqrt(np.mean((self.value(name) - right) ** 2))
                over = error / (1e-4 * np.sqrt(np.mean(right**2)) + 1e-6)
                count += 1
                if not over <= worst:
                    worst, where = float(over), name
        return worst, where, count
