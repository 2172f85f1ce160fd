// SPDX-License-Identifier: MIT
// directives.hpp - what a kernel file says to the preprocessor.
#pragma once

#include <string>
#include <vector>

namespace clam {

/// The lines of a text that begin with '#', without it, their words apart by one blank and ':' as a
/// word. Read by hand: std::regex runs out of stack on a long line.
std::vector<std::string> directives_of(const std::string& text);

}  // namespace clam
