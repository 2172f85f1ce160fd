// SPDX-License-Identifier: MIT
#include "lines.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "check/manifest.hpp"
#include "clam/error.hpp"
#include "expression.hpp"

namespace clam {

Definition::Definition(const Tokens& line) : name(line.size() > 2 ? line[2].text : "") {
  has_parameters = line.size() > 3 && line[3].is("(") && line[3].before.empty();
  const std::size_t first = has_parameters ? behind_bracket(line, 3) : 3;
  for (std::size_t i = 3; i < first; ++i) parameters.insert(line[i].text);
  body = part_of(line, first, line.size());
}

Tokens replaced(const Tokens& tokens, const Macros& macros, const Names& except) {
  constexpr std::size_t kMost = 10000;  // of a macro that names others many times, and so on
  Tokens result;
  for (const Token& token : tokens) {
    const auto macro = macros.find(token.text);
    const bool stays =
        macro == macros.end() || macro->second.has_parameters || except.count(token.text) > 0;
    if (stays) result.push_back(token);
    if (stays || result.size() > kMost) continue;
    Names within = except;
    within.insert(token.text);
    Tokens body = replaced(macro->second.body, macros, within);
    if (body.empty()) continue;
    body.front().before = token.before;
    body.back().after = token.after;
    result.insert(result.end(), body.begin(), body.end());
  }
  return result;
}

namespace {

// ---- branches ----

class Branches {
 public:
  TakenLines taken(const std::string& text) {
    TakenLines result;
    for (const Tokens& line : lines_in(tokens_of(text))) {
      line_ = line;
      if (!decides(directive_of(line_)) && is_taken()) take(result.lines);
    }
    if (!goes_.empty()) refuse("an #if has no #endif");
    for (const auto& [name, own] : all_) {
      if (changed_.count(name) == 0 && !own.has_parameters) result.fixed[name] = own;
    }
    return result;
  }

 private:
  enum class Goes { now, later, no_more };

  [[noreturn]] void refuse(const std::string& why) const {
    std::string line;
    for (const Token& token : line_) line += (line.empty() ? "" : " ") + token.text;
    throw BadArgument(fmt::format("'{}': {}", line, why));
  }

  bool is_taken() const { return goes_.empty() || goes_.back() == Goes::now; }

  void take(std::vector<Tokens>& lines) {
    const std::string directive = directive_of(line_);
    if (directive == "error" || directive == "include") refuse("it cannot be lifted");
    if (directive == "define" || directive == "undef") define(directive == "define");
    // What is said above an #if is said of the first line that is taken.
    std::string& before = line_[0].before;
    if (!above_.empty()) before = above_ + before.substr(before.find('\n') + 1);
    above_.clear();
    lines.push_back(line_);
  }

  void define(bool anew) {
    const Definition own(line_);
    if (own.name.empty()) refuse("it names nothing");
    if (!anew || all_.count(own.name) > 0) changed_.insert(own.name);
    macros_.erase(own.name);
    if (anew) macros_[own.name] = all_[own.name] = own;
  }

  bool holds(const std::string& directive) {
    if (line_.size() < 3) refuse("it says nothing");
    if (directive != "if" && directive != "elif")
      return macros_.count(line_[2].text) == (directive == "ifdef");
    Tokens condition;
    for (std::size_t i = 2; i < line_.size(); ++i) {
      condition.push_back(line_[i]);
      const std::size_t at = i + 1 < line_.size() && line_[i + 1].is("(") ? i + 2 : i + 1;
      if (!line_[i].is("defined") || at >= line_.size()) continue;
      condition.back() = {Token::Kind::number, "", macros_.count(line_[at].text) ? "1" : "0"};
      i = behind_bracket(line_, i + 1) - 1;
    }
    Known known;
    known.others_are_0 = true;
    const auto value = value_of(replaced(condition, macros_), known);
    if (!value) refuse("it is no condition of whole numbers");
    return *value != 0;
  }

