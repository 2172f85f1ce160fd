# SPDX-License-Identifier: MIT
"""drop_in.py MANIFEST PLANS KERNELS: a foreign host of clam's kernels, with none of clam's code. It runs every plan of a
folder (`clam plan --json`) by the .cl files of another, holds the outputs against numpy, and fails when a kernel of the
manifest (`clam manifest`) is launched by no plan."""
import json, math, pathlib, sys, numpy as np, pyopencl as cl

DTYPES, random, programs = {"f32": np.float32, "i32": np.int32}, np.random.default_rng(1), {}

def tensor(spec):
    """The tensor and the buffer that it lies in, whose gaps hold NaN or -7, which no result may show."""
    shape, dtype, first = spec["shape"], np.dtype(DTYPES[spec["dtype"]]), spec.get("offset", 0)
    strides = spec.get("strides") or [math.prod(shape[axis + 1:]) for axis in range(len(shape))]
    buffer = np.full(first + np.dot(np.array(shape) - 1, strides) + 1, -7 if dtype == np.int32 else np.nan, dtype)
    return np.lib.stride_tricks.as_strided(buffer[first:], shape, np.array(strides) * dtype.itemsize), buffer

def run(plan, kernels, queue, inputs, launched):
    tensors, buffers = {}, {}  # by name
    for spec in plan["tensors"]:
        name, (view, buffer), flags = spec["name"], tensor(spec), cl.mem_flags.COPY_HOST_PTR
        view[...] = inputs.get(name, view)
        tensors[name], buffers[name] = (view, buffer), cl.Buffer(queue.context, flags, hostbuf=buffer)
    for spec in plan.get("buffers", []):
        buffers[spec["name"]] = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, spec["bytes"])
    forms = {"buffer": lambda name, first=0: buffers[name][first:] if first else buffers[name], "int": np.int32,
             "float": np.float32, "local_bytes": cl.LocalMemory, "none": lambda _: None}
    for launch in plan.get("pack", []) + plan["launches"]:
        key = launch["file"], launch["options"]
        if key not in programs:
            programs[key] = cl.Program(queue.context, (kernels / key[0]).read_text()).build(key[1].split())
        kernel = cl.Kernel(programs[key], launch["kernel"])
        kernel.set_args(*(next(forms[k](v, *filter(None, [arg.get("offset")])) for k, v in arg.items() if k in forms)
                          for arg in launch["args"]))
        cl.enqueue_nd_range_kernel(queue, kernel, launch["global"], launch["local"])
        launched.add(launch["kernel"])
    for name, (_, buffer) in tensors.items():
        cl.enqueue_copy(queue, buffer, buffers[name])
    return {name: view for name, (view, _) in tensors.items()}

ACTIVATIONS = {
    "none": lambda z: z, "relu": lambda z: np.maximum(z, 0), "silu": lambda z: z / (1 + np.exp(-z)),
    "gelu": lambda z: z * (1 + np.vectorize(math.erf)(z / 2**.5)) / 2}

def dense(p, x, w, b=0, r=0, x2=None):
    x = x if x2 is None else np.concatenate((x, x2), 1)
    z = p.get("alpha", 1) * x @ (w.T if p.get("trans_w", 1) else w) + b
    return {"y": ACTIVATIONS[p.get("act", "none")](z) + r}

def batch_matmul(p, a, b, mask=0):
    a, b = a.swapaxes(1, 2) if p.get("ta") else a, b.swapaxes(1, 2) if p.get("tb") else b
    return {"c": ACTIVATIONS[p.get("act", "none")](p.get("scale", 1) * a @ b + mask)}

def softmax(p, src, mask=0):
    z, axis = p.get("scale", 1) * src + mask, int(p.get("axis", -1))
    e = np.exp(z - z.max(axis, keepdims=True))
    return {"dst": (np.log if p.get("log") else np.array)(e / e.sum(axis, keepdims=True))}

