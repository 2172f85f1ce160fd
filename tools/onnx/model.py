# SPDX-License-Identifier: MIT
"""Loads and checks a model, and makes what is open in it definite: shapes, weights, local functions."""
import contextlib
import os
import re
import tempfile
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnxruntime
from onnx import NodeProto, helper, numpy_helper

from problems import Refused, refusing

DOMAINS = {"", "ai.onnx", "ai.onnx.ml", "com.microsoft"}
CONTROL_FLOW = {"If", "Loop", "Scan", "SequenceMap"}
QUANTISED = re.compile(r"QLinear|QuantizeLinear|Integer$|^QAttention|^QGemm|MatMulNBits")
MAPS = re.compile(r"(Conv|ConvTranspose|(Global)?(Average|Max|Lp)Pool)$")
PARAMETERS = {  # the inputs of nodes that are no data
    **{op: (1, 2, 3, 4) for op in (
        "Reshape", "Slice", "Pad", "Resize", "Upsample", "Expand", "Tile", "Split", "Squeeze", "Unsqueeze", "Clip",
        "Dropout", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "TopK", "CumSum")},
    "ConstantOfShape": (0,), "Range": (0, 1, 2)}
KEPT_IN_FILE = 1 << 16  # bytes; larger weights are handed to ONNX Runtime beside the model


@dataclass
class Model:
    """A model with all shapes of its inputs known. Large weights are in `weights`, no longer in `proto`."""

    proto: onnx.ModelProto
    file: str
    weights: dict[str, np.ndarray] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)  # of the inputs
    types: dict[str, np.dtype] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)  # given inputs that are no data but shapes, axes and such

    @property
    def opset(self) -> int:
        return max((o.version for o in self.proto.opset_import if o.domain in ("", "ai.onnx")), default=1)


def called(node: NodeProto) -> str:
    """How a sentence names a node."""
    return f"node '{node.name or (node.output[0] if node.output else '')}' ({node.op_type})"


def load(path: str, given: dict[str, tuple[int, ...]], seed: int | None = None) -> Model:
    proto = _read(path)
    _check_opsets(proto)
    if proto.functions:
        proto = onnx.inliner.inline_local_functions(proto)
    _check_nodes(proto)
    model = Model(proto, os.path.basename(path))
    _fix_shapes(model, given)
    if any(node.op_type in CONTROL_FLOW for node in proto.graph.node):
        _fold_control_flow(model)
    _take_weights(model)
    if seed is not None:
        from reseed import reseed
        reseed(model, seed)
    return model


def _read(path: str) -> onnx.ModelProto:
    if not os.path.isfile(path):
        raise Refused(f"there is no file '{path}': give the path of an ONNX model")
    try:
        proto = onnx.load(path, load_external_data=False)
    except Exception:  # protobuf has several kinds
        raise Refused(f"'{path}' is no ONNX file, or is cut short: export or copy it again") from None
    if not proto.graph.node or not proto.opset_import:
        raise Refused(f"'{path}' holds no ONNX graph with nodes: export it again")
    with refusing(f"weights of '{path}' lie in another file that cannot be read: put it beside the model"):
        onnx.load_external_data_for_model(proto, os.path.dirname(path) or ".")
    _check_texts(proto)
    for value in proto.graph.output:  # the checker wants a shape, which is found out later
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.shape.SetInParent()
    with refusing(f"'{path}' is no valid ONNX model: export it again"):
        onnx.checker.check_model(proto)
    return proto


def _check_texts(proto: onnx.ModelProto) -> None:
    """Protobuf gives a text that is no UTF-8 as bytes."""
    graph = proto.graph
    texts = [v.name for held in (graph.input, graph.output, graph.initializer) for v in held]
    for node in all_nodes(graph):
        texts += [node.name, node.op_type, node.domain, *node.input, *node.output, *(a.name for a in node.attribute)]
    if not all(isinstance(text, str) for text in [*texts, proto.producer_name, proto.producer_version]):
        raise Refused("a name in the model is no UTF-8 text: export or copy it again")


def _check_opsets(proto: onnx.ModelProto) -> None:
    for opset in proto.opset_import:
        if opset.domain in ("", "ai.onnx") and not 1 <= opset.version <= onnx.defs.onnx_opset_version():
            raise Refused(f"the model's opset is {opset.version}, and this importer knows 1 to "
                          f"{onnx.defs.onnx_opset_version()}: export it with one of these")


