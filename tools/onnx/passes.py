# SPDX-License-Identifier: MIT
"""Passes over the graph: all arithmetic by constants becomes Affine, all functions Act; then both go into the
node before them. An Affine is x * scale + shift, with one number or one a channel of `axis`."""
import math
from typing import Any

import numpy as np

from cones import fold_cones
from graph import Graph, Node, fresh, line
from patterns import fold_attention, fold_layer_norm, line_of
from spell import FUSED, make_clip
from views import to_picks

INTO = {"Conv", "ConvTranspose", "Dense"}  # weights that an Affine can change
TAKES_ACT = INTO | {"LayerNorm", "MatMul", "Affine"}
TAKES_RESIDUAL = {"Conv", "Dense", "Resize"}
PLAIN = {"Relu": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "Exp": "exp", "Log": "log", "Erf": "erf", "Sqrt": "sqrt",
         "Sin": "sin", "Cos": "cos", "Abs": "abs", "Reciprocal": "reciprocal", "Softplus": "softplus", "Mish": "mish",
         "HardSwish": "hard_swish", "Swish": "silu"}  # functions without numbers
NEAR = 2e-6  # a factor this near to 1 comes from rounded constants


def rewrite(graph: Graph) -> None:
    for step in (drop_same, to_picks, fold_layer_norm, fold_cones, split_sums, split_gemm, to_weights, to_resize,
                 to_affine, to_act, merge_affine, fold_gates, merge_affine, move_into_act, merge_affine, fold_attention,
                 fold_scale_of_product, fold_into_weights, fold_act, scale_after_act, fold_residual):
        step(graph)


def drop_same(graph: Graph) -> None:
    """Identity, Dropout, a Cast between floats, and operations that change nothing."""
    def alone(node: Node) -> bool:
        return len(node.inputs) == 1

    def floats(node: Node) -> bool:
        return graph.is_float(node.inputs[0]) and graph.is_float(node.output)

    same = {"Cast": floats, "CastLike": floats, "Concat": alone, "Sum": alone, "Max": alone, "Min": alone,
            "Mean": alone, "Identity": lambda node: True,
            "Expand": lambda node: graph.shape(node.inputs[0]) == graph.shape(node.output),
            "Dropout": lambda node: not any(graph.readers.get(o) or o in graph.outputs for o in node.outputs[1:])
            and (not node.input(2) or graph.scalar(node.inputs[2]) == 0)}  # training_mode
    for node in graph.find(*same):
        if same[node.op](node):
            graph.drop(node, node.inputs[0])


def split_sums(graph: Graph) -> None:
    """Sum, Max, Min and Mean of many inputs as a chain of two each; Pow by 2 as a product."""
    for node in graph.find("Sum", "Max", "Min", "Mean", "Pow"):
        if node.op == "Pow":
            if graph.scalar(node.inputs[1]) == 2:
                graph.replace([node], Node("Mul", [node.inputs[0]] * 2, node.outputs))
            continue
        op = "Add" if node.op in ("Sum", "Mean") else node.op
        if node.op != op or len(node.inputs) > 2:
            _chain(graph, node, op)


def _chain(graph: Graph, node: Node, op: str) -> None:
    graph.remove(node)
    left = node.inputs[0]
    for count, right in enumerate(node.inputs[1:], 2):
        last = count == len(node.inputs) and node.op != "Mean"
        shape = np.broadcast_shapes(graph.shape(left), graph.shape(right))
        made = node.output if last else graph.new_tensor(f"{node.output}.{count}", shape)
        graph.add(node.beside(op, [left, right], [made]))
        left = made
    if node.op == "Mean":
        graph.add(node.beside("Affine", [left], node.outputs, line(1 / len(node.inputs), 0)))


def split_gemm(graph: Graph) -> None:
    """A Gemm whose C is a matrix, or changes, is one without C, and an Add."""
    for node in graph.find("Gemm"):
        summand = node.input(2)
        c = graph.const(summand)
        plain = c is not None and _by_last(c.shape, graph.shape(node.output)[1])
        if not summand or plain or node.attr("beta", 1.0) != 1:
            continue
        inner = graph.new_tensor(node.output + ".product", graph.shape(node.output))
        graph.remove(node)
        graph.add(node.beside("Gemm", node.inputs[:2], [inner], node.attrs))
        graph.add(node.beside("Add", [inner, summand], node.outputs))


