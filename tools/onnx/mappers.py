# SPDX-License-Identifier: MIT
"""How each node of the rewritten graph is said as a problem line of clam."""
import math
from itertools import groupby

import numpy as np

import geometry
import spell
from emit import Emitter, Node
from patterns import mask_kind
from problems import Unsupported


def need_float(e: Emitter, node: Node, operands: int = 1) -> None:
    for name in (node.output, *filter(None, node.inputs[:operands])):
        if e.integer(name):
            raise Unsupported(f"'{name}' holds whole numbers; clam computes with f32 and f16")


def act_fields(node: Node) -> dict:
    return spell.fused_act(node.attr("act"), node.attr("act_scale", 1.0), node.attr("act_shift", 0.0))


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


def folded_bias(e: Emitter, node: Node) -> dict[str, str]:
    shift = node.attrs["shift"]
    if not shift.any():
        return {}
    return {"b": e.weights(node.output + ".b", shift.astype(np.float32))}


def conv(e: Emitter, node: Node) -> None:
    """A convolution, or a transposed one; `free` where its weights change."""
    need_float(e, node)
    free, transposed = node.op.startswith("Free"), node.op.endswith("ConvTranspose")
    shape = e.graph.shape(node.inputs[1] if free else node.attrs["weights"])
    n, c, h, w = geometry.planes(e.graph.shape(node.inputs[0]))
    made = geometry.planes(e.graph.shape(node.output))
    groups, more = node.attr("group", 1), [0, 0]
    if transposed:
        found, more = geometry.transposed(e.graph, node, list(shape[2:]))
    else:
        found = geometry.window(e.graph, node, list(shape[2:]))
    weights = e.read(node.inputs[1]) if free else folded_weights(e, node, int(transposed))
    inputs = {"x": e.read(node.inputs[0], (n, c, h, w)), "w": e.read(weights, (*shape[:2], found["r"], found["s"]))}
    if not free:
        inputs.update(folded_bias(e, node))
    elif len(node.inputs) > 2 and node.inputs[2]:
        inputs["b"] = e.read(node.inputs[2], (made[1],))
    if "residual" in node.attrs:
        inputs["r"] = e.read(node.attrs["residual"], made)
    out = {"out_pad_h": more[0], "out_pad_w": more[1]} if more[0] != more[1] else {"out_pad": more[0] or None}
    problem = spell.problem("conv_transpose" if transposed else "conv2d", n=n, c=c, h=h, w=w, k=made[1],
                            **geometry.sizes(found), **geometry.fields(found), **out, groups=groups,
                            bias="b" in inputs, residual="r" in inputs, **act_fields(node))
    e.launch(node, problem, inputs, {"y": (node.output, made)})


def dense(e: Emitter, node: Node) -> None:
    need_float(e, node, 2)
    shape, made = e.graph.shape(node.inputs[0]), e.graph.shape(node.output)
    if node.op == "Gemm":
        _free_gemm(e, node)
        return
    n, k = node.attrs["channels"], shape[-1]
    m = int(np.prod(shape[:-1], dtype=np.int64))
    turned = node.attrs["turned"]
    inputs = {"x": e.read(node.inputs[0], (m, k)), "w": folded_weights(e, node, 0 if turned else 1),
              **folded_bias(e, node)}
    if "residual" in node.attrs:
        inputs["r"] = e.read(node.attrs["residual"], (m, n))
    problem = spell.problem("dense", m=m, n=n, k=k, trans_w=int(turned), bias="b" in inputs, residual="r" in inputs,
                            **act_fields(node))
    e.launch(node, problem, inputs, {"y": (node.output, made if len(made) == 2 else (m, n))})