def all_nodes(graph: onnx.GraphProto) -> Iterator[NodeProto]:
    """With those of the branches of control flow."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from all_nodes(attribute.g)


def _check_nodes(proto: onnx.ModelProto) -> None:
    for node in all_nodes(proto.graph):
        if node.domain not in DOMAINS:
            raise Refused(f"{called(node)} is of the unknown domain '{node.domain}': export the model without "
                          "operators of one's own")
        if QUANTISED.search(node.op_type):
            raise Refused(f"{called(node)} is quantised: import the model as it was before, in f32 or f16")


def _fix_shapes(model: Model, given: dict[str, tuple[int, ...]]) -> None:
    graph = model.proto.graph
    held = {t.name for t in graph.initializer}
    inputs = {i.name: i for i in graph.input if i.name not in held}
    require_inputs(given, inputs)
    for value in inputs.values():
        if not value.type.HasField("tensor_type"):
            raise Refused(f"input '{value.name}' is no tensor: export the model with tensors as inputs")
        tensor = value.type.tensor_type
        said = [d.dim_value if d.dim_value > 0 else 0 for d in tensor.shape.dim]
        shape = given.get(value.name, tuple(said))
        if value.name not in given and (0 in said or not tensor.HasField("shape")):
            raise Refused(_open_shape(value.name, said))
        if tensor.HasField("shape") and (len(shape) != len(said) or
                                         any(s and s != g for s, g in zip(said, shape))):
            raise Refused(f"input '{value.name}' is {_text(said)}, which {_text(shape)} does not fit: give a "
                          "--shape or an --input that does")
        empty = value.name in given and shape == (0,)  # such as no axes
        if (min(shape, default=1) < 1 and not empty) or np.prod(shape, dtype=float) >= 2**31:
            raise Refused(f"input '{value.name}' cannot be {_text(shape)}: extents are 1 or more, and elements "
                          "fewer than 2^31")
        if tensor.elem_type not in helper.get_all_tensor_dtypes():
            raise Refused(f"input '{value.name}' has an unknown type: export the model again")
        tensor.CopyFrom(helper.make_tensor_type_proto(tensor.elem_type, shape).tensor_type)
        model.shapes[value.name] = shape
        model.types[value.name] = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    del graph.value_info[:]
    for value in graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")


def require_inputs(named: Iterable[str], inputs: Iterable[str]) -> None:
    unknown = {*named} - {*inputs}
    if unknown:
        raise Refused(f"the model has no input '{min(unknown)}': its inputs are {', '.join(inputs)}")


def _open_shape(name: str, said: list[int]) -> str:
    example = "x".join(str(s or (1 if axis == 0 else 224)) for axis, s in enumerate(said)) or "1x3x224x224"
    return (f"the shape of input '{name}' is open ({_text(said)}): say it, for example with "
            f"--shape {name}={example}")


def _text(shape: list[int] | tuple[int, ...]) -> str:
    return "x".join(str(extent or "?") for extent in shape) or "a number"


def _fold_control_flow(model: Model) -> None:
    """ONNX Runtime takes the branch of an If whose condition is constant. Nothing else may be left."""
    with tempfile.TemporaryDirectory() as folder:
        folded = os.path.join(folder, "folded.onnx")
        with contextlib.suppress(Exception):
            session(model.proto, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC, folded)
            model.proto = onnx.load(folded)
    for node in model.proto.graph.node:
        if node.op_type in CONTROL_FLOW:
            raise Refused(f"{called(node)} is control flow that the input's shape does not decide: export the "
                          "model traced, without branches and loops")


def session(proto: onnx.ModelProto, level: onnxruntime.GraphOptimizationLevel,
            optimized: str = "") -> onnxruntime.InferenceSession:
    """A quiet one; what it makes of the model goes into the file `optimized`."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.log_severity_level = level, 4
    options.optimized_model_filepath = optimized
    return onnxruntime.InferenceSession(proto.SerializeToString(), options, ["CPUExecutionProvider"])


def drop(repeated, names: Container[str]) -> None:
    """Takes what has these names out of a repeated field."""
    for at in reversed(range(len(repeated))):
        if repeated[at].name in names:
            del repeated[at]


def add_weight(model: Model, name: str, values: np.ndarray) -> None:
    """Large ones become inputs of the graph, so that memory holds them once."""
    graph = model.proto.graph
    model.weights[name] = values
    if values.nbytes <= KEPT_IN_FILE or values.dtype.kind not in "fiub":
        graph.initializer.append(numpy_helper.from_array(values, name))
    else:
        kind = helper.np_dtype_to_tensor_dtype(values.dtype)
        graph.input.append(helper.make_tensor_value_info(name, kind, values.shape))


def _take_weights(model: Model) -> None:
    graph = model.proto.graph
    arrays = {}
    for tensor in graph.initializer:
        with refusing(f"the weights '{tensor.name}' are damaged: export or copy the model again"):
            arrays[tensor.name] = numpy_helper.to_array(tensor)
    drop(graph.input, arrays)
    del graph.initializer[:]
    model.proto.ir_version = max(model.proto.ir_version, 8)  # older ones list all weights as inputs
    for name, values in arrays.items():
        add_weight(model, name, values)


def fix_parameters(model: Model, given: Iterable[str]) -> None:
    """Of the inputs whose values are given, those that nodes take as parameters alone are constants."""
    places = {name: set() for name in given}
    for node in all_nodes(model.proto.graph):
        for place, name in enumerate(node.input):
            if name in places:
                places[name].add(node.op_type in PARAMETERS and place in PARAMETERS[node.op_type])
    model.fixed = {name for name, seen in places.items() if seen == {True}}


def check_maps(model: Model, recording) -> None:
    for node in model.proto.graph.node:
        axes = recording.value(node.input[0]).ndim if MAPS.match(node.op_type) else 0
        if axes > 4:
            raise Refused(f"{called(node)} works on maps of {axes - 2} dimensions: clam "
                          "has 1-D and 2-D maps only, so export the model for images")
