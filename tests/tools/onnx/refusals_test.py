# SPDX-License-Identifier: MIT
"""Models that cannot be imported, nodes that cannot be mapped, damaged files, odd names, and the folder itself."""
import json
import os

import numpy as np
import onnx
import xxhash
from onnx import TensorProto, helper

from support import RANDOM, Case, Net, weights

F = np.float32
LONG = np.int64


def small() -> Net:
    n = Net(x=(1, 3, 8, 8))
    n.Conv(["x", weights(4, 3, 3, 3), weights(4)], "a"), n.Relu(["a"], "b"), n.MaxPool(["b"], "c", kernel_shape=[2, 2])
    n.Flatten(["c"], "d"), n.Gemm(["d", weights(100, 5)], "y")
    return n


class Refused(Case):
    def refused(self, path: str, *parts: str, words: tuple = ()) -> None:
        """One sentence with these words, exit code 2, and nothing is written."""
        self.assertEqual(self.run_import(path, *words), 2)
        self.assertEqual(len(self.err.splitlines()), 1, self.err)
        self.assertEqual(self.out, "")
        for part in parts:
            self.assertIn(part, self.err)
        self.assertEqual([name for name in os.listdir(self.box) if name.startswith("out")], [])

    def test_files_that_are_no_models(self):
        whole = small().model("y").SerializeToString()
        for data in (whole[:len(whole) // 2], b"", b"PK\3\4" + bytes(100), b"\x08\x08"):
            with open(self.path("bad.onnx"), "wb") as out:
                out.write(data)
            self.refused(self.path("bad.onnx"), "ONNX")
        self.refused(self.path("none.onnx"), "there is no file")
        self.refused(self.box, "there is no file")

    def test_unknown_opset_and_domain(self):
        model = small().model("y")
        model.opset_import[0].version = 99
        self.refused(self.save(model), "opset is 99", "export")
        model = small().model("y")
        model.graph.node[1].domain = "my.ops"
        model.opset_import.append(helper.make_opsetid("my.ops", 1))
        self.refused(self.save(model), "'n1' (Relu)", "my.ops")

    def test_weights_in_a_file_that_is_missing(self):
        path = self.path("net.onnx")
        onnx.save(small().model("y"), path, save_as_external_data=True, location="w.bin", size_threshold=0)
        self.imported(path)
        os.rename(self.folder, self.path("kept"))
        os.remove(self.path("w.bin"))
        self.refused(path, "w.bin", "beside the model")

    def test_open_shapes(self):
        model = small().model("y")
        model.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "height"
        path = self.save(model)
        self.refused(path, "input 'x' is open (1x3x?x8)", "--shape x=1x3x224x8")
        self.refused(path, "does not fit", words=("--shape", "x=1x3x8"))
        self.refused(path, "no input 'z'", words=("--shape", "z=1"))
        self.refused(path, "--shape x=1xtwo", words=("--shape", "x=1xtwo"))
        self.refused(path, "ONNX Runtime cannot run", words=("--shape", "x=1x3x2x8"))
        self.imported(path, "--shape", "x=1x3x8x8")

    def test_control_flow(self):
        then = helper.make_graph([helper.make_node("Relu", ["x"], ["t"])], "then", [], [helper.make_tensor_value_info(
            "t", TensorProto.FLOAT, (2, 3))])
        other = helper.make_graph([helper.make_node("Neg", ["x"], ["e"])], "else", [], [helper.make_tensor_value_info(
            "e", TensorProto.FLOAT, (2, 3))])
        n = Net(x=(2, 3))
        n.ReduceSum(["x"], "s", keepdims=0), n.Greater(["s", F(0)], "c")
        n.If(["c"], "y", then_branch=then, else_branch=other)
        self.refused(self.save(n.model("y")), "'n2' (If)", "control flow")
        n = Net(x=(2, 3))
        n.If([np.array(True)], "y", then_branch=then, else_branch=other)
        self.check(n.model("y"), "unary op=relu")

    def test_quantised_and_three_dimensional(self):
        n = Net(x=(2, 3))
        n.QuantizeLinear(["x", F(0.1)], "y")
        self.refused(self.save(n.model("y")), "'n0' (QuantizeLinear)", "quantised")
        n = Net(x=(1, 2, 4, 4, 4))
        n.Conv(["x", weights(2, 2, 3, 3, 3)], "y")
        self.refused(self.save(n.model("y")), "'n0' (Conv)", "3 dimensions")

    def test_an_invalid_node(self):
        n = Net(x=(2, 3))
        n.Conv(["x"], "y")
        self.refused(self.save(n.model("y")), "no valid ONNX model")

    def test_whole_numbers_beyond_32_bits(self):
        n = Net(x=(2, 3))
        n.Relu(["x"], "r"), n.Cast(["r"], "i", to=TensorProto.INT64), n.Mul(["i", LONG([2**40])], "j"), n.Add(["j", LONG([2**40])], "k")
        n.Cast(["k"], "y", to=TensorProto.FLOAT)
        path = self.save(n.model("j", "y"))
        self.refused(path, "'j'", "32 bits")

    def test_bad_inputs(self):
        path = self.save(small().model("y"))
        np.save(self.path("x.npy"), np.zeros((1, 3, 8, 9), F))
        self.refused(path, "does not fit", words=("--input", f"x={self.path('x.npy')}"))
        self.refused(path, "cannot be read", words=("--input", f"x={self.path('none.npy')}"))
        self.refused(path, "needs NAME=VALUE", words=("--input", "x.npy"))
        self.refused(path, "cannot be read", words=("--image", f"x={self.path('x.npy')}"))
        self.refused(path, "no input 'z'", words=("--image", f"z={self.path('x.npy')}"))
        self.refused(path, "a seed is", words=("--seed", "-1"))
        self.refused(path, "--what", words=("--what",))


class Unsupported(Case):
    def test_two_nodes_stand_in(self):
        n = Net(x=(1, 3, 8, 8))
        n.Conv(["x", weights(4, 3, 3, 3)], "a"), n.Det(["a"], "b"), n.Conv(["a", weights(2, 4, 1, 1)], "c")
        n.Hardmax(["c"], "d"), n.Relu(["d"], "e"), n.Reshape(["b", LONG([4, 1, 1])], "f"), n.Conv(["e", weights(4, 2, 1, 1)], "g")
        n.Mul(["f", "g"], "y")
        w = self.check(n.model("y"), *["conv2d"] * 3, "unary op=relu", "binary op=mul", unsupported=2)
        nodes = {o["name"]: o for o in w.json["model"]["nodes"]}
        self.assertEqual([nodes[name]["became"] for name in ("n1", "n3")], ["unsupported"] * 2)
        self.assertTrue(nodes["n1"]["why"])
        for name in "bd":
            self.assertIn("values", w.entries[name])
        self.assertIn("not supported: 1 x Det", self.out)

    def test_a_function_of_whole_numbers(self):
        n = Net(x=(2, 3))
        n.ArgMax(["x"], "a", axis=1, keepdims=0), n.Gather([weights(3, 4), "a"], "b"), n.Relu(["b"], "y")
        w = self.check(n.model("y"), "gather count=2", "unary op=relu", unsupported=1)
        self.assertEqual(w.entries["a"]["dtype"], "i32")


class Damaged(Case):
    def test_200_mutations(self):
        """Bytes changed, taken out or put in: an answer each, and no half of a folder."""
        whole = small().model("y").SerializeToString()
        answers = {0: 0, 2: 0}
        random = np.random.default_rng(int(os.environ.get("CLAM_TEST_SEED", 1)))
        for _ in range(int(os.environ.get("CLAM_TEST_MUTATIONS", 200))):
            data = bytearray(whole)
            for _ in range(random.integers(1, 4)):
                at = int(random.integers(len(data) if random.random() < 0.5 else 300))
                kind = random.integers(3)
                data[at:at + (kind != 1)] = b"" if kind == 0 else bytes([random.integers(256)])
            with open(self.path("bad.onnx"), "wb") as out:
                out.write(data)
            code = self.run_import(self.path("bad.onnx"), "--force")
            answers[code] += 1
            self.assertEqual(len(self.err.splitlines()), code // 2, self.err)
            self.assertEqual([name for name in os.listdir(self.box) if "partial" in name or "old" in name], [])
        self.assertGreater(answers[2], 50, answers)


class Folder(Case):
    def test_names_become_words(self):
        n = Net(**{"/in put:0": (2, 3)})
        n.Relu(["/in put:0"], "a:1"), n.Sigmoid(["a:1"], "a.1"), n.Tanh(["a.1"], "{b}"), n.Abs(["{b}"], "..ä")
        model = n.model("..ä")
        for node, name in zip(model.graph.node, ("/x/Relu", "x.Relu", "", "x Relu")):
            node.name = name
        w = self.check(model, "unary op=relu", "unary op=sigmoid", "unary op=tanh", "unary op=abs")
        used = [*w.entries, *(node["name"] for node in w.json["nodes"])]
        for name in used:
            self.assertRegex(name, r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*$")
        names = [node["name"] for node in w.json["nodes"]]
        self.assertEqual(len(set(names)), 4)
        self.assertIn("x.Relu", names)
        self.assertEqual(w.json["model"]["names"]["in_put.0"], "/in put:0")
        self.assertEqual({w.json["model"]["names"].get(name, name) for name in w.entries}, {"/in put:0", "a:1", "a.1", "{b}", "..ä"})

    def test_files_are_as_the_table_says(self):
        self.imported(self.save(small().model("y")))
        w = json.load(open(os.path.join(self.folder, "workload.json"), encoding="utf-8"))
        files = [entry[key] for entry in w["tensors"].values() for key in ("values", "recorded") if key in entry]
        self.assertEqual(sorted(f["file"] for f in files), sorted("tensors/" + n for n in os.listdir(self.folder + "/tensors")))
        for said in files:
            data = open(os.path.join(self.folder, said["file"]), "rb").read()
            self.assertEqual((said["bytes"], said["xxh3"]), (len(data), xxhash.xxh3_128_hexdigest(data)))
        self.assertEqual(sorted(os.listdir(self.folder)), ["tensors", "workload.json"])

    def test_an_old_folder_is_replaced_only_by_force(self):
        path = self.save(small().model("y"))
        self.assertEqual(self.run_import(path), 0)
        before = os.stat(self.folder).st_ino
        self.assertEqual(self.run_import(path), 2)
        self.assertIn("--force", self.err)
        self.assertEqual(os.stat(self.folder).st_ino, before)
        self.assertEqual(self.run_import(path, "--force", "--table"), 0)
        self.assertNotEqual(os.stat(self.folder).st_ino, before)
        self.assertIn("Flatten  n3    view    d", self.out)
        self.folder = self.path("mine")
        os.mkdir(self.folder)
        self.assertEqual(self.run_import(path, "--force"), 2)
        self.assertIn("no workload", self.err)
        self.assertEqual(sorted(os.listdir(self.box)), ["mine", "net.onnx", "out"])

    def test_inputs_pictures_and_seeds(self):
        from PIL import Image
        path = self.save(small().model("y"))
        x = RANDOM.standard_normal((1, 3, 8, 8)).astype(F)
        np.save(self.path("x.npy"), x)
        w = self.imported(path, "--input", f"x={self.path('x.npy')}", "--json", self.path("s.json"))
        np.testing.assert_array_equal(w.load("x", "values"), x)
        self.assertEqual(json.load(open(self.path("s.json")))["launches"], 3)
        Image.new("RGB", (20, 10), (255, 0, 51)).save(self.path("p.png"))
        w = self.imported(path, "--force", "--image", f"x={self.path('p.png')}")
        np.testing.assert_allclose(w.load("x", "values")[0, :, 3, 3], [(1 - .485) / .229, -.456 / .224, (.2 - .406) / .225], 1e-6)
        one, two, three = (self.imported(path, "--force", "--seed", s).load("x", "values") for s in "223")
        self.assertTrue((one == two).all() and (one != three).any())

    def test_half_and_double_become_f32(self):
        for kind in (TensorProto.FLOAT16, TensorProto.DOUBLE):
            n = Net(x=(2, 3))
            n.Cast(["x"], "a", to=kind), n.Neg(["a"], "b"), n.Cast(["b"], "c", to=TensorProto.FLOAT), n.Exp(["c"], "y")
            self.folder += "x"
            self.assertEqual(self.run_import(self.save(n.model("y"))), 0, self.err)
