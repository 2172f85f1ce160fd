// SPDX-License-Identifier: MIT
// kernel_text.hpp - single kernels of a file, found in its text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace clam::mali {

/// The text with the bodies of all kernels but `wanted` left out, line for line, since a compiler
/// takes its time for each. A text that is not understood stays whole.
std::string only_kernels(std::string_view text, const std::vector<std::string>& wanted);

/// What the compiler makes one kernel of: the text without the other kernels, comments and blanks
/// at the ends of lines. Two texts that agree in it give the same listing.
std::string code_of(std::string_view text, const std::string& kernel);

/// The lines that say what to expect of a listing: those that begin with //@.
std::string tags_of(std::string_view text);

}  // namespace clam::mali
