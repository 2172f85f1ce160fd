// SPDX-License-Identifier: MIT
#include "group_order.hpp"

#include <algorithm>
#include <cmath>

#include "tiling.hpp"

namespace clam {

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
