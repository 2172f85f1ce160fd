// SPDX-License-Identifier: MIT
// scale_shift.cpp - the fields of scale_shift, and how it is computed.
#include "ops/shared/activation.hpp"
#include "shared/axes.hpp"
#include "shared/op.hpp"

namespace clam {
namespace {

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
Launch launch(const Request& request, Items items, std::vector<Arg> args) {
  const int unit = vector_unit(items.columns);
  items.columns /= unit;
  args.insert(args.begin(),
              {BufferArg{"src"}, BufferArg{"scale"}, BufferArg{"shift"}, BufferArg{"dst"}});
  return row_launch(request, fmt::format("-DSCALE_SHIFT_UNIT={} ", unit), kAcross, items,
                    std::move(args),
                    act_options(request.problem, "SCALE_SHIFT_ACT", request.device));
}

Reason refuses_last(const Problem& problem, const DeviceInfo&) {
  return reason_if(extents_of(problem).inner != 1, "elements follow the axis");
}

Launch last(const Request& request) {
  const AroundAxis of = extents_of(request.problem);
  return launch(request, {of.n, of.outer, 1}, arg_list(of.n, of.outer));
}

Launch rows(const Request& request) {
  const AroundAxis of = extents_of(request.problem);
  return launch(request, {of.inner, of.n, of.outer}, arg_list(of.n, of.inner));
}

/// A product and a sum.
double flops(const Problem& problem) { return 2 * elements_of(problem); }

}  // namespace

Op scale_shift_op() {
  Op op{{"scale_shift", "dst = act(src * scale[c] + shift[c]), c being the place along an axis",
         with_activation({shape("shape", "extents of src and dst"), dtype_field(),
                          axis_field("of scale and shift", "1")}),
         check, tensors},
        {{"scale_shift_last", "the last axis", refuses_last, planned(last)},
         {"scale_shift_rows", "any axis", refuses_nothing, planned(rows)}},
        flops};
  op.takes_native_exp2 = takes_exp;
  return op;
}

}  // namespace clam
