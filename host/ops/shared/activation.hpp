// SPDX-License-Identifier: MIT
// activation.hpp - the words for activations.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "clam/device.hpp"
#include "clam/problem.hpp"

namespace clam {

enum class Activation { none, relu, relu6, silu, gelu, gelu_tanh, sigmoid, tanh, exp };

/// The words of a Problem line, in the order of the enumeration.
const std::vector<std::string>& activation_names();
/// Throws BadArgument for a word that is no activation.
Activation parse_activation(std::string_view word);

/// Whether kernels take the problem's `act` from exp, and so from native_exp2 where that is good.
bool takes_exp(const Problem& problem);
/// Whether they take native_exp2 on the device.
bool takes_native(const Problem& problem, const DeviceInfo& device);
/// " -DDEFINE=silu -DCLAM_NATIVE": the problem's `act`, and how it is computed; empty without one.
std::string act_options(const Problem& problem, std::string_view define, const DeviceInfo& device);

}  // namespace clam
