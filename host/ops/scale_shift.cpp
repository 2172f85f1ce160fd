// SPDX-License-Identifier: MIT
// scale_shift.cpp - the fields of scale_shift, and how it is computed.
#include "ops/shared/activation.hpp"
#include "shared/op.hpp"
#include "shared/per_axis.hpp"

namespace clam {
namespace {

constexpr int kAcross = 16;  ///< items side by side, which fill a cache line
constexpr int kVector = 4;   ///< elements of a vector

// ---- the problem ----

void check(const Problem& problem, Schema::Values& values) {
  check_act(problem, values);
  values["axis"] = std::to_string(positive_axis(problem, problem.shape("shape").size()));
}

AroundAxis extents_of(const Problem& problem) { return {problem, problem.shape("shape")}; }

std::vector<TensorSpec> tensors(const Problem& problem) {
  const Dtype dtype = problem.dtype();
  const Shape shape = problem.shape("shape"), channels{extents_of(problem).n};
  return {input("src", dtype, shape), input("scale", dtype, channels),
          input("shift", dtype, channels), output("dst", dtype, shape, "src")};
}

// ---- launches ----

/// `items`: elements of src.
void add_launch(const char* kernel, const Problem& problem, Items items, std::vector<Arg> args,
                const DeviceInfo& device, const PlanOptions& wanted, Plan& plan) {
  const int unit = items.columns % kVector == 0 ? kVector : 1;
  items.columns /= unit;
  args.insert(args.begin(),
              {BufferArg{"src"}, BufferArg{"scale"}, BufferArg{"shift"}, BufferArg{"dst"}});
  plan.launches = {row_launch(
      "scale_shift", kernel,
      fmt::format("{}-DSCALE_SHIFT_UNIT={} ", dtype_option(problem.dtype()), unit), kAcross, items,
      std::move(args), device, wanted, act_options(problem, "SCALE_SHIFT_ACT", device))};
}

Reason refuses_last(const Problem& problem, const DeviceInfo&) {
  if (extents_of(problem).inner == 1) return {};
  return "elements follow the axis";
}

void plan_last(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
               Plan& plan) {
  const AroundAxis of = extents_of(problem);
  add_launch("scale_shift_last", problem, {of.n, of.outer, 1}, arg_list(of.n, of.outer), device,
             wanted, plan);
}

void plan_rows(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
               Plan& plan) {
  const AroundAxis of = extents_of(problem);
  add_launch("scale_shift_rows", problem, {of.inner, of.n, of.outer}, arg_list(of.n, of.inner),
             device, wanted, plan);
}

/// A product and a sum.
double flops(const Problem& problem) {
  return 2.0 * static_cast<double>(count(problem.shape("shape")));
}

}  // namespace

Op scale_shift_op() {
  Op op{{"scale_shift", "dst = act(src * scale[c] + shift[c]), c being the place along an axis",
         with_activation(
             {shape("shape", "extents of src and dst"), dtype_field(),
              integer("axis", "of scale and shift; negative ones count from the end", "1", -8, 7)}),
         check, tensors},
        {{"scale_shift_last", "the last axis", refuses_last, plan_last},
         {"scale_shift_rows", "any axis", refuses_nothing, plan_rows}},
        flops,
        tensor_bytes};
  op.takes_native_exp2 = takes_exp;
  return op;
}

}  // namespace clam
