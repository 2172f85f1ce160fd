// SPDX-License-Identifier: MIT
// scan_form.hpp - get_valid_counts by a tree in global memory, a launch a level, to compare with.
#pragma once

#include "clam/clam.hpp"

namespace clam::peers {

/// The plan of a get_valid_counts of float rows: flags, a copy of them, ceil(log2 n) launches up
/// the tree, its root, as many down, -1 everywhere, the rows that are valid: 39 launches for
/// n=122640. Its kernels are in scan_form.cl.
Plan scan_form(const Problem& problem, const DeviceInfo& device);

}  // namespace clam::peers
