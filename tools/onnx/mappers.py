# SPDX-License-Identifier: MIT
"""How each node of the rewritten graph is said as a problem line of clam."""
import math
from itertools import groupby

import numpy as np

import geometry
from emit import Emitter, Node
from patterns import mask_kind
from problems import Unsupported


def act_fields(node: Node) -> dict:
    """Of act(...) * scale + shift within another op; alpha and beta are the least and the most of clip."""
    scale, shift = node.attr("act_scale", 1.0), node.attr("act_shift", 0.0)
    act = zip(("act", "act_alpha", "act_beta"), node.attr("act", ()))
    return {**dict(act), "act_scale": scale if scale != 1 else None, "act_shift": shift or None}


# ---- convolutions and products

def folded_weights(e: Emitter, node: Node, axis: int) -> str:
    """The weights with the factor by output channel, multiplied in double and rounded once."""
    name = node.attrs["weights"]
    values, scale = e.graph.consts[name], node.attrs["scale"]
    if (scale == 1).all():
        return e.read(name)
    if axis == 1 and node.op == "ConvTranspose":  # [c, k / groups, r, s]
        groups = node.attr("group", 1)
        grouped = values.reshape(groups, -1, *values.shape[1:])
        by = scale.reshape(groups, 1, -1, *[1] * (values.ndim - 2))
        return e.weights(node.output + ".w", (grouped * by).reshape(values.shape).astype(np.float32))
    by = scale.reshape([-1 if a == axis else 1 for a in range(values.ndim)])
    return e.weights(node.output + ".w", (values * by).astype(np.float32))


def added(e: Emitter, node: Node, made: tuple[int, ...]) -> dict[str, str]:
    """The bias by channel, and the residual, where the node has them."""
    inputs = {}
    if node.op.startswith("Free") and node.input(2):
        inputs["b"] = e.read(node.inputs[2], (made[1],))
    elif np.any(node.attr("shift")):
        inputs["b"] = e.weights(node.output + ".b", node.attrs["shift"].astype(np.float32))
    if "residual" in node.attrs:
        inputs["r"] = e.read(node.attrs["residual"], made)
    return inputs


def conv(e: Emitter, node: Node) -> None:
    """A convolution, or a transposed one; `free` where its weights change."""
    free, transposed = node.op.startswith("Free"), node.op.endswith("ConvTranspose")
    shape = e.graph.shape(node.inputs[1] if free else node.attrs["weights"])
    n, c, h, w = geometry.planes(e.graph.shape(node.inputs[0]))
    made = geometry.planes(e.graph.shape(node.output))
    found = geometry.window(e.graph, node, list(shape[2:]))
    weights = e.read(node.inputs[1]) if free else folded_weights(e, node, int(transposed))
    inputs = {"x": e.read(node.inputs[0], (n, c, h, w)), "w": e.read(weights, (*shape[:2], found["r"], found["s"])),
              **added(e, node, made)}
    e.launch(node, "conv_transpose" if transposed else "conv2d", inputs, {"y": (node.output, made)}, n=n, c=c, h=h, w=w,
             k=made[1], **geometry.fields(found), groups=node.attr("group", 1), bias="b" in inputs,
             residual="r" in inputs, **act_fields(node))


def dense(e: Emitter, node: Node) -> None:
    shape, made = e.graph.shape(node.inputs[0]), e.graph.shape(node.output)
    m, n, k = math.prod(shape[:-1]), node.attrs["channels"], shape[-1]
    turned = node.attrs["turned"]
    inputs = {"x": e.read(node.inputs[0], (m, k)), "w": folded_weights(e, node, 0 if turned else 1),
              **added(e, node, (m, n))}
    e.launch(node, "dense", inputs, {"y": (node.output, made if len(made) == 2 else (m, n))}, m=m, n=n, k=k,
             trans_w=int(turned), bias="b" in inputs, residual="r" in inputs, **act_fields(node))


def _matrix(e: Emitter, name: str, rows: int, columns: int, batch: int) -> tuple[str, dict, int] | None:
    """An operand of batch_matmul where it lies: its tensor, its stride fields, and whether it is turned."""
    if e.graph.const(name) is not None:
        return None
    base, first, shape, strides = e.lies(name)
    outer = [(x, s) for x, s in zip(shape[:-2], strides[:-2]) if x != 1]
    for (_, step), (inner, small) in zip(outer, outer[1:]):
        if step != inner * small:
            return None
    by_row, by_column = strides[-2:]
    turned = int(by_column != 1 and columns > 1)
    if min(strides) < 0 or (turned and by_row != 1 and rows > 1):
        return None
    step = max(by_column if turned else by_row, rows if turned else columns)
    stride = outer[-1][1] if outer else 0
    own = step * (columns if turned else rows)
    fields = {"ld": step if step != (rows if turned else columns) else None,
              "stride": stride if batch > 1 and stride != own else None, "off": first or None}
    return base, fields, turned