  /// Whether the line is one that decides which others are taken.
  bool decides(const std::string& directive) {
    if (directive == "if" || directive == "ifdef" || directive == "ifndef") {
      if (is_taken()) above_ += line_[0].before;
      goes_.push_back(!is_taken() ? Goes::no_more : holds(directive) ? Goes::now : Goes::later);
      return true;
    }
    if (directive != "elif" && directive != "else" && directive != "endif") return false;
    if (goes_.empty()) refuse("there is no #if before it");
    if (directive == "endif") {
      goes_.pop_back();
      above_.clear();
    } else if (goes_.back() != Goes::later) {
      goes_.back() = Goes::no_more;
    } else if (directive == "else" || holds(directive)) {
      goes_.back() = Goes::now;
    }
    return true;
  }

  Macros macros_, all_;  ///< now, and at any time
  Names changed_;
  std::vector<Goes> goes_;
  Tokens line_;
  std::string above_;
};

/// Of a function its name, of others all names that they define.
Names defined_by(const Tokens& tokens) {
  if (directive_of(tokens) == "define" || directive_of(tokens) == "undef") return {tokens[2].text};
  Names names;
  for (std::size_t i = 0, end; i + 1 < tokens.size() && !tokens[0].is("#"); i = end) {
    const bool is_attribute = tokens[i].is("__attribute__"), is_name = tokens[i].is_name();
    end = behind_bracket(tokens, is_attribute ? i + 1 : i);
    if (is_name && !is_attribute && tokens[i + 1].is("(")) return {tokens[i].text};
    if (is_name && tokens[i + 1].is_one_of({"=", "[", ",", ";"})) names.insert(tokens[i].text);
  }
  return names;
}

/// Whether `name` is `part`, or begins with it ("part*"), or ends with it ("*part").
bool fits(const std::string& name, const std::string& part) {
  const std::size_t size = part.size() - 1;
  if (part.back() == '*') return name.compare(0, size, part, 0, size) == 0;
  const bool ends = part[0] == '*' && name.size() >= size;
  return name == part || (ends && name.compare(name.size() - size, size, part, 1, size) == 0);
}

}  // namespace

std::string defines_of(const std::string& options, std::string& others) {
  std::string text;
  for (const BuildOption& option : build_options(options)) {
    if (option.is_define()) {
      text += "#define " + option.name + " " + option.value + "\n";
    } else {
      others += (others.empty() ? "" : " ") + option.word;
    }
  }
  return text;
}

TakenLines taken_lines(const std::string& text) { return Branches().taken(text); }

Piece::Piece(Tokens text)
    : tokens(std::move(text)),
      defines(defined_by(tokens)),
      is_macro(directive_of(tokens) == "define") {
  const Definition own(is_macro ? tokens : Tokens());
  for (std::size_t i = is_macro ? 3 : 0; i < tokens.size(); ++i) {
    const std::string& name = tokens[i].text;
    if (!tokens[i].is_name() || own.parameters.count(name) > 0) continue;
    uses.insert(name);
    if (i + 1 < tokens.size() && tokens[i + 1].is("##")) uses.insert(name + "*");
    if (i > 0 && tokens[i - 1].is("##")) uses.insert("*" + name);
  }
}

std::vector<Piece> pieces_of(const std::vector<Tokens>& lines) {
  std::vector<Piece> pieces;
  Tokens open;
  int depth = 0;
  for (const Tokens& line : lines) {
    const bool is_directive = !directive_of(line).empty();
    open.insert(open.end(), line.begin(), line.end());
    for (const Token& token : line) depth += is_directive ? 0 : token.depth();
    if (!line.back().text.empty() &&
        (depth > 0 || !(is_directive || line.back().is_one_of({";", "}"}))))
      continue;
    pieces.emplace_back(open);
    open.clear();
  }
  return pieces;
}

void keep_needed(std::vector<Piece>& pieces, Names needed) {
  for (bool again = true; again;) {
    again = false;
    for (Piece& piece : pieces) {
      const auto is_needed = [&](const std::string& name) {
        const auto fits_name = [&](const std::string& part) { return fits(name, part); };
        return needed.count(name) > 0 ||
               (piece.is_macro && std::any_of(needed.begin(), needed.end(), fits_name));
      };
      const Names& own = piece.defines;
      if (piece.is_kept || !(own.empty() || std::any_of(own.begin(), own.end(), is_needed)))
        continue;
      piece.is_kept = again = true;
      needed.insert(piece.uses.begin(), piece.uses.end());
    }
  }
}

}  // namespace clam
