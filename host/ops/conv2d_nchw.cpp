// SPDX-License-Identifier: MIT
// conv2d_nchw.cpp - how conv2d is computed with layout=nchw.
#include <fmt/core.h>

#include <algorithm>

#include "conv2d_plan.hpp"

namespace clam {
namespace {

using namespace conv2d_plan;

constexpr int kTile = kConvTile;

Reason cannot_read(const Problem& problem) {
  if (Reason reason = conv2d_not_offered(problem)) return reason;
  if (Conv2d(problem).nhwc) return "this variant reads layout=nchw";
  return {};
}

/// Where half sums would gain nothing, float ones keep the promise of acc=chunk; not of acc=f16.
Reason sums_in_half_throughout(const Problem& problem) {
  if (accumulator(problem) != Acc::f16) return {};
  return "this variant has no sums in half: use acc=chunk, which is as fast here";
}

// ---- conv2d_1x1 ----

/// The problem with the dtype of its packed weights: that of its sums, so that the loop over c need
/// not convert them.
Conv2d with_packed_dtype(const Problem& problem) {
  Conv2d conv(problem);
  if (accumulator(problem) == Acc::f32) conv.dtype = Dtype::f32;
  return conv;
}

Reason refuses_1x1(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = cannot_read(problem)) return reason;
  const Conv2d conv(problem);
  if (Reason reason = not_pointwise(conv)) return reason;
  if (conv.h * conv.w % kTile != 0) {
    return fmt::format("h*w={} is no multiple of {}", conv.h * conv.w, kTile);
  }
  return packed_too_large(with_packed_dtype(problem), device);
}

/// Instructions a channel by Mesa's compilers, addresses kept in two halves.
ConvWork work_1x1(const Problem& problem, int vectors) {
  const bool two = vectors == 2;
  switch (accumulator(problem)) {
    case Acc::chunk:
      return two ? ConvWork{28.5, 350} : ConvWork{16.5, 220};
    case Acc::f16:
      return two ? ConvWork{23.6, 280} : ConvWork{13.3, 180};
    case Acc::f32:
      break;
  }
  if (problem.dtype() == Dtype::f16) return two ? ConvWork{50.5, 300} : ConvWork{28, 190};
  return two ? ConvWork{42.5, 280} : ConvWork{24, 170};
}

/// Whether c is whole trips of the kernel's loop, so that it needs none for the channels that are
/// left.
bool is_whole_trips(const Problem& problem) {
  constexpr int kTrip[] = {8, kChunk, 16};  // by accumulator
  return Conv2d(problem).c % kTrip[static_cast<int>(accumulator(problem))] == 0;
}

/// Whether Mesa's compilers keep the sums of two vectors in registers: not beside the longest
/// activations, nor beside any but the shortest where c leaves a rest, nor in half storage beside
/// float ones.
bool holds_two_vectors(const Problem& problem) {
  const std::string& act = problem.choice("act");
  const bool is_short = act == "none" || act == "relu" || act == "relu6";
  if (act == "gelu" || act == "tanh" || (!is_short && !is_whole_trips(problem))) return false;
  return problem.dtype() == Dtype::f32 || accumulator(problem) == Acc::f16;
}

/// Two vectors a tile where that is quicker; else one, and maybe in parts.
ConvTiling tiling_1x1(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted) {
  const Conv2d conv(problem);
  const int vectors = conv.h * conv.w / kTile;
  ConvTiling one, two;
  one.columns = vectors;
  two.columns = ceil_div(vectors, 2);
  one.rows = two.rows = ceil_div(conv.k, kTile);
  two.vectors = 2;
  choose_lanes(two, device, wanted);
  const double time_one = predicted(conv, one, work_1x1(problem, 1), device);
  const double time_two = predicted(conv, two, work_1x1(problem, 2), device);
  // A tile that is moved left needs as many vectors before it.
  if (holds_two_vectors(problem) && time_two < time_one && vectors >= 2 * 16) {
    two.columns = ceil_div(vectors, 2 * two.lx) * two.lx;
    return two;
  }
  one.parts = choose_parts(conv, one, work_1x1(problem, 1), device);
  choose_lanes(one, device, wanted);
  return one;
}

void plan_1x1(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
              Plan& plan) {
  const Conv2d conv(problem);
  const ConvTiling tiling = tiling_1x1(problem, device, wanted);
  const int sums = static_cast<int>(accumulator(problem)), map = conv.h * conv.w;
  const bool whole = tiling.vectors == 2 && is_whole_trips(problem);
  const std::string text = options(
      problem, fmt::format("{} -DCONV2D_VECTORS={}{}{}{}", geometry_options(tiling), tiling.vectors,
                           sums > 0 ? fmt::format(" -DCONV2D_ACC={}", sums) : "",
                           whole ? " -DCONV2D_REST=0" : "", split_addresses(device)));
  add_packed(with_packed_dtype(problem), "conv2d_1x1.cl", "conv2d_1x1_pack", tiling, text, conv.c,
             {BufferArg{"w"}, BufferArg{"w_packed"}, conv.c, conv.k}, plan);
  const int plane = map * static_cast<int>(size_of(conv.dtype));
  plan.launches.push_back(tile_launch("conv2d_1x1.cl", "conv2d_1x1", text, tiling, conv.n,
                                      arguments(conv, "w_packed", {conv.c, map, conv.k, plane})));
  plan.clocks = predicted(conv, tiling, work_1x1(problem, tiling.vectors), device);
}

// ---- conv2d_depthwise ----

/// What conv2d_depthwise and conv2d_3x3 ask of the rows of x.
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

Reason refuses_depthwise(const Problem& problem, const DeviceInfo&) {
  if (Reason reason = cannot_read(problem)) return reason;
  const Conv2d conv(problem);
  if (conv.groups != conv.c || conv.groups != conv.k) {
    return fmt::format("groups={} is not both c={} and k={}", conv.groups, conv.c, conv.k);
  }
  return cannot_read_rows(conv);
}

/// The map as constants, where its rows end with those of y.
std::string fixed_map(const Conv2d& conv) {
  if (conv.ow() * conv.stride_w != conv.w) return {};
  return fixed(conv, {{"CONV2D_H", conv.h}, {"CONV2D_W", conv.w}});
}

int depthwise_rows(const Conv2d& conv, const DeviceInfo& device) {
  const std::int64_t columns = std::int64_t{conv.n} * conv.k * ceil_div(conv.ow(), kTile);
  if (conv.stride_h == 1) {
    return choose_rows({{4, 430}, {2, 300}, {1, 220}}, conv.oh(), columns, conv.oh(), device);
  }
  return choose_rows({{4, 560}, {2, 360}, {1, 250}}, conv.oh(), columns, conv.oh(), device);
}

void plan_depthwise(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                    Plan& plan) {
  constexpr int kWidest = 4;
  const Conv2d conv(problem);
  const int rows = depthwise_rows(conv, device), planes = conv.n * conv.k;
  const int columns = ceil_div(conv.ow(), kTile), tiles = ceil_div(conv.oh(), rows);
  const int items = group_items(device, wanted);
  const int lx = std::min(kWidest, items), ly = std::min(kWidest, items / lx);
  const int lz = static_cast<int>(
      std::min<std::int64_t>(items / lx / ly, floor_power_of_two(device.max_work_items[2])));
  const char* chunk = accumulator(problem) == Acc::f32 ? "" : " -DCONV2D_CHUNK=9";
  const std::string text =
      options(problem, fmt::format("-DCONV2D_LX={} -DCONV2D_LY={} -DCONV2D_LZ={} -DCONV2D_ROWS={} "
                                   "-DCONV2D_STRIDE={}{}{}",
                                   lx, ly, lz, rows, conv.stride_h, chunk, fixed_map(conv)));
  plan.launches.push_back(
      {"conv2d_depthwise.cl",
       "conv2d_depthwise",
       text,
       {round_up(columns, lx), round_up(tiles, ly), round_up(planes, lz)},
       {lx, ly, lz},
       arguments(conv, "w", {conv.k, planes, conv.h, conv.w, conv.oh(), conv.ow(), conv.pad_t})});
}

// ---- conv2d_3x3 and conv2d_direct ----

ConvTiling tiling_rows(const Conv2d& conv, int vectors, const ConvWork& work,
                       const DeviceInfo& device, const PlanOptions& wanted) {
  ConvTiling tiling;
  tiling.vectors = vectors;
  tiling.columns = ceil_div(conv.ow(), vectors * kTile) * conv.oh();
  tiling.rows = conv.groups * ceil_div(conv.kg(), kTile);
  tiling.parts = choose_parts(conv, tiling, work, device);
  choose_lanes(tiling, device, wanted);
  return tiling;
}

Reason refuses_3x3(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = cannot_read(problem)) return reason;
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

/// Instructions a channel by Mesa's compilers, addresses kept in two halves.
ConvWork work_3x3(const Conv2d& conv, int vectors, int chunk) {
  constexpr double kAround = 250;  // with each vector more once more
  if (chunk >= 4) return {170, kAround};
  if (chunk > 0) return {260, kAround};
  const double channel =
      conv.dtype == Dtype::f16 ? (vectors == 2 ? 440 : 278) : (vectors == 2 ? 376 : 228);
  return {channel, kAround * vectors};
}

/// Two vectors a tile where rows hold them and that is quicker. Beside their sums, extents that are
/// not fixed have no registers.
ConvTiling tiling_3x3(const Conv2d& conv, int chunk, const DeviceInfo& device,
                      const PlanOptions& wanted) {
  const auto tiling = [&](int vectors) {
    return tiling_rows(conv, vectors, work_3x3(conv, vectors, chunk), device, wanted);
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
      options(problem, fmt::format("{} -DCONV2D_VECTORS={} -DCONV2D_STRIDE={}{}{}{}",
                                   geometry_options(tiling), tiling.vectors, conv.stride_h,
                                   chunk > 0 ? fmt::format(" -DCONV2D_CHUNK={}", chunk) : "",
                                   fixed_map(conv), split_addresses(device)));
  add_pack(conv, tiling, plan);
  plan.launches.push_back(tile_launch("conv2d_3x3.cl", "conv2d_3x3", text, tiling, conv.n,
                                      arguments(conv, "w_packed",
                                                {conv.groups, conv.cg(), conv.h, conv.w, conv.kg(),
                                                 conv.oh(), conv.ow(), conv.pad_t})));
  plan.clocks = predicted(conv, tiling, work_3x3(conv, tiling.vectors, chunk), device);
}

Reason refuses_direct(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = cannot_read(problem)) return reason;
  if (Reason reason = sums_in_half_throughout(problem)) return reason;
  return packed_too_large(Conv2d(problem), device);
}

void plan_direct(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                 Plan& plan) {
  const Conv2d conv(problem);
  const ConvWork work{20 + 60.0 * conv.r * conv.s, 300};
  const ConvTiling tiling = tiling_rows(conv, 1, work, device, wanted);
  const std::string text = options(problem, geometry_options(tiling));
  add_pack(conv, tiling, plan);
  plan.launches.push_back(tile_launch("conv2d.cl", "conv2d_direct", text, tiling, conv.n,
                                      any_filter_arguments(conv, "w_packed")));
}

// ---- conv2d_plain ----

Reason refuses_plain(const Problem& problem, const DeviceInfo&) {
  if (Reason reason = cannot_read(problem)) return reason;
  return sums_in_half_throughout(problem);
}

void plan_plain(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                Plan& plan) {
  const Conv2d conv(problem);
  ConvTiling tiling;
  tiling.lx = std::min(4, group_items(device, wanted));
  tiling.ly = group_items(device, wanted) / tiling.lx;
  plan.launches.push_back({"conv2d.cl",
                           "conv2d_plain",
                           options(problem, geometry_options(tiling)),
                           {round_up(conv.ow(), tiling.lx), round_up(conv.oh(), tiling.ly),
                            std::int64_t{conv.n} * conv.k},
                           {tiling.lx, tiling.ly, 1},
                           any_filter_arguments(conv, "w")});
}

}  // namespace

std::vector<Variant> conv2d_nchw_variants() {
  return {
      {"conv2d_1x1", "a matrix product for each image; weights packed once", refuses_1x1, plan_1x1},
      {"conv2d_depthwise", "a 3x3 filter for each channel", refuses_depthwise, plan_depthwise},
      {"conv2d_3x3", "3x3, stride 1 or 2, aligned rows; weights packed once", refuses_3x3,
       plan_3x3},
      {"conv2d_direct", "any filter; weights packed once", refuses_direct, plan_direct},
      {"conv2d_plain", "any filter; weights that change", refuses_plain, plan_plain}};
}

}  // namespace clam
