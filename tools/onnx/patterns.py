# SPDX-License-Identifier: MIT
"""Layer normalisation and attention, as exporters write them."""
import math

import numpy as np

from graph import Graph, Node, line


def fold_layer_norm(graph: Graph) -> None:
    """LayerNormalization over the last axis, and (x - mean) / sqrt(mean((x - mean)^2) + eps) written out: a Div by
    Sqrt, or a Mul by the Reciprocal of one. Factor and summand by column follow as an Affine."""
    forms = {"LayerNormalization": _norm_node, "InstanceNormalization": _instance_norm, "Div": _written_out,
             "Mul": _written_out}
    for node in graph.find(*forms):
        forms[node.op](graph, node)


def _attrs(n: int, eps: float, axis: int) -> dict:
    return dict(scale=np.ones(n), shift=np.zeros(n), eps=eps, axis=axis, n=n)


def _norm_node(graph: Graph, node: Node) -> None:
    shape = graph.shape(node.inputs[0])
    gamma, beta = graph.const(node.inputs[1]), graph.const(node.input(2))
    if gamma is None or (node.input(2) and beta is None) or any(graph.readers.get(o) for o in node.outputs[1:]):
        return
    n = math.prod(shape[node.attr("axis", -1) % len(shape):])
    attrs = _attrs(n, node.attr("epsilon", 1e-5), len(shape) - 1)
    attrs["scale"] = attrs["scale"] * gamma.reshape(-1)
    attrs["shift"] = attrs["shift"] + (0 if beta is None else beta.reshape(-1))
    graph.replace([node], Node("LayerNorm", node.inputs[:1], node.outputs[:1], attrs))


def _instance_norm(graph: Graph, node: Node) -> None:
    """Each plane is a row; factor and summand are by channel, so they stay a node of their own."""
    shape = graph.shape(node.inputs[0])
    gamma, beta = (graph.const(i) for i in node.inputs[1:3])
    if gamma is None or beta is None:
        return
    inner = graph.new_tensor(node.output + ".norm", shape)
    norm = _attrs(math.prod(shape[2:]), node.attr("epsilon", 1e-5), -1)
    graph.add(node.beside("LayerNorm", node.inputs[:1], [inner], norm))
    graph.replace([node], Node("Affine", [inner], node.outputs, line(gamma, beta, 1)))


def _mean_of(graph: Graph, name: str) -> Node | None:
    """The ReduceMean over the last axis that makes `name`."""
    node = graph.made_by(name, "ReduceMean")
    if node is None or not node.attr("keepdims", 1):
        return None
    axes, rank = graph.axes_of(node), len(graph.shape(node.inputs[0]))
    return node if axes is not None and [a % rank for a in axes] == [rank - 1] else None


def _centred(graph: Graph, name: str) -> list[Node] | None:
    """The nodes of x - mean(x); both read x first."""
    less = graph.made_by(name, "Sub")
    mean = _mean_of(graph, less.inputs[1]) if less else None
    return [less, mean] if mean and mean.inputs[0] == less.inputs[0] else None


def _deviation(graph: Graph, node: Node) -> tuple[list[Node], str, str] | None:
    """Of d / sqrt(v + eps): the nodes behind v + eps, its name, and d."""
    if node.op == "Div":
        root = graph.made_by(node.inputs[1], "Sqrt")
        return ([root], root.inputs[0], node.inputs[0]) if root else None
    for d, name in (node.inputs, node.inputs[::-1]):
        inverse = graph.made_by(name, "Reciprocal", "Div")
        if inverse is None or (inverse.op == "Div" and graph.scalar(inverse.inputs[0]) != 1):
            continue
        root = graph.made_by(inverse.inputs[-1], "Sqrt")
        if root:
            return [inverse, root], root.inputs[0], d
    return None


