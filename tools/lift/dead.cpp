// SPDX-License-Identifier: MIT
#include "dead.hpp"

#include <algorithm>

#include "expression.hpp"

namespace clam {
namespace {

class Fold {
 public:
  Fold(Tokens text, Known known, const Names& in_macros)
      : text_(std::move(text)), known_(std::move(known)), in_macros_(in_macros) {}

  Tokens run() {
    for (std::size_t at = 0; at < text_.size(); ++at) {
      if (text_[at].is("if")) at -= decide(at) ? 1 : 0;
      if (text_[at].is("?")) at = choose(at);
      if (at + 3 < text_.size() && text_[at].is("const")) at = learn(at);
    }
    return text_;
  }

 private:
  Number value(std::size_t from, std::size_t to) const {
    return value_of(part_of(text_, from, to), known_);
  }
  void erase(std::size_t from, std::size_t to) {
    text_.erase(text_.begin() + static_cast<std::ptrdiff_t>(from),
                text_.begin() + static_cast<std::ptrdiff_t>(to));
  }
  /// What is behind then stands where this stood.
  void replace(std::size_t from, std::size_t to) {
    text_[to].before = text_[from].before;
    erase(from, to);
  }

  // ---- statements ----

  std::size_t statement_end(std::size_t at) const {
    if (at >= text_.size() || text_[at].is("{")) return behind_bracket(text_, at);
    const std::size_t behind = behind_bracket(text_, std::min(at + 1, text_.size()));
    const bool is_macro = text_[at].is_name() && behind > at + 1 && behind < text_.size() &&
                          text_[at + 1].is("(") &&
                          (text_[behind].is_name() || text_[behind].is("}"));
    if (text_[at].is_one_of({"if", "for", "while", "switch"})) {
      const std::size_t end = statement_end(behind);
      const bool has_else = text_[at].is("if") && end < text_.size() && text_[end].is("else");
      return has_else ? statement_end(end + 1) : end;
    }
    return is_macro ? behind : std::min(next_of(text_, at, {";"}) + 1, text_.size());
  }

  /// An "if" whose condition is known, which is then gone. One that leaves a block ends it.
  bool decide(std::size_t at) {
    const std::size_t first = behind_bracket(text_, at + 1), end = statement_end(first),
                      all = statement_end(at);
    if (at == 0 || all >= text_.size()) return false;
    const bool is_in_block = text_[at - 1].is_one_of({"{", "}", ";"}),
               is_second = text_[at - 1].is("else");
    const Number condition = value(at + 1, first);
    if (!condition) return shorten(at, first);
    if (*condition == 0 && all == end) {
      if (is_in_block || is_second) erase(is_second ? at - 1 : at, all);
      return is_in_block || is_second;
    }
    std::size_t last = first;
    for (std::size_t i = first + 1; text_[first].is("{") && i + 1 < end; i = statement_end(i))
      last = i;
    const bool leaves = *condition != 0 && is_in_block && text_[last].is("return");
    if (*condition != 0) erase(end, leaves ? next_of(text_, end, {}) : all);
    replace(at, *condition != 0 ? first : end + 1);
    if (is_in_block) open_block(at);
    return true;
  }
  /// A condition whose first part is known and does not decide it.
  bool shorten(std::size_t at, std::size_t end) {
    const std::size_t sign = next_of(text_, at + 2, {"&&", "||"});
    const Number left = sign + 1 < end ? value(at + 2, sign) : Number();
    if (!left || (*left != 0) != text_[sign].is("&&")) return false;
    replace(at + 2, sign + 1);
    return true;
  }
  /// A block without declarations needs no braces.
  void open_block(std::size_t at) {
    const std::size_t end = text_[at].is("{") ? behind_bracket(text_, at) : at;
    for (std::size_t i = at + 1; i + 1 < end; ++i) {
      const bool may_declare = text_[i].is_name() && text_[i + 1].is_name();
      if (may_declare && !text_[i].is_one_of({"return", "else", "do"})) return;
    }
    if (end == at) return;
    for (std::size_t i = at + 1; i < end; ++i) {
      std::string& before = text_[i].before;
      for (std::size_t j = 0; (j = before.find("\n  ", j)) != before.npos; ++j)
        before.erase(j + 1, 2);
    }
    erase(end - 1, end);
    replace(at, at + 1);
  }

  // ---- expressions ----

  /// The first of `signs` behind `at`, "?" among them, that is not inside another choice.
  std::size_t past_choices(std::size_t at, const std::vector<const char*>& signs) const {
    at = next_of(text_, at + 1, signs);
    while (at < text_.size() && text_[at].is("?"))
      at = next_of(text_, past_choices(at, {"?", ":"}) + 1, signs);
    return at;
  }

  /// A ?: whose condition is known. Returns where to go on.
  std::size_t choose(std::size_t at) {
    std::size_t begin = at;
    for (int depth = 0; begin > 0; --begin) {
      const Token& token = text_[begin - 1];
      depth -= token.depth();
      if (depth < 0 ||
          (depth == 0 && (assigns(token) || token.is_one_of({",", ";", "?", ":", "return"}))))
        break;
    }
    const std::size_t colon = past_choices(at, {"?", ":"}),
                      end = past_choices(colon, {"?", ":", ",", ";"});
    const Number condition = value(begin, at);
    if (!condition || end >= text_.size()) return at;
    if (*condition != 0) erase(colon, end);
    replace(begin, *condition != 0 ? at + 1 : colon + 1);
    return std::max<std::size_t>(begin, 1) - 1;
  }

