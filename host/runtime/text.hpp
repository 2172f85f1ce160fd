// SPDX-License-Identifier: MIT
// text.hpp - texts in parts, as numbers, of the environment, and as JSON and a terminal may hold
// them.
#pragma once

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>
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

/// Reads the number that is the whole text, or says why not: it is out of range, or none.
template <typename Number>
std::errc read_number(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop != end ? std::errc::invalid_argument : error;
}

/// Of a variable of the environment; empty where it is not set.
inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// The text, with '?' for what cannot be printed: drivers' strings may hold anything.
inline std::string printable(std::string_view text) {
  std::string clean;
  for (const char c : text) clean += c >= ' ' && c <= '~' ? c : '?';
  return clean;
}

}  // namespace clam
