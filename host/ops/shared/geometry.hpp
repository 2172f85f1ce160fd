// SPDX-License-Identifier: MIT
// geometry.hpp - arithmetic of launches that plans share: rounding, group sizes, buffer limits and
// the choice of a tile by predicted time.
#pragma once

#include <cstdint>
#include <initializer_list>

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

/// Clocks that a GPU takes for `items` work-items of `instructions` each: the middle of the
/// interval that `clam mali` prints. Its lower end are the instructions of all warps at the GPU's
/// rate. Its upper end is one warp's latency, where that is more. A warp alone takes 25 clocks an
/// instruction, by TVM's batch_matmul kernels on a G610. Rates are those of the Mali that the
/// device is. Else they are a G610's (four warps of 16 a clock and core), and the latency counts
/// half: small tiles only slow a processor.
double predicted_clocks(double items, double instructions, const DeviceInfo& device);

/// The device is a Mali (Bifrost or newer) behind Mesa's driver, whose compilers spend less on a
/// load where only the lower half of its address is summed; others fold a constant distance into
/// the load.
bool splits_addresses(const DeviceInfo& device);

/// A tile `rows` high and what one trip of its loop costs, in instructions of a Mali-G610.
struct TileCost {
  int rows;
  double instructions;
};

/// The height that the time model finds best for `rows` x `columns` tiles of one row each. A high
/// tile does more multiply-adds an instruction, a low one makes more warps: the time is that of all
/// warps' instructions, four a clock and core, or one warp's latency. Heights over `highest` are
/// left out.
int choose_rows(std::initializer_list<TileCost> tiles, int rows, std::int64_t columns, int highest,
                const DeviceInfo& device);

/// Bytes that a device cannot hold in one buffer, or that int offsets cannot reach.
Reason too_large(const char* what, std::int64_t bytes, const DeviceInfo& device);

}  // namespace clam