def batch_matmul(e: Emitter, node: Node) -> None:
    """Of a MatMul, or of a Gemm whose both sides change or whose left is turned."""
    if node.input(2):
        raise Unsupported("beta is not 1, and C changes")
    turns = [int(node.attr(name, 0)) for name in ("transA", "transB")]
    left, right = (e.graph.shape(i)[::-1] if turned else e.graph.shape(i) for i, turned in zip(node.inputs, turns))
    left, right = ((1, *left) if len(left) == 1 else left), ((*right, 1) if len(right) == 1 else right)
    made = e.graph.shape(node.output)
    m, k, n = left[-2], left[-1], right[-1]
    batches = [math.prod(s[:-2]) for s in (left, right)]
    if batches[1] == 1 and batches[0] > 1:
        m, batches[0] = m * batches[0], 1
    batch = max(batches)
    padded = [(1,) * (max(len(left), len(right)) - len(s)) + s[:-2] for s in (left, right)]
    if 1 not in batches and padded[0] != padded[1]:
        raise Unsupported("matrices of one operand are repeated along some axes only")
    order = "ta tb scale act act_alpha act_beta batch_a batch_b lda ldb stridea strideb offa offb"
    inputs, fields = {}, dict.fromkeys(order.split())
    fields.update(scale=float(node.attr("scale", node.attr("alpha", 1.0))), **act_fields(node))
    for key, name, turned, rows, columns, own in zip("ab", node.inputs, turns, (m, k), (k, n), batches):
        lies = node.op == "MatMul" and len(e.graph.shape(name)) > 1 and m == left[-2]
        base, said, turned = (_matrix(e, name, rows, columns, own) if lies else None) or (name, {}, turned)
        plain = (own, columns, rows) if turned else (own, rows, columns)
        inputs[key] = flat(e, base) if any(said.values()) else e.read(base, plain)
        fields.update({field + key: value for field, value in said.items()})
        fields.update({"t" + key: turned or None, "batch_" + key: 1 if own == 1 and batch > 1 else None})
    own = len(made) == 3 and m == left[-2]
    e.launch(node, "batch_matmul", inputs, {"c": (node.output, made if own else (batch, m, n))}, batch=batch, m=m, n=n,
             k=k, **fields)


def flat(e: Emitter, name: str) -> str:
    """In one row: then any stride is of whole rows."""
    return e.read(name, (math.prod(e.tensors[name].shape),))


def attention(e: Emitter, node: Node) -> None:
    shapes = [e.graph.shape(i) for i in node.inputs[:3]]
    q, _, v = ((1,) * (4 - len(s)) + s for s in shapes)
    batch, heads, nq, d = q
    nk, dv = v[2], v[3]
    inputs, fields = {}, dict.fromkeys(f + key for f in ("ld", "head", "stride", "off") for key in "qkvo")
    for key, name, (rows, columns) in zip("qkv", node.inputs, ((nq, d), (nk, d), (nk, dv))):
        at = _heads(e, name, key == "k")
        if at is None:
            at = _turned_key(e, node, name, (batch, heads, d, nk)) if key == "k" else (
                e.read(name), 0, (heads * rows * columns, rows * columns, columns))
        base, first, (by_batch, by_head, by_row) = at
        said = {"ld": by_row if by_row != columns and rows > 1 else None,
                "head": by_head if heads > 1 and by_head != rows * by_row else None,
                "stride": by_batch if batch > 1 and by_batch != heads * by_head else None, "off": first or None}
        inputs[key] = flat(e, base) if any(said.values()) else e.read(base, (batch, heads, rows, columns))
        fields.update({f + key: value for f, value in said.items()})
    mask = _mask(e, node, inputs, (batch, heads, nq, nk)) if node.attrs["masked"] else None
    out, shape = node.output, (batch, heads, nq, dv)
    if node.attr("turned") and heads > 1:
        fields.update(ldo=heads * dv, heado=dv, strideo=nq * heads * dv if batch > 1 else None)
        shape = e.graph.shape(out)
    scale = node.attrs["scale"]
    usual = abs(scale * math.sqrt(d) - 1) < 1e-7
    e.launch(node, "attention", inputs, {"o": (out, shape)}, batch=batch, heads=heads, nq=nq, nk=nk, d=d,
             dv=dv if dv != d else None, scale=None if usual else scale, mask=mask, **fields)


def _heads(e: Emitter, name: str, turned: bool) -> tuple[str, int, tuple[int, int, int]] | None:
    """Where q, k or v lies, if its rows are in one piece: the tensor, the first element, strides."""
    if e.graph.const(name) is not None:
        return None
    base, first, shape, own = e.lies(name)
    strides = (0,) * (4 - len(shape)) + own
    extents = (1,) * (4 - len(shape)) + shape
    row, column = (3, 2) if turned else (2, 3)
    if min(strides) < 0 or (strides[column] != 1 and extents[column] > 1):
        return None
    if extents[row] > 1 and strides[row] < extents[column]:
        return None
    return base, first, (strides[0], strides[1], strides[row])


