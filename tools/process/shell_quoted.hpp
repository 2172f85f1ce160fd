// SPDX-License-Identifier: MIT
// shell_quoted.hpp - words for a command line that a person pastes into a shell.
#pragma once

#include <string>

namespace clam {

/// "'it'" in a form that a shell reads back as one word.
inline std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace clam
