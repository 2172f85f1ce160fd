// SPDX-License-Identifier: MIT
// box_nms: its Problem line, and what it asks of the core of nms.
#include <limits>

#include "ops/shared/suppression.hpp"
#include "shared/op.hpp"

namespace clam {
namespace {

void check_box_nms(const Problem& p, Schema::Values&) {
  check_row(p);
  if (p.integer("topk") == 0) bad_field(p, "topk", "needs 1 or more, or -1 for all rows");
  bad_field_if(p.integer("background_id") != -1 && p.integer("id_index") < 0, p, "background_id",
               "needs an id_index, the element that holds the class");
}

std::vector<Field> box_nms_fields() {
  const std::vector<std::string> formats{"corner", "center"};
  return {extent("batch", "independent sets of rows", "1"),
          extent("n", "rows of a set"),
          extent("e", "elements of a row, 5 or more", "6"),
          dtype_field(),
          number("iou_threshold", "a kept box suppresses later ones that overlap it more", "0.5"),
          number("valid_thresh", "a kept box has a higher score", "0"),
          integer("topk", "best rows that are looked at; -1: all", "-1", -1),
          integer("coord_start", "element of the first of four coordinates", "2", 0),
          integer("score_index", "element that holds the score", "1", 0),
          integer("id_index", "element that holds the class; -1: there is none", "-1", -1),
          integer("background_id", "with an id_index: rows of this class are dropped, -1 too", "-1",
                  std::numeric_limits<std::int32_t>::min()),
          integer("force_suppress", "1: boxes of other classes are suppressed too", "0", 0, 1),
          choice("in_format", "corner: x0 y0 x1 y1; center: middle x y, width, height", formats,
                 "corner"),
          choice("out_format", "what the coordinates of kept rows become", formats, "corner")};
}

std::vector<TensorSpec> box_nms_tensors(const Problem& p) {
  const Shape shape{p.integer("batch"), p.integer("n"), p.integer("e")};
  return {input("data", p.dtype(), shape), output("out", p.dtype(), shape)};
}

Launch output_launch(const Problem& p, const Decided& decided) {
  return rows_output(p, box_nms_asks(p), decided, true, box_nms_form(p));
}

}  // namespace

Suppression box_nms_asks(const Problem& p) {
  Suppression s = suppression_of_rows(p, "topk");
  s.background_index = p.integer("id_index");
  const double background = p.integer("background_id");
  s.background =
      static_cast<float>(p.dtype() == Dtype::f16 ? round_to_half(background) : background);
  s.score_min = p.number("valid_thresh");
  s.center = p.choice("in_format") == "center";
  s.gt = s.turned = true;
  return s;
}

BoxForm box_nms_form(const Problem& p) {
  const std::string& to = p.choice("out_format");
  if (to == p.choice("in_format")) return BoxForm::as_is;
  return to == "center" ? BoxForm::to_center : BoxForm::to_corner;
}

Op box_nms_op() {
  return suppression_op(
      {"box_nms", "non-maximum suppression of rows, as MXNet's box_nms defines it",
       box_nms_fields(), check_box_nms, box_nms_tensors},
      {box_nms_asks, output_launch});
}

}  // namespace clam
