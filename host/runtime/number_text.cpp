// SPDX-License-Identifier: MIT
#include "number_text.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace clam {

std::string number_text(float value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[32];
  const char* const end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string text(buffer, end - buffer);
  const std::size_t e = text.find('e');
  const int exponent = std::atoi(text.c_str() + e + 1);
  if (exponent < -4 || exponent >= 16) return text;

  const std::string sign = std::signbit(value) ? "-" : "";
  std::string digits;
  for (const char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  if (exponent < 0) return sign + "0." + std::string(-exponent - 1, '0') + digits;
  const std::size_t whole = exponent + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0');
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string float_literal(float value) {
  if (std::isinf(value)) return value < 0 ? "-INFINITY" : "INFINITY";
  const std::string text = number_text(value);
  return text + (text.find_first_of(".e") == text.npos ? ".0f" : "f");
}

}  // namespace clam