def _free_gemm(e: Emitter, node: Node) -> None:
    """Both sides change, or the left is turned: a product of matrices."""
    if len(node.inputs) > 2 and node.inputs[2]:
        raise Unsupported("beta is not 1, and C changes")
    m, n = e.graph.shape(node.output)
    ta, tb = int(node.attr("transA", 0)), int(node.attr("transB", 0))
    k = e.graph.shape(node.inputs[0])[0 if ta else 1]
    problem = spell.problem("batch_matmul", m=m, n=n, k=k, ta=ta or None, tb=tb or None,
                            scale=float(node.attr("alpha", 1.0)))
    a, b = ((1, k, m) if ta else (1, m, k)), ((1, n, k) if tb else (1, k, n))
    e.launch(node, problem, {"a": e.read(node.inputs[0], a), "b": e.read(node.inputs[1], b)},
             {"c": (node.output, (1, m, n))})


def _matrix(e: Emitter, name: str, rows: int, columns: int, batch: int) -> tuple[str, dict, int] | None:
    """An operand of batch_matmul where it lies: its tensor, its stride fields, and whether it is turned."""
    if e.graph.const(name) is not None:
        return None
    at = e.lies(name)
    outer = [(x, s) for x, s in zip(at.shape[:-2], at.strides[:-2]) if x != 1]
    for (_, step), (inner, small) in zip(outer, outer[1:]):
        if step != inner * small:
            return None
    by_row, by_column = at.strides[-2:]
    turned = int(by_column != 1 and columns > 1)
    if min(at.strides) < 0 or (turned and by_row != 1 and rows > 1):
        return None
    step = max(by_column if turned else by_row, rows if turned else columns)
    stride = outer[-1][1] if outer else 0
    own = step * (columns if turned else rows)
    fields = {"ld": step if step != (rows if turned else columns) else None,
              "stride": stride if batch > 1 and stride != own else None, "off": at.first or None}
    return at.base, fields, turned


def batch_matmul(e: Emitter, node: Node) -> None:
    need_float(e, node, 2)
    left, right = (e.graph.shape(i) for i in node.inputs)
    if len(left) == 1 or len(right) == 1:
        left, right = ((1, *left) if len(left) == 1 else left), ((*right, 1) if len(right) == 1 else right)
    made = e.graph.shape(node.output)
    m, k, n = left[-2], left[-1], right[-1]
    batches = [int(np.prod(s[:-2], dtype=np.int64)) for s in (left, right)]
    if batches[1] == 1 and batches[0] > 1:
        m, batches[0] = m * batches[0], 1
    batch = max(batches)
    padded = [(1,) * (max(len(left), len(right)) - len(s)) + s[:-2] for s in (left, right)]
    if 1 not in batches and padded[0] != padded[1]:
        raise Unsupported("matrices of one operand are repeated along some axes only")
    inputs, fields = {}, {}
    for key, name, rows, columns, own in (("a", node.inputs[0], m, k, batches[0]),
                                          ("b", node.inputs[1], k, n, batches[1])):
        at = _matrix(e, name, rows, columns, own) if len(e.graph.shape(name)) > 1 and m == left[-2] else None
        fields["batch_" + key] = 1 if own == 1 and batch > 1 else None
        plain = at is None or not any(at[1].values())
        turned = at[2] if at else 0
        if at is None:
            inputs[key] = e.read(name, (own, rows, columns))
        elif plain:
            inputs[key] = e.read(at[0], (own, columns, rows) if turned else (own, rows, columns))
        else:
            inputs[key] = flat(e, at[0])
            fields.update({f"{field}{key}": value for field, value in at[1].items()})
        fields["t" + key] = turned or None
    order = ("ta", "tb", "scale", "act", *spell.ACT_FIELDS, "batch_a", "batch_b", "lda", "ldb", "stridea", "strideb",
             "offa", "offb")
    fields.update(scale=float(node.attr("scale", 1.0)), **spell.fused_act(node.attr("act")))
    problem = spell.problem("batch_matmul", batch=batch, m=m, n=n, k=k, **{f: fields.get(f) for f in order})
    own = len(made) == 3 and m == left[-2]
    e.launch(node, problem, inputs, {"c": (node.output, made if own else (batch, m, n))})


def flat(e: Emitter, name: str) -> str:
    """In one row: then any stride is of whole rows."""
    return e.read(name, (int(np.prod(e.tensors[name].shape, dtype=np.int64)),))


