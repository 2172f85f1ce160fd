// SPDX-License-Identifier: MIT
// conv2d_winograd.cpp - conv2d by conv2d_winograd.cl.
#include "conv2d_plan.hpp"

namespace clam::conv2d_plan {
namespace {

constexpr int kPlaces = 16;
constexpr int kMostLanes = 8;  ///< whose sums fit into 16 KiB of local memory

/// Tiles of 2 x 2 pixels of y.
struct Tiles {
  int down, across, vectors;  ///< vectors of 4 tiles, those of all images

  explicit Tiles(const Conv2d& conv)
      : down(ceil_div(conv.oh(), 2)),
        across(ceil_div(conv.ow(), 2)),
        vectors(ceil_div(conv.n * down * across, kConvTile)) {}
  std::int64_t bytes(const Conv2d& conv) const {
    return std::int64_t{kPlaces} * conv.c * vectors * kConvTile * 4;
  }
};

std::int64_t packed_floats(const Conv2d& conv, int ly) {
  const std::int64_t rows = round_up(ceil_div(conv.kg(), kConvTile), ly);
  return std::int64_t{conv.groups} * rows * kConvTile * kPlaces * conv.cg();
}

struct WinogradCut : Tiling {
  int vectors = 0, parts = 1, lx = 1, ly = 1, places = kPlaces;

