// SPDX-License-Identifier: MIT
// transpose.cpp - the fields of transpose, and how it is computed.
#include "transpose.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "ops/shared/launch.hpp"
#include "shared/copy_unit.hpp"
#include "shared/counts.hpp"

namespace clam {
namespace {

constexpr int kBlock = 4;    ///< rows and columns of an item's block
constexpr int kTile = 16;    ///< rows and columns of a group's tile
constexpr int kAcross = 64;  ///< items side by side along a row at most
constexpr std::size_t kMostAxes = 4;

void check(const Problem& problem, Schema::Values&) {
  const Shape shape = problem.shape("shape");
  if (problem.axes("perm").size() == shape.size()) return;
  bad_field(problem, "perm", fmt::format("needs the {} axes of shape", shape.size()));
}

std::vector<Field> fields() {
  return {shape("shape", "extents of src"), axes("perm", "which axis of src each axis of dst is"),
          moved_dtype_field()};
}

std::vector<TensorSpec> tensors(const Problem& problem) {
  const Shape shape = problem.shape("shape");
  Shape turned;
  for (const int axis : problem.axes("perm")) {
    turned.push_back(shape[static_cast<std::size_t>(axis)]);
  }
  return {input("src", problem.dtype(), shape), output("dst", problem.dtype(), turned)};
}

// ---- launches ----

/// An axis of a launch: its extent, and the elements from one of it to the next.
struct Axis {
  int extent = 1, src = 0, dst = 0;
};

/// The axes but those of `plane`, the largest first; those that are not there have one element.
std::vector<Axis> outer_axes(const Turn& turn, std::initializer_list<int> plane,
                             std::size_t wanted) {
  const std::vector<std::int64_t> src = turn.src_steps(), dst = turn.dst_steps();
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < turn.extents.size(); ++i) {
    if (std::find(plane.begin(), plane.end(), static_cast<int>(i)) != plane.end()) continue;
    axes.push_back({as_int(turn.extents[i]), as_int(src[i]), as_int(dst[i])});
  }
  std::sort(axes.begin(), axes.end(),
            [](const Axis& one, const Axis& other) { return one.extent > other.extent; });
  axes.resize(wanted);
  return axes;
}

std::string options_of(const Problem& problem, const std::string& unit, const Group& group) {
  return fmt::format("{}{}-DTRANSPOSE_LX={} -DTRANSPOSE_LY={}", dtype_option(problem.dtype()), unit,
                     group.x, group.y);
}

void plan_rows(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
               Plan& plan) {
  const Turn turn(problem);
  const int last = static_cast<int>(turn.extents.size()) - 1;
  const int n = last < 0 ? 1 : as_int(turn.extents.back());
  const std::vector<Axis> axes = outer_axes(turn, {last}, 3);
  const Axis &row = axes[0], &z = axes[1], &plane = axes[2];
  const int unit = copy_unit({n}, problem.dtype());
  const Group group = lower_group(choose_group(n / unit, kAcross, device, wanted), row.extent);
  plan.launches = {
      group_launch("transpose.cl", "transpose_rows",
                   options_of(problem, fmt::format("-DTRANSPOSE_UNIT={} ", unit), group), group,
                   n / unit, row.extent, z.extent,
                   arg_list("src", "dst", n, row.extent, plane.extent, row.src, z.src, plane.src,
                            row.dst, z.dst, plane.dst))};
}

/// The axes that are innermost in src and in dst, and the rest of a launch that turns them.
struct Plane {
  int a, b, src_b, dst_a;
  Axis z, plane;

