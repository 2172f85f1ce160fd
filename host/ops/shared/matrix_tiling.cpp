// SPDX-License-Identifier: MIT
#include "matrix_tiling.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/refuse.hpp"

namespace clam {
namespace {

constexpr int kVector = 4;
constexpr int kSharing = 64;  ///< work-items of a group that shares k, at most

/// Each part has its share of the lanes that a group has without parts.
Group group_of_parts(const TiledProduct& product, Group group, int parts) {
  const int most = std::min(product.most_lanes, kSharing / parts);
  const int lanes = std::clamp(group.x * group.y / parts, 1, most);
  const int x = std::min(group.x, lanes);
  return {x, lanes / x};
}

Reason cannot_have_tile(const TiledProduct& product, const MatrixCut& cut,
                        const DeviceInfo& device) {
  constexpr int kTwoVectorLanes = 16;
  if (product.highest > 0 && cut.rows > product.highest) {
    return fmt::format("it is higher than the {} rows", product.m);
  }
  if (product.most_sums > 0 && cut.rows * cut.columns > product.most_sums) {
    return fmt::format("over {} sums would spill", product.most_sums);
  }
  if (cut.columns == kVector) return {};
  if (product.one_vector) return "two vectors would spill beside free strides";
  if (product.in_panels && device.max_work_items[0] < kTwoVectorLanes) {
    return fmt::format("the device allows under {} work-items along x", kTwoVectorLanes);
  }
  // The second vectors of a group's tiles lie behind all of its first.
  const int panel = cut.columns * cut.group.x;
  return reason_if(!product.in_panels && product.n % panel != 0,
                   "n={} is no multiple of a group's {} columns", product.n, panel);
}

/// Items share k where a part is long enough to repay adding up, through local memory.
Reason cannot_share(const TiledProduct& product, const MatrixCut& cut, const DeviceInfo& device,
                    int items_of_group) {
  constexpr int kLeast = 2 * kChunk;  // k of a part
  constexpr int kHalves = 16;         // sums carried in half; more would spill
  const int sums = cut.rows * cut.columns;
  const std::int64_t items = std::int64_t{cut.group.x} * cut.group.y * cut.parts;
  if (!product.shares_k || device.type == "cpu") return "k is not shared here";
  if (items_of_group < cut.parts || device.max_work_items.size() < 3 ||
      device.max_work_items[2] < cut.parts) {
    return fmt::format("a group has no {} work-items", cut.parts);
  }
  if (round_up(product.k, kVector) < kLeast * cut.parts) {
    return fmt::format("k={} leaves under {} for a part", product.k, kLeast);
  }
  if (product.acc == Acc::f16 && sums > kHalves) {
    return fmt::format("over {} sums in half would spill in parts", kHalves);
  }
  const std::int64_t bytes = items * sums * std::int64_t{sizeof(float)};
  return reason_if(bytes > device.local_mem_bytes,
                   "a group would need {} bytes of local memory, of {}", bytes,
                   device.local_mem_bytes);
}

Work work_of(const TiledProduct& product, const MatrixCut& cut, const Cost& cost) {
  constexpr double kAddUp = 12;    // instructions for a sum of four, in parts
  constexpr double kMoves = 0.06;  // of the loop, where lanes of a part lie badly; by the listings
  constexpr double kWait = 0.03;   // an estimate: for the others' parts, which the model leaves out
  const double tiles =
      1.0 * product.batch * ceil_div(product.m, cut.rows) * ceil_div(product.n, cut.columns);
  const double fours = 1.0 * ceil_div(product.k, 4) / cut.parts;
  const double sums = cut.rows * cut.columns;
  const double four_k = cost.numbers.at(0) + product.widening * cut.columns;
  Work work;
  work.items = tiles * cut.parts;
  work.instructions = fours * four_k + cost.numbers.at(1);
  if (cut.parts > 1) {
    const bool moves = product.best_in_one_row && (cut.group.y == 1) != *product.best_in_one_row;
    work.instructions += fours * four_k * (moves ? kMoves : product.moves) + sums / 4 * kAddUp;
    work.instructions *= 1 + kWait;
  }
  const auto left = static_cast<double>(product.left_size);
  const auto right = static_cast<double>(product.right_size);
  const double output = size_of(product.dtype);
  work.bytes = 4 * fours * (cut.rows * left + cut.columns * right) + sums * output;
  work.dram = 1.0 * product.left_items * product.m * product.k * left +
              1.0 * product.right_items * product.n * product.k * right +
              1.0 * product.batch * product.m * product.n * output;
  return work;
}

}  // namespace

std::vector<MatrixCut> matrix_cuts(const TiledProduct& product, const Request& request) {
  const DeviceInfo& device = request.device;
  std::vector<MatrixCut> cuts;
  for (const Cost& cost : costs_of(product.kernel, product.dtype, product.acc, device)) {
    for (const int parts : {1, 2, 4}) {
      MatrixCut cut{tiling_of(cost, device), cost["M0"], cost["N0"], parts};
      const Group whole = choose_group(ceil_div(product.n, cut.columns), product.lanes, request);
      cut.group = whole;
      cut.refused = cannot_have_tile(product, cut, device);
      cut.words += fmt::format(",PARTS={}", parts);
      if (parts > 1) {
        cut.group = group_of_parts(product, whole, parts);
        if (!cut.refused) cut.refused = cannot_share(product, cut, device, whole.x * whole.y);
      } else if (product.lowers_groups) {
        cut.group = lower_group(whole, ceil_div(product.m, cut.rows));
      }
      cut.clocks = clocks_of(work_of(product, cut, cost), device);
      cuts.push_back(std::move(cut));
    }
  }
  return cuts;
}

// ---- the order of groups ----

SharedCache shared_cache(const DeviceInfo& device, double items_of_group) {
  constexpr double kBytes = 1 << 20, kItemsOfCore = 1024;
  const double items = kItemsOfCore * static_cast<double>(device.compute_units);
  return {kBytes, std::max(1.0, std::floor(items / items_of_group))};
}

double traffic(const GroupGrid& grid, const SharedCache& cache) {
  const auto rows = static_cast<double>(grid.rows), columns = static_cast<double>(grid.columns);
  // Without a band, groups that run at a time are whole rows of groups, or a part of one.
  const double high = std::clamp(std::floor(cache.groups / columns), 1.0, rows);
  const double down = std::max(high, std::min<double>(grid.band, rows));
  const double across = std::clamp(std::floor(cache.groups / down), 1.0, columns);
  const double left = rows * grid.row_bytes, right = columns * grid.column_bytes;
  const bool holds_left = down * grid.row_bytes <= cache.bytes / 2;
  const double left_times = holds_left ? 1 : std::ceil(columns / across);
  const double right_times = right <= cache.bytes / 2 ? 1 : std::ceil(rows / down);
  return left * left_times + right * right_times;
}

int choose_band(GroupGrid grid, double items_of_group, double clocks, const DeviceInfo& device) {
  constexpr int kHighest = 64;
  constexpr double kSaved = 1.3, kShare = 0.15;  // of the traffic, and of all clocks
  constexpr double kIdle = 1.04;                 // groups, those behind the last row included
  const Gpu* gpu = gpu_of(device);
  if (!is_mali(device)) return 1;
  const SharedCache cache = shared_cache(device, items_of_group);
  const double plain = traffic(grid, cache);
  double least = plain;
  int best = 1;
  for (grid.band = 2; grid.band <= std::min<std::int64_t>(kHighest, grid.rows); ++grid.band) {
    const std::int64_t launched = (grid.rows + grid.band - 1) / grid.band * grid.band;
    const double bytes = traffic(grid, cache);
    if (bytes >= least || static_cast<double>(launched) > kIdle * static_cast<double>(grid.rows)) {
      continue;
    }
    least = bytes;
    best = grid.band;
  }
  const bool matters = plain > kSaved * least && plain / gpu->gb_per_s > kShare * clocks;
  return matters ? best : 1;
}

}  // namespace clam