def to_weights(graph: Graph) -> None:
    """Conv, ConvTranspose, Gemm, and MatMul by a constant as nodes with weights, a factor and a bias."""
    for node in graph.find("Conv", "ConvTranspose", "Gemm", "MatMul"):
        weights, bias = graph.const(node.inputs[1]), graph.const(node.input(2))
        if weights is None or weights.dtype.kind != "f" or (node.input(2) and bias is None):
            node.op = {"Conv": "FreeConv", "ConvTranspose": "FreeConvTranspose"}.get(node.op, node.op)
            continue
        if node.op in ("Conv", "ConvTranspose"):
            groups = node.attr("group", 1)
            outputs = weights.shape[0] if node.op == "Conv" else weights.shape[1] * groups
            op, alpha, beta, attrs = node.op, 1.0, 1.0, {**node.attrs, "axis": 1}
        else:
            turned = bool(node.attr("transB", 0))
            if weights.ndim != 2 or node.attr("transA") or len(graph.shape(node.inputs[0])) < 2:
                continue
            outputs = weights.shape[0 if turned else 1]
            op, alpha, beta = "Dense", node.attr("alpha", 1.0), node.attr("beta", 1.0)
            attrs = {"turned": turned, "axis": len(graph.shape(node.output)) - 1}
        attrs.update(weights=node.inputs[1], channels=outputs, scale=np.full(outputs, float(alpha)),
                     shift=np.zeros(outputs))
        if bias is not None:
            attrs["shift"] = attrs["shift"] + beta * bias.astype(np.float64).reshape(-1)
        graph.replace([node], Node(op, node.inputs[:1], node.outputs, attrs), node.main)


def _by_last(shape: tuple[int, ...], n: int) -> bool:
    return int(np.prod(shape)) == 1 or (bool(shape) and shape[-1] == n == int(np.prod(shape)))


def to_resize(graph: Graph) -> None:
    """Resize and Upsample with one input; what their other inputs say is in `scales` and `sizes`."""
    for node in graph.find("Resize", "Upsample"):
        said: dict[str, list[float]] = {"scales": list(node.attr("scales", []))}
        names = ["", "scales"] if len(node.inputs) == 2 else ["", "roi", "scales", "sizes"]
        for what, name in zip(names[1:], node.inputs[1:]):
            value = graph.const(name) if name else np.zeros(0)
            said[what] = value.tolist() if value is not None else [math.nan]
        attrs = {"mode": b"nearest", **node.attrs, **said}
        if node.op == "Upsample" or graph.opset < 11:
            attrs.update(coordinate_transformation_mode=b"asymmetric", nearest_mode=b"floor")
        graph.replace([node], Node("Resize", node.inputs[:1], node.outputs, attrs))


def to_affine(graph: Graph) -> None:
    """BatchNormalization, Neg, and Add, Sub, Mul or Div with constants of one number, or one a channel."""
    forms = {"BatchNormalization": _batch_norm, "HardSigmoid": _hard_sigmoid,
             "Neg": lambda graph, node: _affine(graph, node, node.inputs[0], -1, 0, None),
             **dict.fromkeys(("Add", "Sub", "Mul", "Div"), _by_constant)}
    for node in graph.find(*forms):
        if graph.is_float(node.output):
            forms[node.op](graph, node)


def _batch_norm(graph: Graph, node: Node) -> None:
    values = [graph.const(i) for i in node.inputs[1:]]
    if any(v is None for v in values) or node.attr("training_mode") or any(
            graph.readers.get(o) for o in node.outputs[1:]):
        return
    gamma, beta, mean, variance = (v.astype(np.float64) for v in values)
    scale = gamma / np.sqrt(variance + node.attr("epsilon", 1e-5))
    _affine(graph, node, node.inputs[0], scale, beta - mean * scale, 1)


def _affine(graph: Graph, node: Node, source: str, scale: Any, shift: Any, axis: int | None) -> None:
    graph.replace([node], Node("Affine", [source], [node.output], line(scale, shift, axis)))


def _hard_sigmoid(graph: Graph, node: Node) -> None:
    inner = graph.new_tensor(node.output + ".line", graph.shape(node.output))
    graph.add(node.beside("Affine", node.inputs[:1], [inner], line(node.attr("alpha", 0.2), node.attr("beta", 0.5))))
    graph.replace([node], Node("Act", [inner], [node.output], {"act": ("clip", 0.0, 1.0)}))


