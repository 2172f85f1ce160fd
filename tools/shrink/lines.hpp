// SPDX-License-Identifier: MIT
// lines.hpp - the text of a kernel file as lines, and which of them belong together.
#pragma once

#include <string>
#include <vector>

namespace clam {

/// A line with those that continue it.
using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text);
std::string joined(const Lines& lines);

/// Braces and conditions of the preprocessor that a line opens, less those that it closes.
int depth_of(const std::string& line);

/// The text without lines that say nothing to a compiler.
Lines without_comments(const Lines& lines);

/// The line that closes what line `i` opens; the number of lines where none does.
std::size_t closing(const Lines& lines, std::size_t i);

/// Statements at one depth of a text, each with all that is within its braces: what can go without
/// another bracket. By line: the number of its statement, or kStays for what opens or closes a
/// block around the depth.
struct Level {
  static constexpr std::size_t kStays = static_cast<std::size_t>(-1);
  std::vector<std::size_t> statement;
  std::size_t count = 0;  ///< of statements
};
Level level_of(const Lines& lines, int depth);

/// The text without the branches of #if that are not taken with the definitions of these options;
/// the text itself where that cannot be decided. A guess: it does not know the names that an OpenCL
/// compiler defines itself.
Lines taken_branches(const Lines& lines, const std::string& options);

/// What the functions `wanted` need of a text: the blocks that stand between braces at depth 0 and
/// define a name that these use, and so on. A guess by names alone: whoever takes it tries it.
Lines used_by(const Lines& lines, const std::vector<std::string>& wanted);

}  // namespace clam
