// SPDX-License-Identifier: MIT
// find_named.hpp - one of several things, by its name.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>

#include "clam/error.hpp"

namespace clam {

/// Throws BadArgument "unknown WHAT 'NAME'; OWNER knows A B C".
template <typename Items>
const auto& find_named(const Items& items, std::string_view name, const std::string& what,
                       const std::string& owner) {
  std::string known;
  for (const auto& item : items) {
    if (item.name == name) return item;
    known += " " + item.name;
  }
  throw BadArgument(fmt::format("unknown {} {}; {} knows{}", what, in_quotes(name), owner, known));
}

}  // namespace clam
