// SPDX-License-Identifier: MIT
// activate.hpp - activations in double, and how they pass on the error of their argument.
#pragma once

#include "check/op_proof.hpp"
#include "ops/shared/activation.hpp"

namespace clam {

double activate(const Act& act, double z);

/// The result is the argument or a constant: it adds no rounding of its own.
bool is_exact(const Act& act);

/// Largest error of activate(z) in float when z itself is known within `error`: the error times
/// the steepest slope nearby, and what the float function adds; then its scale and shift, one fma.
/// activate(z) is finite.
double activation_error(const Act& act, double z, double error);

/// activate(z), whose error is that, `last` of the value for what rounds it at the end, and `crumb`
/// for what denormals cost. What is not finite has no error.
Bounded activated(const Act& act, double z, double error, double last, double crumb);

}  // namespace clam
