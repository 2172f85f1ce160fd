// SPDX-License-Identifier: MIT
// conv_transpose.cpp - the fields of conv_transpose, and how it is computed.
#include "conv_transpose.hpp"

#include <limits>
#include <numeric>

#include "ops/shared/activation.hpp"
#include "ops/shared/tiling.hpp"
#include "shared/op.hpp"

namespace clam {
namespace {

// ---- the problem ----

/// Kernels count rows and columns in int, those that are cut off included.
void check_axis(const Problem& problem, const std::string& axis, std::int64_t whole, int before,
                int after, const char* what) {
  bad_field_if(whole > std::numeric_limits<int>::max(), problem, axis,
               "makes y of {} {}, over 2147483647", whole, what);
  bad_field_if(whole - before - after < 1, problem, axis, "makes y of {} {}, and pads cut off {}",
               whole, what, before + after);
}

void check_out_pad(const Problem& problem, const char* side, int out_pad, int stride,
                   int dilation) {
  bad_field_if(out_pad >= std::max(stride, dilation), problem,
               problem.integer(side) < 0 ? "out_pad" : side,
               "needs less than the stride {} or the dilation {}", stride, dilation);
}

void check(const Problem& problem, Schema::Values& values) {
  check_act(problem, values);
  check_convolution(problem, values);
  const ConvTranspose conv(problem);
  check_out_pad(problem, "out_pad_h", conv.out_pad_h, conv.stride_h, conv.dilation_h);
  check_out_pad(problem, "out_pad_w", conv.out_pad_w, conv.stride_w, conv.dilation_w);
  check_axis(problem, "h", conv.whole_h(), conv.pad_t, conv.pad_b, "rows");
  check_axis(problem, "w", conv.whole_w(), conv.pad_l, conv.pad_r, "columns");
  unite(values, "out_pad", {{"out_pad_h", conv.out_pad_h}, {"out_pad_w", conv.out_pad_w}}, "-1", 0);
}

std::vector<Field> fields() {
  std::vector<Field> fields = convolution_extents();
  append(fields, {dtype_field()});
  append(fields, stride_fields("rows and columns of y from a pixel of x to the next"));
  append(fields, pad_fields("rows and columns around y that are cut off", "y"));
  append(fields, {step_field("out_pad", "rows below y and columns right of it that are added", "0"),
                  step_field("out_pad_h", "rows alone; -1: as out_pad", "-1"),
                  step_field("out_pad_w", "columns alone; -1: as out_pad", "-1")});
  append(fields, dilation_fields("rows and columns of y from a tap to the next"));
  append(fields, {extent("groups", "number of groups of a grouped convolution", "1"),
                  flag("bias", "b[k] is added")});
  return with_activation(std::move(fields));
}

std::vector<TensorSpec> tensors(const Problem& problem) {
  const ConvTranspose conv(problem);
  std::vector<TensorSpec> specs{input("x", conv.dtype, {conv.n, conv.c, conv.h, conv.w}),
                                input("w", conv.dtype, {conv.c, conv.kg(), conv.r, conv.s})};
  if (conv.bias) specs.push_back(input("b", conv.dtype, {conv.k}));
  specs.push_back(output("y", conv.dtype, conv.y_shape()));
  return specs;
}

/// Of every pixel of x with every tap.
double flops(const Problem& problem) {
  const ConvTranspose conv(problem);
  return 2.0 * conv.n * conv.h * conv.w * conv.k * static_cast<double>(conv.products());
}

/// Without products that are cut off.
double least_flops(const Problem& problem) {
  const ConvTranspose conv(problem);
  return flops(problem) * conv.rows().share_of_taps() * conv.columns().share_of_taps();
}

// ---- launches ----

std::string options(const Request& request, const std::string& geometry) {
  const Problem& problem = request.problem;
  return dtype_option(problem.dtype()) + geometry +
         (problem.flag("bias") ? " -DCONVT_BIAS=1" : "") +
         act_options(problem, "CONVT_ACT", request.device);
}

/// The group whose columns leave the fewest items beyond the last of `columns`.
Group group_of(int columns, const Request& request) {
  constexpr int kWidest = 16, kNarrowest = 4;
  Group best = choose_group(columns, kWidest, request);
  for (int widest = best.x / 2; widest >= kNarrowest; widest /= 2) {
    const Group group = choose_group(columns, widest, request);
    if (round_up(columns, group.x) < round_up(columns, best.x)) best = group;
  }
  return best;
}

Launch plain(const Request& request) {
  const ConvTranspose conv(request.problem);
  const Group group = group_of(conv.ow(), request);
  const int step_h = conv.stride_h / std::gcd(conv.stride_h, conv.dilation_h);
  const int step_w = conv.stride_w / std::gcd(conv.stride_w, conv.dilation_w);
  return group_launch(
      "conv_transpose.cl", "conv_transpose_plain",
      options(request, fmt::format("-DCONVT_LX={} -DCONVT_LY={}", group.x, group.y)), group,
      conv.ow(), conv.oh(), std::int64_t{conv.n} * conv.k,
      arg_list("x", "w", buffer_if(conv.bias, "b"), "y", conv.groups, conv.cg(), conv.h, conv.w,
               conv.kg(), conv.r, conv.s, conv.oh(), conv.ow(), conv.stride_h, conv.stride_w,
               conv.pad_t, conv.pad_l, conv.dilation_h, conv.dilation_w, step_h, step_w));
}

// ---- conv_transpose_phases ----

constexpr int kVector = 4;  ///< columns of x of a tile

int columns_of(const ConvTranspose& conv) { return ceil_div(conv.ow(), kVector * conv.stride_w); }

/// Tiles are no vectors of a row of x.
bool is_loose(const ConvTranspose& conv) {
  return conv.w % kVector != 0 || kVector * columns_of(conv) > conv.w;
}

/// Of a tile. Mesa's compilers keep 32 sums in registers, 16 beside places of single elements.
int channels_of(const ConvTranspose& conv) {
  const int most = conv.stride_w > 2 || is_loose(conv) ? 2 : 4;
  return conv.kg() >= most ? most : floor_power_of_two(conv.kg());
}

std::int64_t packed_bytes(const ConvTranspose& conv) {
  const int channels = channels_of(conv);
  return std::int64_t{conv.groups} * ceil_div(conv.kg(), channels) * channels * conv.products() * 4;
}

Reason refuses_phases(const Problem& problem, const DeviceInfo& device) {
  const ConvTranspose conv(problem);
  if (conv.dilation_h > 1 || conv.dilation_w > 1) return "the dilation is over 1";
  if (conv.stride_w > 4) return fmt::format("stride_w={} is over 4", conv.stride_w);
  if (conv.s > 8) return fmt::format("the filter has {} columns, over 8", conv.s);
  if (conv.pad_l > conv.stride_w || conv.s > 2 * conv.stride_w + conv.pad_l) {
    return "a tap takes columns of x further than one from a tile";
  }
  return too_large("packed w", packed_bytes(conv), device);
}

void plan_phases(const Request& request, Plan& plan) {
  const ConvTranspose conv(request.problem);
  const int channels = channels_of(conv), tiles = ceil_div(conv.kg(), channels);
  const int columns = columns_of(conv);
  const Group group = group_of(columns, request);
  const std::string geometry = fmt::format(
      "-DCONVT_LX={} -DCONVT_LY={} -DCONVT_CHANNELS={} -DCONVT_S={} -DCONVT_STRIDE_W={} "
      "-DCONVT_LEFT={}",
      group.x, group.y, channels, conv.s, conv.stride_w, conv.pad_l);
  const bool loose = is_loose(conv), whole = conv.ow() % kVector == 0;
  const auto taps = static_cast<int>(conv.products());
  plan.buffers = {packed_w(packed_bytes(conv))};
  const Group packing = choose_group(taps, 16, request);
  // No more options than it looks at: plans of other filters share its program.
  plan.pack = {
      group_launch("conv_transpose.cl", "conv_transpose_pack",
                   fmt::format("{}-DCONVT_LX={} -DCONVT_LY={} -DCONVT_CHANNELS={}",
                               dtype_option(conv.dtype), packing.x, packing.y, channels),
                   packing, taps, conv.groups * tiles, 1,
                   arg_list("w", "w_packed", conv.groups, conv.cg(), conv.kg(), conv.r, conv.s))};
  plan.launches = {group_launch(
      "conv_transpose_phases.cl", "conv_transpose_phases",
      options(request, geometry + (splits_addresses(request.device) ? " -DCONVT_SPLIT=1" : "") +
                           (loose ? " -DCONVT_LOOSE=1" : "") + (whole ? " -DCONVT_WHOLE=1" : "")),
      group, columns, conv.oh(), std::int64_t{conv.n} * conv.groups * tiles,
      arg_list("x", "w_packed", buffer_if(conv.bias, "b"), "y", conv.groups, conv.cg(), conv.h,
               conv.w, conv.kg(), conv.r, conv.oh(), conv.ow(), conv.stride_h, conv.pad_t))};
}

}  // namespace

Op conv_transpose_op() {
  Op op{{"conv_transpose",
         "y[n,k,iy*stride+r-pad,ix*stride+s-pad] sums w[c,k,r,s] * x[n,c,iy,ix]; act(y + b[k])",
         fields(), check, tensors},
        {{"conv_transpose_phases",
          "stride_w up to 4, filters that take neighbouring columns of x; weights packed "
          "once",
          refuses_phases, planned(plan_phases)},
         {"conv_transpose_plain", "any filter; weights that change", refuses_nothing,
          planned(plain)}},
        flops};
  op.least_flops = least_flops;
  op.takes_native_exp2 = takes_exp;
  return op;
}

}  // namespace clam
