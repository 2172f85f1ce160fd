// SPDX-License-Identifier: MIT
#include "clam/problem.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>

#include "number_text.hpp"
#include "refuse.hpp"
#include "text.hpp"
#include "words.hpp"

namespace clam {
namespace {

using Kind = Field::Kind;

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

/// The field that a word names.
const Field& field_of(const Schema& schema, std::string_view word) {
  std::string known;
  for (const Field& field : schema.fields) {
    if (field.name == word) return field;
    known += " " + field.name;
  }
  throw BadArgument(
      fmt::format("{}: unknown word {}; it knows{}", schema.name, in_quotes(word), known));
}

/// What a field was given.
struct Given {
  const Schema& schema;
  const Field& field;
  std::string_view text;

  [[noreturn]] void refuse(std::string_view rule) const {
    throw BadArgument(fmt::format("{}: {}={}, {}", schema.name, field.name, in_quotes(text), rule));
  }
};

std::string canonical_integer(const Given& given) {
  const bool is_extent = given.field.kind == Kind::extent;
  const std::int64_t low = is_extent ? 1 : given.field.min;
  const std::int64_t high = is_extent ? 2147483647 : given.field.max;
  std::int64_t value = low;
  const std::errc error = read_number(given.text, value);
  if (error == std::errc::result_out_of_range || value < low || value > high) {
    given.refuse(fmt::format("needs {} to {}", low, high));
  }
  if (error != std::errc()) given.refuse("needs a whole number");
  return std::to_string(value);
}

std::string canonical_number(const Given& given) {
  if (given.text == given.field.fallback) return given.field.fallback;
  float value = 0;
  const std::errc error = read_number(given.text, value);
  if (error == std::errc::result_out_of_range) given.refuse("does not fit a float");
  if (error != std::errc() || std::isnan(value)) given.refuse("needs a number, inf or -inf");
  return number_text(value == 0 ? 0.0f : value);  // -0 and 0 are one number here
}

std::string canonical_flag(const Given& given) {
  if (given.text != "0" && given.text != "1") given.refuse("is a flag: write it or leave it out");
  return std::string(given.text);
}

std::string canonical_choice(const Given& given) {
  std::string choices;
  for (const std::string& choice : given.field.choices) {
    if (given.text == choice) return choice;
    choices += " " + choice;
  }
  given.refuse("knows" + choices);
}

/// Parts between separators, each in its own canonical form.
template <typename Canonical>
std::string canonical_parts(const Given& given, char separator, int most, const char* what,
                            const Canonical& canonical) {
  std::string all;
  int parts = 0;
  for (const std::string_view part : split(given.text, separator)) {
    if (parts == most) given.refuse(fmt::format("needs 1 to {} {}", most, what));
    if (parts++ > 0) all += separator;
    all += canonical(Given{given.schema, given.field, part});
  }
  return all;
}

std::string canonical_shape(const Given& given) {
  constexpr int kMostExtents = 8;
  if (given.text == "none" && given.field.fallback == "none") return "none";
  constexpr const char* kExtents = "extents of 1 to 2147483647, like 4x192x192";
  const auto canonical_extent = [&](const Given& part) {
    int extent = 0;
    if (read_number(part.text, extent) != std::errc() || extent < 1) {
      given.refuse(fmt::format("needs 1 to {} {}", kMostExtents, kExtents));
    }
    return std::to_string(extent);
  };
  return canonical_parts(given, 'x', kMostExtents, kExtents, canonical_extent);
}

std::string canonical_numbers(const Given& given) {
  return canonical_parts(given, 'x', 16, "numbers, like 0.1x0.2", canonical_number);
}

/// Digits between hyphens; empty where there is anything else.
std::string axes_of(std::string_view text) {
  std::string digits;
  for (const std::string_view part : split(text, '-')) {
    if (part.size() != 1 || part[0] < '0' || part[0] > '7') return {};
    digits += part;
  }
  return digits;
}

/// Each of 0 to n-1 once.
std::string canonical_axes(const Given& given) {
  std::string digits = axes_of(given.text);
  std::sort(digits.begin(), digits.end());
  if (digits.empty() || digits != std::string("01234567").substr(0, digits.size())) {
    given.refuse("needs the axes from 0 on, each once, like 0-2-1");
  }
  return std::string(given.text);
}

std::string canonical_integers(const Given& given) {
  return canonical_parts(given, ',', 8, "whole numbers, like 0,9,-2", canonical_integer);
}

std::string canonical_subset(const Given& given) {
  const std::string digits = axes_of(given.text);
  if (digits.empty() ||
      std::adjacent_find(digits.begin(), digits.end(), std::greater_equal<>()) != digits.end()) {
    given.refuse("needs axes in ascending order, like 1-3");
  }
  return std::string(given.text);
}

/// By the kind of the field.
constexpr std::string (*kCanonical[])(const Given&) = {
    canonical_integer, canonical_integer, canonical_number, canonical_flag,     canonical_choice,
    canonical_shape,   canonical_numbers, canonical_axes,   canonical_integers, canonical_subset};

/// As a getter reads the field.
Kind read_as(Kind kind) {
  return kind == Kind::extent ? Kind::integer : kind == Kind::subset ? Kind::axes : kind;
}

/// Of a canonical text, which has one character between two numbers.
template <typename Number>
std::vector<Number> numbers_in(const std::string& text) {
  std::vector<Number> numbers;
  for (const char *at = text.data(), *end = at + text.size(); at < end; ++at) {
    at = std::from_chars(at, end, numbers.emplace_back()).ptr;
  }
  return numbers;
}

}  // namespace

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
  throw_if(words.empty(), "empty problem: write an op and its extents, see `clam list`");
  const Schema& schema = find_schema(words[0]);
  std::map<std::string, std::string> values;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string_view word = words[i].substr(0, equals);
    const Field& field = field_of(schema, word);
    throw_if(equals == word.npos && field.kind != Kind::flag, "{}: {} needs a value: {}=...",
             schema.name, word, word);
    const std::string_view value = equals == word.npos ? "1" : words[i].substr(equals + 1);
    throw_if(!values.emplace(word, value).second, "{}: {} is given twice", schema.name, word);
  }
  return make(schema, values);
}