  /// "const TYPE NAME = ...;". A whole number stands for its name, and what nothing reads goes.
  /// Returns where to go on.
  std::size_t learn(std::size_t at) {
    const std::string name = text_[at + 2].text;
    if (!text_[at + 1].is_name() || !text_[at + 2].is_name() || !text_[at + 3].is("=")) return at;
    const std::size_t end = next_of(text_, at + 4, {",", ";"});
    int declared = 0, uses = 0, effects = 0;
    for (std::size_t i = 1; i < text_.size(); ++i) {
      uses += text_[i].text == name;
      declared += text_[i].text == name && text_[i - 1].is_name();
      effects += i > at + 3 && i < end &&
                 (assigns(text_[i]) || (text_[i].is("(") && text_[i - 1].is_name()));
    }
    const Number number = text_[at + 1].is("int") && declared == 1 ? value(at + 4, end) : Number();
    if (number) known_.names[name] = *number;
    const bool goes = number ? *number >= 0 : uses == 1 && effects == 0;
    if (!goes || end >= text_.size() || !text_[end].is(";") || in_macros_.count(name) > 0)
      return at;
    erase(at, end + 1);
    for (std::size_t i = 1; number && i < text_.size(); ++i) {
      if (text_[i].text != name || text_[i - 1].is_one_of({".", "->"})) continue;
      text_[i] = {Token::Kind::number, text_[i].before, std::to_string(*number), text_[i].after};
    }
    return at - 1;
  }

  Tokens text_;
  Known known_;
  const Names& in_macros_;
};

/// The parameters of a function to which all calls give the same number.
Numbers given_to(const Piece& function, const std::vector<Piece>& pieces) {
  const Tokens& own = function.tokens;
  std::size_t head = 0;
  while (head < own.size() && !own[head].is("(")) ++head;
  const std::string name = head > 0 && head < own.size() ? own[head - 1].text : "";
  if (function.is_macro || function.defines.count(name) == 0) return {};
  std::vector<std::pair<std::string, Names>> parameters;  // and what they are given
  const std::size_t end = behind_bracket(own, head);
  for (std::size_t i = head + 2; i < end; ++i) {
    if (!own[i].is_one_of({",", ")"})) continue;
    // What is no int is computed with in another way.
    parameters.push_back({own[i - 2].is("int") ? own[i - 1].text : "", {}});
  }
  for (const Piece& piece : pieces) {
    for (std::size_t i = 0; piece.is_kept && i < piece.tokens.size(); ++i) {
      if (piece.tokens[i].text != name || piece.defines.count(name) > 0) continue;
      if (i + 1 == piece.tokens.size() || !piece.tokens[i + 1].is("(")) return {};
      std::size_t at = i + 2;
      for (auto& [parameter, given] : parameters) {
        const std::size_t behind = next_of(piece.tokens, at, {","});
        given.insert(text_of(part_of(piece.tokens, at, behind)));
        at = std::min(behind + 1, piece.tokens.size());
      }
    }
  }
  Numbers numbers;
  for (const auto& [parameter, given] : parameters) {
    bool changes = given.size() != 1 || parameter.empty();
    for (std::size_t i = end; i + 1 < own.size(); ++i) {
      const Token &left = own[i - 1], &right = own[i + 1];
      const bool is_other = left.is_name() && !left.is_one_of({"return", "else"});
      const bool is_near = assigns(left) || left.is("&") || assigns(right) || is_other;
      changes = changes || (own[i].text == parameter && is_near);
    }
    const auto number = changes ? std::nullopt : value_of(tokens_of(*given.begin()), {});
    if (number) numbers[parameter] = *number;
  }
  return numbers;
}

/// What a function always returns; nothing where that is not one int.
Number result_of(const Tokens& function, const Known& known) {
  const std::size_t head = next_of(function, 0, {"("}), at = behind_bracket(function, head);
  const bool returns = at + 4 <= function.size() && function[at + 1].is("return");
  if (!returns || head < 2 || !function[head - 2].is("int")) return {};
  return value_of(part_of(function, at + 2, function.size() - 2), known);
}

}  // namespace

std::vector<Piece> without_dead(const std::vector<Piece>& pieces, const Macros& fixed) {
  std::vector<Piece> rest;
  Names in_macros;
  for (const Piece& piece : pieces) {
    if (piece.is_macro) in_macros.insert(piece.uses.begin(), piece.uses.end());
  }
  Known known;
  for (const Piece& piece : pieces) {
    Known own = known;
    own.names.merge(given_to(piece, pieces));
    const Tokens left = Fold(piece.tokens, own, in_macros).run();
    if (left.empty()) continue;
    rest.emplace_back(left);
    const Definition macro(piece.is_macro ? left : Tokens());
    // Its body counts as it is computed alone.
    const bool is_whole = macro.body.size() == 1 || (!macro.body.empty() && macro.body[0].is("("));
    const Number result = result_of(left, known),
                 value = is_whole ? value_of(macro.body, known) : Number();
    if (value && fixed.count(macro.name) > 0) known.names[macro.name] = *value;
    if (result) known.functions[*rest.back().defines.begin()] = *result;
  }
  return rest;
}

}  // namespace clam
