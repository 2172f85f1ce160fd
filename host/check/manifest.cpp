// SPDX-License-Identifier: MIT
// manifest.cpp - formulas of tags, and a plan's launches held against them.
#include "manifest.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <sstream>

#include "runtime/refuse.hpp"

namespace clam {
namespace {

using Names = std::map<std::string, double, std::less<>>;

/// Recursive descent: comparison, sum, product, value. Anything else makes `ok_` false.
class Formula {
 public:
  Formula(std::string_view text, const Names& names) : text_(text), names_(names) {}

  std::optional<double> value() {
    const double value = comparison();
    skip_blanks();
    if (!ok_ || !text_.empty()) return std::nullopt;
    return value;
  }

 private:
  void skip_blanks() { text_.remove_prefix(std::min(text_.find_first_not_of(' '), text_.size())); }

  bool take(std::string_view token) {
    skip_blanks();
    if (text_.substr(0, token.size()) != token) return false;
    text_.remove_prefix(token.size());
    return true;
  }

  double fail() {
    ok_ = false;
    return 0;
  }

  double comparison() {
    const double left = sum();
    if (take("==")) return left == sum();
    if (take("!=")) return left != sum();
    if (take("<=")) return left <= sum();
    if (take(">=")) return left >= sum();
    if (take("<")) return left < sum();
    if (take(">")) return left > sum();
    return left;
  }

  /// One of the letters, if the next is; else 0.
  char take_any(std::string_view letters) {
    skip_blanks();
    const bool is_one = !text_.empty() && letters.find(text_[0]) != letters.npos;
    const char letter = is_one ? text_[0] : '\0';
    text_.remove_prefix(is_one);
    return letter;
  }

  double sum() {
    double value = product();
    while (const char sign = take_any("+-")) value += sign == '+' ? product() : -product();
    return value;
  }

  double product() {
    double value = operand();
    while (const char sign = take_any("*/%")) {
      const double right = operand();
      value = sign == '*' ? value * right : sign == '/' ? value / right : std::fmod(value, right);
    }
    return value;
  }

  double operand() {
    if (take("-")) return -operand();
    if (take("(")) {
      const double value = comparison();
      return take(")") ? value : fail();
    }
    skip_blanks();
    const bool is_number = !text_.empty() && text_[0] >= '0' && text_[0] <= '9';
    return is_number ? number() : named();
  }

  double number() {
    double value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    text_.remove_prefix(end - text_.data());
    return error == std::errc() ? value : fail();
  }

  double named() {
    std::size_t length = 0;
    while (length < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[length])) || text_[length] == '_')) {
      ++length;
    }
    const std::string_view name = text_.substr(0, length);
    text_.remove_prefix(length);
    if (take("(")) return call(name);
    const auto found = names_.find(name);
    return found == names_.end() ? fail() : found->second;
  }

  double call(std::string_view function) {
    const double a = comparison();
    const bool two = take(",");
    const double b = two ? comparison() : 0;
    if (!take(")")) return fail();
    if (!two && function == "ceil") return std::ceil(a);
    if (!two && function == "floor") return std::floor(a);
    if (!two && function == "log2") return a > 0 ? std::log2(a) : fail();
    if (!two && function == "exp2") return std::exp2(a);
    if (two && function == "min") return std::min(a, b);
    if (two && function == "max") return std::max(a, b);
    return fail();
  }

  std::string_view text_;
  const Names& names_;
  bool ok_ = true;
};

void set_number(Names& names, const std::string& name, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) names[name] = value;
}

/// The defines that are numbers, by a launch's options.
Names defines_of(const FileTags& tags, const Launch& launch) {
  Names names;
  for (const DefineTag& define : tags.defines) {
    set_number(names, define.name, define.is_switch() ? "0" : define.fallback);
  }
  for (const BuildOption& option : build_options(launch.options)) {
    if (option.is_define()) set_number(names, option.name, option.value);
  }
  return names;
}

Reason bad_option(const FileTags& tags, const BuildOption& option) {
  if (option.word.substr(0, 4) == "-cl-") return {};
  if (!option.is_define()) return fmt::format("option '{}' is no -D", option.word);
  const auto& [word, name, value] = option;
  const DefineTag* define = tags.define(name);
  if (!define) return fmt::format("option {} is no //@define of {}", name, tags.file);
  if (define->is_switch()) {
    return reason_if(value != "1", "{} is on or off, not {}", name, value);
  }
  const std::vector<std::string>& legal = define->values;
  if (legal.empty() || std::find(legal.begin(), legal.end(), value) != legal.end()) return {};
  return fmt::format("{}={} is not in {{{}}}", name, value, fmt::join(legal, ","));
}

Reason bad_null(const ArgTag& tag, const Names& names) {
  if (tag.null_if.empty()) return fmt::format("argument {} needs a buffer, not null", tag.name);
  if (evaluate(tag.null_if, names).value_or(0) != 0) return {};
  return fmt::format("argument {} may be null only if {}", tag.name, tag.null_if);
}

Reason bad_argument(const ArgTag& tag, const Names& names, const Plan& plan, const Arg& arg) {
  using Kind = ArgTag::Kind;
  const auto needs = [&](bool fits, const char* what) {
    return reason_if(!fits, "argument {} needs {}", tag.name, what);
  };
  if (tag.kind == Kind::scalar && tag.type == "int") {
    return needs(std::holds_alternative<std::int32_t>(arg), "an int");
  }
  if (tag.kind == Kind::scalar) return needs(std::holds_alternative<float>(arg), "a float");
  if (tag.kind == Kind::local) return needs(std::holds_alternative<LocalArg>(arg), "local memory");
  if (std::holds_alternative<NullArg>(arg)) return bad_null(tag, names);
  const auto* buffer = std::get_if<BufferArg>(&arg);
  if (!buffer) return needs(false, "a buffer");
  const TensorSpec* tensor = plan.tensor(buffer->name);
  const bool writes = tag.kind != Kind::in;
  return reason_if(writes && tensor && tensor->role == TensorSpec::Role::input,
                   "argument {} is written, but '{}' is an input", tag.name, buffer->name);
}

