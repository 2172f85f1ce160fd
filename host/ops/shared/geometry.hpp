// SPDX-License-Identifier: MIT
// geometry.hpp - arithmetic of launches that plans share: rounding, group sizes and buffer limits.
#pragma once

#include <cstdint>

#include "clam/op.hpp"

namespace clam {

/// What a plan is made for: a problem, a device, and what the caller chooses.
struct Request {
  const Problem& problem;
  const DeviceInfo& device;
  const PlanOptions& options;
  std::string variant{};  ///< whose plan it is
};

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

/// Work-items of a group: as many as the caller allows, else `wanted`.
int items_or(int wanted, const Request& request);
/// The same, but `fewest` at the least, `most` and kLargestGroup at the most, and a power of two.
int group_size(int wanted, int fewest, std::int64_t most, const Request& request);
/// The same along x, for kernels that need kSmallestGroup: throws Unsupported "OP: ..." where the
/// caller or the device allows fewer.
int group_along_x(const char* op, int wanted, const Request& request);

/// kUsualGroup of them along x, at least kSmallestGroup.
int usual_group(const Request& request);

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
Group choose_group(int columns, int widest, const Request& request);

/// The group, or a lower one of at least 32 items where that leaves fewer beyond the last of
/// `rows`.
Group lower_group(Group group, int rows);

/// Bytes that a device cannot hold in one buffer, or that int offsets cannot reach.
Reason too_large(const char* what, std::int64_t bytes, const DeviceInfo& device);

// ---- lanes: work-items of a group that share the elements that a result is made of ----

constexpr int kFewestLanes = 4;  ///< of a result: they read each other's as a vector

/// Elements of a load: a vector of 4 where rows of n are whole vectors.
inline int vector_unit(std::int64_t n) { return n % 4 == 0 ? 4 : 1; }

/// The smallest power of two that is no less than `value`.
int power_of_two_over(std::int64_t value);

/// Items of a group: what the caller allows, else `wanted`; the lanes of a result at the least.
int group_items(int wanted, const Request& request);

/// The reason why a device has no groups of as many items. `what`: what lanes share.
Reason no_lanes(const DeviceInfo& device, const char* what = "result");

struct Share {
  int lanes, rows;  ///< rows: results of a group
};

/// For `results` of `elements` in one piece each. Few lanes read many vectors each; more where
/// results are too few to keep a device busy.
Share share_pieces(std::int64_t elements, std::int64_t results, const Request& request);

/// How lanes of a group hold rows in registers.
struct HeldRows {
  int unit, lanes, rows;  ///< unit: elements of a load; rows: of a group
  int held;               ///< units of a lane
  bool fits() const;
};

/// For rows of n elements in one piece: as few lanes as hold a row, and as many rows as fill a
/// group.
HeldRows hold_rows(int n, int items);
/// The same for rows of any length, a group each, which are not held.
HeldRows share_long_rows(int n, int items);
/// The reason why lanes do not hold their rows.
Reason not_held(int n, const HeldRows& share);

}  // namespace clam
