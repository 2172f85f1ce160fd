# SPDX-License-Identifier: MIT
"""--replace, and the library for ONNX Runtime: models with nodes com.clam::Workload on PoCL, beside those without.

Sessions run in processes of their own, on the driver. tools/build-onnxruntime builds the library."""
import json
import os
import shutil
import subprocess
import sys
import unittest

import numpy as np
import onnx
import xxhash
from onnx import TensorProto, helper

from networks_test import PAGE, RAPID
from support import CLAM, FULL, TREE, Case, Net, weights

import record

LONG = np.int64
PARTS = ("Workload", "Hardmax", "Workload")
SESSION = """
import ctypes, json, os, re, sys, threading
import numpy as np
import onnxruntime as ort
def session(model, library=""):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    if library:
        options.register_custom_ops_library(library)
    return ort.InferenceSession(model, options, ["CPUExecutionProvider"])
def noise(seed, made):
    random = np.random.default_rng(seed)
    return {i.name: random.standard_normal([d if isinstance(d, int) else 9 for d in i.shape], np.float32) for i in made.get_inputs()}
"""
THREADS = """
plain, clam, good = session("net.onnx"), session("new.onnx", sys.argv[1]), []
def judge(seed):
    fed = noise(seed, clam)
    for wanted, got in zip(plain.run(["y", "c"], fed), clam.run(["y", "c"], fed)):
        np.testing.assert_allclose(got, wanted, 1e-4, 1e-5)
        good.append(seed)
threads = [threading.Thread(target=lambda first=first: [judge(first + 4 * i) for i in range(9)]) for first in range(4)]
[t.start() for t in threads], [t.join() for t in threads]
print(len(good))
"""
COUNTS = """
scripted = ctypes.CDLL(os.environ["CLAM_OPENCL"])
scripted.clam_scripted_counts.restype = ctypes.c_char_p
def counts():
    return {name: int(n) for name, n in re.findall("(clEnqueue.*|clCreateBuffer): (.*)", scripted.clam_scripted_counts().decode())}
made = session("new.onnx", sys.argv[1])
before = counts()
for seed in range(10):
    made.run(None, noise(seed, made))
print(json.dumps({name: (n - before.get(name, 0)) / 10 for name, n in counts().items() if n != before.get(name, 0)}))
"""
ERRORS = """
def error(model):
    try:
        made = session(model, sys.argv[1])
        made.run(None, noise(1, made))
    except Exception as error:
        return str(error)
print(json.dumps([error(model) for model in sys.argv[2:]]))
"""
COMPARE = """
import statistics, time
plain, clam = session(sys.argv[2]), session("new.onnx", sys.argv[1])
feeds = [{"x": np.load(file)} for file in sys.argv[3:]] or [noise(1, clam), noise(2, clam)]
def run(made):
    outputs, times = [made.run(None, feed) for feed in feeds], []
    for _ in range(5):
        start = time.perf_counter()
        made.run(None, feeds[-1])
        times.append(1e3 * (time.perf_counter() - start))
    return outputs, statistics.median(times)
def off(wanted, got):
    return np.sqrt(np.mean(np.square(got - wanted, dtype=np.float64)) / np.mean(np.square(wanted, dtype=np.float64)))
(wanted, before), (got, after) = run(plain), run(clam)
print(json.dumps([max(off(*pair) for w, g in zip(wanted, got) for pair in zip(w, g)), before, after]))
"""
ALLOWED = 1e-4  # rms error over the rms: what the import's recorded tensors allow in f32


def two_parts() -> onnx.ModelProto:
    """A Hardmax lies between; x is split where no part of a buffer may begin."""
    n = Net(x=(1, 3, 7, 5), z=(1, 4, 7, 5))
    n.Split(["x", LONG([1, 2])], ["p", "q"], axis=1)
    n.Conv(["q", weights(4, 2, 3, 3), weights(4)], "a", pads=[1] * 4), n.Relu(["a"], "b"), n.Mul(["b", "p"], "c")
    n.Hardmax(["c"], "h", axis=1), n.Add(["h", "z"], "d"), n.Mul(["d", "c"], "e")
    n.Flatten(["e"], "f"), n.Gemm(["f", weights(140, 5), weights(5)], "y")
    return n.model("y", "c")


