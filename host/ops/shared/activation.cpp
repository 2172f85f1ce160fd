// SPDX-License-Identifier: MIT
#include "activation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "clam/error.hpp"

namespace clam {

const std::vector<std::string>& activation_names() {
  static const std::vector<std::string> names{"none",      "relu",    "relu6", "silu", "gelu",
                                              "gelu_tanh", "sigmoid", "tanh",  "exp"};
  return names;
}

Activation parse_activation(std::string_view word) {
  const std::vector<std::string>& names = activation_names();
  const auto found = std::find(names.begin(), names.end(), word);
  if (found == names.end()) {
    throw BadArgument(fmt::format("unknown activation '{}'; clam knows {}", word.substr(0, 60),
                                  fmt::join(names, " ")));
  }
  return static_cast<Activation>(found - names.begin());
}

bool takes_exp(const Problem& problem) {
  const Activation act = parse_activation(problem.choice("act"));
  return act == Activation::silu || act == Activation::sigmoid || act == Activation::gelu ||
         act == Activation::gelu_tanh;
}

bool takes_native(const Problem& problem, const DeviceInfo& device) {
  constexpr double kMostUlp = 4;  // the bounds of activations allow no more
  return takes_exp(problem) && device.native_exp2_ulp > 0 && device.native_exp2_ulp <= kMostUlp;
}

std::string act_options(const Problem& problem, std::string_view define, const DeviceInfo& device) {
  const std::string& act = problem.choice("act");
  if (act == "none") return "";
  return fmt::format(" -D{}={}{}", define, act,
                     takes_native(problem, device) ? " -DCLAM_NATIVE" : "");
}

}  // namespace clam
