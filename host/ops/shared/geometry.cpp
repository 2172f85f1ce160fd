// SPDX-License-Identifier: MIT
#include "geometry.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "clam/gpu.hpp"

namespace clam {

int round_up(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }

int ceil_div(int value, int divisor) { return (value + divisor - 1) / divisor; }

int floor_power_of_two(std::int64_t value) {
  int power = 1;
  while (power * 2 <= value) power *= 2;
  return power;
}

Group choose_group(int columns, int widest, const DeviceInfo& device, const PlanOptions& options) {
  constexpr int kDefault = 64, kLargest = 256;
  const int wanted = options.max_work_group > 0 ? options.max_work_group : kDefault;
  const int items =
      floor_power_of_two(std::min<std::int64_t>({wanted, kLargest, device.max_work_group}));
  Group group{1, 1};
  while (group.x < std::min({columns, widest, items}) && 2 * group.x <= device.max_work_items[0]) {
    group.x *= 2;
  }
  group.y = floor_power_of_two(std::min<std::int64_t>(items / group.x, device.max_work_items[1]));
  return group;
}

Group lower_group(Group group, int rows) {
  constexpr int kFewest = 32;
  while (group.y > 1 && group.x * group.y / 2 >= kFewest &&
         round_up(rows, group.y / 2) < round_up(rows, group.y)) {
    group.y /= 2;
  }
  return group;
}

double predicted_clocks(double items, double instructions, const DeviceInfo& device) {
  constexpr double kLatency = 25;
  const Gpu* gpu = identify(device).gpu;
  const double warp = gpu && gpu->warp > 1 ? gpu->warp : 16;
  const double warps_per_clock = gpu && gpu->warp > 1 ? gpu->fma_f32 / gpu->warp : 4;
  const double rate = warps_per_clock * static_cast<double>(device.compute_units);
  const double issue = std::ceil(items / warp) / rate;
  if (!gpu) return instructions * std::max(issue, kLatency / 2);
  return instructions * (issue + std::max(issue, kLatency)) / 2;
}

bool splits_addresses(const DeviceInfo& device) {
  const Gpu* gpu = identify(device).gpu;
  return device.platform == "rusticl" && gpu && gpu->family != Gpu::Family::midgard;
}

int choose_rows(std::initializer_list<TileCost> tiles, int rows, std::int64_t columns, int highest,
                const DeviceInfo& device) {
  const auto clocks = [&](const TileCost& tile) {
    const double items =
        static_cast<double>(ceil_div(rows, tile.rows)) * static_cast<double>(columns);
    return predicted_clocks(items, tile.instructions, device);
  };
  const TileCost* best = nullptr;
  for (const TileCost& tile : tiles) {
    if (tile.rows <= highest && (!best || clocks(tile) < clocks(*best))) best = &tile;
  }
  return best->rows;
}

Reason too_large(const char* what, std::int64_t bytes, const DeviceInfo& device) {
  const std::int64_t limit = std::min<std::int64_t>(2147483647, device.max_alloc_bytes);
  if (bytes <= limit) return {};
  return fmt::format("{} would take {} bytes, over the limit of {}", what, bytes, limit);
}

}  // namespace clam