Problem Problem::make(const Schema& schema, const std::map<std::string, std::string>& values) {
  Problem problem(schema);
  for (const auto& [key, value] : values) field_of(schema, key);
  for (const Field& field : schema.fields) {
    const auto given = values.find(field.name);
    throw_if(given == values.end() && field.fallback.empty(), "{}: {} is missing ({})", schema.name,
             field.name, field.about);
    problem.values_[field.name] =
        given == values.end()
            ? field.fallback
            : kCanonical[static_cast<std::size_t>(field.kind)]({schema, field, given->second});
  }
  schema.check(problem, problem.values_);
  for (const TensorSpec& spec : problem.tensors()) {
    throw_if(spec.span() > 2147483647 / size_of(spec.dtype),
             "{}: tensor {} of {} bytes is over the limit of 2147483647", schema.name, spec.name,
             spec.span() * size_of(spec.dtype));
  }
  return problem;
}

std::string Problem::text() const {
  std::string text = schema_->name;
  for (const Field& field : schema_->fields) {
    const std::string& value = values_.at(field.name);
    if (value == field.fallback && !field.always_written) continue;
    text += field.kind == Kind::flag ? " " + field.name : fmt::format(" {}={}", field.name, value);
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
  if (!found || read_as(found->kind) != kind) {
    throw std::logic_error(fmt::format("{} has no such field: {}", schema_->name, field));
  }
  return values_.find(field)->second;
}

int Problem::integer(std::string_view field) const {
  return std::stoi(value(field, Kind::integer));
}
float Problem::number(std::string_view field) const {
  const std::string& text = value(field, Kind::number);
  float number = std::numeric_limits<float>::quiet_NaN();
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}
bool Problem::flag(std::string_view field) const { return value(field, Kind::flag) == "1"; }
const std::string& Problem::choice(std::string_view field) const {
  return value(field, Kind::choice);
}
std::vector<std::int64_t> Problem::shape(std::string_view field) const {
  const std::string& text = value(field, Kind::shape);
  return text == "none" ? std::vector<std::int64_t>() : numbers_in<std::int64_t>(text);
}
std::vector<float> Problem::numbers(std::string_view field) const {
  return numbers_in<float>(value(field, Kind::numbers));
}
std::vector<int> Problem::axes(std::string_view field) const {
  return numbers_in<int>(value(field, Kind::axes));
}
std::vector<int> Problem::integers(std::string_view field) const {
  return numbers_in<int>(value(field, Kind::integers));
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
