// SPDX-License-Identifier: MIT
// yolo_decode.cpp - the fields of yolo_decode, and how it is computed.
#include "shared/boxes.hpp"

namespace clam {
namespace {

constexpr int kItems = 64;  ///< of a group, unless the caller wants fewer

// ---- the problem ----

/// Rows of [n, 5 + classes], else columns of [4 + classes, n].
bool is_rows(const Problem& problem) { return problem.choice("form") == "v5"; }

void check(const Problem& problem, Schema::Values&) {
  const int most = most_classes(problem);
  bad_field_if(problem.integer("classes") > most, problem, "classes",
               "needs 1 to {}, whose numbers {} holds", most, name(problem.dtype()));
}

std::vector<TensorSpec> tensors(const Problem& p) {
  const std::int64_t batch = p.integer("batch"), n = p.integer("n"), classes = p.integer("classes");
  const Shape src = is_rows(p) ? Shape{batch, n, 5 + classes} : Shape{batch, 4 + classes, n};
  return {input("src", p.dtype(), src), output("data", p.dtype(), {batch, n, 6})};
}

// ---- launches ----

Launch columns(const Request& request) {
  const Problem& p = request.problem;
  const int n = p.integer("n"), unit = vector_unit(n);
  const int items = choose_group(n / unit, kItems, request).x;
  return own_launch(request, fmt::format("-DYOLO_DECODE_UNIT={} -DYOLO_DECODE_WG={}", unit, items),
                    {items, 1}, {n / unit, p.integer("batch"), 1},
                    arg_list("src", "data", n, p.integer("classes")));
}

Launch rows(const Request& request) {
  const Problem& p = request.problem;
  const int n = p.integer("batch") * p.integer("n");
  const int boxes = group_items(kItems, request) / kFewestLanes;
  return own_launch(request, fmt::format("-DYOLO_DECODE_ROWS={}", boxes), {kFewestLanes, boxes},
                    {kFewestLanes, n, 1}, arg_list("src", "data", n, p.integer("classes")));
}

Reason refuses_columns(const Problem& problem, const DeviceInfo&) {
  return reason_if(is_rows(problem), "form=v5 has the numbers of a box in a row");
}

Reason refuses_rows(const Problem& problem, const DeviceInfo& device) {
  if (!is_rows(problem)) return "form=v8 has the numbers of a box in a column";
  return no_lanes(device);
}

/// Of a class a comparison, of a box four multiply-adds; of rows a product.
double flops(const Problem& p) {
  return static_cast<double>(p.integer("batch")) * p.integer("n") *
         (8.0 + p.integer("classes") + (is_rows(p) ? 1 : 0));
}

}  // namespace

Op yolo_decode_op() {
  return {{"yolo_decode",
           "rows (id, score, box) of every box of a YOLO head: its best class, its corners",
           {extent("batch", "independent images", "1"), extent("n", "boxes"),
            extent("classes", "scores of a box"), dtype_field(),
            choice("form", "v8: [4 + classes, n]; v5: [n, 5 + classes] with objectness",
                   {"v5", "v8"}, "v8")},
           check,
           tensors},
          {{"yolo_decode_columns", "form=v8: an item walks down classes", refuses_columns,
            planned(columns)},
           {"yolo_decode_rows", "form=v5: four items share a box", refuses_rows, planned(rows)}},
          flops};
}

}  // namespace clam
