// SPDX-License-Identifier: MIT
// clblast.hpp - CLBlast as a side: Gemm, GemmStridedBatched and Convgemm.
#pragma once

#include <memory>

#include "side.hpp"

namespace clam::peers {

/// Empty, or why CLBlast cannot compute the problem, which is bare().
Reason clblast_lacks(const Problem& problem);
/// The routine of CLBlast that computes it.
std::string clblast_routine(const Problem& problem);
std::unique_ptr<Side> make_clblast(Task& task);

}  // namespace clam::peers
