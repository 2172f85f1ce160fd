// SPDX-License-Identifier: MIT
// transpose.cpp - the fields of transpose, and how it is computed.
#include "transpose.hpp"

#include <algorithm>

#include "shared/op.hpp"

namespace clam {
namespace {

constexpr int kBlock = 4;  ///< rows and columns of an item's block
constexpr int kTile = 16;  ///< rows and columns of a group's tile

void check(const Problem& problem, Schema::Values&) {
  const Shape shape = problem.shape("shape");
  bad_field_if(problem.axes("perm").size() != shape.size(), problem, "perm",
               "needs the {} axes of shape", shape.size());
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

bool is_innermost(const CopyAxis& axis) { return axis.dst == 1; }

/// Those but the innermost, the largest first.
std::vector<CopyAxis> outer(const std::vector<CopyAxis>& axes) {
  return outer_axes<CopyAxis>({axes.begin(), axes.end() - 1},
                              [](const CopyAxis& axis) { return axis.extent; });
}

Launch rows(const Request& request) {
  const std::vector<CopyAxis> turned = transpose_axes(request.problem), axes = outer(turned);
  const CopyAxis &row = axes[0], &z = axes[1], &plane = axes[2];
  const std::int64_t n = turned.back().extent;
  const int unit = copy_unit({n}, request.problem.dtype());
  return row_launch(request, fmt::format("-DTRANSPOSE_UNIT={} ", unit), kAcrossCopy,
                    {n / unit, row.extent, z.extent},
                    arg_list("src", "dst", n, row.extent, plane.extent, row.src, z.src, plane.src,
                             row.dst, z.dst, plane.dst));
}

/// The axes that are innermost in src and in dst, and the rest of a launch that turns them.
struct Plane {
  int a, b;
  std::int64_t src_b, dst_a;
  CopyAxis z, plane;

  explicit Plane(std::vector<CopyAxis> axes)
      : a(as_int(axes.back().extent)), dst_a(axes.back().dst) {
    const auto of_b = std::find_if(axes.begin(), axes.end(), is_innermost);
    b = as_int(of_b->extent);
    src_b = of_b->src;
    axes.erase(of_b);
    const std::vector<CopyAxis> others = outer(axes);
    z = others[0];
    plane = others[1];
  }
  std::vector<Arg> arguments() const {
    return arg_list("src", "dst", a, b, plane.extent, src_b, z.src, plane.src, dst_a, z.dst,
                    plane.dst);
  }
};

Launch blocks(const Request& request) {
  const Plane plane(transpose_axes(request.problem));
  return row_launch(request, "", kBlock, {plane.a / kBlock, plane.b / kBlock, plane.z.extent},
                    plane.arguments());
}

Launch tiles(const Request& request) {
  const Plane plane(transpose_axes(request.problem));
  const DeviceInfo& device = request.device;
  const auto rows =
      std::min<std::int64_t>({items_or(kUsualGroup, request) / kTile, kTile,
                              device.max_work_group / kTile, device.max_work_items[1]});
  const Group group{kTile, floor_power_of_two(std::max<std::int64_t>(rows, 1))};
  return own_launch(request, fmt::format("-DTRANSPOSE_LX={} -DTRANSPOSE_LY={}", group.x, group.y),
                    group, {plane.a, ceil_div(plane.b, kTile) * group.y, plane.z.extent},
                    plane.arguments());
}

// ---- variants ----

Reason refuses_rows(const Problem& problem, const DeviceInfo&) {
  const std::vector<CopyAxis> axes = transpose_axes(problem);
  if (Reason reason = too_many_axes(axes.size(), "stay together")) return reason;
  return reason_if(!is_innermost(axes.back()), "the innermost axis moves");
}

Reason refuses_turned(const std::vector<CopyAxis>& axes) {
  if (Reason reason = too_many_axes(axes.size(), "stay together")) return reason;
  if (is_innermost(axes.back())) return "the innermost axis stays";
  return {};
}

Reason refuses_tile(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = refuses_turned(transpose_axes(problem))) return reason;
  static_assert(kTile == kSmallestGroup);
  return refuses_small_groups(problem, device);
}

Reason refuses_blocks(const Problem& problem, const DeviceInfo&) {
  const std::vector<CopyAxis> axes = transpose_axes(problem);
  if (Reason reason = refuses_turned(axes)) return reason;
  const Plane plane(axes);
  return reason_if(plane.a % kBlock != 0 || plane.b % kBlock != 0,
                   "{} x {} elements are no number of blocks of {} x {}", plane.b, plane.a, kBlock,
                   kBlock);
}

}  // namespace

std::vector<CopyAxis> transpose_axes(const Problem& problem) {
  const Shape shape = problem.shape("shape");
  const std::vector<std::int64_t> steps = dense_strides(shape);
  Shape turned;
  std::vector<std::int64_t> src;
  for (const int axis : problem.axes("perm")) {
    turned.push_back(shape[static_cast<std::size_t>(axis)]);
    src.push_back(steps[static_cast<std::size_t>(axis)]);
  }
  std::vector<CopyAxis> axes = copy_axes(turned, src);
  std::sort(axes.begin(), axes.end(),
            [](const CopyAxis& one, const CopyAxis& other) { return one.src > other.src; });
  return axes;
}

Op transpose_op() {
  return {{"transpose",
           "dst = src with its axes in another order",
           {shape("shape", "extents of src"), axes("perm", "which axis of src each axis of dst is"),
            moved_dtype_field()},
           check,
           tensors},
          {{"transpose_rows", "the innermost axis stays: copied in wide units", refuses_rows,
            planned(rows)},
           {"transpose_blocks", "it moves: blocks of 4 x 4 in registers", refuses_blocks,
            planned(blocks)},
           {"transpose_tile", "it moves: tiles of 16 x 16 in local memory", refuses_tile,
            planned(tiles)}}};
}

}  // namespace clam
