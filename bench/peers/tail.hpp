// SPDX-License-Identifier: MIT
// tail.hpp - get_valid_counts and nms beside yardsticks, as no library here has them: another form
// of the same, and what they must take at the least.
#pragma once

#include "report.hpp"

namespace clam::peers {

/// The data sets that a problem of the tail is timed on; empty for other ops.
std::vector<std::string> tail_sets(const Problem& problem);

/// get_valid_counts of one problem:
///   scan_form   the tree in global memory, a launch a level
///   floor       a copy that moves as many bytes, and 3 launches; bar 2
/// nms: floor    get_valid_counts of as many rows, and nms's launches; bar 3
/// All by wall time, in turns, and every turn checked. Throws Error when one is wrong.
Result measure_tail(Runtime& runtime, const Row& row, int turns);

}  // namespace clam::peers
