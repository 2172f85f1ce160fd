// SPDX-License-Identifier: MIT
// conv2d_depthwise.cpp - how a filter for each channel is computed with layout=nchw.
#include "clam/gpu.hpp"
#include "conv2d_plan.hpp"

namespace clam::conv2d_plan {
namespace {

constexpr int kMostTaps = 7;  ///< of a row or column of the filter
constexpr int kMostStride = 4;
constexpr int kWarp = 16;
constexpr int kMostTiles = 1 << 21;  ///< of a map: the kernel finds a tile's row in float

/// The tile of a work-item and what follows from it.
struct Tile : Tiling {
  int rows, columns;
  int across, tiles;   ///< tiles of a row, and of a map
  int vector, stored;  ///< elements that are read, and stored, at once
  int below, right;    ///< rows and columns that never lie below x, and right of it
  bool whole_h, whole_w;
  int lx, ly;
  double warps;
};

/// Elements of packed weights of a channel; the last one marks those that are not finite.
int packed_of(const Conv2d& conv) { return conv.r * conv.s / 4 * 4 + 4; }

/// Elements of a vector that divides a row of so many, and the steps from tile to tile.
int vector_of(int row, int step) {
  for (const int vector : {4, 2}) {
    if (row % vector == 0 && step % vector == 0) return vector;
  }
  return 1;
}

/// Columns of x from the first tap of a tile to its last.
int run_of(const Conv2d& conv, int columns) {
  return (columns - 1) * conv.stride_w + (conv.s - 1) * conv.dilation_w + 1;
}

Tile tile_of(const Conv2d& conv, int rows, int columns, int items, const DeviceInfo& device) {
  Tile tile{};
  tile.rows = rows;
  tile.columns = columns;
  tile.across = ceil_div(conv.ow(), columns);
  const int blocks = ceil_div(ceil_div(conv.oh(), conv.dilation_h), rows);
  tile.tiles = tile.across * blocks * conv.dilation_h;
  const int run = run_of(conv, columns);
  const bool shared = run <= conv.s * columns;
  tile.vector = shared ? vector_of(conv.w, tile.across > 1 ? columns * conv.stride_w : conv.w) : 1;
  tile.stored = vector_of(conv.ow(), columns);
  const int last_y = (blocks * rows - rows + 1) * conv.dilation_h - 1;
  const int last_x = (tile.across - 1) * columns * conv.stride_w - conv.pad_l;
  const int read = (rows - 1) * conv.stride_h + conv.r;
  const int above = conv.h - (last_y * conv.stride_h - conv.pad_t);
  tile.below = std::clamp(ceil_div(above, conv.dilation_h), 0, read);
  tile.right = std::clamp(conv.w - last_x, 0, run + tile.vector);
  tile.whole_h = conv.oh() % (rows * conv.dilation_h) == 0;
  tile.whole_w = conv.ow() % columns == 0;
  // The widest group that fills its warps best.
  double least = 0;
  for (int lx = std::min(tile.tiles, items); lx >= std::min({4, tile.tiles, items}); --lx) {
    const int ly = static_cast<int>(std::min<std::int64_t>(items / lx, device.max_work_items[1]));
    const double groups = 1.0 * ceil_div(tile.tiles, lx) * ceil_div(conv.k, ly);
    const double warps = groups * ceil_div(lx * ly, kWarp);
    if (least > 0 && warps >= least) continue;
    least = warps;
    tile.lx = lx;
    tile.ly = ly;
  }
  tile.warps = least * conv.n;
  return tile;
}

Work work_of(const Conv2d& conv, const Tile& tile, const Cost& cost) {
  const std::vector<double>& of = cost.numbers;
  const double taps = conv.r * conv.s, pixels = tile.rows * tile.columns;
  const double rows = (tile.rows - 1) * conv.stride_h + conv.r;
  const double elements = std::min(run_of(conv, tile.columns), conv.s * tile.columns);
  const double half = conv.dtype == Dtype::f16 ? of.at(4) : 0;
  const double row = of.at(2) + elements * (of.at(3) / tile.vector + half + of.at(5));
  Work work;
  work.items = kWarp * tile.warps;
  work.instructions =
      of.at(0) + of.at(1) * taps + rows * row + pixels * (taps + of.at(6) + of.at(7) / tile.stored);
  return work;
}

/// Sums, a row of x, the weights that it meets, and where pieces of it lie. Mesa's compilers keep
/// 64 registers for all.
Reason spills(const Conv2d& conv, const Tile& tile) {
  constexpr int kFree = 48;
  const int run = std::min(run_of(conv, tile.columns), conv.s * tile.columns);
  const int weights = conv.s * std::min(conv.r, (tile.rows - 1) * conv.stride_h + 1);
  const int edges = tile.across > 1 ? conv.pad_l + std::max(run - tile.right, 0) : 0;
  const int held = tile.rows * tile.columns + run + weights + 2 * ceil_div(edges, tile.vector);
  return reason_if(tile.rows * tile.columns > 4 && held > kFree,
                   "it holds {} numbers, over the {} of free registers", held, kFree);
}

std::vector<Tile> tiles_of(const Request& request) {
  const DeviceInfo& device = request.device;
  const Conv2d conv(request.problem);
  const int items = group_items(request);
  std::vector<int> widths{4, 8};
  if (conv.ow() != 4 && conv.ow() != 8) widths.push_back(conv.ow());
  const Cost& cost = costs_of("conv2d_depthwise", conv.dtype, Acc::f32, device).front();
  std::vector<Tile> tiles;
  for (const int columns : widths) {
    for (const int rows : {4, 3, 2, 1}) {
      if (rows * columns > 16) continue;
      Tile tile = tile_of(conv, rows, columns, items, device);
      static_cast<Tiling&>(tile) = tiling_of(cost, device);
      tile.words = fmt::format("ROWS={},COLUMNS={}", rows, columns);
      tile.refused = spills(conv, tile);
      tile.clocks = clocks_of(work_of(conv, tile, cost), device);
      tiles.push_back(std::move(tile));
    }
  }
  return tiles;
}

Reason refuses_depthwise_nchw(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = cannot_read(problem, "nchw")) return reason;
  const Conv2d conv(problem);
  const Gpu* gpu = gpu_of(device);
  if (device.platform == "rusticl" && gpu && gpu->family == Gpu::Family::midgard) {
    return "Mesa's compiler for Midgard takes minutes for it, or never ends";
  }
  if (conv.groups != conv.c) return fmt::format("groups={} is not c={}", conv.groups, conv.c);
  if (conv.r == 1 && conv.s == 1) return "the filter is 1x1";
  if (conv.r > kMostTaps || conv.s > kMostTaps) {
    return fmt::format("the filter is {}x{}, over {}x{}", conv.r, conv.s, kMostTaps, kMostTaps);
  }
  if (conv.stride_h > kMostStride || conv.stride_w > kMostStride) {
    return fmt::format("the stride is over {}", kMostStride);
  }
  const std::int64_t tiles = std::int64_t{conv.oh() + conv.dilation_h} * (conv.ow() / 4 + 1);
  if (tiles > kMostTiles) return fmt::format("a map of {} tiles, over {}", tiles, kMostTiles);
  // Kernels count from rows of padding, and those after the last tile, by int.
  const std::int64_t rows = std::int64_t{conv.h} + conv.pad_t + conv.pad_b + 16LL * conv.dilation_h;
  if (Reason reason =
          too_large("x with its padding", rows * conv.w * size_of(conv.dtype), device)) {
    return reason;
  }
  return too_large("packed w", std::int64_t{conv.k} * packed_of(conv) * size_of(Dtype::f32),
                   device);
}

void plan_depthwise_nchw(const Request& request, Plan& plan) {
  const Conv2d conv(request.problem);
  const Tile tile = choose(tiles_of(request), request);
  // Sums in half of more products than a chunk has are float.
  const Acc acc = accumulator(request.problem);
  const int taps = conv.r * conv.s;
  const bool half = acc == Acc::f16 || (acc == Acc::chunk && taps <= products_in_half(acc));
  const Group group{tile.lx, tile.ly};
  std::string text = group_options(conv.dtype, group) +
                     fmt::format(" -DCONV2D_R={} -DCONV2D_S={}", conv.r, conv.s);
  if (half) text += " -DCONV2D_CHUNK=1";
  const int packed = packed_of(conv);
  plan.buffers.push_back(
      packed_w(std::int64_t{conv.k} * packed * size_of(half ? Dtype::f16 : Dtype::f32)));
  plan.pack.push_back(group_launch("conv2d_depthwise.cl", "conv2d_depthwise_pack", text, group,
                                   packed, conv.k, 1, arg_list("w", "w_packed", conv.k)));
  text.clear();
  const auto add = [&](const char* name, int value, int otherwise) {
    if (value != otherwise) text += fmt::format(" -DCONV2D_{}={}", name, value);
  };
  add("ROWS", tile.rows, 0);
  add("COLUMNS", tile.columns, 4);
  add("R", conv.r, 0);
  add("S", conv.s, 0);
  add("STRIDE_H", conv.stride_h, 1);
  add("STRIDE_W", conv.stride_w, 1);
  add("DILATION_H", conv.dilation_h, 1);
  add("DILATION_W", conv.dilation_w, 1);
  add("MULTIPLE", conv.kg(), 1);
  add("TOP", conv.pad_t, 1);
  add("LEFT", conv.pad_l, 1);
  add("BELOW", tile.below, 0);
  add("RIGHT", tile.right, 0);
  add("VECTOR", tile.vector, 1);
  add("STORED", tile.stored, 1);
  add("WHOLE_H", tile.whole_h, 0);
  add("WHOLE_W", tile.whole_w, 0);
  add("ONE", tile.across == 1, 0);
  add("CHUNK", half, 0);
  std::vector<Arg> args = arguments(
      conv, "w_packed", {conv.k, conv.h, conv.w, conv.oh(), conv.ow(), tile.tiles, tile.across});
  args.emplace_back(1.0f / static_cast<float>(tile.across));
  plan.launches.push_back(
      group_launch("conv2d_depthwise.cl", "conv2d_depthwise",
                   options(request, group, text + split_addresses(request.device)), group,
                   tile.tiles, conv.k, conv.n, std::move(args)));
}

}  // namespace

Variant depthwise() {
  return {"conv2d_depthwise",
          "a filter for each channel; weights packed once",
          refuses_depthwise_nchw,
          planned(plan_depthwise_nchw),
          nullptr,
          tilings(tiles_of)};
}

}  // namespace clam::conv2d_plan
