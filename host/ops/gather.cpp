// SPDX-License-Identifier: MIT
// gather.cpp - the fields of gather, and how it is computed.
#include "gather.hpp"

#include "shared/copy_unit.hpp"
#include "shared/op.hpp"

namespace clam {
namespace {

constexpr int kAcross = 64;  ///< items side by side along a slice at most
constexpr int kMostAxes = 8;

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

void plan(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted, Plan& plan) {
  const Gather gather(problem);
  const int unit = copy_unit({gather.inner}, problem.dtype());
  plan.launches = {row_launch(
      "gather", "gather_slices",
      fmt::format("{}-DGATHER_UNIT={} ", dtype_option(problem.dtype()), unit), kAcross,
      {gather.inner / unit, gather.count, gather.outer},
      arg_list("src", "index", "dst", gather.n, gather.count, gather.inner), device, wanted)};
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
            integer("axis", "along which slices are gathered; negative ones count from the end",
                    "0", -kMostAxes, kMostAxes - 1),
            extent("count", "slices of dst: indices")},
           check,
           tensors},
          {{"gather_slices", "the only one: in units of up to 16 bytes", refuses_nothing, plan}},
          no_flops,
          bytes};
}

}  // namespace clam
