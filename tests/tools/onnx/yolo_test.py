# SPDX-License-Identifier: MIT
"""Graphs of the shape of a YOLO: imported, run, decoded and suppressed on a device, beside numpy."""
import numpy as np

from support import Case, Net, weights

CLASSES, BOXES, SIDE = 5, 64, 320.0
OVERLAP = 0.45


def head(values: int) -> Net:
    """Three convolutions to an 8 x 8 map of `values` numbers a box."""
    n = Net(x=(1, 3, 16, 16))
    n.Conv(["x", weights(16, 3, 3, 3)], "a", pads=[1] * 4, strides=[2, 2]), n.Relu(["a"], "b")
    n.Conv(["b", weights(16, 16, 3, 3)], "c", pads=[1] * 4), n.Relu(["c"], "d")
    n.Conv(["d", 3 * weights(values, 16, 1, 1), weights(values)], "map")
    n.Sigmoid(["map"], "parts"), n.Reshape(["parts", np.array([1, values, BOXES])], "columns")
    return n


def factors(values: int) -> np.ndarray:
    """Centres anywhere in the picture, boxes of up to half of it; scores as they are."""
    return np.array([SIDE, SIDE, SIDE / 2, SIDE / 2] + [1] * (values - 4), np.float32)


def decoded(boxes: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Rows (id, score, left, top, right, bottom)."""
    x, y, w, h = boxes.T
    sides = np.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], 1)
    return np.column_stack([scores.argmax(1), scores.max(1), sides])


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    wide, high = np.minimum(a[4:], b[4:]) - np.maximum(a[2:4], b[2:4])
    both = max(wide, 0) * max(high, 0)
    return both / (np.prod(a[4:] - a[2:4]) + np.prod(b[4:] - b[2:4]) - both)


def kept(rows: np.ndarray, least: float) -> list[np.ndarray]:
    """Greedy suppression within a class, the best score first."""
    found: list[np.ndarray] = []
    for row in sorted((r for r in rows if r[1] > least), key=lambda r: -r[1]):
        if all(other[0] != row[0] or overlap(row, other) < OVERLAP for other in found):
            found.append(row)
    return found


class Yolo(Case):
    def run_on_device(self, problem: str, inputs: dict[str, str], *outputs: str) -> None:
        words = [f"{name}={self.path(file)}.npy" for name, file in inputs.items()]
        made = [f"{name}={self.path(name)}.npy" for name in outputs]
        done = self.clam("pocl", "run", problem, "--in", *words, "--out", *made)
        self.assertEqual(done.returncode, 0, done.stderr)

    def detect(self, net: Net, form: str) -> None:
        self.clam("pocl", "--version")
        self.imported(self.save(net.model("y")))
        done = self.clam("pocl", "run", "--workload", self.folder, "--out", f"y={self.path('y')}.npy")
        self.assertEqual(done.returncode, 0, done.stderr)
        line = f"n={BOXES} dtype=f32"
        self.run_on_device(f"yolo_decode {line} classes={CLASSES} form={form}", {"src": "y"}, "data")
        y = np.load(self.path("y.npy")).astype(np.float64)[0]
        boxes, scores = (y[:4].T, y[4:].T) if form == "v8" else (y[:, :4], y[:, 4:5] * y[:, 5:])
        wanted = decoded(boxes, scores)
        rows = np.load(self.path("data.npy"))[0]
        np.testing.assert_array_equal(rows[:, 0], wanted[:, 0])
        np.testing.assert_allclose(rows, wanted, 1e-6, 1e-4)

        least = round(float(np.quantile(wanted[:, 1], 0.3)), 3)
        self.run_on_device(f"get_valid_counts {line} score_threshold={least}", {"data": "data"}, "count", "out")
        self.run_on_device(f"nms {line} iou_threshold={OVERLAP}", {"data": "out", "count": "count"}, "out")
        left = kept(wanted, least)
        self.assertTrue(3 <= len(left) < (wanted[:, 1] > least).sum(), "it suppresses some boxes, not all")
        out = np.load(self.path("out.npy"))[0]
        out = out[out[:, 1] > 0]
        np.testing.assert_allclose(out[np.argsort(-out[:, 1])], np.array(left), 1e-6, 1e-4)

    def test_boxes_of_yolov8(self):
        n = head(4 + CLASSES)
        n.Mul(["columns", factors(4 + CLASSES).reshape(1, -1, 1)], "y")
        self.detect(n, "v8")

    def test_boxes_of_yolov5(self):
        n = head(5 + CLASSES)
        n.Transpose(["columns"], "rows", perm=[0, 2, 1]), n.Mul(["rows", factors(5 + CLASSES)], "y")
        self.detect(n, "v5")
