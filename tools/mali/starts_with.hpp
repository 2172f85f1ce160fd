// SPDX-License-Identifier: MIT
// starts_with.hpp - what C++20 has as a member of string_view.
#pragma once

#include <string_view>

namespace clam::mali {

inline bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

}  // namespace clam::mali
