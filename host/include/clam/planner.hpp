// SPDX-License-Identifier: MIT
// planner.hpp - from a Problem to a Plan.
#pragma once

#include <string>

#include "device.hpp"
#include "op.hpp"
#include "plan.hpp"
#include "problem.hpp"
#include "tuned.hpp"

namespace clam {

/// Plans a problem for a device. The result depends on the arguments alone. The nearest measured
/// row that counts chooses variant and tile: of those of PlanOptions::variant, where that is named,
/// and none where a tile is named. Else a model of the device chooses. Throws Unsupported with the
/// reason when no variant fits, and BadArgument for a variant that the op does not have.
Plan make_plan(const Problem& problem, const DeviceInfo& device, const PlanOptions& options = {});

/// A line for each variant: chosen, possible, or the reason why not. A note follows where float
/// sums are predicted to be slower in f16 than in f32. It names the accumulators that are faster.
/// Lines before it say which measured row was taken, or why none.
/// The tilings of the chosen variant come last, with their clocks.
std::string explain_plan(const Problem& problem, const DeviceInfo& device,
                         const PlanOptions& options = {});

/// Why no plan takes the row, which is one of the device's, for the row's own problem.
Reason row_refused(const TunedRow& row, const DeviceInfo& device, const Tuned& rows);

}  // namespace clam
