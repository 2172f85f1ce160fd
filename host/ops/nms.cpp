// SPDX-License-Identifier: MIT
// nms: its Problem line, and what it asks of the core.
#include "ops/shared/suppression.hpp"
#include "shared/op.hpp"

namespace clam {
namespace {

// ---- the problem ----

/// A limit of 0 or less is none, and indices are compacted anyway.
void check_nms(const Problem& p, Schema::Values& values) {
  check_row(p);
  for (const char* limit : {"max_output_size", "top_k"}) {
    if (p.integer(limit) <= 0) values[limit] = "-1";
  }
  if (p.flag("return_indices")) values["invalid_to_bottom"] = "0";
}

std::vector<Field> nms_fields() {
  constexpr std::int64_t kAny = -2147483648LL;
  return {extent("batch", "independent sets of rows", "1"),
          extent("n", "rows of a set"),
          extent("e", "elements of a row, 5 or more", "6"),
          dtype_field(),
          number("iou_threshold", "overlap from which a kept box suppresses later ones", "0.5"),
          integer("max_output_size", "most boxes that are kept; 0 or less: all", "-1", kAny),
          integer("force_suppress", "1: boxes of other classes are suppressed too", "0", 0, 1),
          integer("top_k", "best rows that are looked at; 0 or less: all", "-1", kAny),
          integer("coord_start", "element of the first of four coordinates", "2", 0),
          integer("score_index", "element that holds the score", "1", 0),
          integer("id_index", "element that holds the class; -1: there is none", "0", -1),
          flag("return_indices", "box_indices and box_count are the outputs"),
          flag("invalid_to_bottom", "kept rows stand together"),
          choice("compare", "ge: an overlap equal to the threshold suppresses; gt: it does not",
                 {"ge", "gt"}, "ge"),
          number("score_min", "a kept box has a higher score", "0")};
}

std::vector<TensorSpec> nms_tensors(const Problem& p) {
  const std::int64_t batch = p.integer("batch"), n = p.integer("n"), e = p.integer("e");
  std::vector<TensorSpec> specs{input("data", p.dtype(), {batch, n, e}),
                                input("count", Dtype::i32, {batch})};
  if (p.flag("return_indices")) {
    specs.push_back(input("indices", Dtype::i32, {batch, n}));
    specs.push_back(output("box_indices", Dtype::i32, {batch, n}));
    specs.push_back(output("box_count", Dtype::i32, {batch, 1}));
  } else {
    specs.push_back(output("out", p.dtype(), {batch, n, e}));
  }
  return specs;
}

// ---- the plan ----

Launch output_launch(const Problem& p, const Decided& decided) {
  const Suppression s = nms_asks(p);
  if (!p.flag("return_indices")) {
    return rows_output(p, s, decided, p.flag("invalid_to_bottom"), BoxForm::as_is);
  }
  return indices_output(s, decided, "indices", "box_indices", "box_count");
}

}  // namespace

Suppression nms_asks(const Problem& p) {
  Suppression s = suppression_of_rows(p, "top_k");
  if (p.integer("max_output_size") > 0) s.limit = p.integer("max_output_size");
  s.count = "count";
  s.score_min = p.number("score_min");
  s.gt = p.choice("compare") == "gt";
  return s;
}

Op nms_op() {
  return suppression_op(
      {"nms", "non-maximum suppression of count[b] rows, as TVM's non_max_suppression defines it",
       nms_fields(), check_nms, nms_tensors},
      {nms_asks, output_launch});
}

}  // namespace clam
