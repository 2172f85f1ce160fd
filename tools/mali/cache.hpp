// SPDX-License-Identifier: MIT
// cache.hpp - what the groups of a product of matrices read from memory behind a cache.
#pragma once

#include <optional>

#include "check/manifest.hpp"
#include "clam/plan.hpp"
#include "ops/shared/matrix_tiling.hpp"

namespace clam::mali {

/// The groups of a launch of dense.cl that computes tiles, in bytes of what it reads; nothing of
/// other kernels.
std::optional<GroupGrid> grid_of(const FileTags& tags, const Launch& launch);

/// The bytes that the grid's groups read from memory, by a trace. As many groups as run at a time
/// begin together and read one part of their k after the other. A part of a group's rows or columns
/// is in the cache or is read from memory; what was used least recently goes first.
double traced_bytes(const GroupGrid& grid, const SharedCache& cache);

}  // namespace clam::mali
