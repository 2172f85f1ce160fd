// SPDX-License-Identifier: MIT
// lines.hpp - a kernel file as the preprocessor sees it: lines, and what they define.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tokens/tokens.hpp"

namespace clam {

using Names = std::set<std::string>;

/// A line "#define ...", or "#undef ...".
struct Definition {
  explicit Definition(const Tokens& line = {});
  std::string name;
  bool has_parameters = false;
  Names parameters;
  Tokens body;
};
using Macros = std::map<std::string, Definition>;

/// The tokens with what macros without parameters stand for, and so on.
Tokens replaced(const Tokens& tokens, const Macros& macros, const Names& except = {});

/// The lines that a compiler takes.
struct TakenLines {
  std::vector<Tokens> lines;
  Macros fixed;  ///< without parameters, and the same in all of them
};
/// Decides each #if. Throws BadArgument for a line of the preprocessor that is not understood, and
/// for #error and #include.
TakenLines taken_lines(const std::string& text);
/// "#define NAME VALUE" for each -DNAME=VALUE. What else is among the options gets into `others`.
std::string defines_of(const std::string& options, std::string& others);

/// A definition at the top of a file, or what stands between two.
struct Piece {
  explicit Piece(Tokens text);
  Tokens tokens;
  Names defines, uses;
  bool is_macro = false, is_kept = false;
};
std::vector<Piece> pieces_of(const std::vector<Tokens>& lines);
/// Keeps the pieces that define what `needed` names, and so on, and those that define nothing.
void keep_needed(std::vector<Piece>& pieces, Names needed);

}  // namespace clam