class Replaced(Case):
    def setUp(self) -> None:
        super().setUp()
        if not CLAM:
            self.skipTest("CLAM names no program, so nothing is built")
        done = subprocess.run([os.path.join(TREE, "tools", "build-onnxruntime")], capture_output=True, text=True)
        if done.returncode == 77:
            self.skipTest(done.stderr.strip().splitlines()[-1])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.library = done.stdout.strip()

    def on_pocl(self, *command: str, **variables: str) -> subprocess.CompletedProcess:
        set_to = [f"{name}={value}" for name, value in variables.items()]
        words = [os.path.join(TREE, "tools", "with-driver"), "pocl", "env", *set_to, *command]
        done = subprocess.run(words, capture_output=True, text=True, timeout=900, cwd=self.box)
        if done.returncode == 77:
            self.skipTest(done.stderr.strip())
        return done

    def python(self, code: str, *words: str, **variables: str) -> str:
        """What it prints last."""
        done = self.on_pocl(sys.executable, "-B", "-c", SESSION + code, self.library, *words, **variables)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout.splitlines()[-1]

    def compare(self, model: str, *inputs: str) -> list[float]:
        """The largest rms error of an output over its rms, and the milliseconds of the model and of the new one."""
        return json.loads(self.python(COMPARE, model, *inputs))

    def replace(self, model, *nodes: str) -> None:
        """The new model has these nodes, and computes the same."""
        path = self.save(model)
        self.assertEqual(self.run_import(path, "--replace", self.path("new.onnx"), "--force"), 0, self.err)
        self.assertEqual(tuple(node.op_type for node in onnx.load(self.path("new.onnx")).graph.node), nodes)
        onnx.checker.check_model(self.path("new.onnx"))
        self.assertLess(self.compare(path)[0], ALLOWED)

    def changed(self, name: str, how=lambda graph: None, **attributes: str) -> str:
        """The new model as another, with these attributes of its first node."""
        model = onnx.load(self.path("new.onnx"))
        how(model.graph)
        node = model.graph.node[0]
        kept = [a for a in node.attribute if a.name not in attributes]
        del node.attribute[:]
        node.attribute.extend(kept + [helper.make_attribute(key, value) for key, value in attributes.items()])
        return self.save(model, f"{name}.onnx")

    def copied(self, name: str, how) -> str:
        """The new model with a copy of its first folder, whose workload.json `how` gives."""
        shutil.copytree(self.path("out/part1"), self.path(name))
        file = os.path.join(self.path(name), "workload.json")
        with open(file, encoding="utf-8") as read:
            text = read.read()
        with open(file, "w", encoding="utf-8") as written:
            written.write(how(text))
        return self.changed(name, folder=name)

    def spoil_weights(self, folder: str) -> str:
        """Changes a number of the bias. What workload.json has to say then."""
        file = os.path.join(self.path(folder), "workload.json")
        with open(file, encoding="utf-8") as read:
            whole = json.load(read)
        (said,) = (t["values"] for t in whole["tensors"].values() if t["shape"] == [4])
        values = np.load(os.path.join(self.path(folder), said["file"]))
        values[2] += 1e-2
        np.save(os.path.join(self.path(folder), said["file"]), values)
        with open(os.path.join(self.path(folder), said["file"]), "rb") as read:
            said["xxh3"] = xxhash.xxh3_128_hexdigest(read.read())
        return json.dumps(whole)

    def test_a_model_in_two_parts(self):
        self.replace(two_parts(), *PARTS)
        self.assertIn("new.onnx: 8 of 9 nodes became 2 nodes com.clam::Workload; ONNX Runtime keeps 1 Hardmax\n", self.out)
        self.assertEqual(self.python(THREADS), "72")
        # Each run uploads x, then z, c and h, and reads c, then y. The half of x is copied on the device.
        scripted = os.path.join(os.path.dirname(os.path.abspath(CLAM)), "scripted_opencl", "libOpenCL.so.1")
        counts = json.loads(self.python(COUNTS, CLAM_OPENCL=scripted, CLAM_SCRIPTED_OPENCL="{}"))
        self.assertGreaterEqual(counts.pop("clEnqueueNDRangeKernel"), 5)
        self.assertEqual(counts, {"clEnqueueWriteBuffer": 4, "clEnqueueReadBuffer": 2, "clEnqueueCopyBuffer": 1})

    def test_errors_of_the_op(self):
        self.replace(two_parts(), *PARTS)
        spoilt = self.copied("spoilt", str)
        self.spoil_weights("spoilt")
        wanted = {
            self.changed("open", lambda g: setattr(g.input[0].type.tensor_type.shape.dim[2], "dim_param", "h")):
                "out/part1 was made for 1x3x7x5",
            self.changed("none", folder="none"): "'none' is no folder",
            self.changed("empty", folder=""): "needs the attribute folder",
            self.changed("device", device="Mali-X99"): "Mali-X99",
            self.changed("stale", folder="out"): "1 of 9 nodes of net.onnx not supported (Hardmax",
            self.changed("other", folder="out/part2"): "out/part2 has not the 1 inputs and 1 outputs",
            self.copied("cut", lambda text: text[:len(text) // 2]): "cut/workload.json",
            self.copied("typing", lambda text: text.replace('"inputs": [\n   "x"', '"inputs": [\n   "X"')): "typing has not the 1 inputs",
            self.copied("missing", lambda text: text.replace("tensors/0001", "tensors/0009")): "0009.npy is missing",
            spoilt: "does not have the hash",
        }
        found = json.loads(self.python(ERRORS, *wanted))
        for sentence, part in zip(found, wanted.values()):
            self.assertIn(part, sentence)
            self.assertEqual(len(sentence.strip().splitlines()), 1, sentence)

    def test_changed_weights_are_seen(self):
        self.replace(two_parts(), *PARTS)
        changed = self.spoil_weights("out/part1")
        with open(self.path("out/part1/workload.json"), "w", encoding="utf-8") as out:
            out.write(changed)
        self.assertGreater(self.compare("net.onnx")[0], 10 * ALLOWED)

    def test_what_lies_at_a_border(self):
        """Doubles are cast, whole numbers and what is only a view stay; weights may be an input, or made by a node."""
        n = Net(x=(2, 3))
        n.Cast(["x"], "a", to=TensorProto.DOUBLE), n.Neg(["a"], "b"), n.Round(["b"], "c"), n.Exp(["c"], "d")
        n.Cast(["d"], "y", to=TensorProto.FLOAT)
        self.replace(n.model("y"), "Workload", "Cast", "Round", "Cast", "Workload")
        n = Net(x=(2, 3))
        n.ArgMax(["x"], "a", axis=1, keepdims=0), n.Gather([weights(3, 4), "a"], "b"), n.Relu(["b"], "y"), n.Flatten(["x"], "z")
        self.replace(n.model("y", "z"), "ArgMax", "Gather", "Flatten", "Workload")
        n = Net(x=(1, 8, 9, 9), v=(8, 8, 3, 3))
        n.Conv(["x", "v"], "a", pads=[1] * 4), n.Tanh(["v"], "w"), n.Conv(["a", "w"], "y", pads=[1] * 4)
        self.replace(n.model("y"), "Workload")

    def test_refusals_of_replace(self):
        n = Net(x=(2, 3))
        n.Relu(["x"], "y")
        words = (self.save(n.model("y")), "--replace", self.path("new.onnx"))
        self.assertEqual(self.run_import(*words, "--json", self.path("s.json")), 0, self.err)
        with open(self.path("s.json"), encoding="utf-8") as read:
            self.assertEqual(json.load(read)["replaced"], {"nodes": 1, "workload_nodes": 1, "kept": {}})
        self.refused(words, "by --force")
        self.refused((*words[:2], self.path("none/new.onnx"), "--force"), "cannot be written")
        n = Net(x=(2, 3))
        n.ReduceSum(["x"], "s", keepdims=0), n.Relu(["s"], "r"), n.Expand(["r", LONG([2])], "y")
        self.refused((self.save(n.model("r", "y")), *words[1:], "--force"), "no node can be replaced")
        n = Net(x=(2, 3))
        n.inputs.append(helper.make_tensor_value_info("axes", TensorProto.INT64, (1,)))
        n.ReduceMean(["x", "axes"], "y"), np.save(self.path("axes.npy"), LONG([1]))
        n.opset = 18
        words = (self.save(n.model("y")), *words[1:], "--input", f"axes={self.path('axes.npy')}", "--force")
        self.refused(words, "input 'axes' says")

    def refused(self, words: tuple, part: str) -> None:
        self.assertEqual(self.run_import(*words), 2)
        self.assertIn(part, self.err)
        self.assertEqual(len(self.err.splitlines()), 1, self.err)
        self.assertEqual([name for name in os.listdir(self.box) if "partial" in name], [])

    @unittest.skipUnless(FULL, "with --full")
    def test_detector_of_pp_ocr_in_onnx_runtime(self):
        path = os.path.join(RAPID, "ch_PP-OCRv4_det_infer.onnx")
        if not os.path.isfile(path):
            self.skipTest("CLAM_ONNX_MODELS has no rapidocr-onnxruntime")
        # No noise: a page without text gives a millionth everywhere, of which ONNX Runtime is not sure itself.
        page = record.from_image("x", (1, 3, 352, 608), PAGE)
        np.save(self.path("x.npy"), page), np.save(self.path("turned.npy"), np.flip(page))
        words = ("--input", f"x={self.path('x.npy')}", "--replace", self.path("new.onnx"))
        self.assertEqual(self.run_import(path, *words), 0, self.err)
        self.assertIn("672 of 672 nodes became 1 nodes com.clam::Workload; ONNX Runtime keeps none", self.out)
        off, plain, clam = self.compare(path, self.path("x.npy"), self.path("turned.npy"))
        print(f"note     672 nodes as one: {plain:.0f} ms without clam, {clam:.0f} ms with it on PoCL, rms error {off:.1e}", flush=True)
        self.assertLess(off, ALLOWED)
