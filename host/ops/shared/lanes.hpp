// SPDX-License-Identifier: MIT
// lanes.hpp - how many work-items of a group share the elements that a result is made of.
#pragma once

#include "geometry.hpp"

namespace clam {

constexpr int kFewestLanes = 4;  ///< of a result: they read each other's as a vector

/// The smallest power of two that is no less than `value`.
int power_of_two_over(std::int64_t value);

/// Items of a group: what the caller allows, else `wanted`; the lanes of a result at the least.
int group_items(int wanted, const DeviceInfo& device, const PlanOptions& options);

/// The reason why a device has no groups of as many items. `what`: what lanes share.
Reason no_lanes(const DeviceInfo& device, const char* what = "result");

struct Share {
  int lanes, rows;  ///< rows: results of a group
};

/// For `results` of `elements` in one piece each. Few lanes read many vectors each; more where
/// results are too few to keep a device busy.
Share share_pieces(std::int64_t elements, std::int64_t results, const DeviceInfo& device,
                   const PlanOptions& options);

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
