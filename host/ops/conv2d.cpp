// SPDX-License-Identifier: MIT
// conv2d.cpp - the fields of conv2d.
#include <fmt/core.h>

#include <algorithm>

#include "clam/error.hpp"
#include "conv2d_plan.hpp"
#include "conv2d_problem.hpp"
#include "ops/shared/accumulator.hpp"
#include "ops/shared/activation.hpp"
#include "ops/shared/sides.hpp"
#include "shared/counts.hpp"

namespace clam {
namespace {

// ---- the problem ----

using Values = std::map<std::string, std::string, std::less<>>;

/// The filter lies within the padded input at least once.
void check_extent(const Problem& problem, const std::string& field, int taps, std::int64_t reach,
                  std::int64_t padded, const char* what) {
  if (reach <= padded) return;
  bad_field(problem, field,
            fmt::format("makes a filter of {} taps reach over {} {}, but the padded input has {}",
                        taps, reach, what, padded));
}

void check_conv2d(const Problem& problem, Values& values) {
  check_acc(problem);
  check_act(problem, values);
  const Conv2d conv(problem);
  for (const auto& [name, channels] : {std::pair{"c", conv.c}, std::pair{"k", conv.k}}) {
    if (channels % conv.groups == 0) continue;
    bad_field(problem, "groups", fmt::format("does not divide {}={}", name, channels));
  }
  check_extent(problem, "r", conv.r, Conv2d::reach(conv.r, conv.dilation_h),
               Conv2d::padded(conv.h, conv.pad_t, conv.pad_b), "rows");
  check_extent(problem, problem.integer("s") == 0 ? "r" : "s", conv.s,
               Conv2d::reach(conv.s, conv.dilation_w),
               Conv2d::padded(conv.w, conv.pad_l, conv.pad_r), "columns");
  unite(values, "stride", {{"stride_h", conv.stride_h}, {"stride_w", conv.stride_w}}, "0", 1);
  unite(
      values, "pad",
      {{"pad_t", conv.pad_t}, {"pad_l", conv.pad_l}, {"pad_b", conv.pad_b}, {"pad_r", conv.pad_r}},
      "-1", 0);
  unite(values, "dilation", {{"dilation_h", conv.dilation_h}, {"dilation_w", conv.dilation_w}}, "0",
        1);
  if (conv.s == conv.r) values["s"] = "0";
  if (problem.choice("algo") != "winograd") return;
  if (const Reason reason = conv2d_plan::not_winograd(problem)) {
    bad_field(problem, "algo", "but " + *reason);
  }
}

std::vector<Field> conv2d_fields() {
  return {extent("n", "images", "1"),
          extent("c", "input channels"),
          extent("h", "rows of x"),
          extent("w", "columns of x"),
          extent("k", "output channels"),
          extent("r", "rows of the filter"),
          integer("s", "columns of the filter; 0: as many as rows", "0", 0),
          dtype_field(),
          acc_field(),
          step_field("stride", "rows and columns of x from an output to the next", "1"),
          step_field("stride_h", "rows alone; 0: as stride", "0"),
          step_field("stride_w", "columns alone; 0: as stride", "0"),
          step_field("pad", "rows and columns around x that are left out of the sums", "0"),
          step_field("pad_t", "rows above x; -1: as pad", "-1"),
          step_field("pad_l", "columns left of x; -1: as pad", "-1"),
          step_field("pad_b", "rows below x; -1: as pad", "-1"),
          step_field("pad_r", "columns right of x; -1: as pad", "-1"),
          step_field("dilation", "rows and columns of x from a tap to the next", "1"),
          step_field("dilation_h", "rows alone; 0: as dilation", "0"),
          step_field("dilation_w", "columns alone; 0: as dilation", "0"),
          extent("groups", "number of groups of a grouped convolution", "1"),
          choice("layout", "order of the axes", {"nchw", "nhwc"}, "nchw"),
          choice("algo", "how 3x3 filters are summed", {"auto", "winograd", "direct"}, "auto"),
          flag("bias", "b[k] is added"),
          flag("residual", "r, of y's shape, is added after the activation")};
}

std::vector<TensorSpec> conv2d_tensors(const Problem& problem) {
  using Role = TensorSpec::Role;
  const Conv2d conv(problem);
  const auto spec = [&](const char* name, Role role, int images, int channels, int rows,
                        int columns) {
    const Shape shape =
        conv.nhwc ? Shape{images, rows, columns, channels} : Shape{images, channels, rows, columns};
    return TensorSpec{name, role, conv.dtype, shape, {}, 0};
  };
  std::vector<TensorSpec> specs{spec("x", Role::input, conv.n, conv.c, conv.h, conv.w),
                                spec("w", Role::input, conv.k, conv.cg(), conv.r, conv.s)};
  if (conv.bias) specs.push_back({"b", Role::input, conv.dtype, {conv.k}, {}, 0});
  if (conv.residual) {
    specs.push_back(spec("r", Role::input, conv.n, conv.k, conv.oh(), conv.ow()));
  }
  specs.push_back(spec("y", Role::output, conv.n, conv.k, conv.oh(), conv.ow()));
  if (conv.residual) specs.back().may_be = "r";
  return specs;
}

std::vector<Variant> variants() {
  std::vector<Variant> all = conv2d_nchw_variants();
  for (const Variant& variant : conv2d_nhwc_variants()) all.push_back(variant);
  for (Variant& variant : all) {
    if (variant.name == "conv2d_winograd") continue;
    variant.refuses = [refuses = variant.refuses](const Problem& problem,
                                                  const DeviceInfo& device) -> Reason {
      if (problem.choice("algo") == "winograd") return "algo=winograd asks for conv2d_winograd";
      return refuses(problem, device);
    };
  }
  return all;
}

double flops(const Problem& problem) {
  const Conv2d conv(problem);
  return 2.0 * static_cast<double>(conv.outputs()) * static_cast<double>(conv.products());
}

/// Taps that meet the padding count nothing.
double least_flops(const Problem& problem) {
  const Conv2d conv(problem);
  return flops(problem) * conv.rows().share_of_taps() * conv.columns().share_of_taps();
}

double least_bytes(const Problem& problem) {
  const Conv2d conv(problem);
  return bytes_that_windows_meet(problem, conv.rows(), conv.columns());
}

}  // namespace

Reason conv2d_not_offered(const Problem& problem) { return acc_not_offered(problem); }

const Op& conv2d_op() {
  static const Op op = [] {
    Op op;
    op.name = "conv2d";
    op.about = "y[n,k,oy,ox] = act(sum_c,r,s w[k,c,r,s] * x[n,c,iy,ix] + b[k]) + r[n,k,oy,ox]";
    op.fields = with_activation(conv2d_fields());
    op.check = check_conv2d;
    op.tensors = conv2d_tensors;
    op.variants = variants();
    op.flops = flops;
    op.bytes = tensor_bytes;
    op.least_flops = least_flops;
    op.least_bytes = least_bytes;
    op.takes_native_exp2 = takes_exp;
    op.sums_products = true;
    return op;
  }();
  return op;
}

}  // namespace clam