Reason bad_geometry(const char* what, const std::vector<std::string>& formulas, const Names& names,
                    const std::array<std::int64_t, 3>& planned, bool must_be_known) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::string formula = axis < formulas.size() ? formulas[axis] : "1";
    const std::optional<double> size = evaluate(formula, names);
    if (!size && must_be_known) return fmt::format("{} {} cannot be computed", what, formula);
    if (size && *size != planned[axis]) {
      return fmt::format("{} size {} of axis {} is {} by the tag {}", what, planned[axis], axis,
                         *size, formula);
    }
  }
  return {};
}

/// Up to a comma or a semicolon that is in no parentheses.
std::size_t end_of_need(std::string_view needs) {
  int depth = 0;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    if (depth == 0 && (needs[i] == ',' || needs[i] == ';')) return i;
    depth += (needs[i] == '(') - (needs[i] == ')');
  }
  return needs.size();
}

/// Conditions that are formulas must hold; prose between the same commas is for people.
Reason bad_need(std::string_view needs, const Names& names) {
  while (!needs.empty()) {
    const std::size_t end = end_of_need(needs);
    const std::string need(needs.substr(0, end));
    if (evaluate(need, names) == 0.0) return "it needs" + (need[0] == ' ' ? need : " " + need);
    needs.remove_prefix(std::min(end + 1, needs.size()));
  }
  return {};
}

Reason bad_kernel(const FileTags& tags, const Plan& plan, const Launch& launch) {
  const KernelTags* kernel = tags.kernel(launch.kernel);
  if (!kernel) return std::string("it is not tagged");
  for (const BuildOption& option : build_options(launch.options)) {
    if (Reason reason = bad_option(tags, option)) return reason;
  }
  if (kernel->args.size() != launch.args.size()) {
    return fmt::format("{} arguments, the tags have {}", launch.args.size(), kernel->args.size());
  }
  const Names names = values_of(tags, launch);
  for (std::size_t i = 0; i < launch.args.size(); ++i) {
    if (Reason reason = bad_argument(kernel->args[i], names, plan, launch.args[i])) return reason;
  }
  if (Reason reason = bad_geometry("local", kernel->local, names, launch.local, true))
    return reason;
  if (Reason reason = bad_geometry("global", kernel->global, names, launch.global, false))
    return reason;
  for (const std::string& need : kernel->needs) {
    if (Reason reason = bad_need(need, names)) return reason;
  }
  return {};
}

}  // namespace

std::optional<double> evaluate(std::string_view formula, const Names& names) {
  return Formula(formula, names).value();
}

Names values_of(const FileTags& tags, const Launch& launch) {
  const KernelTags* kernel = tags.kernel(launch.kernel);
  if (!kernel) refuse("{}: kernel {}: it is not tagged", tags.file, launch.kernel);
  Names names = defines_of(tags, launch);
  for (std::size_t i = 0; i < std::min(kernel->args.size(), launch.args.size()); ++i) {
    const std::string& name = kernel->args[i].name;
    if (const auto* whole = std::get_if<std::int32_t>(&launch.args[i])) names[name] = *whole;
    if (const auto* real = std::get_if<float>(&launch.args[i])) names[name] = *real;
  }
  return names;
}

std::vector<Trips> trips(const FileTags& tags, const Launch& launch) {
  const auto reject = [&](const std::string& why) {
    refuse("{}: kernel {}: {}", tags.file, launch.kernel, why);
  };
  const Names names = values_of(tags, launch), defines = defines_of(tags, launch);
  const auto number = [&](const std::string& formula, const Names& known, const char* what) {
    const std::optional<double> value = evaluate(formula, known);
    if (!value || *value < 0 || !std::isfinite(*value)) {
      reject(fmt::format("//@loop: {} is no {}", formula, what));
    }
    return *value;
  };
  std::vector<Trips> trips;
  for (const LoopTag& loop : tags.kernel(launch.kernel)->loops) {
    const bool there = loop.condition.empty() ||
                       number(loop.condition, defines, "condition of defines alone") != 0;
    if (!there) continue;
    const Trips one{number(loop.least, names, "count of trips"),
                    number(loop.most, names, "count of trips"),
                    !loop.is_range && evaluate(loop.most, defines)};
    if (one.least > one.most) {
      reject(fmt::format("//@loop: {} is {}, and {} is {}, which is less", loop.least, one.least,
                         loop.most, one.most));
    }
    trips.push_back(one);
  }
  return trips;
}

std::vector<BuildOption> build_options(const std::string& options) {
  std::vector<BuildOption> all;
  std::istringstream words(options);
  for (BuildOption option; words >> option.word; all.push_back(option)) {
    const bool goes_on = option.word == "-D" || option.word == "-U" || option.word == "-I";
    std::string rest = option.word.substr(std::min<std::size_t>(option.word.size(), 2));
    if (goes_on && words >> rest) option.word += " " + rest;
    const std::size_t equals = rest.find('=');
    option.name = option.is_define() ? rest.substr(0, equals) : "";
    option.value = equals == rest.npos ? "1" : rest.substr(equals + 1);
  }
  return all;
}

Reason contradiction(const FileTags& tags, const Plan& plan, const Launch& launch) {
  const Reason reason = bad_kernel(tags, plan, launch);
  if (!reason) return {};
  return fmt::format("{}: kernel {}: {}", tags.file, launch.kernel, *reason);
}

}  // namespace clam
