// SPDX-License-Identifier: MIT
// conv2d_nchw.cpp - how conv2d is computed with layout=nchw.
#include <fmt/core.h>

#include <algorithm>

#include "conv2d_plan.hpp"

namespace clam {
namespace {

using namespace conv2d_plan;

constexpr int kTile = kConvTile;

/// Where half sums would gain nothing, float ones keep the promise of acc=chunk; not of acc=f16.
Reason sums_in_half_throughout(const Problem& problem) {
  if (accumulator(problem) != Acc::f16) return {};
  return "this variant has no sums in half: use acc=chunk, which is as fast here";
}

// ---- conv2d_3x3 ----

/// What conv2d_3x3 asks of the rows of x.
Reason cannot_read_rows(const Conv2d& conv) {
  if (conv.r != 3 || conv.s != 3)
    return fmt::format("the filter is {}x{}, not 3x3", conv.r, conv.s);
  if (conv.stride_h != conv.stride_w || conv.stride_h > 2) return "the stride is neither 1 nor 2";
  if (conv.dilation_h > 1 || conv.dilation_w > 1) return "the dilation is over 1";
  if (conv.pad_l != 1) return fmt::format("pad_l={}, not 1", conv.pad_l);
  if (conv.w % kTile != 0) return fmt::format("w={} is no multiple of {}", conv.w, kTile);
  if (std::int64_t{conv.ow()} * conv.stride_w > conv.w) {
    return fmt::format("pad_r={} makes rows of y longer than those of x", conv.pad_r);
  }
  return {};
}

/// The map as constants, where its rows end with those of y. Where it must be, a small one too.
std::string fixed_map(const Conv2d& conv, bool must = false) {
  if (conv.ow() * conv.stride_w != conv.w) return {};
  if (must) {
    return fmt::format(" -DCONV2D_H={} -DCONV2D_W={}", conv.h, conv.w);
  }
  return fixed(conv, {{"CONV2D_H", conv.h}, {"CONV2D_W", conv.w}});
}

/// Instructions a channel by Mesa's compilers, addresses kept in two halves.
ConvWork work_3x3(const Conv2d& conv, int vectors, int chunk) {
  constexpr double kAround = 250;  // with each vector more once more
  if (chunk >= 4) return {170, kAround};
  if (chunk > 0) return {260, kAround};
  const double channel =
      conv.dtype == Dtype::f16 ? (vectors == 2 ? 440 : 278) : (vectors == 2 ? 376 : 228);
  return {channel, kAround * vectors};
}

/// Strides of 2 with sums in half leave no registers: in parts, a map that is no constant spills.
bool parts_need_fixed_map(const Conv2d& conv, int chunk) { return chunk > 0 && conv.stride_h == 2; }

ConvTiling tiling_rows(const Conv2d& conv, int vectors, int chunk, const DeviceInfo& device,
                       const PlanOptions& wanted) {
  ConvTiling tiling;
  tiling.vectors = vectors;
  tiling.columns = ceil_div(conv.ow(), vectors * kTile) * conv.oh();
  tiling.rows = conv.groups * ceil_div(conv.kg(), kTile);
  const bool whole = parts_need_fixed_map(conv, chunk) && fixed_map(conv, true).empty();
  tiling.parts = whole ? 1 : choose_parts(conv, tiling, work_3x3(conv, vectors, chunk), device);
  choose_lanes(tiling, device, wanted);
  return tiling;
}

Reason refuses_3x3(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = cannot_read_nchw(problem)) return reason;
  if (Reason reason = sums_in_half_throughout(problem)) return reason;
  const Conv2d conv(problem);
  if (Reason reason = cannot_read_rows(conv)) return reason;
  return packed_too_large(conv, device);
}

/// Channels that are summed in half together: as many as divide them all; 0: none.
int chunk_3x3(const Problem& problem) {
  if (accumulator(problem) == Acc::f32) return 0;
  const int channels = Conv2d(problem).cg();
  for (const int chunk : {8, 4, 3, 2}) {
    if (channels % chunk == 0) return chunk;
  }
  return 1;
}

/// Two vectors a tile where rows hold them and that is quicker. Beside their sums, extents that are
/// not fixed have no registers.
ConvTiling tiling_3x3(const Conv2d& conv, int chunk, const DeviceInfo& device,
                      const PlanOptions& wanted) {
  const auto tiling = [&](int vectors) {
    return tiling_rows(conv, vectors, chunk, device, wanted);
  };
  const ConvTiling one = tiling(1);
  const bool holds_two = conv.w % (2 * kTile * conv.stride_w) == 0 && !fixed_map(conv).empty();
  if (chunk > 0 || !holds_two) return one;
  const ConvTiling two = tiling(2);
  const double time_one = predicted(conv, one, work_3x3(conv, 1, chunk), device);
  return predicted(conv, two, work_3x3(conv, 2, chunk), device) < time_one ? two : one;
}

void plan_3x3(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
              Plan& plan) {
  const Conv2d conv(problem);
  const int chunk = chunk_3x3(problem);
  const ConvTiling tiling = tiling_3x3(conv, chunk, device, wanted);
  const std::string text =
      options(problem, device,
              fmt::format("{} -DCONV2D_VECTORS={} -DCONV2D_STRIDE={}{}{}{}",
                          geometry_options(tiling), tiling.vectors, conv.stride_h,
                          chunk > 0 ? fmt::format(" -DCONV2D_CHUNK={}", chunk) : "",
                          fixed_map(conv, tiling.parts > 1 && parts_need_fixed_map(conv, chunk)),
                          split_addresses(device)));
  add_pack(conv, tiling, plan);
  plan.launches.push_back(tile_launch("conv2d_3x3.cl", "conv2d_3x3", text, tiling, conv.n,
                                      arguments(conv, "w_packed",
                                                {conv.groups, conv.cg(), conv.h, conv.w, conv.kg(),
                                                 conv.oh(), conv.ow(), conv.pad_t})));
  plan.clocks = predicted(conv, tiling, work_3x3(conv, tiling.vectors, chunk), device);
}

double clocks_3x3(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted) {
  const Conv2d conv(problem);
  const int chunk = chunk_3x3(problem);
  const ConvTiling tiling = tiling_3x3(conv, chunk, device, wanted);
  return predicted(conv, tiling, work_3x3(conv, tiling.vectors, chunk), device);
}

// ---- the choice ----

/// Variants that are compared by their clocks.
struct Timed {
  const char* name;
  Reason (*refuses)(const Problem&, const DeviceInfo&);
  double (*clocks)(const Problem&, const DeviceInfo&, const PlanOptions&);
};

constexpr Timed kTimed[] = {{"conv2d_winograd", refuses_winograd, winograd_clocks},
                            {"conv2d_product", refuses_product, product_clocks},
                            {"conv2d_product_rows", refuses_product_rows, product_rows_clocks},
                            {"conv2d_3x3", refuses_3x3, clocks_3x3}};

/// Whether a variant after kTimed[at] is predicted to be faster.
template <int at>
Reason outdone(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted) {
  if (problem.choice("algo") == "winograd") return {};
  const double own = kTimed[at].clocks(problem, device, wanted);
  for (const Timed* other = kTimed + at + 1; other != std::end(kTimed); ++other) {
    if (other->refuses(problem, device)) continue;
    if (other->clocks(problem, device, wanted) >= own) continue;
    return fmt::format("{} is predicted to be faster", other->name);
  }
  return {};
}

// ---- conv2d_plain ----

Reason refuses_plain(const Problem& problem, const DeviceInfo&) {
  if (Reason reason = cannot_read_nchw(problem)) return reason;
  return sums_in_half_throughout(problem);
}

void plan_plain(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                Plan& plan) {
  const Conv2d conv(problem);
  const int lx = std::min(4, group_items(device, wanted)), ly = group_items(device, wanted) / lx;
  plan.launches.push_back(
      {"conv2d.cl",
       "conv2d_plain",
       options(problem, device, fmt::format("-DCONV2D_LX={} -DCONV2D_LY={}", lx, ly)),
       {round_up(conv.ow(), lx), round_up(conv.oh(), ly), std::int64_t{conv.n} * conv.k},
       {lx, ly, 1},
       any_filter_arguments(conv, "w")});
}

}  // namespace

std::vector<Variant> conv2d_nchw_variants() {
  return {{"conv2d_winograd", "3x3, stride 1, by Winograd's F(2x2,3x3); weights packed once",
           refuses_winograd, plan_winograd, outdone<0>},
          {"conv2d_product", "any filter, as a product of weights and planes; weights packed once",
           refuses_product, plan_product, outdone<1>},
          {"conv2d_product_rows", "a filter of several taps, whose rows are moved; the same",
           refuses_product_rows, plan_product_rows, outdone<2>},
          {"conv2d_depthwise", "a filter for each channel; weights packed once",
           refuses_depthwise_nchw, plan_depthwise_nchw},
          {"conv2d_3x3", "3x3, stride 1 or 2, aligned rows; weights packed once", refuses_3x3,
           plan_3x3},
          {"conv2d_plain", "any filter; weights that change", refuses_plain, plan_plain}};
}

}  // namespace clam