def layer_norm(p, src, gamma, beta):
    z = (src - src.mean(1, keepdims=True)) / np.sqrt(src.var(1, keepdims=True) + p.get("eps", 1e-5)) * gamma + beta
    return {"dst": ACTIVATIONS[p.get("act", "none")](z)}

def lrn(p, x):
    size, c = int(p.get("size", 5)), x.shape[1]
    squares = np.pad(x**2, ((0, 0), ((size - 1) // 2, size // 2), (0, 0), (0, 0)))
    sums = sum(squares[:, i:i + c] for i in range(size))
    return {"y": x / (p.get("bias", 1) + p.get("alpha", 1e-4) / size * sums) ** p.get("beta", .75)}

UNARY = {**ACTIVATIONS, "erf": np.vectorize(math.erf), "rsqrt": lambda z: z**-.5,
         "sigmoid": lambda z: 1 / (1 + np.exp(-z)), "relu6": lambda z: np.clip(z, 0, 6)}

def unary(p, src):
    return {"dst": (UNARY.get(p["op"]) or getattr(np, p["op"]))(p.get("scale", 1) * src + p.get("shift", 0))}

BINARY = {"sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum, "min": np.minimum}

def binary(p, a, b):
    return {"c": BINARY.get(p["op"], np.add)(a, b)}

def scale_shift(p, src, scale, shift):
    scale, shift = (t.reshape([-1] + [1] * (src.ndim - 1 - int(p.get("axis", 1)))) for t in (scale, shift))
    return {"dst": ACTIVATIONS[p.get("act", "none")](src * scale + shift)}

def attention(p, q, k, v, mask=0):
    k, v = (np.repeat(t[::-1] if p.get("swap") else t, q.shape[1] // t.shape[1], 1) for t in (k, v))
    x = (p.get("scale") or q.shape[3] ** -.5) * q @ k.swapaxes(2, 3) + (mask[:, None] if np.ndim(mask) == 3 else mask)
    if p.get("causal"):
        x = np.where(np.tri(*x.shape[2:], dtype=bool), x, -np.inf)
    return {"o": softmax({}, x)["dst"] @ v}

def conv2d(p, x, w, b=0, r=0):
    turn = p.get("layout") == "nhwc"
    x, w, r = (np.moveaxis(t, -1, 1) if turn and np.ndim(t) else t for t in (x, w, r))
    (top, left, bottom, right), (down, across), (dh, dw) = (
        [int(p.get(f"{name}_{side}", p.get(name, default))) for side in sides]
        for name, sides, default in (("pad", "tlbr", 0), ("stride", "hw", 1), ("dilation", "hw", 1)))
    k, c, rows, cols = w.shape
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    x = np.lib.stride_tricks.sliding_window_view(x, (dh * (rows - 1) + 1, dw * (cols - 1) + 1), (2, 3))
    x = x[:, :, ::down, ::across, ::dh, ::dw]
    x, w = x.reshape(len(x), -1, c, *x.shape[2:]), w.reshape(int(p.get("groups", 1)), -1, c, rows, cols)
    y = np.einsum("ngchwrs,gkcrs->ngkhw", x, w).reshape(len(x), k, *x.shape[3:5])
    y = ACTIVATIONS[p.get("act", "none")](y + np.reshape(b, (-1, 1, 1))) + r
    return {"y": np.moveaxis(y, 1, -1) if turn else y}

def conv_transpose(p, x, w, b=0):
    (top, left, bottom, right), (down, across), (dh, dw), (more, wider) = (
        [int(p.get(f"{name}_{side}", p.get(name, default))) for side in sides]
        for name, sides, default in (("pad", "tlbr", 0), ("stride", "hw", 1), ("dilation", "hw", 1), ("out_pad", "hw", 0)))
    (n, c, h, width), (_, k, rows, cols), groups = x.shape, w.shape, int(p.get("groups", 1))
    products = np.einsum("ngchw,gckrs->ngkrshw", x.reshape(n, groups, -1, h, width), w.reshape(groups, -1, k, rows, cols))
    y = np.zeros((n, groups * k, (h - 1) * down + dh * (rows - 1) + 1 + more, (width - 1) * across + dw * (cols - 1) + 1 + wider))
    for r, s in np.ndindex(rows, cols):
        at = (np.s_[d * i:d * i + step * (size - 1) + 1:step]
              for d, i, step, size in ((dh, r, down, h), (dw, s, across, width)))
        y[(..., *at)] += products[:, :, :, r, s].reshape(n, -1, h, width)
    y = y[:, :, top:y.shape[2] - bottom, left:y.shape[3] - right] + np.reshape(b, (-1, 1, 1))
    return {"y": ACTIVATIONS[p.get("act", "none")](y)}

def pool2d(p, x):
    turn = p.get("layout") == "nhwc"
    x = np.moveaxis(x, -1, 1) if turn else x
    rows = int(p.get("r", 0)) or x.shape[2]
    window = rows, int(p.get("s", 0)) or (x.shape[3] if p.get("global") else rows)
    (top, left, bottom, right), (down, across) = (
        [int(p.get(f"{name}_{side}", p.get(name, default))) for side in sides]
        for name, sides, default in (("pad", "tlbr", 0), ("stride", "hw", 1)))
    def overhang(extent, before, after, taps, step):  # of ceil_mode: what the last window has beyond the pads
        last = -(-(extent + before + after - taps) // step) * step
        return max(0, last + taps - extent - before - after) if p.get("ceil_mode") and last < extent + before else 0
    beyond = overhang(x.shape[2], top, bottom, rows, down), overhang(x.shape[3], left, right, window[1], across)
    def windows(t, outside):
        t = np.pad(t, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=outside)
        t = np.pad(t, ((0, 0), (0, 0), (0, beyond[0]), (0, beyond[1])), constant_values=min(outside, 0))
        return np.lib.stride_tricks.sliding_window_view(t, window, (2, 3))[:, :, ::down, ::across]
    if p.get("mode") == "max":
        y = windows(x, -np.inf).max((4, 5))
    else:
        y = windows(x, 0).sum((4, 5)) / windows(np.ones_like(x), p.get("count_include_pad", 0)).sum((4, 5))
    return {"y": np.moveaxis(y, 1, -1) if turn else y}

def resize(p, x, r=0):
    def places(extent, outputs):  # as many as there are outputs for each of the elements
        return np.clip((np.arange(outputs) + .5) * extent / outputs - .5, 0, extent - 1)
    for axis, extent in ((2, p["oh"]), (3, p["ow"])):
        at = places(x.shape[axis], int(extent))
        if p.get("mode") != "linear":
            at = np.ceil(at - .5)
        low, f = np.floor(at).astype(int), at % 1
        f = f.reshape(-1, 1) if axis == 2 else f
        x = (1 - f) * x.take(low, axis) + f * x.take(low + 1, axis, mode="clip")
    return {"y": x + r}


def reduce(p, src):
    x, axes = src.astype(float), tuple(int(float(axis)) for axis in str(p["axes"]).split("-"))
    terms = {"l1": np.abs(x), "l2": x**2, "sum_square": x**2}.get(p["op"], x)
    merged = getattr(np, p["op"] if p["op"] in ("mean", "max", "min", "prod") else "sum")(terms, axes, keepdims=True)
    return {"dst": np.sqrt(merged) if p["op"] == "l2" else merged}


def rotary(p, src, cos, sin):
    dim = int(p.get("rotary_dim", 0)) or src.shape[-1]
    t = src[..., :dim]
    if p.get("pairing") == "halves":
        turned = np.concatenate([-t[..., dim // 2:], t[..., :dim // 2]], -1)
    else:
        turned = np.stack([-t[..., 1::2], t[..., ::2]], -1).reshape(t.shape)
    return {"dst": np.concatenate([t * cos[:, :dim] + turned * sin[:, :dim], src[..., dim:]], -1)}

def transpose(p, src):
    return {"dst": src.transpose([int(axis) for axis in str(p["perm"]).split("-")])}

def concat(p, *, a, b, **more):
    return {"dst": np.concatenate([a, b, *more.values()], int(p["axis"]))}

def gather(p, src, index):
    axis = int(p.get("axis", 0))
    return {"dst": src.take(index.astype(int), axis, mode="clip")}

def per_axis(p, name, default, axes, comma=","):
    found = [int(float(text)) for text in str(p.get(name, default)).split(comma)]
    return found * axes if len(found) == 1 else found

def slice(p, src):
    start, step = (per_axis(p, name, default, src.ndim) for name, default in (("start", 0), ("step", 1)))
    counts = per_axis(p, "count", 1, src.ndim, "x")
    return {"dst": src[np.ix_(*(first + by * np.arange(count) for first, by, count in zip(start, step, counts)))]}

def pad(p, src):
    mode, widths = p.get("mode", "constant"), zip(*(per_axis(p, name, 0, src.ndim) for name in ("before", "after")))
    return {"dst": np.pad(src, list(widths), mode, **({"constant_values": p.get("value", 0)} if mode == "constant" else {}))}

def numbers(p, name, default):
    return np.array([float(text) for text in str(p.get(name, default)).split("x")])

def decode_box(p, offsets, centre, size):
    v = numbers(p, "variances", "0.1x0.1x0.2x0.2")
    centre, half = offsets[..., :2] * v[:2] * size + centre, np.exp(offsets[..., 2:] * v[2:]) * size / 2
    return np.concatenate([centre - half, centre + half], -1)

def ssd_decode(p, cls, box, anchors):
    score = softmax({}, cls)["dst"][..., 1:].swapaxes(1, 2)
    klass = np.broadcast_to(np.arange(score.shape[1])[:, None], score.shape)
    valid, box = score > p.get("threshold", .01), decode_box(p, box, anchors[..., :2], anchors[..., 2:])
    label = np.stack([np.where(valid, klass, -1), np.where(valid, score, 0)], -1)
    box = np.broadcast_to(box[:, None], (*score.shape, 4))
    return {"data": np.concatenate([label, box], -1).reshape(len(cls), -1, 6)}

def yolo_decode(p, src):
    src = src if p.get("form") == "v5" else src.swapaxes(1, 2)
    score = src[..., 5:] if p.get("form") == "v5" else src[..., 4:]
    best = score.max(-1) * (src[..., 4] if p.get("form") == "v5" else 1)
    label = np.stack([score.argmax(-1), best], -1)
    return {"data": np.concatenate([label, to_corners(src[..., :4])], -1)}

def multibox_transform_loc(p, cls_prob, loc, anchors):
    low, high = anchors[..., :2], anchors[..., 2:]
    box = decode_box(p, loc.reshape(len(loc), -1, 4), (low + high) / 2, high - low)
    box = np.clip(box, 0, 1) if p.get("clip", 1) else box
    klass, score = cls_prob[:, 1:].argmax(1), cls_prob[:, 1:].max(1)
    valid, out = score >= p.get("threshold", .01), np.full((*score.shape, 6), -1.)
    for item, kept in enumerate(valid):
        out[item, :kept.sum()] = np.column_stack([klass[item], score[item], box[item]])[kept]
    return {"out": out, "count": valid.sum(1)}

def multibox_prior(p):
    h, w, sizes, ratios = int(p["h"]), int(p["w"]), numbers(p, "sizes", "1"), numbers(p, "ratios", "1")
    size, root = np.append(sizes, sizes[:1].repeat(len(ratios) - 1)), np.sqrt(np.append(sizes**0, ratios[1:]))
    half = np.stack([size * h / w * root, size / root], -1) / 2
    steps = [step if step > 0 else 1 / n for step, n in zip(numbers(p, "steps", "-1x-1"), (h, w))]
    y, x = (np.indices((h, w)) + numbers(p, "offsets", ".5x.5")[:, None, None]) * np.reshape(steps, (2, 1, 1))
    centre = np.stack([x, y], -1)[:, :, None]
    box = np.concatenate([centre - half, centre + half], -1).reshape(1, -1, 4)
    return {"anchors": np.clip(box, 0, 1) if p.get("clip", 0) else box}

def match_assignment(p, sim, z0, z1):
    scores = softmax({"log": 1}, sim)["dst"] + softmax({"log": 1, "axis": 0}, sim)["dst"]
    scores += -np.log1p(np.exp(-z0))[:, None] - np.log1p(np.exp(-z1))
    row, column = scores.argmax(1), scores.argmax(0)
    mutual0, mutual1 = column[row] == np.arange(len(z0)), row[column] == np.arange(len(z1))
    s0, s1 = np.where(mutual0, np.exp(scores.max(1)), 0), np.where(mutual1, np.exp(scores.max(0)), 0)
    least = p.get("threshold", .1)
    return {"scores": scores, "m0": np.where(s0 > least, row, -1), "m1": np.where(s1 > least, column, -1), "s0": s0, "s1": s1}

def get_valid_counts(p, data):
    out, indices, klass = np.full(data.shape, -1.), np.full(data.shape[:2], -1), int(p.get("id_index", 0))
    for item, rows in enumerate(data):
        valid = rows[:, int(p.get("score_index", 1))] > p.get("score_threshold", 0)
        kept, = np.where(valid & ((klass < 0) | (rows[:, klass] >= 0)))
        out[item, :len(kept)], indices[item, :len(kept)] = rows[kept], kept
    return {"count": (indices >= 0).sum(1), "out": out, "indices": indices}

def suppress(box, score, threshold, exceeds=np.greater, klass=0, least=-np.inf, best=-1, most=-1, turn=False):
    """The best rows by score, and those of their places that are kept."""
    low, high = np.sort(box.reshape(-1, 2, 2), 1).swapaxes(0, 1) if turn else (box[:, :2], box[:, 2:])
    area, kept, order = (high - low).prod(1), [], np.argsort(-score, kind="stable")
    klass, order = np.broadcast_to(klass, score.shape), order[:best] if best > 0 else order
    for place, j in enumerate(order):
        k = order[kept]
        inter = np.clip(np.minimum(high[j], high[k]) - np.maximum(low[j], low[k]), 0, None).prod(1)
        union = area[j] + area[k] - inter
        hit = exceeds(inter, threshold * np.where(union > 0, union, 1)) & (klass[k] == klass[j])
        if (score[j] > least or least == -np.inf) and not hit.any() and not 0 <= most <= len(kept):
            kept.append(place)
    return order, kept

def nms(p, data, count, indices=None):
    score, klass, first, best, most = (int(p.get(name, default)) for name, default in (
        ("score_index", 1), ("id_index", 0), ("coord_start", 2), ("top_k", -1), ("max_output_size", -1)))
    out, boxes = np.full(data.shape, -1.), np.full(data.shape[:2], -1)
    for item, rows in enumerate(data):
        rows = rows[:int(count[item])]
        order, kept = suppress(
            rows[:, first:first + 4], rows[:, score], p.get("iou_threshold", .5),
            np.greater if p.get("compare") == "gt" else np.greater_equal,
            0 if p.get("force_suppress") or klass < 0 else rows[:, klass], p.get("score_min", 0), best, most or -1, True)
        out[item, range(len(kept)) if p.get("invalid_to_bottom") else kept] = rows[order[kept]]
        boxes[item, :len(kept)] = order[kept] if indices is None else indices[item, order[kept]]
    return {"out": out, "box_indices": boxes, "box_count": (boxes >= 0).sum(1, keepdims=True)}

def to_corners(box):
    return np.concatenate([box[..., :2] - box[..., 2:] / 2, box[..., :2] + box[..., 2:] / 2], -1)

def box_nms(p, data):
    score, klass, first, best, background = (int(p.get(name, default)) for name, default in (
        ("score_index", 1), ("id_index", -1), ("coord_start", 2), ("topk", -1), ("background_id", -1)))
    out, place = np.full(data.shape, -1.), np.s_[first:first + 4]
    for item, rows in enumerate(data):
        rows = rows[rows[:, klass] != background] if klass >= 0 else rows
        corner = to_corners(rows[:, place]) if p.get("in_format") == "center" else rows[:, place]
        order, kept = suppress(corner, rows[:, score], p.get("iou_threshold", .5), best=best,
                               klass=0 if p.get("force_suppress") or klass < 0 else rows[:, klass],
                               least=p.get("valid_thresh", 0))
        low, high = corner[:, :2], corner[:, 2:]
        rows[:, place] = np.c_[(low + high) / 2, high - low] if p.get("out_format") == "center" else corner
        out[item, :len(kept)] = rows[order[kept]]
    return {"out": out}

def onnx_nms(p, boxes, scores):
    most, triples = int(p.get("max_output", 0)), []
    for (item, klass), score in ((place, scores[place]) for place in np.ndindex(scores.shape[:2])):
        box = to_corners(boxes[item]) if p.get("center") else boxes[item]
        order, kept = suppress(box, score, p.get("iou_threshold", 0), least=p.get("score_threshold", -np.inf), most=most,
                               turn=True)
        triples += [(item, klass, row) for row in order[kept]]
    selected = np.full((max(1, scores.shape[0] * scores.shape[1] * min(scores.shape[2], most)), 3), -1)
    selected[:len(triples)] = np.array(triples).reshape(-1, 3)
    return {"selected": selected, "selected_count": np.array([len(triples)])}

def torchvision_nms(p, boxes, scores):
    order, kept = suppress(boxes, scores, p.get("iou_threshold", .5))
    rows = np.full(len(scores), -1)
    rows[:len(kept)] = order[kept]
    return {"keep_rows": rows, "keep_count": np.array([len(kept)])}

def check(plan, compute):
    """Draws inputs of the plan's problem, and holds what `compute` makes of them against numpy."""
    op, *words = plan["problem"].split()
    p = {key: True if not text else float(text) if text.lstrip("-").strip(".0123456789") == "" else text
         for key, _, text in (word.partition("=") for word in words)}
    draw = {"f32": lambda size: random.integers(-(op == "box_nms"), 8, size) if op.endswith("nms") else random.normal(size=size),
            "i32": lambda size: random.integers(0, 2000, size)}
    inputs = {spec["name"]: draw[spec["dtype"]](spec["shape"]).astype(DTYPES[spec["dtype"]])
              for spec in plan["tensors"] if spec["role"] == "input"}
    outputs = compute(inputs)
    expected = globals()[op](p, **{name: value.astype(np.float64) for name, value in inputs.items()})
    for name in outputs.keys() - inputs.keys():
        np.testing.assert_allclose(outputs[name], expected[name], 1e-4, 1e-5, True, f"{name} of {plan['problem']}")
    print("pass", plan["variant"], "-", plan["problem"])

def plans_in(folder):
    return (json.loads(path.read_text()) for path in sorted(pathlib.Path(folder).iterdir()))

def main(manifest, plans, kernels):
    queue, launched = cl.CommandQueue(cl.create_some_context(interactive=False)), set()
    for plan in plans_in(plans):
        check(plan, lambda inputs: run(plan, pathlib.Path(kernels), queue, inputs, launched))
    contracts = json.loads(pathlib.Path(manifest).read_text())
    missing = {kernel["name"] for file in contracts["files"] for kernel in file["kernels"]} - launched
    return f"no plan launches {', '.join(sorted(missing))}" if missing else 0

if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