def _turned_key(e: Emitter, node: Node, name: str, shape: tuple[int, ...]) -> tuple[str, int, tuple[int, int, int]]:
    batch, heads, d, nk = shape
    made = e.graph.new_tensor(name + ".turned", (batch * heads, nk, d))
    inner = Node("Transpose", [name], [made], {}, list(node.sources), node.main)
    shape = batch * heads, d, nk
    e.launch(inner, "transpose", {"src": e.read(name, shape)}, {"dst": (made, (batch * heads, nk, d))}, last=False,
             shape=shape, perm=[0, 2, 1])
    return made, 0, (heads * nk * d, nk * d, d)


def _mask(e: Emitter, node: Node, inputs: dict[str, str], scores: tuple[int, ...]) -> str:
    name = node.inputs[3]
    batch, heads, nq, nk = scores
    own = scores[4 - len(e.graph.shape(node.inputs[0])):]
    kind = mask_kind(e.graph, name, own)
    shape, part = {"qk": ((nq, nk), (0, 0)), "bqk": ((batch, nq, nk), np.s_[:, 0]), "bhqk": (scores, ...)}[kind]
    value = e.graph.const(name)
    if value is None:
        inputs["mask"] = e.read(name, shape)
    else:
        wide = np.broadcast_to(value, own).reshape(scores)[part]
        inputs["mask"] = e.weights(node.output + ".mask", np.ascontiguousarray(wide, np.float32))
    return kind


# ---- rows, norms, elementwise

def layer_norm(e: Emitter, node: Node) -> None:
    n = node.attrs["n"]
    rows = math.prod(e.graph.shape(node.inputs[0])) // n
    inputs = {"src": e.read(node.inputs[0], (rows, n)),
              "gamma": e.weights(node.output + ".gamma", node.attrs["scale"].astype(np.float32)),
              "beta": e.weights(node.output + ".beta", node.attrs["shift"].astype(np.float32))}
    e.launch(node, "layer_norm", inputs, {"dst": (node.output, (rows, n))}, rows=rows, n=n,
             eps=float(np.float32(node.attrs["eps"])), **act_fields(node))


def softmax(e: Emitter, node: Node) -> None:
    shape, old = e.graph.shape(node.inputs[0]), e.graph.opset < 13
    axis = node.attr("axis", 1 if old else -1) % len(shape)
    n, inner = (math.prod(shape[axis:]), 1) if old else (shape[axis], math.prod(shape[axis + 1:]))
    used, at = shape, axis
    if len(shape) > 4 or n != shape[axis]:
        used, at = (math.prod(shape[:axis]), n, *([inner] if inner != 1 else [])), 1
    e.map(node, "softmax", used, shape=used, axis=at if at != len(used) - 1 else None,
          log=int(node.op == "LogSoftmax"), scale=float(node.attr("scale", 1.0)))


def unary(e: Emitter, node: Node) -> None:
    shape, (op, *numbers) = geometry.squeezed(e.graph.shape(node.output)), node.attrs["act"]
    e.map(node, "unary", shape, op=op, shape=shape, **dict(zip(("alpha", "beta"), numbers)),
          scale=float(node.attr("scale", 1.0)), shift=float(node.attr("shift", 0.0)))


def affine(e: Emitter, node: Node) -> None:
    shape, axis = e.graph.shape(node.output), node.attrs["axis"]
    if axis is None:
        used, at = (1, math.prod(shape)), 0
    elif len(shape) <= 4:
        used, at = shape, axis
    else:
        used, at = (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1:])), 1
    scale, shift = (np.broadcast_to(node.attrs[key], (used[at],)).astype(np.float32) for key in ("scale", "shift"))
    inputs = {"src": e.read(node.inputs[0], used), "scale": e.weights(node.output + ".scale", scale),
              "shift": e.weights(node.output + ".shift", shift)}
    e.launch(node, "scale_shift", inputs, {"dst": (node.output, used)}, shape=used, axis=at, **act_fields(node))


def binary(e: Emitter, node: Node) -> None:
    made = e.graph.shape(node.output)
    a, b = (e.graph.shape(i) for i in node.inputs)
    if a == b:
        a = b = made = geometry.squeezed(made)
    elif len(made) > 4:
        made, (a, b) = _together([(1,) * (len(made) - len(s)) + s for s in (a, b)])
        if len(made) > 4:
            raise Unsupported(f"operands of {len(made)} axes that are not alike")
    a, b = a or (1,), b or (1,)
    inputs = {"a": e.read(node.inputs[0], a), "b": e.read(node.inputs[1], b)}
    e.launch(node, "binary", inputs, {"c": (node.output, made or (1,))}, op=node.op.lower(), shape=a,
             shape_b=b if a != b else None)


def _together(shapes: list[tuple[int, ...]]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The operands with neighbouring axes as one, where both have them or the same one lacks them."""
    pairs = [pair for pair in zip(*shapes) if pair != (1, 1)]
    runs = [[*run] for _, run in groupby(pairs, lambda pair: (pair[0] == 1, pair[1] == 1))]
    merged = [tuple(math.prod(pair[at] for pair in run) for run in runs) for at in (0, 1)]
    return tuple(map(max, *merged)), merged
