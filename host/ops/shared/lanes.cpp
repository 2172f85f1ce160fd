// SPDX-License-Identifier: MIT
#include "lanes.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace clam {
namespace {

constexpr int kHeld = 16;  ///< elements of a row that a lane holds in registers

/// Elements of a load: a vector where rows are whole vectors.
int unit_of(int n) { return n % 4 == 0 ? 4 : 1; }

}  // namespace

int power_of_two_over(std::int64_t value) {
  const int below = floor_power_of_two(value);
  return below == value ? below : 2 * below;
}

int group_items(int wanted, const DeviceInfo& device, const PlanOptions& options) {
  return group_size(wanted, kFewestLanes, most_along_xy(device), options);
}

Reason no_lanes(const DeviceInfo& device, const char* what) {
  const std::int64_t most = most_along_xy(device);
  if (most >= kFewestLanes) return {};
  return fmt::format("{} lanes share a {}, a group has at most {} items", kFewestLanes, what, most);
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

bool HeldRows::fits() const { return held * unit <= kHeld; }

HeldRows hold_rows(int n, int items) {
  HeldRows share{unit_of(n), kFewestLanes, 1, 0};
  const int units = n / share.unit;
  while (share.lanes < items && ceil_div(units, share.lanes) * share.unit > kHeld) share.lanes *= 2;
  share.held = ceil_div(units, share.lanes);
  share.rows = items / share.lanes;
  return share;
}

HeldRows share_long_rows(int n, int items) { return {unit_of(n), items, 1, 0}; }

Reason not_held(int n, const HeldRows& share) {
  if (share.fits()) return {};
  return fmt::format("n={} is over the {} elements that {} lanes hold", n, kHeld * share.lanes,
                     share.lanes);
}

}  // namespace clam
