// SPDX-License-Identifier: MIT
// contains.hpp - whether a text has these words.
#pragma once

#include <string>

namespace clam::test {

inline bool contains(const std::string& text, const std::string& words) {
  return text.find(words) != text.npos;
}

}  // namespace clam::test
