// SPDX-License-Identifier: MIT
// gather.cpp - the fields of gather, and how it is computed.
#include "gather.hpp"

#include "shared/op.hpp"

namespace clam {
namespace {

void check(const Problem& problem, Schema::Values& values) {
  values["axis"] = std::to_string(positive_axis(problem, problem.shape("shape").size()));
}

std::vector<TensorSpec> tensors(const Problem& problem) {
  const Shape shape = problem.shape("shape");
  const int count = problem.integer("count");
  Shape gathered = shape;
  gathered[positive_axis(problem, shape.size())] = count;
  return {input("src", problem.dtype(), shape), input("index", Dtype::i32, {count}),
          output("dst", problem.dtype(), gathered)};
}

Launch slices(const Request& request) {
  const Gather gather(request.problem);
  const int unit = copy_unit({gather.inner}, request.problem.dtype());
  return row_launch(request, fmt::format("-DGATHER_UNIT={} ", unit), kAcrossCopy,
                    {gather.inner / unit, gather.count, gather.outer},
                    arg_list("src", "index", "dst", gather.n, gather.count, gather.inner));
}

/// src is read where it is gathered alone.
double bytes(const Problem& problem) {
  const Gather gather(problem);
  return 2.0 * static_cast<double>(gather.outer * gather.count * gather.inner) *
             size_of(problem.dtype()) +
         4.0 * static_cast<double>(gather.count);
}

}  // namespace

Op gather_op() {
  return {{"gather",
           "dst = the slices of src along an axis that an index names",
           {shape("shape", "extents of src"), moved_dtype_field(),
            axis_field("along which slices are gathered", "0"),
            extent("count", "slices of dst: indices")},
           check,
           tensors},
          {{"gather_slices", "the only one: in units of up to 16 bytes", refuses_nothing,
            planned(slices)}},
          no_flops,
          bytes};
}

}  // namespace clam
