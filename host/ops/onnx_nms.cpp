// SPDX-License-Identifier: MIT
// onnx_nms: its Problem line, what it asks of the core of nms, and the launch of its output.
#include "ops/shared/suppression.hpp"
#include "shared/op.hpp"

namespace clam {
namespace {

void check_onnx_nms(const Problem& p, Schema::Values&) {
  const float threshold = p.number("iou_threshold");
  if (!(threshold >= 0 && threshold <= 1)) bad_field(p, "iou_threshold", "needs 0 to 1");
}

std::vector<Field> onnx_nms_fields() {
  return {extent("batch", "images", "1"),
          extent("classes", "scores of a box; each class is suppressed by itself"),
          extent("n", "boxes of an image"),
          dtype_field(),
          integer("max_output", "most boxes that a class keeps; 0: none", "0", 0),
          number("iou_threshold", "a kept box suppresses later ones that overlap it more", "0"),
          number("score_threshold", "a kept box has a higher score; -inf: any but NaN", "-inf"),
          flag("center", "boxes are (middle x, y, width, height), not two corners")};
}

std::vector<TensorSpec> onnx_nms_tensors(const Problem& p) {
  const std::int64_t batch = p.integer("batch"), classes = p.integer("classes"), n = p.integer("n");
  const std::int64_t sets = p.integer("max_output") > 0 ? batch * classes : 1;
  return {input("boxes", p.dtype(), {batch, n, 4}), input("scores", p.dtype(), {batch, classes, n}),
          output("selected", Dtype::i32, {sets * onnx_nms_most(p), 3}),
          output("selected_count", Dtype::i32, {1})};
}

Launch output_launch(const Problem& p, const Decided& decided) {
  const Suppression s = onnx_nms_asks(p);
  const std::int64_t most = onnx_nms_most(p);
  return group_launch("onnx_nms.cl", "onnx_nms_selected",
                      fmt::format("-DONNX_NMS_WG={}", decided.group), {decided.group, 1}, most,
                      s.sets, 1,
                      arg_list("selected", "selected_count", "rows", "kept", "totals", s.sets,
                               s.sets / s.items, decided.top, most, decided.chunks));
}

}  // namespace

std::int64_t onnx_nms_most(const Problem& p) {
  return std::clamp(p.integer("max_output"), 1, p.integer("n"));
}

Suppression onnx_nms_asks(const Problem& p) {
  Suppression s;
  s.limit = p.integer("max_output");
  // Where nothing is wanted, one set that keeps nothing fills the one row of the output.
  s.items = s.limit > 0 ? p.integer("batch") : 1;
  s.sets = s.limit > 0 ? s.items * p.integer("classes") : 1;
  s.n = p.integer("n");
  s.scores = "scores";
  s.boxes = "boxes";
  s.iou_threshold = p.number("iou_threshold");
  s.score_min = p.number("score_threshold");
  s.center = p.flag("center");
  s.turned = s.center;  // only two corners may be of any diagonal
  s.gt = true;
  return s;
}

Op onnx_nms_op() {
  return suppression_op(
      {"onnx_nms", "non-maximum suppression by class, as ONNX's NonMaxSuppression defines it",
       onnx_nms_fields(), check_onnx_nms, onnx_nms_tensors},
      {onnx_nms_asks, output_launch});
}

}  // namespace clam
