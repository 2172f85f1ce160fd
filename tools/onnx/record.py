# SPDX-License-Identifier: MIT
"""Inputs of the model, and the value of every tensor as ONNX Runtime computes it without optimisations."""
import math
import os

import numpy as np
import onnx
import onnxruntime

from model import Model, session
from problems import Refused, refusing

BATCH = 512 << 20  # bytes of tensors that one run keeps
LARGEST = 1 << 30  # bytes of a tensor
MEAN = np.array([0.485, 0.456, 0.406])  # of ImageNet
DEVIATION = np.array([0.229, 0.224, 0.225])


class Recording(dict[str, np.ndarray | str]):
    """Values by name; larger ones that ONNX Runtime made lie in files of `folder`."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.facts: dict[str, tuple[tuple[int, ...], str]] = {}  # shape, and kind of numpy's type

    def value(self, name: str) -> np.ndarray:
        held = self[name]
        return np.load(held, mmap_mode="r") if isinstance(held, str) else held

    def fact(self, name: str) -> tuple[tuple[int, ...], str]:
        if name not in self.facts:
            value = self.value(name)
            self.facts[name] = value.shape, value.dtype.kind
        return self.facts[name]

    def keep(self, name: str, value: np.ndarray) -> None:
        self[name] = value if value.size <= 1 << 12 else os.path.join(self.folder, f"{len(self)}.npy")
        if value.size > 1 << 12:
            np.save(self[name], value)


def make_inputs(model: Model, arrays: dict[str, str], images: dict[str, str], seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    inputs = {}
    for name, shape in model.shapes.items():
        if name in arrays:
            inputs[name] = _from_file(model, name, arrays[name])
        elif name in images:
            inputs[name] = from_image(name, shape, images[name]).astype(model.types[name])
        else:
            inputs[name] = _noise(model, name, random)
    return inputs


def load_array(name: str, path: str) -> np.ndarray:
    with refusing(f"--input {name}={path} cannot be read: give a .npy file"):
        array = np.load(path, allow_pickle=False)
        return array if isinstance(array, np.ndarray) else array[array.files[0]]


def _from_file(model: Model, name: str, path: str) -> np.ndarray:
    array = load_array(name, path)
    if not np.can_cast(array.dtype, model.types[name], "same_kind"):
        raise Refused(f"--input {name}={path} is {array.dtype}, the model has {model.types[name]}: convert it")
    return array.astype(model.types[name])


def from_image(name: str, shape: tuple[int, ...], path: str) -> np.ndarray:
    from PIL import Image
    if len(shape) != 4 or shape[0] != 1 or shape[1] != 3:
        raise Refused(f"--image is for an input of 1x3 planes, and '{name}' has other extents: use --input")
    with refusing(f"--image {name}={path} cannot be read: give a PNG or JPEG"):
        image = Image.open(path).convert("RGB").resize((shape[3], shape[2]), Image.Resampling.BILINEAR)
    return ((np.asarray(image) / 255 - MEAN) / DEVIATION).transpose(2, 0, 1)[None].astype(np.float32)


def _noise(model: Model, name: str, random: np.random.Generator) -> np.ndarray:
    kind, shape = model.types[name], model.shapes[name]
    if kind.kind == "f":
        return random.standard_normal(shape, np.float32).astype(kind)
    if kind.kind == "b" or "mask" in name.lower():
        return np.ones(shape, kind)
    if kind.kind not in "iu":
        raise Refused(f"input '{name}' is of {kind}: give its values by --input {name}=FILE.npy")
    rows = [model.weights[n.input[0]].shape[0] for n in model.proto.graph.node
            if n.op_type == "Gather" and n.input[1] == name and n.input[0] in model.weights]
    return random.integers(0, min(rows, default=2), shape).astype(kind)


def record(model: Model, inputs: dict[str, np.ndarray], folder: str) -> Recording:
    recording = Recording(folder)
    recording.update(inputs)
    for batch in _batches(model):
        for name, value in zip(batch, _run(model, inputs, batch)):
            if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
                recording.keep(name, value)
    recording.update(model.weights)
    return recording


def _run(model: Model, inputs: dict[str, np.ndarray], names: list[str]) -> list[np.ndarray]:
    proto = onnx.ModelProto()
    proto.CopyFrom(model.proto)
    del proto.graph.output[:]
    for name in names:
        proto.graph.output.add().name = name
    fed = {i.name: inputs.get(i.name, model.weights.get(i.name)) for i in proto.graph.input}
    with refusing("ONNX Runtime cannot run the model with these inputs: give others by --shape or --input, or export "
                  "it again"):
        return session(proto, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL).run(names, fed)


def _batches(model: Model) -> list[list[str]]:
    """The tensors that nodes make, as many at once as memory is meant to hold."""
    sizes = _sizes(model)
    batches: list[list[str]] = [[]]
    held = 0
    for node in model.proto.graph.node:
        for name in filter(None, node.output):
            size = sizes.get(name, 1 << 24)
            if batches[-1] and held + size > BATCH:
                batches.append([])
                held = 0
            batches[-1].append(name)
            held += size
    return batches


def _sizes(model: Model) -> dict[str, int]:
    try:
        inferred = onnx.shape_inference.infer_shapes(model.proto, data_prop=True)
    except Exception:
        return {}
    sizes = {}
    for value in list(inferred.graph.value_info) + list(inferred.graph.output):
        dims = value.type.tensor_type.shape.dim
        if value.type.tensor_type.HasField("shape") and all(d.dim_value > 0 for d in dims):
            sizes[value.name] = 4 * math.prod(d.dim_value for d in dims)
            if sizes[value.name] > LARGEST:
                raise Refused(f"tensor '{value.name}' would have {sizes[value.name] / 2**30:.1f} GiB: give smaller "
                              "inputs, or export the model again")
    return sizes
