// SPDX-License-Identifier: MIT
// conv2d.cpp - the fields of conv2d.
#include <fmt/core.h>

#include "conv2d_plan.hpp"
#include "conv2d_problem.hpp"
#include "ops/shared/accumulator.hpp"
#include "ops/shared/activation.hpp"
#include "shared/counts.hpp"

namespace clam {
namespace {

// ---- the problem ----

/// The filter lies within the padded input at least once.
void check_extent(const Problem& problem, const std::string& field, int taps, std::int64_t reach,
                  std::int64_t padded, const char* what) {
  if (reach <= padded) return;
  bad_field(problem, field,
            fmt::format("makes a filter of {} taps reach over {} {}, but the padded input has {}",
                        taps, reach, what, padded));
}

void check_conv2d(const Problem& problem, Schema::Values& values) {
  check_acc(problem);
  check_act(problem, values);
  check_convolution(problem, values);
  const Conv2d conv(problem);
  check_extent(problem, "r", conv.r, Conv2d::reach(conv.r, conv.dilation_h),
               Conv2d::padded(conv.h, conv.pad_t, conv.pad_b), "rows");
  check_extent(problem, problem.integer("s") == 0 ? "r" : "s", conv.s,
               Conv2d::reach(conv.s, conv.dilation_w),
               Conv2d::padded(conv.w, conv.pad_l, conv.pad_r), "columns");
  if (problem.choice("algo") != "winograd") return;
  if (const Reason reason = conv2d_plan::not_winograd(problem)) {
    bad_field(problem, "algo", "but " + *reason);
  }
}

std::vector<Field> conv2d_fields() {
  std::vector<Field> fields = convolution_extents();
  append(fields, {dtype_field(), acc_field()});
  append(fields, stride_fields("rows and columns of x from an output to the next"));
  append(fields, pad_fields("rows and columns around x that are left out of the sums", "x"));
  append(fields, dilation_fields("rows and columns of x from a tap to the next"));
  append(fields,
         {extent("groups", "number of groups of a grouped convolution", "1"),
          choice("layout", "order of the axes", {"nchw", "nhwc"}, "nchw"),
          choice("algo", "how 3x3 filters are summed", {"auto", "winograd", "direct"}, "auto"),
          flag("bias", "b[k] is added"),
          flag("residual", "r, of y's shape, is added after the activation")});
  return fields;
}

std::vector<TensorSpec> conv2d_tensors(const Problem& problem) {
  const Conv2d conv(problem);
  const auto shape = [&](int images, int channels, int rows, int columns) {
    return conv.nhwc ? Shape{images, rows, columns, channels}
                     : Shape{images, channels, rows, columns};
  };
  std::vector<TensorSpec> specs{input("x", conv.dtype, shape(conv.n, conv.c, conv.h, conv.w)),
                                input("w", conv.dtype, shape(conv.k, conv.cg(), conv.r, conv.s))};
  if (conv.bias) specs.push_back(input("b", conv.dtype, {conv.k}));
  if (conv.residual) specs.push_back(input("r", conv.dtype, conv.y_shape()));
  specs.push_back(output("y", conv.dtype, conv.y_shape(), conv.residual ? "r" : ""));
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

Op conv2d_op() {
  Op op{{"conv2d", "y[n,k,oy,ox] = act(sum_c,r,s w[k,c,r,s] * x[n,c,iy,ix] + b[k]) + r[n,k,oy,ox]",
         with_activation(conv2d_fields()), check_conv2d, conv2d_tensors},
        variants(),
        flops,
        tensor_bytes};
  op.least_flops = least_flops;
  op.least_bytes = least_bytes;
  op.takes_native_exp2 = takes_exp;
  op.sums_products = true;
  return op;
}

}  // namespace clam
