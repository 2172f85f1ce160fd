// SPDX-License-Identifier: MIT
// part.hpp - what the files of `clam report` share.
#pragma once

#include <map>
#include <string>

#include "bench/results_file.hpp"

namespace clam {

/// The text with some characters as others; those that `as` does not have stay.
inline std::string respelled(const std::string& text, const std::map<char, std::string>& as) {
  std::string result;
  for (const char c : text) {
    const auto found = as.find(c);
    result += found == as.end() ? std::string(1, c) : found->second;
  }
  return result;
}

/// What the card of a board says of its device, its clocks and its measured peaks: for each
/// {"title", "lines": [[title, value]...], "instead": one sentence where there are no lines}.
nlohmann::json facts_of(const Part& own);

}  // namespace clam
