// SPDX-License-Identifier: MIT
// refuse.hpp - what is wrong with an input, said in one statement. The text is formatted only if it
// is wrong, but its arguments are evaluated always.
#pragma once

#include <fmt/core.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "clam/error.hpp"

namespace clam {

class Problem;
[[noreturn]] void bad_field(const Problem& problem, std::string_view field, std::string_view rule);

/// Throws BadArgument; `text` has places for the arguments.
template <typename... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
  throw BadArgument(fmt::format(text, std::forward<Args>(args)...));
}

/// Throws a BadArgument, or another error of one text.
template <typename E = BadArgument, typename... Args>
void throw_if(bool wrong, fmt::format_string<Args...> text, Args&&... args) {
  if (wrong) throw E(fmt::format(text, std::forward<Args>(args)...));
}

/// Throws BadArgument "OP: FIELD=VALUE, RULE".
template <typename... Args>
void bad_field_if(bool wrong, const Problem& problem, std::string_view field,
                  fmt::format_string<Args...> rule, Args&&... args) {
  if (wrong) bad_field(problem, field, fmt::format(rule, std::forward<Args>(args)...));
}

/// A Reason.
template <typename... Args>
std::optional<std::string> reason_if(bool wrong, fmt::format_string<Args...> text, Args&&... args) {
  if (!wrong) return {};
  return fmt::format(text, std::forward<Args>(args)...);
}

}  // namespace clam
