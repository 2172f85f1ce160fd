// SPDX-License-Identifier: MIT
// fault.cpp - what two failures have in common that are of one fault. What a driver printed
// may be of any length, so it is read by hand: std::regex runs out of stack on long lines.
#include <algorithm>
#include <stdexcept>

#include "shrinking.hpp"
#include "tokens/letters.hpp"

namespace clam {
namespace {

using Outcome = Seen::Outcome;

template <class Is>
std::size_t end_of(const std::string& text, std::size_t at, const Is& is) {
  while (at < text.size() && is(text[at])) ++at;
  return at;
}

/// The text with each number where `drops(before, after)` holds as '#', and addresses as 0x.
template <class Drops>
std::string without_numbers(const std::string& text, const Drops& drops) {
  std::string rest;
  for (std::size_t i = 0; i < text.size();) {
    const bool starts = rest.empty() || !is_digit(rest.back());
    const std::size_t end = starts ? end_of(text, i, is_digit) : i;
    if (text.compare(i, 2, "0x") == 0) {
      rest += "0x";
      i = end_of(text, i + 2, is_hex);
    } else if (end > i && drops(rest, text.substr(end, 1))) {
      rest += '#';
      i = end;
    } else {
      rest += text[i++];
    }
  }
  return rest;
}

/// Without lines and columns, which change with the text that is built.
std::string without_places(const std::string& text) {
  return without_numbers(text, [](const std::string& before, const std::string& after) {
    const std::size_t comes = before.find_last_of(":(,") + 1;
    const bool is_place = (comes > 0 && comes == before.size()) || ends_with(before, "line ") ||
                          ends_with(before, "column ");
    return is_place && (after.empty() || std::string(":),;").find(after) != std::string::npos);
  });
}

/// Without numbers that change with the case: sizes, values, names of a compiler's own. A driver's
/// file and line, where it gave up, stay: they are the cause. So do numbers within words: "v4f32".
std::string without_values(const std::string& text) {
  return without_numbers(text, [](const std::string& before, const std::string& after) {
    if (before.empty()) return true;
    if (after == ":" && ends_with(before, " t")) return true;  // a node of LLVM's: "t12: i32"
    if (before.back() != ':') return !is_word(before.back());
    const std::size_t start = before.find_last_of(" \t'\"(") + 1;  // 0 where there is none
    const std::size_t dot = before.find('.', start);
    return dot == before.npos || before.compare(dot, 4, ".cl:") == 0;
  });
}

/// The words behind each of these, up to the first character that is of no word or number.
std::string words_behind(const std::string& text, const std::vector<std::string>& starts) {
  std::string found;
  for (const std::string& start : starts) {
    for (std::size_t at = 0; (at = text.find(start, at)) != text.npos;) {
      const std::size_t end = end_of(text, at + start.size(), is_plain);
      found += " " + text.substr(at, end - at);
      at = end;
    }
  }
  return found.empty() ? " " + text : found;
}

/// The signal or exit code, and what the process said last, if that names the cause.
std::string of_crash(const std::string& reason) {
  const std::size_t end = std::min(reason.find("; "), reason.size());
  return words_behind(reason.substr(0, end), {"signal ", "exit code "}) +
         without_values(reason.substr(end));
}

}  // namespace

std::string fault_of(const Seen& seen) {
  constexpr std::size_t kMost = 4096;  // as a bundle has it
  const std::string outcome = name(seen.outcome), reason = seen.reason.substr(0, kMost);
  switch (seen.outcome) {
    case Outcome::right:
    case Outcome::hung:
      return outcome;
    case Outcome::wrong:
      if (seen.first_wrong) return outcome + " " + seen.first_wrong->tensor;
      return outcome + words_behind(reason, {"memory around tensor ", "input tensor "});
    case Outcome::build_failed:
      return outcome + " " + without_places(reason);
    case Outcome::crashed:
      return outcome + of_crash(reason);
    case Outcome::device_error:
      return outcome + words_behind(reason, {"CL_", "(-"});
  }
  throw std::logic_error("unknown outcome");
}

}  // namespace clam