def attention(e: Emitter, node: Node) -> None:
    need_float(e, node, 4)
    shapes = [e.graph.shape(i) for i in node.inputs[:3]]
    q, k, v = ((1,) * (4 - len(s)) + s for s in shapes)
    batch, heads, nq, d = q
    nk, dv = v[2], v[3]
    inputs, fields = {}, {}
    for key, name, (rows, columns) in zip("qkv", node.inputs, ((nq, d), (nk, d), (nk, dv))):
        at = _heads(e, name, key == "k")
        if at is None:
            at = _turned_key(e, node, name, (batch, heads, d, nk)) if key == "k" else (
                e.read(name), 0, (heads * rows * columns, rows * columns, columns))
        base, first, (by_batch, by_head, by_row) = at
        said = {"ld": by_row if by_row != columns and rows > 1 else None,
                "head": by_head if heads > 1 and by_head != rows * by_row else None,
                "stride": by_batch if batch > 1 and by_batch != heads * by_head else None, "off": first or None}
        strided = any(said.values())
        inputs[key] = flat(e, base) if strided else e.read(base, (batch, heads, rows, columns))
        fields.update({f + key: value for f, value in said.items()})
    mask = _mask(e, node, inputs, (batch, heads, nq, nk)) if node.attrs["masked"] else None
    out, shape = node.output, (batch, heads, nq, dv)
    if node.attr("turned") and heads > 1:
        fields.update(ldo=heads * dv, heado=dv, strideo=nq * heads * dv if batch > 1 else None)
        shape = e.graph.shape(out)
    scale = node.attrs["scale"]
    order = [f + key for f in ("ld", "head", "stride", "off") for key in "qkvo"]
    problem = spell.problem("attention", batch=batch, heads=heads, nq=nq, nk=nk, d=d, dv=dv if dv != d else None,
                            scale=None if abs(scale * math.sqrt(d) - 1) < 1e-7 else scale, mask=mask,
                            **{f: fields.get(f) for f in order})
    e.launch(node, problem, inputs, {"o": (out, shape)})


def _heads(e: Emitter, name: str, turned: bool) -> tuple[str, int, tuple[int, int, int]] | None:
    """Where q, k or v lies, if its rows are in one piece: the tensor, the first element, strides."""
    if e.graph.const(name) is not None:
        return None
    at = e.lies(name)
    strides = (0,) * (4 - len(at.shape)) + at.strides
    extents = (1,) * (4 - len(at.shape)) + at.shape
    row, column = (3, 2) if turned else (2, 3)
    if min(strides) < 0 or (strides[column] != 1 and extents[column] > 1):
        return None
    if extents[row] > 1 and strides[row] < extents[column]:
        return None
    return at.base, at.first, (strides[0], strides[1], strides[row])


def _turned_key(e: Emitter, node: Node, name: str, shape: tuple[int, ...]) -> tuple[str, int, tuple[int, int, int]]:
    batch, heads, d, nk = shape
    made = e.graph.new_tensor(name + ".turned", (batch * heads, nk, d))
    inner = Node("Transpose", [name], [made], {}, list(node.sources), node.main)
    problem = spell.problem("transpose", shape=spell.extents((batch * heads, d, nk)), perm="0-2-1")
    e.launch(inner, problem, {"src": e.read(name, (batch * heads, d, nk))},
             {"dst": (made, (batch * heads, nk, d))}, last=False)
    return made, 0, (heads * nk * d, nk * d, d)


def _mask(e: Emitter, node: Node, inputs: dict[str, str], scores: tuple[int, ...]) -> str:
    name = node.inputs[3]
    batch, heads, nq, nk = scores
    own = scores[4 - len(e.graph.shape(node.inputs[0])):]
    kind = mask_kind(e.graph, name, own)
    shape = {"qk": (nq, nk), "bqk": (batch, nq, nk), "bhqk": scores}[kind]
    value = e.graph.const(name)
    if value is None:
        inputs["mask"] = e.read(name, shape)
    else:
        wide = np.broadcast_to(value, own).reshape(scores)
        wide = {"qk": wide[0, 0], "bqk": wide[:, 0], "bhqk": wide}[kind]
        inputs["mask"] = e.weights(node.output + ".mask", np.ascontiguousarray(wide, np.float32))
    return kind