def _by_constant(graph: Graph, node: Node) -> None:
    left, right = (graph.const(i) for i in node.inputs)
    if (left is None) == (right is None):
        return
    at = 0 if right is not None else 1
    source, value = node.inputs[at], (right if at == 0 else left)
    shape = graph.shape(source)
    placed = _channel(value.shape, shape) if graph.shape(node.output) == shape else None
    if placed is None or (node.op == "Div" and at == 1):
        return
    value = value.astype(np.float64).reshape(-1) if placed >= 0 else np.float64(value.reshape(-1)[0])
    one, none = np.ones_like(value), np.zeros_like(value)
    scale, shift = {"Add": (one, value), "Mul": (value, none), "Div": (1 / value if node.op == "Div" else one, none),
                    "Sub": (one, -value) if at == 0 else (-one, value)}[node.op]
    if np.isfinite(scale).all() and np.isfinite(shift).all():
        _affine(graph, node, source, scale, shift, placed if placed >= 0 else None)


def _channel(value: tuple[int, ...], shape: tuple[int, ...]) -> int | None:
    """The axis of `shape` along which a constant of shape `value` changes; -1 for one number, else None."""
    padded = (1,) * (len(shape) - len(value)) + value
    wide = [axis for axis, extent in enumerate(padded) if extent != 1]
    if len(padded) != len(shape) or len(wide) > 1:
        return None
    return wide[0] if wide else -1


def to_act(graph: Graph) -> None:
    """Functions of one tensor as Act nodes. Clip may have its bounds as inputs."""
    for node in graph.find(*PLAIN, "LeakyRelu", "Elu", "Clip", "Gelu", "Pow", "PRelu"):
        act = _act_of(graph, node) if graph.is_float(node.output) else None
        if act is not None:
            graph.replace([node], Node("Act", node.inputs[:1], [node.output], {"act": act}))


def _act_of(graph: Graph, node: Node) -> tuple | None:
    if node.op == "Clip":
        bounds = [-math.inf, math.inf]
        for place, name in enumerate(("min", "max")):
            given = node.input(place + 1)
            number = graph.scalar(given) if given else node.attr(name, bounds[place])
            if number is None:
                return None
            bounds[place] = math.copysign(math.inf, number) if abs(number) >= 3.4e38 else number
        return make_clip(*bounds)
    if node.op in ("PRelu", "Pow"):
        number = graph.scalar(node.inputs[1])
        return None if number is None else ("leaky_relu" if node.op == "PRelu" else "pow", number)
    if node.op == "Gelu":
        return ("gelu_tanh" if node.attr("approximate") == b"tanh" else "gelu",)
    if node.op in PLAIN:
        return (PLAIN[node.op],)
    return ("leaky_relu", node.attr("alpha", 0.01)) if node.op == "LeakyRelu" else ("elu", node.attr("alpha", 1.0))


def merge_affine(graph: Graph) -> None:
    """Two lines one behind the other are one; a line that changes nothing goes."""
    for node in graph.find("Affine"):
        while (before := graph.before(node, "Affine")) and _same_axis(before, node):
            axis = node.attrs["axis"] if before.attrs["axis"] is None else before.attrs["axis"]
            node = graph.unite(before, node, node, **_both(before, node), axis=axis)
        numbers = line_of(node)
        if numbers and abs(numbers[0] - 1) <= NEAR and numbers[1] == 0:
            graph.drop(node, node.inputs[0])


def _same_axis(one: Node, two: Node) -> bool:
    return None in (one.attrs["axis"], two.attrs["axis"]) or one.attrs["axis"] == two.attrs["axis"]


def _both(before: Node, after: Node) -> dict[str, Any]:
    """Two lines as one."""
    scale = after.attrs["scale"]
    return dict(scale=before.attrs["scale"] * scale, shift=before.attrs["shift"] * scale + after.attrs["shift"])


