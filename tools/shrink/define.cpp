// SPDX-License-Identifier: MIT
// define.cpp - whether a kernel file is the same for the compiler without a build option.
#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>

#include "steps.hpp"

namespace clam {
namespace {

using Lines = std::vector<std::string>;

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string trimmed(const std::string& text) {
  const auto start = std::find_if_not(text.begin(), text.end(), is_space);
  const auto end = std::find_if_not(text.rbegin(), text.rend(), is_space).base();
  return start < end ? std::string(start, end) : "";
}

/// How often a name stands in a text as a word of its own.
int count_of(const std::string& text, const std::string& name) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(name, at)) != text.npos; at += name.size()) {
    const std::size_t end = at + name.size();
    count += (at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]));
  }
  return count;
}

// ---- a text as the preprocessor has it ----

/// Whether names of this text may be put together, or written, in ways that are not looked for.
bool may_hide_names(const std::string& text) {
  for (const char* sign : {"##", "%:", "?\?", "\\u", "\\U"}) {
    if (text.find(sign) != text.npos) return true;
  }
  return false;
}

/// A line that goes on in the next one is one line.
std::string spliced(const std::string& text) {
  std::string whole;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t end = i + 1;
    while (text[i] == '\\' && end < text.size() && text[end] != '\n' && is_space(text[end])) ++end;
    if (text[i] == '\\' && end < text.size() && text[end] == '\n') {
      i = end;
    } else {
      whole += text[i];
    }
  }
  return whole;
}

/// Where the string or character that starts at `i` ends.
std::size_t end_of_quoted(const std::string& text, std::size_t i) {
  const char quote = text[i];
  for (++i; i < text.size() && text[i] != quote && text[i] != '\n'; ++i) {
    if (text[i] == '\\') ++i;
  }
  return std::min(i + 1, text.size());
}

/// A blank for each comment.
std::string without_comments(const std::string& text) {
  std::string rest;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '"' || text[i] == '\'') {
      const std::size_t end = end_of_quoted(text, i);
      rest += text.substr(i, end - i);
      i = end;
    } else if (text.compare(i, 2, "//") == 0) {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.compare(i, 2, "/*") == 0) {
      const std::size_t end = text.find("*/", i + 2);
      i = end == text.npos ? text.size() : end + 2;
      rest += ' ';
    } else {
      rest += text[i++];
    }
  }
  return rest;
}

/// The lines that are not empty, without blanks around them.
Lines lines_of(const std::string& text) {
  std::istringstream stream(without_comments(spliced(text)));
  Lines lines;
  for (std::string line; std::getline(stream, line);) {
    line = trimmed(line);
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

/// "#  define  A  1  " as "define", "A" and "1".
struct Directive {
  std::string keyword, name, rest;

  explicit Directive(const std::string& line) {
    if (line.empty() || line[0] != '#') return;
    std::string text = trimmed(line.substr(1));
    keyword = take_word(text);
    name = take_word(text);
    rest = text;
  }
  static std::string take_word(std::string& text) {
    const std::string word(text.begin(), std::find_if_not(text.begin(), text.end(), is_word));
    // What follows a name at once, as the parameters of a macro, is not its value.
    const std::string behind = text.substr(word.size());
    text = behind.empty() || is_space(behind[0]) ? trimmed(behind) : "?" + behind;
    return word;
  }
};

/// Whether the text gives the name this value itself where it has none, first of all and whatever
/// else holds, and never asks for it again.
bool has_default(const Lines& lines, const std::string& name, const std::string& value) {
  const auto names_it = [&](const std::string& line) { return count_of(line, name) > 0; };
  const auto guard = std::find_if(lines.begin(), lines.end(), names_it);
  if (lines.end() - guard < 3) return false;
  const Directive asked(guard[0]), given(guard[1]), end(guard[2]);
  if (asked.keyword != "ifndef" || asked.name != name || !asked.rest.empty()) return false;
  if (given.keyword != "define" || given.name != name || given.rest != value) return false;
  if (end.keyword != "endif") return false;
  int depth = 0;
  for (auto line = lines.begin(); line != guard; ++line) {
    const std::string keyword = Directive(*line).keyword;
    depth += keyword.compare(0, 2, "if") == 0 ? 1 : keyword == "endif" ? -1 : 0;
  }
  const auto asks = [&](const std::string& line) {
    const Directive later(line);
    if (!names_it(line) || line[0] != '#') return false;
    return later.keyword != "define" || later.name == name;
  };
  return depth == 0 && std::none_of(guard + 3, lines.end(), asks);
}

// ---- what may go ----

/// Without these a result is at least as close, or only the build differs.
bool only_loosens(const std::string& word, const std::string& text) {
  constexpr std::array kWords{"-cl-mad-enable",
                              "-cl-no-signed-zeros",
                              "-cl-unsafe-math-optimizations",
                              "-cl-finite-math-only",
                              "-cl-fast-relaxed-math",
                              "-cl-opt-disable",
                              "-cl-kernel-arg-info",
                              "-w",
                              "-Werror"};
  if (std::find(kWords.begin(), kWords.end(), word) == kWords.end()) return false;
  // Which a compiler defines with one of them.
  return text.find("__FAST_RELAXED_MATH__") == text.npos &&
         text.find("__FINITE_MATH_ONLY__") == text.npos;
}

}  // namespace

bool changes_nothing(const std::string& word, const std::string& options, const std::string& text) {
  if (word.compare(0, 2, "-D") != 0) return only_loosens(word, text);
  const std::string definition = trimmed(word.substr(2));
  const std::size_t equals = std::min(definition.find('='), definition.size());
  const std::string name = definition.substr(0, equals);
  const std::string value = equals < definition.size() ? definition.substr(equals + 1) : "1";
  const auto is_plain = [](char c) { return is_word(c) || c == '.' || c == '+' || c == '-'; };
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_word)) return false;
  if (value.empty() || !std::all_of(value.begin(), value.end(), is_plain)) return false;
  // A compiler's own headers may ask for these.
  if (name.compare(0, 2, "__") == 0 || name.compare(0, 3, "cl_") == 0) return false;
  int told = 0;  // "-DNAME", "-D NAME", "-UNAME"
  for (const char* before : {"", "D", "U"}) told += count_of(options, before + name);
  if (told != 1) return false;
  if (may_hide_names(text) || may_hide_names(options)) return false;
  const Lines lines = lines_of(text);
  for (const std::string& line : lines) {
    if (Directive(line).keyword == "include") return false;
  }
  return count_of(spliced(text), name) == 0 || has_default(lines, name, value);
}

}  // namespace clam
