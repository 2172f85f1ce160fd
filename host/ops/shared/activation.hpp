// SPDX-License-Identifier: MIT
// activation.hpp - the words for activations.
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

}  // namespace clam
