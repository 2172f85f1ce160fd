// SPDX-License-Identifier: MIT
// conv2d_winograd_bound.hpp - how far from the exact sum Winograd's may be.
#pragma once

#include <vector>

#include "check/op_proof.hpp"
#include "ops/conv2d_problem.hpp"

namespace clam {

/// The largest error allowed for each sum of y that conv2d_winograd.cl makes, before what follows
/// it: a forward error analysis of its steps on these numbers. Worst case: every step rounds by u
/// times its result, and passes on the errors of its operands. Zero mean: six standard deviations,
/// for independent roundings. Channels may be summed in any of Conv2d::kWinogradParts. Infinite
/// where a number that it meets is none, or may overflow.
std::vector<double> winograd_bound(const Conv2d& conv, const std::vector<double>& x,
                                   const std::vector<double>& w, const ReferenceOptions& options);

}  // namespace clam
