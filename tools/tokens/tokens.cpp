// SPDX-License-Identifier: MIT
#include "tokens.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "letters.hpp"

namespace clam {
namespace {

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) || c == '\\'; }

/// Where a number ends: also "1.0e-5f".
std::size_t end_of_number(const std::string& text, std::size_t at) {
  const bool is_hex = text.compare(at, 2, "0x") == 0;
  for (char last = '0'; at < text.size(); last = text[at++]) {
    const bool is_sign = !is_hex && std::strchr("+-", text[at]) && std::strchr("eE", last);
    if (!is_word(text[at]) && text[at] != '.' && !is_sign) break;
  }
  return at;
}

std::size_t end_of_string(const std::string& text, std::size_t at) {
  const char quote = text[at];
  for (++at; at < text.size() && text[at] != quote && text[at] != '\n'; ++at) {
    at += text[at] == '\\';
  }
  return std::min(at + 1, text.size());
}

}  // namespace

bool Token::is_one_of(const std::vector<const char*>& words) const {
  return std::any_of(words.begin(), words.end(), [&](const char* word) { return is(word); });
}

bool Token::starts_line() const {
  for (std::size_t at = 0; (at = before.find('\n', at)) != before.npos; ++at) {
    if (at == 0 || before[at - 1] != '\\') return true;
  }
  return false;
}

int Token::depth() const {
  return is_one_of({"(", "[", "{"}) ? 1 : is_one_of({")", "]", "}"}) ? -1 : 0;
}

std::size_t behind_token(const std::string& text, std::size_t at) {
  const auto end_of_all = [&](bool (*holds)(char)) {
    return static_cast<std::size_t>(
        std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), holds) -
        text.begin());
  };
  const char c = text[at], next = at + 1 < text.size() ? text[at + 1] : '\0';
  if (is_blank(c)) return end_of_all(is_blank);
  if (c == '/' && next == '/') return std::min(text.find('\n', at), text.size());
  if (c == '/' && next == '*') return std::min(text.find("*/", at + 2), text.size() - 2) + 2;
  if (is_digit(c) || (c == '.' && is_digit(next))) return end_of_number(text, at);
  if (is_word(c)) return end_of_all(is_word);
  const bool is_letter = c == '\'' && text.find(c, at + 1) < at + 4;  // else of "Mesa's", in prose
  if (c == '"' || is_letter) return end_of_string(text, at);
  const bool is_pair = (next == c && std::strchr("&|<>+-#", c)) || (c == '-' && next == '>') ||
                       (next == '=' && std::strchr("=!<>+-*/%&|^", c));
  return at + (is_pair ? 2 : 1);
}

Tokens tokens_of(const std::string& text) {
  Tokens tokens;
  Token token;
  for (std::size_t at = 0, end; at < text.size(); at = end) {
    end = behind_token(text, at);
    token.text = text.substr(at, end - at);
    const bool is_comment = starts_with(token.text, "//") || starts_with(token.text, "/*");
    if (is_comment && !tokens.empty() && !token.starts_line()) {
      tokens.back().after += token.before + token.text;
      token.before.clear();
    } else if (is_comment || is_blank(token.text[0])) {
      token.before += token.text;
    } else {
      const bool is_number = is_digit(token.text[0]) || (token.text[0] == '.' && end - at > 1);
      token.kind = is_number                ? Token::Kind::number
                   : is_word(token.text[0]) ? Token::Kind::name
                                            : Token::Kind::sign;
      tokens.push_back(token);
      token = {};
    }
  }
  tokens.push_back({Token::Kind::end, token.before, ""});
  return tokens;
}

std::string text_of(const Tokens& tokens) {
  std::string text;
  for (const Token& token : tokens) text += token.before + token.text + token.after;
  return text;
}

std::vector<Tokens> lines_in(const Tokens& tokens) {
  std::vector<Tokens> lines;
  for (const Token& token : tokens) {
    if (lines.empty() || token.starts_line() || token.text.empty()) lines.emplace_back();
    lines.back().push_back(token);
  }
  return lines;
}

std::string directive_of(const Tokens& line) {
  return line.size() > 1 && line[0].is("#") ? line[1].text : "";
}

std::vector<std::string> directives_of(const std::string& text) {
  std::vector<std::string> directives;
  for (const Tokens& line : lines_in(tokens_of(text))) {
    if (!line[0].is("#")) continue;
    std::string& words = directives.emplace_back();
    for (std::size_t i = 1; i < line.size(); ++i) words += (i > 1 ? " " : "") + line[i].text;
  }
  return directives;
}

Tokens part_of(const Tokens& tokens, std::size_t from, std::size_t to) {
  if (from > std::min(to, tokens.size())) return {};  // of brackets that are not closed
  return {tokens.begin() + static_cast<std::ptrdiff_t>(from),
          tokens.begin() + static_cast<std::ptrdiff_t>(std::min(to, tokens.size()))};
}

std::size_t behind_bracket(const Tokens& tokens, std::size_t at) {
  for (int depth = 0; at < tokens.size();) {
    depth += tokens[at++].depth();
    if (depth <= 0) break;
  }
  return at;
}

std::size_t next_of(const Tokens& tokens, std::size_t at, const std::vector<const char*>& signs) {
  while (at < tokens.size() && tokens[at].depth() >= 0 && !tokens[at].is_one_of(signs))
    at = behind_bracket(tokens, at);
  return at;
}

}  // namespace clam
