// SPDX-License-Identifier: MIT
#include "directives.hpp"

namespace clam {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// The words of text[at, end).
std::string words_of(const std::string& text, std::size_t at, std::size_t end) {
  std::string words;
  bool in_word = false;
  for (; at < end; ++at) {
    const char c = text[at];
    if (!is_blank(c)) {
      const bool starts = !in_word || c == ':';
      if (starts && !words.empty()) words += ' ';
      words += c;
    }
    in_word = !is_blank(c) && c != ':';
  }
  return words;
}

}  // namespace

std::vector<std::string> directives_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    if (end == text.npos) end = text.size();
    while (at < end && is_blank(text[at])) ++at;
    if (at < end && text[at] == '#') lines.push_back(words_of(text, at + 1, end));
  }
  return lines;
}

}  // namespace clam
