// SPDX-License-Identifier: MIT
// activate.hpp - activations in double, and how they pass on the error of their argument.
#pragma once

#include "ops/shared/activation.hpp"

namespace clam {

double activate(Activation act, double z);

/// The result is one of the argument, 0 and 6: it adds no rounding of its own.
bool is_exact(Activation act);

/// Largest error of activate(z) in float when z itself is known within `error`: the error times
/// the steepest slope nearby, and what the float function adds.
double activation_error(Activation act, double z, double error);

}  // namespace clam
