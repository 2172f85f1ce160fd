// SPDX-License-Identifier: MIT
// slice.cpp - the fields of slice, and how it is computed.
#include "slice.hpp"

#include "shared/op.hpp"

namespace clam {
namespace {

void check(const Problem& problem, Schema::Values& values) {
  const Shape shape = problem.shape("shape"), count = problem.shape("count");
  bad_field_if(count.size() != shape.size(), problem, "count", "needs the {} axes of shape",
               shape.size());
  unite_axes(problem, values, "start", shape.size());
  unite_axes(problem, values, "step", shape.size());
  const std::vector<int> start = per_axis(problem, "start", shape.size()),
                         step = per_axis(problem, "step", shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t last = start[i] + (count[i] - 1) * step[i];
    bad_field_if(start[i] >= shape[i], problem, "start", "axis {} needs 0 to {}", i, shape[i] - 1);
    bad_field_if(last < 0 || last >= shape[i], problem, "count",
                 "along axis {} the last element is {}, needs 0 to {}", i, last, shape[i] - 1);
  }
}

std::vector<TensorSpec> tensors(const Problem& problem) {
  return {input("src", problem.dtype(), problem.shape("shape")),
          output("dst", problem.dtype(), problem.shape("count"))};
}

Reason refuses(const Problem& problem, const DeviceInfo&) {
  return too_many_axes(Slice(problem).axes.size(), "lie as one");
}

Launch rows(const Request& request) {
  const Slice slice(request.problem);
  const CopyAxis& inner = slice.axes.front();
  const std::vector<CopyAxis> outer = outer_axes<CopyAxis>(
      {slice.axes.begin() + 1, slice.axes.end()}, [](const CopyAxis& axis) { return axis.extent; });
  const CopyAxis &row = outer[0], &z = outer[1], &plane = outer[2];
  int unit = 1;
  if (inner.src == 1) {
    unit =
        copy_unit({inner.extent, slice.first, row.src, z.src, plane.src}, request.problem.dtype());
  }
  return row_launch(request, fmt::format("-DSLICE_UNIT={} ", unit), kAcrossCopy,
                    {inner.extent / unit, row.extent, z.extent},
                    arg_list("src", "dst", inner.extent, row.extent, plane.extent, slice.first,
                             inner.src, row.src, z.src, plane.src, row.dst, z.dst, plane.dst));
}

/// src is read where it is taken alone, an element that is repeated once.
double bytes(const Problem& problem) {
  double read = 1, written = 1;
  for (const CopyAxis& axis : Slice(problem).axes) {
    written *= static_cast<double>(axis.extent);
    if (axis.src != 0) read *= static_cast<double>(axis.extent);
  }
  return (read + written) * size_of(problem.dtype());
}

}  // namespace

Slice::Slice(const Problem& problem) {
  const Shape shape = problem.shape("shape");
  const std::vector<int> start = per_axis(problem, "start", shape.size()),
                         step = per_axis(problem, "step", shape.size());
  std::vector<std::int64_t> steps = dense_strides(shape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    first += start[i] * steps[i];
    steps[i] *= step[i];
  }
  axes = copy_axes(problem.shape("count"), steps);
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
          {{"slice_rows", "the only one: in units of up to 16 bytes", refuses, planned(rows)}},
          no_flops,
          bytes};
}

}  // namespace clam
