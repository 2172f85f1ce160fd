# SPDX-License-Identifier: MIT
"""What the tests of the importer share: made models, an import into a temporary folder, and its judge."""
import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(TREE, "tools", "onnx"))

import import_onnx  # noqa: E402
from interpret import Workload  # noqa: E402

CLAM = os.environ.get("CLAM", "")
WEEKLY = bool(os.environ.get("CLAM_TEST_WEEKLY"))
FULL = WEEKLY or bool(os.environ.get("CLAM_TEST_FULL"))
RANDOM = np.random.default_rng(7)


def weights(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32) / np.float32(max(1, np.prod(shape[1:])) ** 0.5)


def positive(*shape: int) -> np.ndarray:
    return RANDOM.uniform(0.5, 1.5, shape).astype(np.float32)


class Net:
    """A model node by node: n.Conv(["x", w], "y", strides=[2, 2])."""

    def __init__(self, opset: int = 13, **inputs: tuple) -> None:
        self.opset, self.nodes, self.held = opset, [], []
        self.inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]

    def __getattr__(self, op: str):
        def add(inputs: list, output, **attributes):
            names = [self._name(i) for i in inputs]
            outputs = [output] if isinstance(output, str) else output
            self.nodes.append(helper.make_node(op, names, outputs, f"n{len(self.nodes)}", **attributes))
            return output
        return add

    def _name(self, given) -> str:
        if isinstance(given, str):
            return given
        self.held.append(numpy_helper.from_array(np.asarray(given), f"c{len(self.held)}"))
        return self.held[-1].name

    def model(self, *outputs: str) -> onnx.ModelProto:
        ends = [onnx.ValueInfoProto(name=name) for name in outputs]
        graph = helper.make_graph(self.nodes, "net", self.inputs, [], self.held)
        graph.output.extend(ends)
        for end in graph.output:
            end.type.tensor_type.elem_type = TensorProto.FLOAT
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.box = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.box, True)
        self.folder = os.path.join(self.box, "out")

    def path(self, name: str) -> str:
        return os.path.join(self.box, name)

    def save(self, model: onnx.ModelProto, name: str = "net.onnx") -> str:
        onnx.save(model, self.path(name))
        return self.path(name)

    def run_import(self, *words: str) -> int:
        """Leaves `out` and `err`."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = import_onnx.main([*words, "-o", self.folder])
        self.out, self.err = out.getvalue(), err.getvalue()
        return code

    def imported(self, path: str, *words: str, unsupported: int = 0) -> Workload:
        self.assertEqual(self.run_import(path, *words), 0, self.err)
        self.assertTrue(self.out.splitlines()[-1].endswith(f" {unsupported} unsupported nodes"), self.out)
        workload = Workload(self.folder)
        workload.run()
        worst, where, count = workload.worst()
        self.assertLessEqual(worst, 1, f"{where} is wrong by {worst} times the bound")
        self.assertGreater(count, 0)
        return workload

    def clam(self, driver: str, *words: str) -> subprocess.CompletedProcess:
        """Runs the program on a driver; skips where the tests were not given one."""
        if not CLAM:
            self.skipTest("CLAM names no program to run it with")
        command = [os.path.join(TREE, "tools", "with-driver"), driver, CLAM, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=900)

    def on_device(self, driver: str = "pocl", *words: str) -> None:
        """Each tensor that the device makes of the input is what ONNX Runtime has recorded."""
        words = ("verify", "--workload", self.folder, "--mode", "chained", "--oracle", "recorded", *words)
        done = self.clam(driver, *words)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr[-3000:])
        self.assertRegex(done.stdout, r"\n[1-9][0-9]* passed, 0 failed, 0 skipped\n$")

    def check(self, model: onnx.ModelProto, *lines: str, words: tuple = (), unsupported: int = 0) -> Workload:
        """The launches are these, each given by words that its problem line has."""
        workload = self.imported(self.save(model), *words, unsupported=unsupported)
        problems = [node["problem"] for node in workload.json["nodes"]]
        self.assertEqual(len(problems), len(lines), problems)
        for line in lines:
            found = [p for p in problems if set(line.split()) <= set(p.split())]
            self.assertTrue(found, f"no line has '{line}': {problems}")
        return workload
