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

}  // namespace clam
