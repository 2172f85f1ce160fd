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
/// row that applies gives variant and tile. If PlanOptions names a variant, only rows of that
/// variant apply. If it names a tile, no row applies. Without a row, a model of the device chooses.
/// Throws Unsupported with the reason when no variant fits, and BadArgument for a variant that the
/// op does not have.
Plan make_plan(const Problem& problem, const DeviceInfo& device, const PlanOptions& options = {});

/// A line for each variant: chosen, possible, or the reason why not. Then lines say which measured
/// row was taken, or why none. If float sums are predicted to be slower in f16 than in f32, a note
/// follows. It names the accumulators that are faster. The tilings of the chosen variant come last,
/// with their clocks.
std::string explain_plan(const Problem& problem, const DeviceInfo& device,
                         const PlanOptions& options = {});

/// The reason why a plan for the row's own problem does not take the row, else nothing. The row
/// must be one of the device's.
Reason row_refused(const TunedRow& row, const DeviceInfo& device, const Tuned& rows);

}  // namespace clam