  int deep() const { return places * parts; }
};

/// Instructions that add the sums of parts.
double adding(const WinogradCut& cut) { return cut.parts == 1 ? 0 : 45.0 * cut.vectors; }

/// A row of costs.json has the instructions of a channel, and those around the sum of outputs
/// without an activation.
Work work_of(const Conv2d& conv, const Tiles& tiles, const WinogradCut& cut, const Cost& cost,
             double activation) {
  const int columns = round_up(ceil_div(tiles.vectors, cut.vectors), cut.lx);
  const int rows = round_up(ceil_div(conv.kg(), kConvTile), cut.ly);
  Work work;
  work.items = 1.0 * columns * rows * conv.groups * cut.deep();
  work.instructions = (cost.numbers.at(0) * ceil_div(conv.cg(), cut.parts) + cost.numbers.at(1) +
                       cut.vectors * activation + adding(cut)) *
                      kPlaces / cut.places;
  work.dram = tiles.bytes(conv) + 4.0 * packed_floats(conv, cut.ly) +
              1.0 * size_of(conv.dtype) * conv.outputs();
  return work;
}

/// Why the channels cannot be cut so.
Reason cannot_share(const Conv2d& conv, const WinogradCut& cut, int most) {
  if (cut.places < kPlaces || cut.deep() > most) {
    return fmt::format("a group has no {} work-items", kPlaces * cut.parts);
  }
  return reason_if(conv.cg() <= ceil_div(conv.cg(), cut.parts) * (cut.parts - 1),
                   "{} channels leave a part without any", conv.cg());
}

std::vector<WinogradCut> winograd_cuts(const Request& request) {
  const Problem& problem = request.problem;
  const DeviceInfo& device = request.device;
  const Conv2d conv(problem);
  const Tiles tiles(conv);
  const int items = group_items(request);
  const auto most = static_cast<int>(
      std::min<std::int64_t>({items_or(kPlaces * kMostLanes, request), device.max_work_group,
                              floor_power_of_two(device.max_work_items[2])}));
  const int places = std::min({items, most, kPlaces});
  const double activation = activation_instructions(problem, device) - kPlainActivation;
  std::vector<WinogradCut> cuts;
  for (const Cost& cost : costs_of("conv2d_winograd", conv.dtype, accumulator(problem), device)) {
    for (const int parts : Conv2d::kWinogradParts) {
      const int lanes = std::clamp(items / (places * parts), 1, kMostLanes / parts);
      for (int lx = lanes; lx >= 1; lx /= 2) {
        WinogradCut cut{tiling_of(cost, device), cost["VECTORS"], parts, lx, lanes / lx, places};
        cut.words += fmt::format(",PARTS={},LX={}", parts, lx);
        if (parts > 1) cut.refused = cannot_share(conv, cut, most);
        cut.clocks = clocks_of(work_of(conv, tiles, cut, cost, activation), device);
        cuts.push_back(std::move(cut));
      }
    }
  }
  return cuts;
}

/// Clocks of the launch that writes V.
double clocks_of_x(const Conv2d& conv, const DeviceInfo& device) {
  constexpr double kInstructions = 520;
  const Tiles tiles(conv);
  const double x = 1.0 * conv.n * conv.c * conv.h * conv.w * size_of(conv.dtype);
  Work work;
  work.items = 1.0 * conv.c * tiles.vectors * kConvTile;
  work.instructions = kInstructions;
  work.dram = x + tiles.bytes(conv);
  return clocks_of(work, device).predicted;
}

Reason refuses_winograd(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = acc_not_offered(problem)) return reason;
  if (problem.choice("algo") == "direct") return "algo=direct asks for another sum";
  if (Reason reason = not_winograd(problem)) return reason;
  const Conv2d conv(problem);
  if (Reason reason = too_large("V", Tiles(conv).bytes(conv), device)) return reason;
  return too_large("packed w", 4 * packed_floats(conv, kMostLanes), device);
}

void plan_winograd(const Request& request, Plan& plan) {
  const Conv2d conv(request.problem);
  const Tiles tiles(conv);
  const WinogradCut cut = choose(winograd_cuts(request), request);
  const int rows = round_up(ceil_div(conv.kg(), kConvTile), cut.ly);
  plan.buffers.push_back(packed_w(4 * packed_floats(conv, cut.ly)));
  plan.buffers.push_back(scratch("v", tiles.bytes(conv)));
  plan.pack.push_back(group_launch("conv2d_winograd.cl", "conv2d_winograd_pack",
                                   group_options(conv.dtype, {cut.lx, cut.ly}), {cut.lx, cut.ly},
                                   conv.cg(), rows * kConvTile, conv.groups,
                                   arg_list("w", "w_packed", conv.kg(), conv.cg())));
  const Group group = choose_group(tiles.vectors * kConvTile, 64, request);
  plan.launches.push_back(
      group_launch("conv2d_winograd.cl", "conv2d_winograd_x", group_options(conv.dtype, group),
                   group, tiles.vectors * kConvTile, conv.c, 1,
                   arg_list("x", "v", conv.n, conv.c, conv.h, conv.w, tiles.down, tiles.across,
                            tiles.vectors, conv.pad_t, conv.pad_l)));
  plan.launches.push_back(group_launch(
      "conv2d_winograd.cl", "conv2d_winograd",
      options(request, {cut.lx, cut.ly},
              fmt::format(" -DCONV2D_PLACES={} -DCONV2D_PARTS={} -DCONV2D_VECTORS={}{}", cut.places,
                          cut.parts, cut.vectors, split_addresses(request.device))),
      {cut.lx, cut.ly}, ceil_div(tiles.vectors, cut.vectors), rows, conv.groups,
      arg_list("v", "w_packed", buffer_if(conv.bias, "b"), buffer_if(conv.residual, "r"), "y",
               conv.n, conv.groups, conv.cg(), conv.kg(), tiles.vectors, conv.oh(), conv.ow(),
               tiles.down, tiles.across),
      cut.deep()));
  plan.clocks = cut.clocks.predicted + clocks_of_x(conv, request.device) + kLaunchClocks;
}

}  // namespace

Reason not_winograd(const Problem& problem) {
  const Conv2d conv(problem);
  if (conv.nhwc) return "conv2d_winograd reads layout=nchw";
  if (Reason reason = not_3x3(conv, 1)) return reason;
  if (accumulator(problem) == Acc::f16) return "conv2d_winograd sums in float: use acc=chunk";
  if (conv.groups > 1 && conv.cg() == 1) return "its groups have one channel";
  return {};
}

Variant winograd() {
  return {"conv2d_winograd", "3x3, stride 1, by Winograd's F(2x2,3x3); weights packed once",
          refuses_winograd,  planned(plan_winograd),
          nullptr,           tilings(winograd_cuts)};
}

}  // namespace clam::conv2d_plan
