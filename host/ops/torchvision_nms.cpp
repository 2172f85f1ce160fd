// SPDX-License-Identifier: MIT
// torchvision_nms: its Problem line, and what it asks of the core of nms.
#include <limits>

#include "ops/shared/suppression.hpp"
#include "shared/op.hpp"

namespace clam {
namespace {

void check_torchvision_nms(const Problem&, Schema::Values&) {}

std::vector<TensorSpec> torchvision_nms_tensors(const Problem& p) {
  const std::int64_t n = p.integer("n");
  return {input("boxes", p.dtype(), {n, 4}), input("scores", p.dtype(), {n}),
          output("keep_rows", Dtype::i32, {n}), output("keep_count", Dtype::i32, {1})};
}

Launch output_launch(const Problem& p, const Decided& decided) {
  return indices_output(torchvision_nms_asks(p), decided, "", "keep_rows", "keep_count");
}

}  // namespace

Suppression torchvision_nms_asks(const Problem& p) {
  Suppression s;
  s.n = p.integer("n");
  s.scores = "scores";
  s.boxes = "boxes";
  s.iou_threshold = p.number("iou_threshold");
  s.score_min = -std::numeric_limits<float>::infinity();
  s.gt = s.turned = true;
  return s;
}

Op torchvision_nms_op() {
  return suppression_op(
      {"torchvision_nms",
       "row numbers of kept boxes by falling score, as torchvision.ops.nms",
       {extent("n", "boxes"), dtype_field(),
        number("iou_threshold", "a kept box suppresses later ones that overlap it more", "0.5")},
       check_torchvision_nms,
       torchvision_nms_tensors},
      {torchvision_nms_asks, output_launch});
}

}  // namespace clam
