// SPDX-License-Identifier: MIT
// letters.hpp - which kind of letter one is, and how texts begin and end.
#pragma once

#include <cctype>
#include <string_view>

namespace clam {

inline bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
inline bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
/// Of a name in C.
inline bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
/// Of a word to a shell, too.
inline bool is_plain(char c) { return is_word(c) || c == '-' || c == '.'; }

inline bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}
inline bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace clam
