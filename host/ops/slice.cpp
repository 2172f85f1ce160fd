// SPDX-License-Identifier: MIT
// slice.cpp - the fields of slice, and how it is computed.
#include "slice.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "ops/shared/launch.hpp"
#include "shared/copy_unit.hpp"
#include "shared/counts.hpp"
#include "shared/per_axis.hpp"

namespace clam {
namespace {

constexpr int kAcross = 64;  ///< items side by side along a row at most
constexpr std::size_t kMostAxes = 4;

void check(const Problem& problem, Schema::Values& values) {
  const Shape shape = problem.shape("shape"), count = problem.shape("count");
  if (count.size() != shape.size()) {
    bad_field(problem, "count", fmt::format("needs the {} axes of shape", shape.size()));
  }
  unite_axes(problem, values, "start", shape.size());
  unite_axes(problem, values, "step", shape.size());
  const std::vector<int> start = per_axis(problem, "start", shape.size()),
                         step = per_axis(problem, "step", shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t last = start[i] + (count[i] - 1) * step[i];
    if (start[i] >= shape[i]) {
      bad_field(problem, "start", fmt::format("axis {} needs 0 to {}", i, shape[i] - 1));
    }
    if (last >= 0 && last < shape[i]) continue;
    bad_field(
        problem, "count",
        fmt::format("along axis {} the last element is {}, needs 0 to {}", i, last, shape[i] - 1));
  }
}

std::vector<TensorSpec> tensors(const Problem& problem) {
  return {input("src", problem.dtype(), problem.shape("shape")),
          output("dst", problem.dtype(), problem.shape("count"))};
}

Reason refuses(const Problem& problem, const DeviceInfo&) {
  const std::size_t axes = Slice(problem).axes.size();
  if (axes <= kMostAxes) return {};
  return fmt::format("{} axes are left where those that lie as one are one; {} can be", axes,
                     kMostAxes);
}

void plan(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted, Plan& plan) {
  const Slice slice(problem);
  const SliceAxis& inner = slice.axes.front();
  std::vector<SliceAxis> outer(slice.axes.begin() + 1, slice.axes.end());
  std::sort(outer.begin(), outer.end(),
            [](const SliceAxis& a, const SliceAxis& b) { return a.extent > b.extent; });
  outer.resize(kMostAxes - 1);
  const SliceAxis &row = outer[0], &z = outer[1], &plane = outer[2];
  const int unit =
      inner.src == 1
          ? copy_unit({inner.extent, slice.first, row.src, z.src, plane.src}, problem.dtype())
          : 1;
  const int n = as_int(inner.extent), rows = as_int(row.extent);
  const Group group = lower_group(choose_group(n / unit, kAcross, device, wanted), rows);
  plan.launches = {
      group_launch("slice.cl", "slice_rows",
                   fmt::format("{}-DSLICE_UNIT={} -DSLICE_LX={} -DSLICE_LY={}",
                               dtype_option(problem.dtype()), unit, group.x, group.y),
                   group, n / unit, rows, z.extent,
                   arg_list("src", "dst", n, rows, as_int(plane.extent), as_int(slice.first),
                            as_int(inner.src), as_int(row.src), as_int(z.src), as_int(plane.src),
                            as_int(row.dst), as_int(z.dst), as_int(plane.dst)))};
}

/// src is read where it is taken alone, an element that is repeated once.
double bytes(const Problem& problem) {
  double read = 1, written = 1;
  for (const SliceAxis& axis : Slice(problem).axes) {
    written *= static_cast<double>(axis.extent);
    if (axis.src != 0) read *= static_cast<double>(axis.extent);
  }
  return (read + written) * size_of(problem.dtype());
}

}  // namespace

Slice::Slice(const Problem& problem) {
  const Shape shape = problem.shape("shape"), count = problem.shape("count");
  const std::vector<int> start = per_axis(problem, "start", shape.size()),
                         step = per_axis(problem, "step", shape.size());
  std::int64_t of_src = 1, of_dst = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    const SliceAxis axis{count[i], step[i] * of_src, of_dst};
    first += start[i] * of_src;
    of_src *= shape[i];
    of_dst *= count[i];
    if (axis.extent == 1) continue;
    if (!axes.empty() && axis.src == axes.back().src * axes.back().extent) {
      axes.back().extent *= axis.extent;
    } else {
      axes.push_back(axis);
    }
  }
  if (axes.empty()) axes.push_back({1, 1, 1});
}

Op slice_op() {
  return {{"slice",
           "dst[i, j, ...] = src[start + i * step, ...] along each axis",
           {shape("shape", "extents of src"),
            integers("start", "the first element along each axis, or one for all", "0", 0),
            shape("count", "extents of dst"),
            integers("step", "from one to the next along each axis, or one for all; 0 repeats", "1",
                     -2147483647),
            moved_dtype_field()},
           check,
           tensors},
          {{"slice_rows", "the only one: in units of up to 16 bytes", refuses, plan}},
          no_flops,
          bytes};
}

}  // namespace clam
