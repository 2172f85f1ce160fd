// SPDX-License-Identifier: MIT
// expression.hpp - whole numbers that follow from the text of an expression.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tokens/tokens.hpp"

namespace clam {

using Number = std::optional<std::int64_t>;
using Numbers = std::map<std::string, std::int64_t>;

struct Known {
  Numbers names, functions;   ///< functions: that always return the same
  bool others_are_0 = false;  ///< as in a condition of the preprocessor
};

/// The value of an expression of ints; nothing where it does not follow, or is changed by it.
Number value_of(const Tokens& expression, const Known& known);

/// Whether a sign changes what stands before or behind it.
bool assigns(const Token& sign);

}  // namespace clam