def _written_out(graph: Graph, node: Node) -> None:
    found = _deviation(graph, node)
    if found is None:
        return
    nodes, under_root, d = found
    plus = graph.made_by(under_root, "Add")
    eps = graph.scalar(plus.inputs[1]) if plus else None
    variance = _mean_of(graph, plus.inputs[0]) if eps is not None else None
    square = graph.made_by(variance.inputs[0], "Pow", "Mul") if variance else None
    if square is None or (graph.scalar(square.inputs[1]) != 2 if square.op == "Pow"
                          else square.inputs[0] != square.inputs[1]):
        return
    one, two = _centred(graph, d), _centred(graph, square.inputs[0])
    if one is None or two is None or one[0].inputs[0] != two[0].inputs[0]:
        return
    inner = list(dict.fromkeys([*nodes, plus, variance, square, *one, *two, node]))
    if any(r not in inner for n in inner if n is not node for r in graph.readers[n.output]):
        return
    x = one[0].inputs[0]
    shape = graph.shape(x)
    graph.replace(inner, Node("LayerNorm", [x], node.outputs, _attrs(shape[-1], eps, len(shape) - 1)))


# ---- attention

def fold_attention(graph: Graph) -> None:
    """softmax(scale * q k^T + mask) v. The factor may stand before or behind the product, or at q and k."""
    for node in graph.find("Softmax"):
        shape = graph.shape(node.inputs[0])
        axis = node.attr("axis", -1 if graph.opset >= 13 else 1) % len(shape)
        if axis == len(shape) - 1 and 2 <= len(shape) <= 4:
            _attention_at(graph, node, shape)


def line_of(node: Node | None) -> tuple[float, float] | None:
    """Scale and shift of an Affine with one number each and no function behind it."""
    if node is None or node.op != "Affine" or node.attr("axis") is not None or node.attr("act"):
        return None
    return float(node.attrs["scale"]), float(node.attrs["shift"])


def _factor(graph: Graph, name: str) -> tuple[float, str, list[Node]]:
    """Goes back over factors of one number that nobody else reads."""
    factor, nodes = 1.0, []
    while (numbers := line_of(graph.made_by(name, "Affine"))) and numbers[1] == 0 and graph.private(name):
        node = graph.maker[name]
        factor, name = factor * numbers[0], node.inputs[0]
        nodes.append(node)
    return factor, name, nodes


def _attention_at(graph: Graph, softmax: Node, scores: tuple[int, ...]) -> None:
    scale, name, nodes = _factor(graph, softmax.inputs[0])
    mask = ""
    plus = graph.made_by(name, "Add")
    if plus is not None and scale == 1 and graph.private(name):
        for product, mask in (plus.inputs, plus.inputs[::-1]):
            scale, inner, more = _factor(graph, product)
            if graph.made_by(inner, "MatMul"):
                break
        name, nodes = inner, [*nodes, plus, *more]
    first, second = graph.made_by(name, "MatMul"), graph.reader(softmax.output)
    if first is None or not graph.private(name) or second is None or second.op != "MatMul":
        return
    if second.inputs[0] != softmax.output or (mask and mask_kind(graph, mask, scores) is None):
        return
    of_q, q, at_q = _factor(graph, first.inputs[0])
    of_k, k, at_k = _factor(graph, first.inputs[1])
    v = second.inputs[1]
    batch = graph.shape(q)[:-2]
    if graph.shape(k)[:-2] != batch or graph.shape(v)[:-2] != batch:
        return
    attrs = dict(scale=scale * of_q * of_k, masked=bool(mask))
    out, turn = second.outputs, graph.reader(second.output)
    old = [*nodes, first, softmax, second, *at_q, *at_k]
    if turn is not None and turn.op == "Transpose" and list(turn.attr("perm", [])) in ([0, 2, 1, 3], [1, 0, 2]):
        if len(batch) == len(turn.attr("perm")) - 2:
            attrs["turned"], out = True, turn.outputs
            old.append(turn)
    graph.replace(old, Node("Attention", [q, k, v, *([mask] if mask else [])], out, attrs), max(second.sources))


def mask_kind(graph: Graph, mask: str, scores: tuple[int, ...]) -> str | None:
    """Which of a mask's extents clam has a name for."""
    shape = (1,) * (len(scores) - len(graph.shape(mask))) + graph.shape(mask)
    if shape[-2:] != scores[-2:] and graph.const(mask) is None:
        return None
    if all(e == 1 for e in shape[:-2]):
        return "qk"
    if len(scores) == 3:
        return "bhqk" if shape[0] == scores[0] else None
    if shape[1] == 1 and shape[0] == scores[0]:
        return "bqk"
    return "bhqk" if shape[:2] == scores[:2] or graph.const(mask) is not None else None
