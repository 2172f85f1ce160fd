// SPDX-License-Identifier: MIT
// shell_quoted.hpp - words for a command line that a person pastes into a shell.
#pragma once

#include <string>

#include "runtime/text.hpp"

namespace clam {

/// "'it'" in a form that a shell reads back as one word.
inline std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// "CLAM_KERNEL_DIR='...' ": the folders of the environment that a repetition needs, before its
/// command.
inline std::string folder_settings() {
  std::string words;
  for (const std::string name : {"CLAM_KERNEL_DIR", "CLAM_TUNED_DIR"}) {
    const std::string folder = environment(name.c_str());
    if (!folder.empty()) words += name + "=" + shell_quoted(folder) + " ";
  }
  return words;
}

}  // namespace clam
