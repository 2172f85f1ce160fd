# SPDX-License-Identifier: MIT
"""The single-node cases of the onnx package, through the importer and `clam run`, beside their expected outputs.

A case is run if its op is one of OPS, and its tensors have at most 4 axes, no extent of 0, and numbers that clam
stores. What is left out is counted by its reason, and the counts are asserted."""
import collections
import glob
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


def tensors(folder: str, kind: str) -> list[np.ndarray]:
    arrays = []
    for path in sorted(glob.glob(os.path.join(folder, "test_data_set_0", f"{kind}_*.pb")),
                       key=lambda p: int(p.rsplit("_", 1)[1][:-3])):
        proto = onnx.TensorProto()
        with open(path, "rb") as file:
            proto.ParseFromString(file.read())
        arrays.append(numpy_helper.to_array(proto))
    return arrays


def why_not(arrays: list[np.ndarray]) -> str:
    """Why a case is none that clam can have; empty if it is."""
    for a in arrays:
        if a.dtype not in TYPES:
            return f"numbers of {a.dtype}"
        if a.ndim > 4:
            return "over 4 axes"
        if a.size == 0:
            return "an extent of 0"
    return ""


class Nodes(Case):
    def one(self, folder: str) -> str:
        """Empty if the case passes, or why it is left out. A wrong result fails."""
        model = onnx.load(os.path.join(folder, "model.onnx"))
        inputs, wanted = tensors(folder, "input"), tensors(folder, "output")
        reason = why_not(inputs + wanted)
        if reason:
            return reason
        words = ["--force"]
        for value, array in zip(model.graph.input, inputs):
            path = self.path(f"{len(words)}.npy")
            np.save(path, array)
            words += ["--input", f"{value.name}={path}"]
        self.assertIn(self.run_import(os.path.join(folder, "model.onnx"), *words), (0, 2), self.err)
        if not self.out.rstrip().endswith(" 0 unsupported nodes"):
            return "not supported"
        done = self.clam("pocl", "run", "--workload", self.folder)
        if "so there is no graph to run" in done.stderr:
            return "nothing is left to run"
        self.assertEqual(done.returncode, 0, os.path.basename(folder) + ": " + done.stdout[-900:] + done.stderr[-900:])
        return ""

    def test_cases_of_single_nodes(self):
        self.clam("pocl", "--version")
        if not WEEKLY:
            self.skipTest("in tests/weekly")
        folders = []
        for folder in sorted(glob.glob(os.path.join(CASES, "*"))):
            nodes = onnx.load(os.path.join(folder, "model.onnx")).graph.node
            if len(nodes) == 1 and nodes[0].op_type in OPS and not nodes[0].domain:
                folders.append(folder)
        counts: collections.Counter = collections.Counter()
        for folder in folders:
            with self.subTest(case=os.path.basename(folder)):
                reason = self.one(folder)
                counts[reason or "passed"] += 1
                if reason:
                    print(f"note     {os.path.basename(folder)}: {reason}", flush=True)
        print("note     " + ", ".join(f"{n} {reason}" for reason, n in sorted(counts.items())), flush=True)
        self.assertEqual(sum(counts.values()), len(folders))
        self.assertGreater(counts["passed"], len(folders) // 2)
