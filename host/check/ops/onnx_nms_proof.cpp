// SPDX-License-Identifier: MIT
// onnx_nms_proof.cpp - the outputs of onnx_nms, from who is kept.
#include "shared/box_sets.hpp"
#include "shared/suppression_reference.hpp"

namespace clam::onnx_nms {
namespace {

Reference reference(const Problem& p, const Tensors& inputs, const ReferenceOptions& options) {
  const Suppression s = onnx_nms_asks(p);
  const std::vector<Selected> sets = select(s, inputs, options);
  HostTensor selected(Dtype::i32, {s.sets * onnx_nms_most(p), 3}), count(Dtype::i32, {1});
  for (std::int64_t i = 0; i < selected.size(); ++i) selected.set(i, -1);
  std::int64_t place = 0;
  for (std::int64_t set = 0; set < s.sets; ++set) {
    for (const std::int64_t row : sets[set].kept) {
      selected.set(3 * place, set / p.integer("classes"));
      selected.set(3 * place + 1, set % p.integer("classes"));
      selected.set(3 * place + 2, row);
      ++place;
    }
  }
  count.set(0, place);
  return {{"selected", {selected}}, {"selected_count", {count}}};
}

// ---- data sets and cases ----

/// A row's score is that of its class; other classes have a quarter of it, or the same.
box_sets::Rows rows(const Problem& p, Tensors& inputs) {
  const auto put = [&](int item, int row, const box_sets::Row& values) {
    const int n = p.integer("n"), classes = p.integer("classes");
    const box_sets::Box box = p.flag("center") ? box_sets::centered(values.box) : values.box;
    box_sets::put_box(inputs.at("boxes"), (std::int64_t{item} * n + row) * 4, box);
    for (int c = 0; c < classes; ++c) {
      const bool full = c == static_cast<int>(values.id) % classes || (row + c) % 5 == 0;
      inputs.at("scores").set((std::int64_t{item} * classes + c) * n + row,
                              full ? values.score : values.score / 4);
    }
  };
  return {p.integer("batch"), p.integer("n"), put, nullptr};
}

void special(const Problem& p, Random& random, Tensors& inputs) {
  box_sets::make_special_boxes(inputs.at("boxes"), random, 4, 0, p.flag("center"));
  box_sets::make_special(inputs.at("scores"), random);
}

}  // namespace

OpProof proof() {
  return {
      "onnx_nms",
      suppression_data_sets(rows, special),
      reference,
      // Fewer, as many and more sets than a group of the output adds up at a time; each way through
      // the core; outputs that are full and empty.
      {"classes=1 n=122640 max_output=400 iou_threshold=0.45 score_threshold=0.01",
       "batch=2 classes=20 n=300 max_output=50 iou_threshold=0.5",
       "batch=3 classes=33 n=65 max_output=5 iou_threshold=0.5",
       "batch=2 classes=64 n=33 max_output=33 iou_threshold=1",
       "classes=3 n=700 max_output=1000 iou_threshold=0.25",
       "classes=3 n=700 max_output=100 iou_threshold=0.25 center", "classes=2 n=700 max_output=700",
       "classes=2 n=1000 max_output=1000 iou_threshold=0.14285715",
       "classes=2 n=1000 max_output=100 iou_threshold=0.5 score_threshold=0.3",
       "classes=5 n=100 max_output=10 score_threshold=inf", "batch=2 classes=5 n=100",
       "batch=2 classes=3 n=1025 max_output=64 iou_threshold=0.5",
       "classes=2 n=4097 max_output=4097 iou_threshold=0.5",
       "batch=2 classes=2 n=1 max_output=1 iou_threshold=0.5"},
      {"batch=2 classes=3 n=65 max_output=20 iou_threshold=0.5",
       "classes=2 n=300 max_output=40 iou_threshold=0.5 center", "classes=2 n=9",
       "classes=1 n=1025 max_output=40 iou_threshold=0.5"}};
}

}  // namespace clam::onnx_nms
