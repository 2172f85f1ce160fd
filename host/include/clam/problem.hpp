// SPDX-License-Identifier: MIT
// problem.hpp - what is to be computed, as data: an op's name and its typed fields.
//
// A Problem has one canonical text, which can be parsed again. The text is the same on the command
// line, in rows of the benchmark, names of tests, workload files and error messages.
//     dense m=192 n=512 k=512 dtype=f16 bias act=gelu
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tensor.hpp"

namespace clam {

class Problem;

/// One word of an op's Problem line.
struct Field {
  enum class Kind {
    extent,    ///< int >= 1
    integer,   ///< int in [min, max]
    number,    ///< float; inf and -inf allowed, nan not; or the default, which may be a word
    flag,      ///< present or absent
    choice,    ///< one of `choices`
    shape,     ///< extents >= 1, "4x192x192"; or "none" if that is the default
    numbers,   ///< floats, as for `number`: "0.1x0.1x0.2x0.2"
    axes,      ///< 0 to n-1 in any order, "0-2-1"
    integers,  ///< ints in [min, max], "0,9,-2"
    subset,    ///< some axes, in ascending order: "1-3"
  };
  std::string name;
  Kind kind;
  std::string fallback;              ///< canonical text of the default; empty: it must be given
  std::string about;                 ///< one phrase for people
  std::vector<std::string> choices;  ///< for Kind::choice
  std::int64_t min = -1, max = 2147483647;  ///< for Kind::integer and Kind::integers
  bool always_written = false;              ///< printed also if it has its default (dtype)
};

const char* name(Field::Kind kind);

// Shorthands for an op's table of fields.

inline Field extent(std::string name, std::string about, std::string fallback = "") {
  return {name, Field::Kind::extent, fallback, about, {}};
}
inline Field integer(std::string name, std::string about, std::string fallback, std::int64_t min,
                     std::int64_t max = 2147483647) {
  return {name, Field::Kind::integer, fallback, about, {}, min, max};
}
inline Field number(std::string name, std::string about, std::string fallback) {
  return {name, Field::Kind::number, fallback, about, {}};
}
inline Field flag(std::string name, std::string about) {
  return {name, Field::Kind::flag, "0", about, {}};
}
inline Field choice(std::string name, std::string about, std::vector<std::string> choices,
                    std::string fallback) {
  return {name, Field::Kind::choice, fallback, about, choices};
}
inline Field shape(std::string name, std::string about, std::string fallback = "") {
  return {name, Field::Kind::shape, fallback, about, {}};
}
inline Field numbers(std::string name, std::string about, std::string fallback) {
  return {name, Field::Kind::numbers, fallback, about, {}};
}
inline Field axes(std::string name, std::string about, std::string fallback = "") {
  return {name, Field::Kind::axes, fallback, about, {}};
}
inline Field integers(std::string name, std::string about, std::string fallback, std::int64_t min,
                      std::int64_t max = 2147483647) {
  return {name, Field::Kind::integers, fallback, about, {}, min, max};
}
/// Of axes; read by Problem::axes.
inline Field subset(std::string name, std::string about) {
  return {name, Field::Kind::subset, "", about, {}};
}
Field dtype_field();        ///< dtype=f32|f16, always written
Field moved_dtype_field();  ///< dtype=f32|f16|i32, of ops that only move elements

/// The words of an op's Problem line, and the tensors that follow from them.
struct Schema {
  using Values = std::map<std::string, std::string, std::less<>>;

  std::string name;   ///< of the op
  std::string about;  ///< the formula, one line
  std::vector<Field> fields;
  /// Checks rules over several fields, and normalises: a stride equal to its default becomes the
  /// default.
  void (*check)(const Problem&, Values& values) = nullptr;
  std::vector<TensorSpec> (*tensors)(const Problem&) = nullptr;
};

/// Throws a BadArgument that names the ops that exist.
const Schema& find_schema(std::string_view op);

/// An immutable, checked Problem. Two Problems are equal if their canonical texts are.
class Problem {
 public:
  /// Parses a Problem line and applies the rules of the op. Throws a BadArgument that names the op,
  /// the wrong word and the words that the op knows.
  static Problem parse(std::string_view text);
  /// Makes a Problem from names and values of fields. A flag's value is "1" or "0".
  static Problem make(const Schema& schema, const std::map<std::string, std::string>& values);

  const Schema& schema() const { return *schema_; }
  /// The tensors that the Problem reads and writes.
  std::vector<TensorSpec> tensors() const { return schema_->tensors(*this); }
  std::string text() const;

  // Values of fields. A field that the op does not have gives a std::logic_error.
  /// As a Problem line writes it, also where it is the fallback. A flag's is "1" or "0".
  const std::string& text_of(std::string_view field) const;
  int integer(std::string_view field) const;
  float number(std::string_view field) const;  ///< nan if it is a default that is a word
  bool flag(std::string_view field) const;
  const std::string& choice(std::string_view field) const;
  std::vector<std::int64_t> shape(std::string_view field) const;  ///< "none" is empty
  std::vector<float> numbers(std::string_view field) const;
  std::vector<int> axes(std::string_view field) const;  ///< or a subset of them
  std::vector<int> integers(std::string_view field) const;
  Dtype dtype() const;

  /// A copy with one field changed. It is checked like a parsed Problem.
  Problem with(std::string_view field, std::string_view value) const;
  /// A copy with floats of that dtype. If `dtype` is empty, or the problem has no floats, it is
  /// unchanged.
  Problem in_float(std::string_view dtype) const;

  bool operator==(const Problem& other) const { return text() == other.text(); }
  bool operator!=(const Problem& other) const { return !(*this == other); }

 private:
  explicit Problem(const Schema& schema) : schema_(&schema) {}
  const std::string& value(std::string_view field, Field::Kind kind) const;

  const Schema* schema_;
  Schema::Values values_;  ///< canonical text of every field
};

/// Throws BadArgument "OP: FIELD=VALUE, RULE".
[[noreturn]] void bad_field(const Problem& problem, std::string_view field, std::string_view rule);

}  // namespace clam
