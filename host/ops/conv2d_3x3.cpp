// SPDX-License-Identifier: MIT
// conv2d_3x3.cpp - conv2d by conv2d_3x3.cl.
#include "conv2d_plan.hpp"

namespace clam::conv2d_plan {
namespace {

/// What conv2d_3x3 asks of the rows of x.
Reason cannot_read_rows(const Conv2d& conv) {
  if (Reason reason = not_3x3(conv, 2)) return reason;
  if (conv.pad_l != 1) return fmt::format("pad_l={}, not 1", conv.pad_l);
  if (conv.w % kConvTile != 0) return fmt::format("w={} is no multiple of {}", conv.w, kConvTile);
  return reason_if(std::int64_t{conv.ow()} * conv.stride_w > conv.w,
                   "pad_r={} makes rows of y longer than those of x", conv.pad_r);
}

/// The map as constants, where its rows end with those of y. Where it must be, a small one too.
std::string fixed_map(const Conv2d& conv, bool must = false) {
  if (conv.ow() * conv.stride_w != conv.w) return {};
  if (must) return fmt::format(" -DCONV2D_H={} -DCONV2D_W={}", conv.h, conv.w);
  return fixed(conv, {{"CONV2D_H", conv.h}, {"CONV2D_W", conv.w}});
}

/// Channels that are summed in half together: as many as divide them all; 0: none.
int chunk_of(const Problem& problem) {
  if (accumulator(problem) == Acc::f32) return 0;
  const int channels = Conv2d(problem).cg();
  for (const int chunk : {8, 4, 3, 2}) {
    if (channels % chunk == 0) return chunk;
  }
  return 1;
}

/// How it cuts the outputs.
struct RowsCut : Tiling {
  int vectors = 1;            ///< of 4 pixels, in a tile of 4 channels
  int parts = 1;              ///< work-items that share the sums of a tile
  int columns = 0, rows = 0;  ///< tiles along the map, and along the channels
  int lx = 1, ly = 1;
};

/// 64 work-items: 16 x 4 tiles, or 4 x 16 on small maps, or 4 x 1 in 16 parts. No other shapes, so
/// that problems share programs.
void choose_lanes(RowsCut& cut, int items) {
  const int tiles = std::min(items / cut.parts, cut.parts > 1 ? Conv2d::kParts : items);
  cut.lx = std::min(tiles, cut.parts > 1 || cut.columns < 16 ? 4 : 16);
  cut.ly = std::min(tiles / cut.lx, kConvHighest);
}

/// Two vectors a tile need rows that hold them. Beside their sums, extents that are not fixed have
/// no registers.
Reason cannot_have(const Conv2d& conv, const RowsCut& cut, int chunk, int items,
                   const DeviceInfo& device) {
  if (cut.vectors == 2 && conv.w % (2 * kConvTile * conv.stride_w) != 0) {
    return fmt::format("rows of {} pixels hold no two vectors", conv.ow());
  }
  if (cut.vectors == 2 && fixed_map(conv).empty()) {
    return "two vectors would spill beside a map that is no constant";
  }
  if (cut.vectors == 2 && chunk == 0 && conv.dtype == Dtype::f16 && !conv.bias) {
    return "two vectors of halves would spill without a bias";  // 16 times with Mesa 25
  }
  if (cut.vectors == 2 && chunk > 0 && conv.stride_h == 2) {
    return "two vectors of chunks would spill with stride 2";  // once with Mesa 25
  }
  if (cut.parts == 1) return {};
  if (cut.vectors == 2 && chunk > 0) return "local memory holds no sums of two vectors in parts";
  if (items < cut.parts || device.max_work_items.size() < 3 ||
      device.max_work_items[2] < cut.parts) {
    return fmt::format("a group has no {} work-items", cut.parts);
  }
  return reason_if(chunk > 0 && fixed_map(conv, true).empty(),  // sums in half leave no registers
                   "parts would spill beside a map that is no constant");
}

/// A row of costs.json has the instructions of a channel, and those around the sum of outputs
/// without an activation. Lanes of 16 behind the end of the map or of the channels count too.
Work work_of(const Conv2d& conv, const RowsCut& cut, const Cost& cost, double activation) {
  constexpr double kAddingUp = 200;
  const int high = std::min(cut.ly, 16 / cut.lx);
  Work work;
  work.items = 1.0 * round_up(cut.columns, cut.lx) * round_up(cut.rows, high) * conv.n * cut.parts;
  work.instructions = cost.numbers.at(0) * (cut.parts == 1 ? conv.cg() : conv.part()) +
                      cost.numbers.at(1) +
                      (cut.parts == 1 ? kConvTile * cut.vectors : 1) * activation +
                      (cut.parts == 1 ? 0 : kAddingUp);
  return work;
}

std::vector<RowsCut> rows_cuts(const Request& request) {
  const Problem& problem = request.problem;
  const DeviceInfo& device = request.device;
  const Conv2d conv(problem);
  const int chunk = chunk_of(problem), items = group_items(request);
  const double activation = activation_instructions(problem, device) - kPlainActivation;
  std::vector<RowsCut> cuts;
  for (const Cost& cost : costs_of("conv2d_3x3", conv.dtype, accumulator(problem), device)) {
    if (chunk > 0 && cost["CHUNK"] != chunk) continue;
    for (const int parts : {1, Conv2d::kParts}) {
      RowsCut cut{tiling_of(cost, device), cost["VECTORS"], parts};
      cut.words += fmt::format(",PARTS={}", parts);
      cut.columns = ceil_div(conv.ow(), cut.vectors * kConvTile) * conv.oh();
      cut.rows = conv.groups * ceil_div(conv.kg(), kConvTile);
      cut.refused = cannot_have(conv, cut, chunk, items, device);
      choose_lanes(cut, kGroup);
      cut.clocks = clocks_of(work_of(conv, cut, cost, activation), device);
      choose_lanes(cut, std::max(items, parts));
      cuts.push_back(std::move(cut));
    }
  }
  return cuts;
}

Reason refuses_3x3(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = cannot_sum(problem, "nchw")) return reason;
  const Conv2d conv(problem);
  if (Reason reason = cannot_read_rows(conv)) return reason;
  return packed_too_large(conv, device);
}

void plan_3x3(const Request& request, Plan& plan) {
  const Conv2d conv(request.problem);
  const int chunk = chunk_of(request.problem);
  const RowsCut cut = choose(rows_cuts(request), request);
  const Group group{cut.lx, cut.ly};
  const std::string text = options(
      request, group,
      fmt::format(" -DCONV2D_PARTS={} -DCONV2D_VECTORS={} -DCONV2D_STRIDE={}{}{}{}", cut.parts,
                  cut.vectors, conv.stride_h,
                  chunk > 0 ? fmt::format(" -DCONV2D_CHUNK={}", chunk) : "",
                  fixed_map(conv, cut.parts > 1 && chunk > 0), split_addresses(request.device)));
  add_pack(conv, group, cut.rows, plan);
  plan.launches.push_back(group_launch(
      "conv2d_3x3.cl", "conv2d_3x3", text, group, cut.columns, cut.rows, conv.n,
      arguments(
          conv, "w_packed",
          {conv.groups, conv.cg(), conv.h, conv.w, conv.kg(), conv.oh(), conv.ow(), conv.pad_t}),
      cut.parts));
  plan.clocks = cut.clocks.predicted;
}

}  // namespace

Variant three_by_three() {
  return {"conv2d_3x3", "3x3, stride 1 or 2, aligned rows; weights packed once",
          refuses_3x3,  planned(plan_3x3),
          nullptr,      tilings(rows_cuts)};
}

}  // namespace clam::conv2d_plan
