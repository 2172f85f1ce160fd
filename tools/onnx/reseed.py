# SPDX-License-Identifier: MIT
"""Replaces weights that are one number throughout, as in the light models of the onnx package, by noise."""
import numpy as np
import onnx

from model import Model, add_weight, drop

PRODUCTS = {"Conv", "ConvTranspose", "Gemm", "MatMul"}


def reseed(model: Model, seed: int) -> None:
    """Weights of products become He-scaled, biases small, and statistics near mean 0, variance 1."""
    random = np.random.default_rng(seed)
    graph = model.proto.graph
    constants = _constant_weights(model)
    readers = {name: node.op_type for node in graph.node for name in node.input}
    made: dict[str, np.ndarray] = {}
    for node in graph.node:
        for position, name in enumerate(node.input):
            role = _role(node, position, readers)
            if name in constants and role:
                made[name] = _values(random, role, constants.pop(name), node)
    for node in [n for n in graph.node if n.op_type == "ConstantOfShape" and n.output[0] in made]:
        graph.node.remove(node)
    drop(graph.initializer, made)
    drop(graph.input, made)
    for name, values in made.items():
        add_weight(model, name, values)


def _constant_weights(model: Model) -> dict[str, tuple[int, ...]]:
    shapes = {name: w.shape for name, w in model.weights.items()
              if w.dtype == np.float32 and w.size > 1 and (w == w.flat[0]).all()}
    for node in model.proto.graph.node:
        if node.op_type == "ConstantOfShape" and node.input[0] in model.weights:
            shapes[node.output[0]] = tuple(int(e) for e in model.weights[node.input[0]])
    return shapes


def _role(node: onnx.NodeProto, position: int, readers: dict[str, str]) -> str:
    if node.op_type in PRODUCTS:
        return {1: "weight", 2: "shift"}.get(position, "")
    if node.op_type == "BatchNormalization":
        return ["", "scale", "shift", "shift", "variance"][position]
    if node.op_type == "Unsqueeze":  # a factor or a summand by channel, as from Caffe
        return {"Mul": "scale", "Add": "shift"}.get(readers.get(node.output[0], ""), "")
    return ""


def _values(random: np.random.Generator, role: str, shape: tuple[int, ...], node: onnx.NodeProto) -> np.ndarray:
    noise = random.standard_normal(shape, np.float32)
    if role == "weight":
        if node.op_type in ("Conv", "ConvTranspose"):
            summed = np.prod(shape) / shape[0 if node.op_type == "Conv" else 1]
        else:
            summed = shape[-1 if any(a.name == "transB" and a.i for a in node.attribute) else 0]
        return noise * np.float32(np.sqrt(2 / summed))
    return {"shift": noise * np.float32(0.1), "scale": 1 + noise * np.float32(0.1),
            "variance": np.exp(noise * np.float32(0.1))}[role]
