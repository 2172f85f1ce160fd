// SPDX-License-Identifier: MIT
// text.hpp - a kernel file with what some of its kernels need, and nothing else.
#pragma once

#include <string>
#include <vector>

namespace clam {

/// What is taken of a kernel file.
struct Wanted {
  std::vector<std::string> kernels;
  std::string options;
  std::string note;         ///< whole lines of a comment, behind its title
  bool keeps_dead = false;  ///< also what is never executed
};

/// The text for these options alone. Branches of #if are decided; macros that are a number, a type
/// or a name are replaced. What is not needed, or never executed, is left out. `others` gets the
/// options that a build still needs. Throws BadArgument for a line that is not understood.
std::string lifted_text(const std::string& text, const Wanted& wanted, std::string& others);

}  // namespace clam
