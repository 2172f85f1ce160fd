// SPDX-License-Identifier: MIT
// planner.hpp - from a Problem to a Plan.
#pragma once

#include <string>

#include "device.hpp"
#include "plan.hpp"
#include "problem.hpp"

namespace clam {

/// Plans a problem for a device. The result depends on the arguments alone. Throws Unsupported with
/// the reason when no variant fits, and BadArgument for a variant that the op does not have.
Plan make_plan(const Problem& problem, const DeviceInfo& device, const PlanOptions& options = {});

/// A line for each variant: chosen, possible, or the reason why not. A note follows where float
/// sums are predicted to be slower in f16 than in f32. It names the accumulators that are faster.
/// The tilings of the chosen variant come last, with their clocks.
std::string explain_plan(const Problem& problem, const DeviceInfo& device,
                         const PlanOptions& options = {});

}  // namespace clam
