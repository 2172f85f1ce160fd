// SPDX-License-Identifier: MIT
// conv2d_nhwc.cpp - how conv2d is computed with layout=nhwc.
#include <fmt/core.h>

#include <algorithm>

#include "conv2d_plan.hpp"
#include "ops/shared/activation.hpp"

namespace clam {
namespace {

using namespace conv2d_plan;

constexpr int kTile = kConvTile;  ///< channels, and pixels, of a tile

Reason cannot_read(const Problem& problem) {
  if (Reason reason = acc_not_offered(problem)) return reason;
  if (!Conv2d(problem).nhwc) return "this variant reads layout=nhwc";
  return {};
}

/// 16 x 4 items, channels along x; fewer where there are fewer, in powers of two.
Group channel_group(int channels, const DeviceInfo& device, const PlanOptions& wanted) {
  return choose_group(channels, 16, device, wanted);
}

std::string group_options(Group group) {
  return fmt::format("-DCONV2D_LX={} -DCONV2D_LY={}", group.x, group.y);
}

Launch launch(const char* kernel, const std::string& options, Group group, int columns, int rows,
              int depth, std::vector<Arg> args) {
  return group_launch("conv2d_nhwc.cl", kernel, options, group, columns, rows, depth,
                      std::move(args));
}

// ---- conv2d_nhwc_depthwise ----

Reason refuses_depthwise(const Problem& problem, const DeviceInfo&) {
  if (Reason reason = cannot_read(problem)) return reason;
  const Conv2d conv(problem);
  if (conv.groups != conv.c || conv.groups != conv.k) {
    return fmt::format("groups={} is not both c={} and k={}", conv.groups, conv.c, conv.k);
  }
  if (conv.r != 3 || conv.s != 3) {
    return fmt::format("the filter is {}x{}, not 3x3", conv.r, conv.s);
  }
  if (conv.stride_h != conv.stride_w || conv.stride_h > 2) return "the stride is neither 1 nor 2";
  if (conv.dilation_h > 1 || conv.dilation_w > 1) return "the dilation is over 1";
  if (conv.c % kTile != 0) return fmt::format("c={} is no multiple of {}", conv.c, kTile);
  return {};
}

void plan_depthwise(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                    Plan& plan) {
  const Conv2d conv(problem);
  const std::string pixel = fixed(conv, {{"CONV2D_PIXEL", conv.c}});
  // Pixels of a work-item: places that are no constants need the registers of four.
  const int run = pixel.empty() ? 4 : 8;
  const Group group = channel_group(conv.c / kTile, device, wanted);
  const char* chunk = accumulator(problem) == Acc::f32 ? "" : " -DCONV2D_CHUNK=16";
  const std::string text =
      options(problem, device,
              fmt::format("{} -DCONV2D_STRIDE={} -DCONV2D_RUN={}{}{}", group_options(group),
                          conv.stride_h, run, chunk, pixel));
  plan.buffers.push_back(
      {"w_packed", BufferSpec::Role::packed, std::int64_t{9} * conv.c * size_of(conv.dtype)});
  plan.pack.push_back(launch("conv2d_nhwc_transpose", text, group, conv.c, 9, 1,
                             arg_list("w", "w_packed", conv.c)));
  plan.launches.push_back(
      launch("conv2d_nhwc_depthwise", text, group, conv.c / kTile,
             ceil_div(conv.ow(), run) * conv.oh(), conv.n,
             arguments(conv, "w_packed",
                       {conv.c, conv.h, conv.w, conv.oh(), conv.ow(), conv.pad_t, conv.pad_l})));
}

// ---- conv2d_nhwc_1x1 ----

/// Pixels and channels lie as the rows and columns of dense do.
Problem as_dense(const Problem& problem) {
  const Conv2d conv(problem);
  const auto given = [&](const char* flag) { return problem.flag(flag) ? "1" : "0"; };
  std::map<std::string, std::string> words = act_words(problem);
  words.insert({{"m", std::to_string(conv.n * conv.h * conv.w)},
                {"n", std::to_string(conv.k)},
                {"k", std::to_string(conv.c)},
                {"dtype", name(conv.dtype)},
                {"acc", problem.choice("acc")},
                {"bias", given("bias")},
                {"residual", given("residual")}});
  return Problem::make(find_op("dense"), words);
}

const Variant& dense_packed() { return find_variant(find_op("dense"), "dense_packed"); }

Reason refuses_1x1(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = cannot_read(problem)) return reason;
  if (Reason reason = not_pointwise(Conv2d(problem))) return reason;
  return dense_packed().refuses(as_dense(problem), device);
}

void plan_1x1(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
              Plan& plan) {
  dense_packed().plan(as_dense(problem), device, wanted, plan);
}

std::vector<Tiling> tilings_1x1(const Problem& problem, const DeviceInfo& device,
                                const PlanOptions& wanted) {
  return dense_packed().tilings(as_dense(problem), device, wanted);
}

// ---- conv2d_nhwc ----

Reason refuses_any(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = cannot_read(problem)) return reason;
  if (Reason reason = sums_in_half_throughout(problem)) return reason;
  const Conv2d conv(problem);
  if (conv.cg() % kTile != 0) {
    return fmt::format("a group of {} input channels is no multiple of {}", conv.cg(), kTile);
  }
  return packed_too_large(conv, device);
}