# ---- rows, norms, elementwise

def layer_norm(e: Emitter, node: Node) -> None:
    need_float(e, node)
    shape, n = e.graph.shape(node.inputs[0]), node.attrs["n"]
    rows = int(np.prod(shape, dtype=np.int64)) // n
    inputs = {"src": e.read(node.inputs[0], (rows, n)),
              "gamma": e.weights(node.output + ".gamma", node.attrs["scale"].astype(np.float32)),
              "beta": e.weights(node.output + ".beta", node.attrs["shift"].astype(np.float32))}
    problem = spell.problem("layer_norm", rows=rows, n=n, eps=float(np.float32(node.attrs["eps"])), **act_fields(node))
    e.launch(node, problem, inputs, {"dst": (node.output, (rows, n))})


def softmax(e: Emitter, node: Node) -> None:
    need_float(e, node)
    shape = e.graph.shape(node.inputs[0])
    if e.graph.opset >= 13:
        axis = node.attr("axis", -1) % len(shape)
        outer, n, inner = (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1:]))
    else:
        axis = node.attr("axis", 1) % len(shape)
        outer, n, inner = math.prod(shape[:axis]), math.prod(shape[axis:]), 1
    own = len(shape) <= 4 and n == shape[axis]
    used = shape if own else (outer, n) if inner == 1 else (outer, n, inner)
    last = math.prod(shape[axis + 1:]) == 1 and axis == len(shape) - 1 if own else inner == 1
    problem = spell.problem("softmax", shape=spell.extents(used), axis=None if last else axis if own else 1,
                            log=1 if node.op == "LogSoftmax" else None, scale=float(node.attr("scale", 1.0)))
    e.launch(node, problem, {"src": e.read(node.inputs[0], used)}, {"dst": (node.output, used)})


def unary(e: Emitter, node: Node) -> None:
    need_float(e, node)
    shape = geometry.squeezed(e.graph.shape(node.output))
    problem = spell.problem("unary", **{"op": "", "shape": spell.extents(shape), **spell.unary_act(node.attrs["act"])},
                            scale=float(node.attr("scale", 1.0)), shift=float(node.attr("shift", 0.0)))
    e.launch(node, problem, {"src": e.read(node.inputs[0], shape)}, {"dst": (node.output, shape)})


def affine(e: Emitter, node: Node) -> None:
    need_float(e, node)
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
    problem = spell.problem("scale_shift", shape=spell.extents(used), axis=at, **act_fields(node))
    e.launch(node, problem, inputs, {"dst": (node.output, used)})


def binary(e: Emitter, node: Node) -> None:
    need_float(e, node, 2)
    made = e.graph.shape(node.output)
    a, b = (e.graph.shape(i) for i in node.inputs)
    if a == b:
        a = b = made = geometry.squeezed(made)
    elif len(made) > 4:
        made, (a, b) = _together([(1,) * (len(made) - len(s)) + s for s in (a, b)])
        if len(made) > 4:
            raise Unsupported(f"operands of {len(made)} axes that are not alike")
    a, b = a or (1,), b or (1,)
    problem = spell.problem("binary", op=node.op.lower(), shape=spell.extents(a),
                            shape_b=spell.extents(b) if a != b else None)
    e.launch(node, problem, {"a": e.read(node.inputs[0], a), "b": e.read(node.inputs[1], b)},
             {"c": (node.output, made or (1,))})


def _together(shapes: list[tuple[int, ...]]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The operands with neighbouring axes as one, where both have them or the same one lacks them."""
    pairs = [pair for pair in zip(*shapes) if pair != (1, 1)]
    runs = [[*run] for _, run in groupby(pairs, lambda pair: (pair[0] == 1, pair[1] == 1))]
    merged = [tuple(math.prod(pair[at] for pair in run) for run in runs) for at in (0, 1)]
    return tuple(map(max, *merged)), merged
