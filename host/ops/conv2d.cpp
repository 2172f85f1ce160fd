// SPDX-License-Identifier: MIT
// conv2d.cpp - the fields of conv2d, and which variant computes it.
#include "conv2d_plan.hpp"

namespace clam {
namespace {

using namespace conv2d_plan;

// ---- the problem ----

/// The filter lies within the padded input at least once.
void check_extent(const Problem& problem, const std::string& field, int taps, std::int64_t reach,
                  std::int64_t padded, const char* what) {
  bad_field_if(reach > padded, problem, field,
               "makes a filter of {} taps reach over {} {}, but the padded input has {}", taps,
               reach, what, padded);
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
  if (const Reason reason = not_winograd(problem)) bad_field(problem, "algo", "but " + *reason);
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

// ---- conv2d_plain ----

Reason refuses_plain(const Problem& problem, const DeviceInfo&) {
  return cannot_sum(problem, "nchw");
}

Launch plain(const Request& request) {
  const Conv2d conv(request.problem);
  const int items = group_items(request), lx = std::min(4, items), ly = items / lx;
  return group_launch("conv2d.cl", "conv2d_plain", options(request, {lx, ly}), {lx, ly}, conv.ow(),
                      conv.oh(), std::int64_t{conv.n} * conv.k, any_filter_arguments(conv, "w"));
}

// ---- the choice ----

/// Variants leave a problem to a later one of `timed` that is predicted to be faster.
void compare(std::vector<Variant>& timed) {
  for (auto own = timed.begin(); own + 1 != timed.end(); ++own) {
    own->outdone = [plan = own->plan, others = std::vector<Variant>(own + 1, timed.end())](
                       const Problem& problem, const DeviceInfo& device,
                       const PlanOptions& options) -> Reason {
      if (problem.choice("algo") == "winograd") return {};
      const Request request{problem, device, options};
      const double least = planned_clocks(plan, request);
      for (const Variant& other : others) {
        if (other.refuses(problem, device)) continue;
        if (planned_clocks(other.plan, request) >= least) continue;
        return fmt::format("{} is predicted to be faster", other.name);
      }
      return {};
    };
  }
}

/// In the order of preference.
std::vector<Variant> variants() {
  std::vector<Variant> all{winograd(), product(), product_rows(), three_by_three()};
  compare(all);
  all.insert(all.end() - 1, depthwise());
  all.push_back({"conv2d_plain", "any filter; weights that change", refuses_plain, planned(plain)});
  for (const Variant& variant : nhwc_variants()) all.push_back(variant);
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

}  // namespace

Op conv2d_op() {
  Op op{{"conv2d", "y[n,k,oy,ox] = act(sum_c,r,s w[k,c,r,s] * x[n,c,iy,ix] + b[k]) + r[n,k,oy,ox]",
         with_activation(conv2d_fields()), check_conv2d, conv2d_tensors},
        variants(),
        flops};
  op.least_flops = least_flops;
  op.least_bytes = least_bytes;
  op.takes_native_exp2 = takes_exp;
  op.sums_products = true;
  return op;
}

}  // namespace clam
