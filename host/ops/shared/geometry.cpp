// SPDX-License-Identifier: MIT
#include "geometry.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "clam/error.hpp"

namespace clam {

int floor_power_of_two(std::int64_t value) {
  int power = 1;
  while (power * 2 <= value) power *= 2;
  return power;
}

std::int64_t most_along_x(const DeviceInfo& device) {
  return std::min(device.max_work_group, device.max_work_items[0]);
}

std::int64_t most_along_xy(const DeviceInfo& device) {
  return std::min(most_along_x(device), device.max_work_items[1]);
}

int group_size(int wanted, int fewest, std::int64_t most, const PlanOptions& options) {
  const std::int64_t items = options.max_work_group > 0 ? options.max_work_group : wanted;
  return floor_power_of_two(
      std::max<std::int64_t>(std::min<std::int64_t>({items, most, kLargestGroup}), fewest));
}

int group_along_x(const char* op, int wanted, const DeviceInfo& device,
                  const PlanOptions& options) {
  const std::int64_t items = options.max_work_group > 0 ? options.max_work_group : wanted;
  const std::int64_t most = std::min(items, most_along_x(device));
  if (most < kSmallestGroup) {
    throw Unsupported(
        fmt::format("{}: needs work-groups of {} work-items, not of {}", op, kSmallestGroup, most));
  }
  return group_size(wanted, kSmallestGroup, most, options);
}

Reason no_group(std::int64_t most) {
  if (most >= kSmallestGroup) return {};
  return fmt::format("the device has no work-groups of {} work-items", kSmallestGroup);
}

Reason refuses_small_groups(const Problem&, const DeviceInfo& device) {
  return no_group(most_along_x(device));
}

Reason refuses_nothing(const Problem&, const DeviceInfo&) { return {}; }

Group choose_group(int columns, int widest, const DeviceInfo& device, const PlanOptions& options) {
  const int wanted = options.max_work_group > 0 ? options.max_work_group : kUsualGroup;
  const int items =
      floor_power_of_two(std::min<std::int64_t>({wanted, kLargestGroup, device.max_work_group}));
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

Reason too_large(const char* what, std::int64_t bytes, const DeviceInfo& device) {
  const std::int64_t limit = std::min<std::int64_t>(2147483647, device.max_alloc_bytes);
  if (bytes <= limit) return {};
  return fmt::format("{} would take {} bytes, over the limit of {}", what, bytes, limit);
}

}  // namespace clam
