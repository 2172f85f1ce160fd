// SPDX-License-Identifier: MIT
#include "lanes.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace clam {
namespace {

std::int64_t most_items(const DeviceInfo& device) {
  return std::min({device.max_work_group, device.max_work_items[0], device.max_work_items[1]});
}

}  // namespace

int power_of_two_over(std::int64_t value) {
  const int below = floor_power_of_two(value);
  return below == value ? below : 2 * below;
}

int group_items(int wanted, const DeviceInfo& device, const PlanOptions& options) {
  const int items = options.max_work_group > 0 ? options.max_work_group : wanted;
  return std::max(
      kFewestLanes,
      floor_power_of_two(std::min<std::int64_t>({items, kLargestGroup, most_items(device)})));
}

Reason no_lanes(const DeviceInfo& device) {
  if (most_items(device) >= kFewestLanes) return {};
  return fmt::format("{} lanes share a result, a group has at most {} items", kFewestLanes,
                     most_items(device));
}

Share share_pieces(std::int64_t elements, std::int64_t results, const DeviceInfo& device,
                   const PlanOptions& options) {
  constexpr int kVector = 4, kVectors = 16, kFewVectors = 4, kItems = 64;
  constexpr std::int64_t kBusy = 4096;
  const std::int64_t vectors = elements / kVector;
  const bool is_long = vectors > kVectors * kItems;
  const int items = group_items(is_long ? kLargestGroup : kItems, device, options);
  int lanes = kFewestLanes;
  while (lanes < items && (vectors > kVectors * lanes ||
                           (vectors > kFewVectors * lanes && results * lanes < kBusy))) {
    lanes *= 2;
  }
  return {lanes, std::min(items / lanes, power_of_two_over(results))};
}

}  // namespace clam
