// SPDX-License-Identifier: MIT
// geometry.hpp - arithmetic of launches that plans share: rounding, group sizes and buffer limits.
#pragma once

#include <cstdint>

#include "clam/op.hpp"

namespace clam {

int round_up(int value, int multiple);
int ceil_div(int value, int divisor);
/// The largest power of two up to `value`, which is at least 1.
int floor_power_of_two(std::int64_t value);

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
