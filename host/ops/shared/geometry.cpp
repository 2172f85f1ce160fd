// SPDX-License-Identifier: MIT
#include "geometry.hpp"

#include <algorithm>

#include "runtime/refuse.hpp"

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

int items_or(int wanted, const Request& request) {
  return request.options.max_work_group > 0 ? request.options.max_work_group : wanted;
}

int group_size(int wanted, int fewest, std::int64_t most, const Request& request) {
  const auto items = std::min<std::int64_t>({items_or(wanted, request), most, kLargestGroup});
  return floor_power_of_two(std::max<std::int64_t>(items, fewest));
}

int group_along_x(const char* op, int wanted, const Request& request) {
  const std::int64_t most =
      std::min<std::int64_t>(items_or(wanted, request), most_along_x(request.device));
  throw_if<Unsupported>(most < kSmallestGroup, "{}: needs work-groups of {} work-items, not of {}",
                        op, kSmallestGroup, most);
  return group_size(wanted, kSmallestGroup, most, request);
}

int usual_group(const Request& request) {
  return group_size(kUsualGroup, kSmallestGroup, most_along_x(request.device), request);
}

Reason no_group(std::int64_t most) {
  return reason_if(most < kSmallestGroup, "the device has no work-groups of {} work-items",
                   kSmallestGroup);
}

Reason refuses_small_groups(const Problem&, const DeviceInfo& device) {
  return no_group(most_along_x(device));
}

Reason refuses_nothing(const Problem&, const DeviceInfo&) { return {}; }

Group choose_group(int columns, int widest, const Request& request) {
  const DeviceInfo& device = request.device;
  const int items = floor_power_of_two(std::min<std::int64_t>(
      {items_or(kUsualGroup, request), kLargestGroup, device.max_work_group}));
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
  return reason_if(bytes > limit, "{} would take {} bytes, over the limit of {}", what, bytes,
                   limit);
}

// ---- lanes ----

namespace {

constexpr int kHeld = 16;  ///< elements of a row that a lane holds in registers

}  // namespace

int power_of_two_over(std::int64_t value) {
  const int below = floor_power_of_two(value);
  return below == value ? below : 2 * below;
}

int group_items(int wanted, const Request& request) {
  return group_size(wanted, kFewestLanes, most_along_xy(request.device), request);
}

Reason no_lanes(const DeviceInfo& device, const char* what) {
  const std::int64_t most = most_along_xy(device);
  return reason_if(most < kFewestLanes, "{} lanes share a {}, a group has at most {} items",
                   kFewestLanes, what, most);
}

Share share_pieces(std::int64_t elements, std::int64_t results, const Request& request) {
  constexpr int kVector = 4, kVectors = 16, kFewVectors = 4, kItems = 64;
  constexpr std::int64_t kBusy = 4096;
  const std::int64_t vectors = elements / kVector;
  const bool is_long = vectors > kVectors * kItems;
  const int items = group_items(is_long ? kLargestGroup : kItems, request);
  int lanes = kFewestLanes;
  while (lanes < items && (vectors > kVectors * lanes ||
                           (vectors > kFewVectors * lanes && results * lanes < kBusy))) {
    lanes *= 2;
  }
  return {lanes, std::min(items / lanes, power_of_two_over(results))};
}

bool HeldRows::fits() const { return held * unit <= kHeld; }

HeldRows hold_rows(int n, int items) {
  HeldRows share{vector_unit(n), kFewestLanes, 1, 0};
  const int units = n / share.unit;
  while (share.lanes < items && ceil_div(units, share.lanes) * share.unit > kHeld) share.lanes *= 2;
  share.held = ceil_div(units, share.lanes);
  share.rows = items / share.lanes;
  return share;
}

HeldRows share_long_rows(int n, int items) { return {vector_unit(n), items, 1, 0}; }

Reason not_held(int n, const HeldRows& share) {
  return reason_if(!share.fits(), "n={} is over the {} elements that {} lanes hold", n,
                   kHeld * share.lanes, share.lanes);
}

}  // namespace clam
