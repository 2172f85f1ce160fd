// SPDX-License-Identifier: MIT
#include "clam/problem.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>

#include "clam/error.hpp"
#include "number_text.hpp"
#include "text.hpp"
#include "words.hpp"

namespace clam {
namespace {

std::vector<std::string_view> split_words(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  std::vector<std::string_view> words;
  for (std::size_t at = text.find_first_not_of(kSpace); at != text.npos;
       at = text.find_first_not_of(kSpace, at)) {
    const std::size_t end = std::min(text.find_first_of(kSpace, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string known_words(const Schema& schema) {
  std::string words;
  for (const Field& field : schema.fields) words += (words.empty() ? "" : " ") + field.name;
  return words;
}

[[noreturn]] void bad_value(const Schema& schema, const Field& field, std::string_view value,
                            std::string_view rule) {
  throw BadArgument(fmt::format("{}: {}={}, {}", schema.name, field.name, in_quotes(value), rule));
}

std::string canonical_integer(const Schema& schema, const Field& field, std::string_view text) {
  const bool is_extent = field.kind == Field::Kind::extent;
  const std::int64_t low = is_extent ? 1 : field.min;
  const std::int64_t high = is_extent ? 2147483647 : field.max;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range ||
      (error == std::errc() && (value < low || value > high))) {
    bad_value(schema, field, text, fmt::format("needs {} to {}", low, high));
  }
  if (error != std::errc() || end != text.data() + text.size()) {
    bad_value(schema, field, text, "needs a whole number");
  }
  return std::to_string(value);
}

std::string canonical_number(const Schema& schema, const Field& field, std::string_view text) {
  if (text == field.fallback) return field.fallback;
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range)
    bad_value(schema, field, text, "does not fit a float");
  if (error != std::errc() || end != text.data() + text.size() || std::isnan(value)) {
    bad_value(schema, field, text, "needs a number, inf or -inf");
  }
  return number_text(value == 0 ? 0.0f : value);  // -0 and 0 are one number here
}

std::string canonical_choice(const Schema& schema, const Field& field, std::string_view text) {
  std::string choices;
  for (const std::string& choice : field.choices) {
    if (text == choice) return choice;
    choices += " " + choice;
  }
  bad_value(schema, field, text, "knows" + choices);
}

/// Parts between separators, each in its own canonical form.
template <typename Canonical>
std::string canonical_parts(const Schema& schema, const Field& field, std::string_view text,
                            char separator, int most, const char* what,
                            const Canonical& canonical) {
  std::string all;
  int parts = 0;
  for (const std::string_view part : split(text, separator)) {
    if (parts == most) {
      bad_value(schema, field, text, fmt::format("needs 1 to {} {}", most, what));
    }
    if (parts++ > 0) all += separator;
    all += canonical(schema, field, part);
  }
  return all;
}

std::string canonical_shape(const Schema& schema, const Field& field, std::string_view text) {
  constexpr int kMostExtents = 8;
  if (text == "none" && field.fallback == "none") return "none";
  constexpr const char* kExtents = "extents of 1 to 2147483647, like 4x192x192";
  const auto canonical_extent = [&](const Schema&, const Field&, std::string_view part) {
    int extent = 0;
    const char* stop = part.data() + part.size();
    const auto [read, error] = std::from_chars(part.data(), stop, extent);
    if (error != std::errc() || read != stop || extent < 1) {
      bad_value(schema, field, text, fmt::format("needs 1 to {} {}", kMostExtents, kExtents));
    }
    return std::to_string(extent);
  };
  return canonical_parts(schema, field, text, 'x', kMostExtents, kExtents, canonical_extent);
}

std::string canonical_numbers(const Schema& schema, const Field& field, std::string_view text) {
  return canonical_parts(schema, field, text, 'x', 16, "numbers, like 0.1x0.2", canonical_number);
}

/// Digits between hyphens; empty where there is anything else.
std::string axes_of(std::string_view text) {
  std::string digits;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool good = at % 2 == 0 ? text[at] >= '0' && text[at] <= '7' : text[at] == '-';
    if (!good) return {};
    if (at % 2 == 0) digits += text[at];
  }
  return text.size() % 2 == 1 ? digits : std::string();
}

/// Each of 0 to n-1 once.
std::string canonical_axes(const Schema& schema, const Field& field, std::string_view text) {
  std::string digits = axes_of(text);
  std::sort(digits.begin(), digits.end());
  if (digits.empty() || digits != std::string("01234567").substr(0, digits.size())) {
    bad_value(schema, field, text, "needs the axes from 0 on, each once, like 0-2-1");
  }
  return std::string(text);
}

std::string canonical_integers(const Schema& schema, const Field& field, std::string_view text) {
  return canonical_parts(schema, field, text, ',', 8, "whole numbers, like 0,9,-2",
                         canonical_integer);
}

std::string canonical_subset(const Schema& schema, const Field& field, std::string_view text) {
  const std::string digits = axes_of(text);
  if (digits.empty() ||
      std::adjacent_find(digits.begin(), digits.end(), std::greater_equal<>()) != digits.end()) {
    bad_value(schema, field, text, "needs axes in ascending order, like 1-3");
  }
  return std::string(text);
}

std::string canonical(const Schema& schema, const Field& field, std::string_view text) {
  switch (field.kind) {
    case Field::Kind::extent:
    case Field::Kind::integer:
      return canonical_integer(schema, field, text);
    case Field::Kind::number:
      return canonical_number(schema, field, text);
    case Field::Kind::flag:
      if (text != "0" && text != "1")
        bad_value(schema, field, text, "is a flag: write it or leave it out");
      return std::string(text);
    case Field::Kind::choice:
      return canonical_choice(schema, field, text);
    case Field::Kind::shape:
      return canonical_shape(schema, field, text);
    case Field::Kind::numbers:
      return canonical_numbers(schema, field, text);
    case Field::Kind::axes:
      return canonical_axes(schema, field, text);
    case Field::Kind::integers:
      return canonical_integers(schema, field, text);
    case Field::Kind::subset:
      return canonical_subset(schema, field, text);
  }
  throw std::logic_error("unknown kind of field");
}

}  // namespace

Field extent(std::string name, std::string about, std::string fallback) {
  return {std::move(name), Field::Kind::extent, std::move(fallback), std::move(about), {}};
}
Field integer(std::string name, std::string about, std::string fallback, std::int64_t min,
              std::int64_t max) {
  return {
      std::move(name), Field::Kind::integer, std::move(fallback), std::move(about), {}, min, max};
}
Field number(std::string name, std::string about, std::string fallback) {
  return {std::move(name), Field::Kind::number, std::move(fallback), std::move(about), {}};
}
Field flag(std::string name, std::string about) {
  return {std::move(name), Field::Kind::flag, "0", std::move(about), {}};
}
Field choice(std::string name, std::string about, std::vector<std::string> choices,
             std::string fallback) {
  return {std::move(name), Field::Kind::choice, std::move(fallback), std::move(about),
          std::move(choices)};
}
Field shape(std::string name, std::string about, std::string fallback) {
  return {std::move(name), Field::Kind::shape, std::move(fallback), std::move(about), {}};
}
Field numbers(std::string name, std::string about, std::string fallback) {
  return {std::move(name), Field::Kind::numbers, std::move(fallback), std::move(about), {}};
}
Field axes(std::string name, std::string about, std::string fallback) {
  return {std::move(name), Field::Kind::axes, std::move(fallback), std::move(about), {}};
}
Field integers(std::string name, std::string about, std::string fallback, std::int64_t min,
               std::int64_t max) {
  return {
      std::move(name), Field::Kind::integers, std::move(fallback), std::move(about), {}, min, max};
}

Field subset(std::string name, std::string about) {
  return {std::move(name), Field::Kind::subset, "", std::move(about), {}};
}
Field dtype_field() {
  Field field = choice("dtype", "how tensors are stored", {"f32", "f16"}, "");
  field.always_written = true;
  return field;
}

Field moved_dtype_field() {
  Field field = dtype_field();
  field.choices.push_back("i32");
  return field;
}

Problem Problem::parse(std::string_view text) {
  const std::vector<std::string_view> words = split_words(text);
  if (words.empty())
    throw BadArgument("empty problem: write an op and its extents, see `clam list`");
  const Schema& schema = find_schema(words[0]);
  std::map<std::string, std::string> values;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string_view word = words[i].substr(0, equals);
    const Field* field = find_by_name(schema.fields, word);
    if (!field) {
      throw BadArgument(fmt::format("{}: unknown word {}; it knows {}", schema.name,
                                    in_quotes(word), known_words(schema)));
    }
    if (equals == std::string_view::npos && field->kind != Field::Kind::flag) {
      throw BadArgument(fmt::format("{}: {} needs a value: {}=...", schema.name, word, word));
    }
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view("1") : words[i].substr(equals + 1);
    if (!values.emplace(word, value).second) {
      throw BadArgument(fmt::format("{}: {} is given twice", schema.name, word));
    }
  }
  return make(schema, values);
}

Problem Problem::make(const Schema& schema, const std::map<std::string, std::string>& values) {
  Problem problem(schema);
  for (const auto& [key, value] : values) {
    if (!find_by_name(schema.fields, key)) {
      throw BadArgument(fmt::format("{}: unknown word {}; it knows {}", schema.name, in_quotes(key),
                                    known_words(schema)));
    }
  }
  for (const Field& field : schema.fields) {
    const auto given = values.find(field.name);
    if (given == values.end() && field.fallback.empty()) {
      throw BadArgument(
          fmt::format("{}: {} is missing ({})", schema.name, field.name, field.about));
    }
    problem.values_[field.name] =
        given == values.end() ? field.fallback : canonical(schema, field, given->second);
  }
  schema.check(problem, problem.values_);
  for (const TensorSpec& spec : problem.tensors()) {
    if (spec.span() > 2147483647 / size_of(spec.dtype)) {
      throw BadArgument(fmt::format("{}: tensor {} of {} bytes is over the limit of 2147483647",
                                    schema.name, spec.name, spec.span() * size_of(spec.dtype)));
    }
  }
  return problem;
}

std::string Problem::text() const {
  std::string text = schema_->name;
  for (const Field& field : schema_->fields) {
    const std::string& value = values_.at(field.name);
    if (value == field.fallback && !field.always_written) continue;
    text += field.kind == Field::Kind::flag ? " " + field.name
                                            : fmt::format(" {}={}", field.name, value);
  }
  return text;
}

const std::string& Problem::text_of(std::string_view field) const {
  const auto found = values_.find(field);
  if (found == values_.end())
    throw std::logic_error(fmt::format("{} has no field {}", schema_->name, field));
  return found->second;
}

const std::string& Problem::value(std::string_view field, Field::Kind kind) const {
  const Field* found = find_by_name(schema_->fields, field);
  const auto reads = [&](Field::Kind one, Field::Kind as) {
    return found && found->kind == one && kind == as;
  };
  const bool alike = reads(kind, kind) || reads(Field::Kind::extent, Field::Kind::integer) ||
                     reads(Field::Kind::subset, Field::Kind::axes);
  if (!alike) {
    throw std::logic_error(fmt::format("{} has no such field: {}", schema_->name, field));
  }
  return values_.find(field)->second;
}

int Problem::integer(std::string_view field) const {
  return std::stoi(value(field, Field::Kind::integer));
}
float Problem::number(std::string_view field) const {
  const std::string& text = value(field, Field::Kind::number);
  float number = std::numeric_limits<float>::quiet_NaN();
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}
bool Problem::flag(std::string_view field) const { return value(field, Field::Kind::flag) == "1"; }
const std::string& Problem::choice(std::string_view field) const {
  return value(field, Field::Kind::choice);
}
std::vector<std::int64_t> Problem::shape(std::string_view field) const {
  const std::string& text = value(field, Field::Kind::shape);
  std::vector<std::int64_t> extents;
  if (text == "none") return extents;
  for (const std::string_view part : split(text, 'x')) {
    extents.push_back(std::stoi(std::string(part)));
  }
  return extents;
}
std::vector<float> Problem::numbers(std::string_view field) const {
  const std::string& text = value(field, Field::Kind::numbers);
  std::vector<float> numbers;
  for (const char *at = text.data(), *end = at + text.size(); at < end; ++at) {
    at = std::from_chars(at, end, numbers.emplace_back()).ptr;
  }
  return numbers;
}
std::vector<int> Problem::axes(std::string_view field) const {
  const std::string& text = value(field, Field::Kind::axes);
  std::vector<int> axes;
  for (std::size_t at = 0; at < text.size(); at += 2) axes.push_back(text[at] - '0');
  return axes;
}
std::vector<int> Problem::integers(std::string_view field) const {
  const std::string& text = value(field, Field::Kind::integers);
  std::vector<int> integers;
  for (const std::string_view part : split(text, ',')) {
    integers.push_back(std::stoi(std::string(part)));
  }
  return integers;
}
Dtype Problem::dtype() const { return parse_dtype(choice("dtype")); }

Problem Problem::with(std::string_view field, std::string_view value) const {
  std::map<std::string, std::string> values(values_.begin(), values_.end());
  values[std::string(field)] = value;
  return make(*schema_, values);
}

Problem Problem::in_float(std::string_view dtype) const {
  return dtype.empty() || this->dtype() == Dtype::i32 ? *this : with("dtype", dtype);
}

void bad_field(const Problem& problem, std::string_view field, std::string_view rule) {
  throw BadArgument(
      fmt::format("{}: {}={}, {}", problem.schema().name, field, problem.text_of(field), rule));
}

}  // namespace clam
