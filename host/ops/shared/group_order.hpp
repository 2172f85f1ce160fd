// SPDX-License-Identifier: MIT
// group_order.hpp - in which order the groups of a product of matrices run, and what they read from
// memory in it.
#pragma once

#include <cstdint>

#include "clam/op.hpp"

namespace clam {

/// A product y[m,n] cut into rectangles, one for each group. All groups read all of their k.
struct GroupGrid {
  std::int64_t rows = 1, columns = 1;      ///< groups
  double row_bytes = 0, column_bytes = 0;  ///< that a group reads of the left and the right matrix
  int band = 1;                            ///< rows of groups that it goes down first
};

/// What the groups share behind their first caches, and how many of them run at a time.
struct SharedCache {
  double bytes = 0, groups = 0;
};

/// Of the Mali that a device is. Both figures are assumed: 1 MiB, and 1024 work-items a core.
SharedCache shared_cache(const DeviceInfo& device, double items_of_group);

/// The bytes that they read from memory. What runs at a time, f groups of b rows and f / b columns,
/// shares what it reads. So the left matrix is read columns / (f / b) times, and the right one
/// rows / b times. Once, where b rows of groups, or all of the right matrix, fit into half the
/// cache.
double traffic(const GroupGrid& grid, const SharedCache& cache);

/// The band of up to 64 rows of groups that reads least from memory. 1 where that saves too little
/// to matter, and on a device that is no Mali. `clocks`: what the groups take, as predicted.
int choose_band(GroupGrid grid, double items_of_group, double clocks, const DeviceInfo& device);

}  // namespace clam
