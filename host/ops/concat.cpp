// SPDX-License-Identifier: MIT
// concat.cpp - the fields of concat, and how it is computed.
#include "concat.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "clam/error.hpp"
#include "ops/shared/geometry.hpp"
#include "shared/copy_unit.hpp"
#include "shared/counts.hpp"

namespace clam {
namespace {

constexpr int kAcross = 64;  ///< items side by side along a row at most
constexpr int kMostAxes = 8;

void check(const Problem& problem, std::map<std::string, std::string, std::less<>>& values) {
  const Shape a = problem.shape("shape_a"), b = problem.shape("shape_b");
  const int axes = static_cast<int>(a.size()), axis = problem.integer("axis");
  if (axis < -axes || axis >= axes) {
    bad_field(problem, "axis", fmt::format("needs {} to {}", -axes, axes - 1));
  }
  const int positive = axis < 0 ? axis + axes : axis;
  bool alike = a.size() == b.size();
  for (std::size_t i = 0; alike && i < a.size(); ++i) {
    alike = a[i] == b[i] || i == static_cast<std::size_t>(positive);
  }
  if (!alike) bad_field(problem, "shape_b", "needs the extents of shape_a but along the axis");
  values["axis"] = std::to_string(positive);
}

std::vector<Field> fields() {
  return {integer("axis", "along which b follows a; negative ones count from the end", "",
                  -kMostAxes, kMostAxes - 1),
          shape("shape_a", "extents of a"), shape("shape_b", "extents of b"), dtype_field()};
}

std::vector<TensorSpec> tensors(const Problem& problem) {
  using Role = TensorSpec::Role;
  const Shape a = problem.shape("shape_a"), b = problem.shape("shape_b");
  const int axis = problem.integer("axis");
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + static_cast<int>(a.size()) : axis);
  Shape both = a;
  both[at] += b[at];
  return {{"a", Role::input, problem.dtype(), a, {}, 0},
          {"b", Role::input, problem.dtype(), b, {}, 0},
          {"dst", Role::output, problem.dtype(), both, {}, 0}};
}

Reason refuses(const Problem&, const DeviceInfo&) { return {}; }

void plan(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted, Plan& plan) {
  const Concat concat(problem);
  const int rows = static_cast<int>(concat.rows), na = static_cast<int>(concat.na),
            nb = static_cast<int>(concat.nb), unit = copy_unit({na, nb}, problem.dtype());
  const int units = (na + nb) / unit;
  const Group group = lower_group(choose_group(units, kAcross, device, wanted), rows);
  plan.launches.push_back(
      {"concat.cl",
       "concat_rows",
       fmt::format("{}-DCONCAT_UNIT={} -DCONCAT_LX={} -DCONCAT_LY={}",
                   problem.dtype() == Dtype::f16 ? "-DCLAM_F16 " : "", unit, group.x, group.y),
       {round_up(units, group.x), round_up(rows, group.y), 1},
       {group.x, group.y, 1},
       {BufferArg{"a"}, BufferArg{"b"}, BufferArg{"dst"}, rows, na, nb}});
}

}  // namespace

Concat::Concat(const Problem& problem) : rows(1), na(1), nb(1) {
  const Shape a = problem.shape("shape_a"), b = problem.shape("shape_b");
  const auto axis = static_cast<std::size_t>(problem.integer("axis"));
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (i < axis) {
      rows *= a[i];
    } else {
      na *= a[i];
      nb *= b[i];
    }
  }
}

const Op& concat_op() {
  static const Op op = [] {
    Op op;
    op.name = "concat";
    op.about = "dst = a and b, one behind the other along an axis";
    op.fields = fields();
    op.check = check;
    op.tensors = tensors;
    op.variants = {{"concat_rows", "the only one: in units of up to 16 bytes", refuses, plan}};
    op.flops = no_flops;
    op.bytes = tensor_bytes;
    return op;
  }();
  return op;
}

}  // namespace clam
