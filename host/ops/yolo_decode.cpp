// SPDX-License-Identifier: MIT
// yolo_decode.cpp - the fields of yolo_decode, and how it is computed.
#include "ops/shared/lanes.hpp"
#include "shared/op.hpp"

namespace clam {
namespace {

constexpr int kVector = 4;  ///< boxes of a vector load
constexpr int kItems = 64;  ///< of a group, unless the caller wants fewer

// ---- the problem ----

/// Rows of [n, 5 + classes], else columns of [4 + classes, n].
bool is_rows(const Problem& problem) { return problem.choice("form") == "v5"; }

void check(const Problem& problem, Schema::Values&) {
  constexpr int kMost = 2049, kMostFloat = 1 << 24;
  const int most = problem.dtype() == Dtype::f16 ? kMost : kMostFloat;
  if (problem.integer("classes") > most) {
    bad_field(problem, "classes",
              fmt::format("needs 1 to {}, whose numbers {} holds", most, name(problem.dtype())));
  }
}

std::vector<TensorSpec> tensors(const Problem& p) {
  const std::int64_t batch = p.integer("batch"), n = p.integer("n"), classes = p.integer("classes");
  const Shape src = is_rows(p) ? Shape{batch, n, 5 + classes} : Shape{batch, 4 + classes, n};
  return {input("src", p.dtype(), src), output("data", p.dtype(), {batch, n, 6})};
}

// ---- launches ----

/// Boxes of an item.
int unit_of(const Problem& p) { return p.integer("n") % kVector == 0 ? kVector : 1; }

void plan_columns(const Problem& p, const DeviceInfo& device, const PlanOptions& wanted,
                  Plan& plan) {
  const int n = p.integer("n"), unit = unit_of(p);
  const int items = choose_group(n / unit, kItems, device, wanted).x;
  plan.launches = {group_launch("yolo_decode.cl", "yolo_decode_columns",
                                fmt::format("{}-DYOLO_DECODE_UNIT={} -DYOLO_DECODE_WG={}",
                                            dtype_option(p.dtype()), unit, items),
                                {items, 1}, n / unit, p.integer("batch"), 1,
                                arg_list("src", "data", n, p.integer("classes")))};
}

void plan_rows(const Problem& p, const DeviceInfo& device, const PlanOptions& wanted, Plan& plan) {
  const int rows = p.integer("batch") * p.integer("n"), items = group_items(kItems, device, wanted);
  const int boxes = items / kFewestLanes;
  plan.launches = {group_launch(
      "yolo_decode.cl", "yolo_decode_rows",
      fmt::format("{}-DYOLO_DECODE_ROWS={}", dtype_option(p.dtype()), boxes), {kFewestLanes, boxes},
      kFewestLanes, rows, 1, arg_list("src", "data", rows, p.integer("classes")))};
}

Reason refuses_columns(const Problem& problem, const DeviceInfo&) {
  if (!is_rows(problem)) return {};
  return "form=v5 has the numbers of a box in a row";
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
            plan_columns},
           {"yolo_decode_rows", "form=v5: four items share a box", refuses_rows, plan_rows}},
          flops,
          tensor_bytes};
}

}  // namespace clam
