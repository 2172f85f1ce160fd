# SPDX-License-Identifier: MIT
"""Networks of packages: no node is left out, launches are few, and the written folder computes what ONNX Runtime does.

Those of rapidocr-onnxruntime are looked up in CLAM_ONNX_MODELS, a folder with its models."""
import glob
import os
import subprocess
import unittest

import numpy as np
import onnx

from interpret import Workload
from support import CLAM, FULL, TREE, WEEKLY, Case

LIGHT = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light")
RAPID = os.environ.get("CLAM_ONNX_MODELS", "")
# On a device with --full; tests/weekly runs all of them.
ON_DEVICE = ("light_squeezenet.onnx", "ch_ppocr_mobile_v2.0_cls_infer.onnx")
# In f16, of each tensor's rms. Stated before any run: each layer rounds by 2^-11, and such errors add up like the root
# of their number. 0.02 is four times what 100 layers make; learnt weights and their batch norms get more.
HALF, HALF_LEARNT = 0.02, 0.05
HALF_MOST = 65504 / 2  # seeded weights have no batch norms that keep values small
TEXT = 0.3  # a detector's value above which a pixel is of text, by PP-OCR's settings; its smallest side is 3 pixels
PAGE = os.path.join(TREE, "tools", "report", "page.png")
MORE = 1.1  # launches for each convolution, product, pooling, normalisation, softmax and resize


def classes(scores: np.ndarray) -> np.ndarray:
    """The class of each image, or of each step of a line of text."""
    return scores.argmax(1 if scores.ndim == 4 else -1).reshape(-1)


def boxes(plane: np.ndarray) -> np.ndarray:
    """The smallest upright boxes around what hangs together above TEXT: rows of left, top, right, bottom."""
    left = {(int(y), int(x)) for y, x in np.argwhere(plane > TEXT)}
    found = []
    while left:
        reached = waiting = [left.pop()]
        while waiting:
            near = {(y + i, x + j) for y, x in waiting for i in (-1, 0, 1) for j in (-1, 0, 1)} & left
            left -= near
            waiting = list(near)
            reached = reached + waiting
        (top, first), (bottom, last) = np.min(reached, 0), np.max(reached, 0)
        if min(bottom - top, last - first) >= 3:
            found.append((first, top, last, bottom))
    return np.array(sorted(found))


