// SPDX-License-Identifier: MIT
// activation.hpp - activations in double, and how they pass on the error of their argument.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace clam {

enum class Activation { none, relu, relu6, silu, gelu, gelu_tanh, sigmoid, tanh, exp };

/// The words of a Problem line, in the order of the enumeration.
const std::vector<std::string>& activation_names();
/// Throws BadArgument for a word that is no activation.
Activation parse_activation(std::string_view word);

double activate(Activation act, double z);

/// The result is one of the argument, 0 and 6: it adds no rounding of its own.
bool is_exact(Activation act);

/// Largest error of activate(z) in float when z itself is known within `error`: the error times
/// the steepest slope nearby, and what the float function adds.
double activation_error(Activation act, double z, double error);

}  // namespace clam
