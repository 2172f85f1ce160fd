// SPDX-License-Identifier: MIT
// text.hpp - texts in parts, and as JSON and a terminal may hold them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace clam {

/// The parts between separators: one more than there are separators.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// The text, with '?' for what cannot be printed: drivers' strings may hold anything.
inline std::string printable(std::string_view text) {
  std::string clean;
  for (const char c : text) clean += c >= ' ' && c <= '~' ? c : '?';
  return clean;
}

}  // namespace clam