class Networks(Case):
    def same_answer(self, driver: str, dtype: str, w: Workload) -> None:
        """The classes of a classifier; of a detector, the boxes within a pixel."""
        (name,) = w.json["model"]["outputs"]
        done = self.clam(driver, "run", "--workload", self.folder, "--dtype", dtype, "--out", f"{name}={self.path('y.npy')}")
        self.assertIn(done.returncode, (0, 1), done.stderr)  # 1: beyond run's bound; that of the network is verify's
        wanted, got = w.load(name, "recorded"), np.load(self.path("y.npy")).astype(np.float32).reshape(w.entries[name]["shape"])
        if wanted.ndim == 4 and wanted.shape[1] == 1:
            wanted, got = boxes(wanted[0, 0]), boxes(got[0, 0])
            self.assertGreater(len(wanted), 10, "the picture has lines of text")
            self.assertEqual(len(got), len(wanted))
            self.assertLessEqual(np.abs(got[:, None] - wanted).max(2).min(0).max(), 1)
        else:
            np.testing.assert_array_equal(classes(got), classes(wanted))

    def network(self, path: str, *words: str) -> None:
        w = self.imported(path, *words)
        heavy = int(self.out.split(" launches, for ")[1].split()[0])
        self.assertLessEqual(len(w.json["nodes"]), MORE * heavy)
        known = {o["became"] for o in w.json["model"]["nodes"]}
        self.assertLessEqual(known, {"mapped", "fused", "view", "constant", "dropped"})
        name = os.path.basename(path)
        if CLAM and (WEEKLY or FULL and name in ON_DEVICE):
            self.on_device()
            self.same_answer("pocl", "f32", w)
            if WEEKLY and w.largest() > HALF_MOST:
                print(f"note     {name}: no f16, its values grow to {w.largest():.0f}", flush=True)
            elif WEEKLY:
                share = HALF if name.startswith("light_") else HALF_LEARNT
                self.on_device("llvmpipe", "--dtype", "f16", "--recorded-rms", str(share))
                self.same_answer("llvmpipe", "f16", w)

    def rapid(self, name: str, shape: str, *words: str) -> None:
        if not os.path.isfile(os.path.join(RAPID, name)):
            self.skipTest("CLAM_ONNX_MODELS has no rapidocr-onnxruntime")
        self.network(os.path.join(RAPID, name), "--shape", f"x={shape}", *words)

    def test_detector_of_pp_ocr(self):
        self.rapid("ch_PP-OCRv4_det_infer.onnx", "1x3x352x608", "--image", f"x={PAGE}")

    @unittest.skipUnless(FULL, "with --full")
    def test_detector_of_pp_ocr_on_a_square(self):
        self.rapid("ch_PP-OCRv4_det_infer.onnx", "1x3x640x640", "--image", f"x={PAGE}")

    def test_classifier_of_pp_ocr(self):
        self.rapid("ch_ppocr_mobile_v2.0_cls_infer.onnx", "1x3x48x192")

    def test_recogniser_of_pp_ocr(self):
        self.rapid("ch_PP-OCRv4_rec_infer.onnx", "1x3x48x320")

    @unittest.skipUnless(FULL, "with --full")
    def test_commands_of_the_readme(self):
        self.clam("pocl", "--version")
        with open(os.path.join(TREE, "README.md"), encoding="utf-8") as file:
            section = file.read().split("## Your model\n")[1].split("```")[1]
        commands = [line.split("#")[0].strip() for line in section.splitlines()[1:] if line]
        self.assertEqual(len(commands), 4)
        build = os.path.dirname(os.path.abspath(CLAM))
        # The compiler takes minutes for a whole network, in an emulator; the stand-in keeps a cache of its own.
        real = {"CLAM_MALI_COMPILER": os.path.join(TREE, "tools", "mali", "compile")}
        stand_in = {"CLAM_MALI_COMPILER": os.path.join(TREE, "tests", "mali", "fake_mali_compiler.sh"),
                    "CLAM_CACHE_DIR": self.path("cache")}
        for command in commands:
            words = command.replace("build/squeezenet", self.path("squeezenet")).replace("build/", build + "/").split()
            done = subprocess.run(["tools/with-driver", "pocl", *words], cwd=TREE, capture_output=True, text=True,
                                  env={**os.environ, **(real if WEEKLY or " mali " not in command else stand_in)})
            self.assertEqual(done.returncode, 0, command + ": " + done.stdout[-900:] + done.stderr[-900:])

    @unittest.skipUnless(FULL, "with --full")
    def test_largest_models_of_the_packages_have_an_answer(self):
        data = os.path.dirname(LIGHT)
        files = glob.glob(os.path.join(data, "*", "**", "*.onnx"), recursive=True) + glob.glob(os.path.join(RAPID, "*.onnx"))
        for path in sorted(files, key=os.path.getsize)[-20:]:
            with self.subTest(path=path):
                self.assertIn(self.run_import(path, "--force"), (0, 2))
                self.assertLessEqual(len(self.err.splitlines()), 1)


def _light(name: str):
    def test(self):
        self.network(os.path.join(LIGHT, f"light_{name}.onnx"), "--reseed", "3")
    return test


for _name in ("squeezenet", "shufflenet", "bvlc_alexnet", "zfnet512", "inception_v1", "inception_v2", "resnet50",
              "densenet121", "vgg19"):
    _quick = _name in ("squeezenet", "shufflenet")
    setattr(Networks, f"test_{_name}", _light(_name) if _quick else unittest.skipUnless(FULL, "with --full")(_light(_name)))
