// SPDX-License-Identifier: MIT
// shrink_fault.cpp - what two failures have in common that are of one fault.
#include <fmt/core.h>

#include <regex>

#include "shrink.hpp"

namespace clam {
namespace {

using Outcome = Seen::Outcome;

/// All that matches, one behind the other; the whole text where nothing does.
std::string matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::string found;
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match) {
    found += " " + match->str();
  }
  return found.empty() ? " " + text : found;
}

/// The reason why a build failed, without lines, columns and addresses, which change with the text.
std::string without_places(const std::string& text) {
  static const std::regex place("([:(,]|line |column )[0-9]+(?=[:),;]|$)"), address("0x[0-9a-f]+");
  return std::regex_replace(std::regex_replace(text, place, "$1"), address, "0x");
}

}  // namespace

std::string fault_of(const Seen& seen) {
  const std::string outcome = name(seen.outcome);
  switch (seen.outcome) {
    case Outcome::right:
    case Outcome::hung:
      return outcome;
    case Outcome::wrong:
      if (seen.first_wrong) return outcome + " " + seen.first_wrong->tensor;
      return outcome + matches(seen.reason, "(memory around|input) tensor [^ ]+");
    case Outcome::build_failed:
      return outcome + " " + without_places(seen.reason);
    case Outcome::crashed:
      return outcome + matches(seen.reason, "signal [0-9]+|exit code [0-9]+|Assertion .*failed");
    case Outcome::device_error:
      return outcome + matches(seen.reason, "CL_[A-Z_]+|\\(-[0-9]+\\)");
  }
  throw std::logic_error("unknown outcome");
}

}  // namespace clam
