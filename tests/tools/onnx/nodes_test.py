# SPDX-License-Identifier: MIT
"""The single-node cases of the onnx package, through the importer and `clam run`, beside their expected outputs.

A case is run if its op is one of OPS. What cannot be run is counted by its reason, and all counts are asserted."""
import collections
import glob
import json
import os

import numpy as np
import onnx
from onnx import numpy_helper

from support import WEEKLY, Case

CASES = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "node")
OPS = {"Resize", "ConvTranspose", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "Pad", "Slice", "LRN",
       "BatchNormalization", "Concat", "Sum", "Transpose", "MaxPool", "AveragePool", "GlobalAveragePool",
       "GlobalMaxPool", "Softmax", "LogSoftmax", "Gather", "Clip", "LeakyRelu", "HardSigmoid", "HardSwish", "Pow",
       "Reciprocal", "Abs", "Neg", "Conv", "Gemm", "MatMul", "Relu", "Sigmoid", "Tanh", "Add", "Mul", "Sub", "Div"}
TYPES = {np.dtype(name) for name in ("float32", "float16", "int32", "int64", "bool")}
OTHER_RESULT = "ONNX Runtime computes something else than the package"
COUNTS = {
    "passed": 195,
    "over 4 axes": 11,
    "an extent of 0": 5,
    "numbers of int8": 3, "numbers of uint8": 5, "numbers of uint32": 1, "numbers of uint64": 1,
    "its outputs are constants, or its inputs as they are": 3,
    OTHER_RESULT: 1,  # the last column of align_corners, where a scale is no quotient of extents
    "AveragePool is not supported: pooling with dilations": 1,
    "BatchNormalization is not supported: there is no op for BatchNormalization": 4,  # its scale is an input
    "Gather is not supported: computed indices that count from the end": 1,
    "Gemm is not supported: beta is not 1, and C changes": 2,
    "MaxPool is not supported: pooling with dilations": 1,
    "MaxPool is not supported: the places of the largest elements are read": 2,
    "Pow is not supported: there is no op for Pow": 10,  # its exponent is an input
    "ReduceMax is not supported: 'reduced' holds whole numbers; clam computes with f32 and f16": 1,
    "ReduceMin is not supported: 'reduced' holds whole numbers; clam computes with f32 and f16": 1,
    "ReduceSum is not supported: it reduces nothing": 2,
    "Resize is not supported: coordinates tf_crop_and_resize": 4,
    "Resize is not supported: it is smoothed, or resizes other axes than the last two": 2,
    "Resize is not supported: mode cubic": 11,
}


def tensors(folder: str, kind: str) -> list[np.ndarray]:
    arrays = []
    for path in sorted(glob.glob(os.path.join(folder, "test_data_set_0", f"{kind}_*.pb")),
                       key=lambda p: int(p.rsplit("_", 1)[1][:-3])):
        proto = onnx.TensorProto()
        with open(path, "rb") as file:
            proto.ParseFromString(file.read())
        arrays.append(numpy_helper.to_array(proto))
    return arrays


def why_not(arrays: list[np.ndarray], ends: list[np.ndarray]) -> str:
    """Why a case is none that clam can have; empty if it is. `ends`: those that are computed from and to."""
    for a in arrays:
        if a.dtype not in TYPES:
            return f"numbers of {a.dtype}"
        if a.ndim > 4:
            return "over 4 axes"
    return "an extent of 0" if any(a.size == 0 for a in ends) else ""


class Nodes(Case):
    maxDiff = None

    def one(self, folder: str) -> str:
        """Empty if the case passes, or why it is left out. A wrong result fails."""
        model = onnx.load(os.path.join(folder, "model.onnx"))
        inputs, wanted = tensors(folder, "input"), tensors(folder, "output")
        reason = why_not(inputs + wanted, inputs[:1] + wanted)
        if reason:
            return reason
        words = ["--force"]
        for value, array in zip(model.graph.input, inputs):
            path = self.path(f"{len(words)}.npy")
            np.save(path, array)
            words += ["--input", f"{value.name}={path}"]
        code = self.run_import(os.path.join(folder, "model.onnx"), *words)
        if code == 2:
            return self.err.rstrip().partition("is left to run: ")[2] or self.err
        self.assertEqual((code, self.out.splitlines()[-1].split(": ")[-1]), (0, "0 unsupported nodes"), self.err)
        with open(os.path.join(self.folder, "workload.json"), encoding="utf-8") as file:
            outputs = json.load(file)["model"]["outputs"]
        words = [f"{name}={self.path(name)}.npy" for name in outputs]
        done = self.clam("pocl", "run", "--workload", self.folder, "--out", *words)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertEqual(len(outputs), len(wanted))
        for name, values in zip(outputs, wanted):
            self.same(np.load(self.path(name) + ".npy"), values)
        return OTHER_RESULT if done.returncode == 1 else ""

    def same(self, got: np.ndarray, wanted: np.ndarray) -> None:
        """As the package itself compares them; 16-bit floats to their precision."""
        self.assertEqual(got.size, wanted.size)
        relative = 2e-3 if wanted.dtype == np.float16 else 1e-3
        np.testing.assert_allclose(got.reshape(wanted.shape).astype(np.float64), wanted.astype(np.float64), relative, 1e-7)

    def test_cases_of_single_nodes(self):
        self.clam("pocl", "--version")
        if not WEEKLY:
            self.skipTest("in tests/weekly")
        counts: collections.Counter = collections.Counter()
        for folder in sorted(glob.glob(os.path.join(CASES, "*"))):
            nodes = onnx.load(os.path.join(folder, "model.onnx")).graph.node
            if len(nodes) != 1 or nodes[0].op_type not in OPS or nodes[0].domain:
                continue
            with self.subTest(case=os.path.basename(folder)):
                counts["failed"] += 1
                reason = self.one(folder)
                counts["failed"] -= 1
                counts[reason or "passed"] += 1
        self.assertEqual(dict(+counts), COUNTS)
