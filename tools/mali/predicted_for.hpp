// SPDX-License-Identifier: MIT
// predicted_for.hpp - whose compiler a predicted time is of.
#pragma once

namespace clam::mali {

/// Stands beside every predicted time: instructions are counted in Mesa's listings.
constexpr const char* kPredictedFor = "Mesa's compiler, not Arm's";

}  // namespace clam::mali
