// SPDX-License-Identifier: MIT
// onnx_nms_cases.cpp - the data sets and cases of onnx_nms, for tests and benches.
#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "nms_data.hpp"
#include "ops/onnx_nms.hpp"

namespace clam {

Reference onnx_nms_reference(const Problem&, const Tensors& inputs, const ReferenceOptions&);

namespace {

/// A row's score is that of its class; other classes have a quarter of it, or the same.
box_sets::Rows rows(const Problem& p, Tensors& inputs) {
  const auto put = [&](int item, int row, const box_sets::Row& values) {
    const int n = p.integer("n"), classes = p.integer("classes");
    const box_sets::Box box = p.flag("center") ? box_sets::centered(values.box) : values.box;
    for (int i = 0; i < 4; ++i) {
      inputs.at("boxes").set((static_cast<std::int64_t>(item) * n + row) * 4 + i,
                             box[static_cast<std::size_t>(i)]);
    }
    for (int c = 0; c < classes; ++c) {
      const bool full = c == static_cast<int>(values.id) % classes || (row + c) % 5 == 0;
      inputs.at("scores").set((static_cast<std::int64_t>(item) * classes + c) * n + row,
                              full ? values.score : values.score / 4);
    }
  };
  return {p.integer("batch"), p.integer("n"), put, nullptr};
}

void special(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  box_sets::every(rows(p, inputs), seed);
  Random random(seed);
  if (p.flag("center")) {
    box_sets::negate_sizes(inputs.at("boxes"), 4, 0);
  } else {
    box_sets::turn_boxes(inputs.at("boxes"), 4, 0);
  }
  box_sets::make_special_rows(inputs.at("boxes"), random, 4, 0);
  box_sets::make_special(inputs.at("scores"), random);
}

std::vector<DataSet> data_sets() { return suppression_data_sets<rows, special>(); }

/// Fewer, as many and more sets than a group of the output adds up at a time; each way through the
/// core; outputs that are full and empty.
std::vector<std::string> cases() {
  return {"onnx_nms classes=1 n=122640 max_output=400 iou_threshold=0.45 score_threshold=0.01",
          "onnx_nms batch=2 classes=20 n=300 max_output=50 iou_threshold=0.5",
          "onnx_nms batch=3 classes=33 n=65 max_output=5 iou_threshold=0.5",
          "onnx_nms batch=2 classes=64 n=33 max_output=33 iou_threshold=1",
          "onnx_nms classes=3 n=700 max_output=1000 iou_threshold=0.25",
          "onnx_nms classes=3 n=700 max_output=100 iou_threshold=0.25 center",
          "onnx_nms classes=2 n=700 max_output=700",
          "onnx_nms classes=2 n=1000 max_output=1000 iou_threshold=0.14285715",
          "onnx_nms classes=2 n=1000 max_output=100 iou_threshold=0.5 score_threshold=0.3",
          "onnx_nms classes=5 n=100 max_output=10 score_threshold=inf",
          "onnx_nms batch=2 classes=5 n=100",
          "onnx_nms batch=2 classes=3 n=1025 max_output=64 iou_threshold=0.5",
          "onnx_nms classes=2 n=4097 max_output=4097 iou_threshold=0.5",
          "onnx_nms batch=2 classes=2 n=1 max_output=1 iou_threshold=0.5"};
}

std::vector<std::string> small_cases() {
  return {"onnx_nms batch=2 classes=3 n=65 max_output=20 iou_threshold=0.5",
          "onnx_nms classes=2 n=300 max_output=40 iou_threshold=0.5 center",
          "onnx_nms classes=2 n=9", "onnx_nms classes=1 n=1025 max_output=40 iou_threshold=0.5"};
}

}  // namespace

const OpProof& onnx_nms_proof() {
  static const OpProof proof = [] {
    OpProof proof;
    proof.op = "onnx_nms";
    proof.data_sets = data_sets();
    proof.reference = onnx_nms_reference;
    proof.cases = cases();
    proof.small_cases = small_cases();
    return proof;
  }();
  return proof;
}

}  // namespace clam
