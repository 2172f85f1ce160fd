// SPDX-License-Identifier: MIT
#include "expression.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace clam {
namespace {

using Int = std::int64_t;

constexpr Int kMostInt = std::numeric_limits<std::int32_t>::max();

/// How soon an operator of two operands is computed; 0: it is none.
int strength(const Token& sign) {
  static const std::vector<std::vector<const char*>> all{
      {"||"},       {"&&"},     {"|"},          {"^"}, {"&"}, {"==", "!="}, {"<", ">", "<=", ">="},
      {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (sign.is_one_of(all[i])) return static_cast<int>(i + 1);
  }
  return 0;
}

Number computed(const std::string& sign, Int a, Int b) {
  if (sign == "|") return a | b;
  if (sign == "&") return a & b;
  if (sign == "==") return a == b;
  if (sign == "!=") return a != b;
  if (sign == "<") return a < b;
  if (sign == ">") return a > b;
  if (sign == "<=") return a <= b;
  if (sign == ">=") return a >= b;
  if (sign == "/" && b > 0) return a / b;
  if (sign == "%" && b > 0) return a % b;
  const Int result = sign == "+" ? a + b : sign == "-" ? a - b : sign == "*" ? a * b : kMostInt + 1;
  return std::abs(result) > kMostInt ? Number() : result;
}

/// An expression, read from left to right. It has no value where it is not known or changes
/// something.
class Expression {
 public:
  Expression(const Tokens& text, const Known& known) : text_(text), known_(known) {}

  Number value() {
    const Number value = choice();
    return now().text.empty() ? value : Number();
  }

 private:
  const Token& now() const {
    static const Token end;
    return at_ < text_.size() ? text_[at_] : end;
  }
  bool taken(const char* word) { return now().is(word) ? ++at_, true : false; }

  Number choice() {
    const Number condition = binary(1);
    if (!taken("?")) return condition;
    const Number yes = choice();
    const bool is_whole = taken(":");
    const Number no = choice();
    return !condition || !is_whole ? Number() : *condition != 0 ? yes : no;
  }

  Number binary(int least) {
    Number left = unary();
    for (int own; (own = strength(now())) >= least;) {
      const std::string sign = text_[at_++].text;
      const Number right = binary(own + 1);
      if (own <= 2 && left && (*left != 0) == (own == 1)) {
        left = own == 1;  // decided, whatever stands behind
      } else if (!left || !right) {
        left.reset();
      } else {
        left = own <= 2 ? Number(*right != 0) : computed(sign, *left, *right);
      }
    }
    return left;
  }

  Number unary() {
    const bool negates = now().is("!");
    if (taken("!") || taken("-")) {
      const Number value = unary();
      return value ? Number(negates ? *value == 0 : -*value) : value;
    }
    for (const char* sign : {"+", "~", "*", "&", "++", "--"}) {
      if (taken(sign)) return unary(), Number();
    }
    Number value = primary();
    for (;; value.reset()) {  // what stands behind a name
      if (now().is("(") || now().is("[")) {
        at_ = behind_bracket(text_, at_);
      } else if (taken(".") || taken("->")) {
        ++at_;
      } else if (!taken("++") && !taken("--")) {
        return value;
      }
    }
  }

  Number primary() {
    const std::size_t begin = at_;
    const Token& first = now();
    if (first.is("(")) {
      at_ = behind_bracket(text_, at_);
      const bool casts = now().is_name() || now().kind == Token::Kind::number || now().is("(");
      return casts ? (unary(), Number()) : value_of(part_of(text_, begin + 1, at_ - 1), known_);
    }
    if (!first.is_name() && first.kind != Token::Kind::number) return {};
    ++at_;
    if (!first.is_name()) {
      char* end = nullptr;
      const long long value = std::strtoll(first.text.c_str(), &end, 0);
      return *end == '\0' && value <= kMostInt ? Number(value) : Number();
    }
    const bool calls = now().is("(");
    if (calls) at_ = behind_bracket(text_, at_);
    const Tokens own = part_of(text_, begin, at_);
    const Numbers& numbers = calls ? known_.functions : known_.names;
    const auto found = numbers.find(first.text);
    if (found == numbers.end()) return known_.others_are_0 && !calls ? Number(0) : Number();
    return std::any_of(own.begin(), own.end(), assigns) ? Number() : found->second;
  }

  const Tokens& text_;
  const Known& known_;
  std::size_t at_ = 0;
};

}  // namespace

Number value_of(const Tokens& expression, const Known& known) {
  constexpr std::size_t kMost = 2000;  // brackets within brackets take stack
  return expression.size() > kMost ? Number() : Expression(expression, known).value();
}

bool assigns(const Token& sign) {
  const bool is_equal = !sign.text.empty() && sign.text.back() == '=' && strength(sign) == 0;
  return is_equal || sign.is("++") || sign.is("--");
}

}  // namespace clam
