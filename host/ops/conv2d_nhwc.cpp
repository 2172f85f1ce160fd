// SPDX-License-Identifier: MIT
// conv2d_nhwc.cpp - how conv2d is computed with layout=nhwc.
#include "conv2d_plan.hpp"

namespace clam::conv2d_plan {
namespace {

constexpr int kTile = kConvTile;  ///< channels, and pixels, of a tile

/// 16 x 4 items, channels along x; fewer where there are fewer, in powers of two.
Group channel_group(int channels, const Request& request) {
  return choose_group(channels, 16, request);
}

Launch launch(const char* kernel, const std::string& options, Group group, int columns, int rows,
              int depth, std::vector<Arg> args) {
  return group_launch("conv2d_nhwc.cl", kernel, options, group, columns, rows, depth,
                      std::move(args));
}

// ---- conv2d_nhwc_depthwise ----

Reason refuses_depthwise(const Problem& problem, const DeviceInfo&) {
  if (Reason reason = cannot_read(problem, "nhwc")) return reason;
  const Conv2d conv(problem);
  if (conv.groups != conv.c || conv.groups != conv.k) {
    return fmt::format("groups={} is not both c={} and k={}", conv.groups, conv.c, conv.k);
  }
  if (Reason reason = not_3x3(conv, 2)) return reason;
  if (conv.c % kTile != 0) return fmt::format("c={} is no multiple of {}", conv.c, kTile);
  return {};
}

void plan_depthwise(const Request& request, Plan& plan) {
  const Conv2d conv(request.problem);
  const std::string pixel = fixed(conv, {{"CONV2D_PIXEL", conv.c}});
  // Pixels of a work-item: places that are no constants need the registers of four.
  const int run = pixel.empty() ? 4 : 8;
  const Group group = channel_group(conv.c / kTile, request);
  const char* chunk = accumulator(request.problem) == Acc::f32 ? "" : " -DCONV2D_CHUNK=16";
  const std::string text = options(
      request, group,
      fmt::format(" -DCONV2D_STRIDE={} -DCONV2D_RUN={}{}{}", conv.stride_h, run, chunk, pixel));
  plan.buffers.push_back(packed_w(std::int64_t{9} * conv.c * size_of(conv.dtype)));
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
  if (Reason reason = cannot_read(problem, "nhwc")) return reason;
  const Conv2d conv(problem);
  if (Reason reason = not_pointwise(conv)) return reason;
  if (conv.groups > 1) return fmt::format("groups={} is over 1", conv.groups);
  return dense_packed().refuses(as_dense(problem), device);
}

void plan_1x1(const Request& request, Plan& plan) {
  dense_packed().plan(as_dense(request.problem), request.device, request.options, plan);
}

std::vector<Tiling> tilings_1x1(const Request& request) {
  return dense_packed().tilings(as_dense(request.problem), request.device, request.options);
}

// ---- conv2d_nhwc ----

Reason refuses_any(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = cannot_sum(problem, "nhwc")) return reason;
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

void plan_any(const Request& request, Plan& plan) {
  const Conv2d conv(request.problem);
  const int tiles = conv.groups * ceil_div(conv.kg(), kTile), chunk = chunk_of(request.problem);
  const Group group = channel_group(tiles, request);
  const std::string text = options(request, group,
                                   (chunk > 0 ? fmt::format(" -DCONV2D_CHUNK={}", chunk) : "") +
                                       fixed(conv, {{"CONV2D_PIXEL", conv.stride_w * conv.c}}) +
                                       split_addresses(request.device));
  // Panels are as high as a group is wide.
  add_pack(conv, {std::min(group.y, kConvHighest), group.x}, tiles, plan);
  plan.launches.push_back(launch("conv2d_nhwc", text, group, tiles,
                                 ceil_div(conv.ow(), kTile) * conv.oh(), conv.n,
                                 any_filter_arguments(conv, "w_packed")));
}

// ---- conv2d_nhwc_plain ----

Reason refuses_plain(const Problem& problem, const DeviceInfo&) {
  return cannot_sum(problem, "nhwc");
}

Launch plain(const Request& request) {
  const Conv2d conv(request.problem);
  const Group group = channel_group(conv.k, request);
  return launch("conv2d_nhwc_plain", options(request, group), group, conv.k, conv.ow(),
                conv.n * conv.oh(), any_filter_arguments(conv, "w"));
}

}  // namespace

std::vector<Variant> nhwc_variants() {
  return {{"conv2d_nhwc_depthwise", "layout=nhwc: a 3x3 filter for each channel", refuses_depthwise,
           planned(plan_depthwise)},
          {"conv2d_nhwc_1x1", "layout=nhwc: a matrix product, by dense_packed", refuses_1x1,
           planned(plan_1x1), nullptr, tilings(tilings_1x1)},
          {"conv2d_nhwc", "layout=nhwc: any filter; weights packed once", refuses_any,
           planned(plan_any)},
          {"conv2d_nhwc_plain", "layout=nhwc: any filter; weights that change", refuses_plain,
           planned(plain)}};
}

}  // namespace clam::conv2d_plan
