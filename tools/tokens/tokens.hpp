// SPDX-License-Identifier: MIT
// tokens.hpp - a text of C as tokens, which together are the text again.
#pragma once

#include <string>
#include <vector>

namespace clam {

struct Token {
  enum class Kind { name, number, sign, end };  ///< end: the last one, without a text
  Kind kind = Kind::end;
  std::string before, text;  ///< before: blanks, ends of lines and comments
  std::string after = {};    ///< a comment in the same line

  bool is_name() const { return kind == Kind::name; }
  bool is(const char* word) const { return text == word; }
  bool is_one_of(const std::vector<const char*>& words) const;
  /// A line that is continued is one with the next.
  bool starts_line() const;
  /// Brackets of any kind that it opens, less those that it closes.
  int depth() const;
};
using Tokens = std::vector<Token>;

Tokens tokens_of(const std::string& text);
std::string text_of(const Tokens& tokens);
/// Behind what begins at a place: a token, a comment, or blanks.
std::size_t behind_token(const std::string& text, std::size_t at);
/// The last one is empty.
std::vector<Tokens> lines_in(const Tokens& tokens);
/// "define" of a line "#define ..."; empty where it is none of the preprocessor's.
std::string directive_of(const Tokens& line);
/// The lines of a text that begin with '#', without it, their tokens apart by one blank.
std::vector<std::string> directives_of(const std::string& text);

Tokens part_of(const Tokens& tokens, std::size_t from, std::size_t to);

/// Behind the bracket that closes the one at a place, or behind the token that is none.
std::size_t behind_bracket(const Tokens& tokens, std::size_t at);
/// The first of these signs from a place on that is in no further brackets, or what closes those
/// around it, or the number of tokens.
std::size_t next_of(const Tokens& tokens, std::size_t at, const std::vector<const char*>& signs);

}  // namespace clam