/// Products that are summed in half together: as many as divide a group's channels; 0: none.
int chunk_of(const Problem& problem) {
  if (accumulator(problem) == Acc::f32) return 0;
  int chunk = kChunk;
  while (Conv2d(problem).cg() % chunk != 0) chunk /= 2;
  return chunk;
}

void plan_any(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
              Plan& plan) {
  const Conv2d conv(problem);
  const int tiles = conv.groups * ceil_div(conv.kg(), kTile), chunk = chunk_of(problem);
  const Group group = channel_group(tiles, device, wanted);
  const std::string text =
      options(problem, device,
              fmt::format("{}{}{}{}", group_options(group),
                          chunk > 0 ? fmt::format(" -DCONV2D_CHUNK={}", chunk) : "",
                          fixed(conv, {{"CONV2D_PIXEL", conv.stride_w * conv.c}}),
                          split_addresses(device)));
  // Panels are as high as a group is wide.
  add_pack(conv, {std::min(group.y, kConvHighest), group.x}, tiles, plan);
  plan.launches.push_back(launch("conv2d_nhwc", text, group, tiles,
                                 ceil_div(conv.ow(), kTile) * conv.oh(), conv.n,
                                 any_filter_arguments(conv, "w_packed")));
}

// ---- conv2d_nhwc_plain ----

Reason refuses_plain(const Problem& problem, const DeviceInfo&) {
  if (Reason reason = cannot_read(problem)) return reason;
  return sums_in_half_throughout(problem);
}

void plan_plain(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                Plan& plan) {
  const Conv2d conv(problem);
  const Group group = channel_group(conv.k, device, wanted);
  plan.launches.push_back(launch("conv2d_nhwc_plain",
                                 options(problem, device, group_options(group)), group, conv.k,
                                 conv.ow(), conv.n * conv.oh(), any_filter_arguments(conv, "w")));
}

}  // namespace

std::vector<Variant> conv2d_nhwc_variants() {
  return {{"conv2d_nhwc_depthwise", "layout=nhwc: a 3x3 filter for each channel", refuses_depthwise,
           plan_depthwise},
          {"conv2d_nhwc_1x1", "layout=nhwc: a matrix product, by dense_packed", refuses_1x1,
           plan_1x1, nullptr, tilings_1x1},
          {"conv2d_nhwc", "layout=nhwc: any filter; weights packed once", refuses_any, plan_any},
          {"conv2d_nhwc_plain", "layout=nhwc: any filter; weights that change", refuses_plain,
           plan_plain}};
}

}  // namespace clam
