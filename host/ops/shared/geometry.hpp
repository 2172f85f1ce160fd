// SPDX-License-Identifier: MIT
// geometry.hpp - arithmetic of launches that plans share: rounding, group sizes and buffer limits.
#pragma once

#include <cstdint>

#include "clam/op.hpp"

namespace clam {

template <typename Int>
Int ceil_div(Int value, int divisor) {
  return (value + divisor - 1) / divisor;
}
template <typename Int>
Int round_up(Int value, int multiple) {
  return ceil_div(value, multiple) * multiple;
}
/// The largest power of two up to `value`, which is at least 1.
int floor_power_of_two(std::int64_t value);

constexpr int kSmallestGroup = 16, kUsualGroup = 64, kLargestGroup = 256;  ///< work-items

/// The most work-items of a group that lie along x, and of one where they may lie along x or y.
std::int64_t most_along_x(const DeviceInfo& device);
std::int64_t most_along_xy(const DeviceInfo& device);

/// Work-items of a group: as many as the caller allows, else `wanted`. They are `fewest` at the
/// least, `most` and kLargestGroup at the most, and a power of two.
int group_size(int wanted, int fewest, std::int64_t most, const PlanOptions& options);
/// The same along x, for kernels that need kSmallestGroup: throws Unsupported "OP: ..." where the
/// caller or the device allows fewer.
int group_along_x(const char* op, int wanted, const DeviceInfo& device, const PlanOptions& options);

/// The reason why a device with groups of `most` has none of kSmallestGroup.
Reason no_group(std::int64_t most);
/// A Variant::refuses of kernels that need kSmallestGroup along x.
Reason refuses_small_groups(const Problem&, const DeviceInfo& device);
/// A Variant::refuses of kernels that take any problem on any device.
Reason refuses_nothing(const Problem&, const DeviceInfo&);

/// Work-items of a group along the first two dimensions of a launch.
struct Group {
  int x, y;
};

/// A group of 64 items, or of the caller's bound. `columns`: work-items that the problem has along
/// x; `widest`: the most of a group that may lie along x.
Group choose_group(int columns, int widest, const DeviceInfo& device, const PlanOptions& options);

/// The group, or a lower one of at least 32 items where that leaves fewer beyond the last of
/// `rows`.
Group lower_group(Group group, int rows);

/// Bytes that a device cannot hold in one buffer, or that int offsets cannot reach.
Reason too_large(const char* what, std::int64_t bytes, const DeviceInfo& device);

}  // namespace clam