  explicit Plane(const Turn& turn) {
    const int innermost = static_cast<int>(turn.extents.size()) - 1;
    const auto of_a = static_cast<std::size_t>(innermost),
               of_b = static_cast<std::size_t>(turn.perm.back());
    a = as_int(turn.extents[of_a]);
    b = as_int(turn.extents[of_b]);
    src_b = as_int(turn.src_steps()[of_b]);
    dst_a = as_int(turn.dst_steps()[of_a]);
    const std::vector<Axis> axes = outer_axes(turn, {innermost, turn.perm.back()}, 2);
    z = axes[0];
    plane = axes[1];
  }
  std::vector<Arg> arguments() const {
    return arg_list("src", "dst", a, b, plane.extent, src_b, z.src, plane.src, dst_a, z.dst,
                    plane.dst);
  }
};

void plan_blocks(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                 Plan& plan) {
  const Plane plane{Turn(problem)};
  const int columns = plane.a / kBlock, rows = plane.b / kBlock;
  const Group group = lower_group(choose_group(columns, kBlock, device, wanted), rows);
  plan.launches = {group_launch("transpose.cl", "transpose_blocks", options_of(problem, "", group),
                                group, columns, rows, plane.z.extent, plane.arguments())};
}

void plan_tile(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
               Plan& plan) {
  constexpr int kItems = 64;
  const Plane plane{Turn(problem)};
  const int items = wanted.max_work_group > 0 ? wanted.max_work_group : kItems;
  const std::int64_t rows = std::min<std::int64_t>(
      {items / kTile, kTile, device.max_work_group / kTile, device.max_work_items[1]});
  const Group group{kTile, floor_power_of_two(std::max<std::int64_t>(rows, 1))};
  plan.launches.push_back(
      {"transpose.cl",
       "transpose_tile",
       options_of(problem, "", group),
       {round_up(plane.a, kTile), ceil_div(plane.b, kTile) * group.y, plane.z.extent},
       {group.x, group.y, 1},
       plane.arguments()});
}

// ---- variants ----

Reason has_too_many_axes(const Turn& turn) {
  if (turn.extents.size() <= kMostAxes) return {};
  return fmt::format("{} axes are left where those that stay together are one; {} can be",
                     turn.extents.size(), kMostAxes);
}

Reason refuses_rows(const Problem& problem, const DeviceInfo&) {
  const Turn turn(problem);
  if (Reason reason = has_too_many_axes(turn)) return reason;
  if (turn.keeps_innermost()) return {};
  return "the innermost axis moves";
}

Reason refuses_tile(const Problem& problem, const DeviceInfo& device) {
  const Turn turn(problem);
  if (Reason reason = has_too_many_axes(turn)) return reason;
  if (turn.keeps_innermost()) return "the innermost axis stays";
  static_assert(kTile == kSmallestGroup);
  return refuses_small_groups(problem, device);
}

Reason refuses_blocks(const Problem& problem, const DeviceInfo&) {
  const Turn turn(problem);
  if (Reason reason = has_too_many_axes(turn)) return reason;
  if (turn.keeps_innermost()) return "the innermost axis stays";
  const Plane plane(turn);
  if (plane.a % kBlock == 0 && plane.b % kBlock == 0) return {};
  return fmt::format("{} x {} elements are no number of blocks of {} x {}", plane.b, plane.a,
                     kBlock, kBlock);
}

}  // namespace

Turn::Turn(const Problem& problem) {
  const Shape shape = problem.shape("shape");
  const std::vector<int> order = problem.axes("perm");
  std::vector<int> kept;  // axes of src of more than one element, in the order of dst
  for (const int axis : order) {
    if (shape[static_cast<std::size_t>(axis)] > 1) kept.push_back(axis);
  }
  // Whether the axis of src goes on with the axis before it, in src as in dst.
  const auto follows = [&](std::size_t i) {
    if (i == 0 || kept[i] < kept[i - 1]) return false;
    return std::all_of(shape.begin() + kept[i - 1] + 1, shape.begin() + kept[i],
                       [](std::int64_t extent) { return extent == 1; });
  };
  std::vector<std::pair<int, std::int64_t>>
      runs;  // first axis of src, elements; in the order of dst
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const std::int64_t extent = shape[static_cast<std::size_t>(kept[i])];
    if (follows(i)) {
      runs.back().second *= extent;
    } else {
      runs.emplace_back(kept[i], extent);
    }
  }
  auto in_src = runs;
  std::sort(in_src.begin(), in_src.end());
  for (const auto& run : in_src) extents.push_back(run.second);
  for (const auto& run : runs) {
    perm.push_back(static_cast<int>(std::find(in_src.begin(), in_src.end(), run) - in_src.begin()));
  }
}

std::vector<std::int64_t> Turn::src_steps() const {
  std::vector<std::int64_t> steps(extents.size(), 1);
  for (std::size_t i = extents.size(); i-- > 1;) steps[i - 1] = steps[i] * extents[i];
  return steps;
}

std::vector<std::int64_t> Turn::dst_steps() const {
  std::vector<std::int64_t> steps(extents.size(), 1);
  std::int64_t step = 1;
  for (std::size_t i = perm.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(perm[i]);
    steps[axis] = step;
    step *= extents[axis];
  }
  return steps;
}

Op transpose_op() {
  return {
      {"transpose", "dst = src with its axes in another order", fields(), check, tensors},
      {{"transpose_rows", "the innermost axis stays: copied in wide units", refuses_rows,
        plan_rows},
       {"transpose_blocks", "it moves: blocks of 4 x 4 in registers", refuses_blocks, plan_blocks},
       {"transpose_tile", "it moves: tiles of 16 x 16 in local memory", refuses_tile, plan_tile}},
      no_flops,
      tensor_bytes};
}

}  // namespace clam