def fold_gates(graph: Graph) -> None:
    """x + x * g as x * (1 + g), where nobody else reads g: the 1 goes into what makes g."""
    for node in graph.find("Add"):
        for x, product in (node.inputs, node.inputs[::-1]):
            times = graph.made_by(product, "Mul")
            if times is None or not graph.private(product) or x not in times.inputs:
                continue
            gate = times.inputs[1 - times.inputs.index(x)]
            if gate == x or not graph.private(gate) or graph.shape(x) != graph.shape(node.output):
                continue
            more = graph.new_tensor(gate + ".more", graph.shape(gate))
            graph.add(times.beside("Affine", [gate], [more], line(1, 1)))
            graph.replace([times, node], Node("Mul", [x, more], node.outputs))
            break


def move_into_act(graph: Graph) -> None:
    """A line behind a clip is a line before a clip with other bounds; so is a factor behind a Relu."""
    for node in graph.find("Affine"):
        numbers, before = line_of(node), graph.before(node, "Act")
        if numbers is None or numbers[0] <= 0 or before is None:
            continue
        (scale, shift), act = numbers, before.attrs["act"]
        if act[0] in ("clip", "relu6"):
            low, high = act[1:] or (0.0, 6.0)
            act = make_clip(low * scale + shift, high * scale + shift)
        elif act[0] not in ("relu", "leaky_relu") or shift != 0:
            continue
        inner = graph.new_tensor(node.output + ".line", graph.shape(node.output))
        graph.add(node.beside("Affine", before.inputs, [inner], dict(node.attrs)))
        graph.replace([before, node], Node("Act", [inner], node.outputs, {"act": act}))


def fold_scale_of_product(graph: Graph) -> None:
    """A factor of either operand of a product, or of the product or a softmax's input, goes into its `scale`."""
    for node in graph.find("MatMul", "Softmax", "LogSoftmax"):
        for place, name in enumerate(node.inputs):
            before = graph.made_by(name, "Affine")
            numbers = line_of(before)
            if numbers and numbers[1] == 0 and graph.private(name):
                inputs = [before.inputs[0] if at == place else i for at, i in enumerate(node.inputs)]
                node = graph.unite(before, node, node, inputs, scale=node.attr("scale", 1.0) * numbers[0])
        after = graph.reader(node.output)
        numbers = line_of(after)
        if node.op == "MatMul" and numbers and numbers[1] == 0:
            graph.unite(node, after, node, scale=node.attr("scale", 1.0) * numbers[0])


def fold_into_weights(graph: Graph) -> None:
    """An Affine behind a convolution or a product by weights changes these; one behind a norm, its own line."""
    for node in graph.find("Affine"):
        before = graph.before(node, *INTO, "LayerNorm")
        if before and _same_axis(before, node) and not before.attr("act") and len(before.inputs) == 1:
            graph.unite(before, node, before, **_both(before, node))


def fold_act(graph: Graph) -> None:
    """A function goes into the node before it. Behind a line of one number, the line goes into the function."""
    for node in graph.find("Act"):
        before = graph.before(node, *TAKES_ACT)
        if before is None or before.attr("act"):
            continue
        if numbers := line_of(before):
            graph.unite(before, node, node, scale=numbers[0], shift=numbers[1])
        elif node.attrs["act"][0] in FUSED:
            graph.unite(before, node, before, act=node.attrs["act"])


def scale_after_act(graph: Graph) -> None:
    """A line of one number behind the function of a convolution or a product is its act_scale and act_shift."""
    for node in graph.find("Affine"):
        numbers, before = line_of(node), graph.before(node, "Conv", "Dense")
        if numbers and before and len(before.inputs) == 1:
            graph.unite(before, node, before, act_scale=numbers[0], act_shift=numbers[1])


def fold_residual(graph: Graph) -> None:
    """Add of what a convolution, a product by weights or a resize makes, which nobody else reads: it adds."""
    for node in graph.find("Add"):
        shape = graph.shape(node.output)
        for name in sorted(node.inputs, key=lambda i: -graph.rank.get(i, -1)):
            before = graph.made_by(name, *TAKES_RESIDUAL)
            other = node.inputs[1 - node.inputs.index(name)]
            if before is None or not graph.private(name) or "residual" in before.attrs or other == name:
                continue
            value = graph.const(other)
            if graph.shape(name) != shape or (value is None and graph.shape(other) != shape):
                continue
            if value is not None and value.shape != shape:
                other = fresh(node.output + ".r", graph.consts, graph.recording)
                graph.consts[other] = np.broadcast_to(value, shape)
            graph.unite(before, node, before, [before.inputs[0], other], residual=other)
            break
