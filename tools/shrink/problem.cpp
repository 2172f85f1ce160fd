// SPDX-License-Identifier: MIT
// problem.cpp - a problem's extents, and its words that are not needed.
#include <fmt/format.h>

#include <algorithm>

#include "clam/error.hpp"
#include "making.hpp"
#include "search.hpp"
#include "steps.hpp"

namespace clam {
namespace {

using Kind = Field::Kind;

/// With some fields of the problem changed; nothing where the op gives that no meaning.
using Changes = std::map<std::string, std::string>;
std::optional<Making> changed(const Making& making, const Changes& changes) {
  const Problem& problem = making.problem;
  std::map<std::string, std::string> values;
  for (const Field& field : problem.schema().fields)
    values[field.name] = problem.text_of(field.name);
  for (const auto& [field, value] : changes) values[field] = value;
  try {
    Making other = making;
    other.problem = Problem::make(op_of(problem), values);
    return other;
  } catch (const BadArgument&) {
    return std::nullopt;
  }
}

/// One try: the problem with these changes.
bool take_problem(Shrinking& shrinking, Making& making, const Changes& changes,
                  const std::string& what, const std::string& from, const std::string& to) {
  const std::optional<Making> smaller = changed(making, changes);
  return smaller && !(smaller->problem == making.problem) &&
         take(shrinking, making, *smaller, what, from, to);
}

/// The next number from `value` on, below `now`, that the variant takes: many take multiples only.
std::optional<std::int64_t> fitting(const Shrinking& shrinking, const Making& making,
                                    std::int64_t value, std::int64_t now,
                                    const std::function<Changes(std::int64_t)>& with) {
  for (const std::int64_t unit : {1, 2, 4, 8, 16, 32, 64}) {
    const std::int64_t rounded = (value + unit - 1) / unit * unit;
    if (shrinking.over()) return std::nullopt;
    if (rounded >= now) continue;
    const std::optional<Making> smaller = changed(making, with(rounded));
    if (smaller && smaller->has_plan(shrinking.smallest())) return rounded;
  }
  return std::nullopt;
}

// ---- words ----

/// A word away, so that its default holds.
bool drop_word(Shrinking& shrinking, Making& making, const Field& field) {
  if (field.fallback.empty() || field.always_written) return false;
  if (field.kind == Kind::extent) return false;  // it goes to 1 below
  const bool is_flag = field.kind == Kind::flag;
  return take_problem(shrinking, making, {{field.name, field.fallback}}, field.name,
                      is_flag ? "given" : making.problem.text_of(field.name),
                      is_flag ? "left out" : field.fallback);
}

/// Extents that are equal, as a product's are with those of its factors; an integer alone.
std::vector<std::string> equal_to(const Problem& problem, const Field& field) {
  std::vector<std::string> names{field.name};
  for (const Field& other : problem.schema().fields) {
    if (field.kind != Kind::extent || other.kind != Kind::extent) continue;
    if (other.name == field.name) continue;
    if (problem.integer(other.name) == problem.integer(field.name)) names.push_back(other.name);
  }
  return names;
}

/// Extents together, or an integer that is no default, towards the smallest that they may be.
bool shrink_numbers(Shrinking& shrinking, Making& making, const std::vector<std::string>& names,
                    std::int64_t least) {
  const std::int64_t before = making.problem.integer(names.front());
  const auto with = [&](std::int64_t value) {
    Changes changes;
    for (const std::string& name : names) changes[name] = std::to_string(value);
    return changes;
  };
  smallest(least, before, [&](std::int64_t value) {
    const std::int64_t now = making.problem.integer(names.front());
    const auto fits = fitting(shrinking, making, value, now, with);
    return fits &&
           take_problem(shrinking, making, with(*fits), fmt::format("{}", fmt::join(names, " = ")),
                        std::to_string(now), std::to_string(*fits));
  });
  return making.problem.integer(names.front()) < before;
}

bool shrink_field(Shrinking& shrinking, Making& making, const Field& field) {
  const bool is_extent = field.kind == Kind::extent;
  if (!is_extent && field.kind != Kind::integer) return false;
  const std::int64_t value = making.problem.integer(field.name);
  if (!is_extent && std::to_string(value) == field.fallback) return false;
  const std::int64_t least = is_extent ? 1 : std::max<std::int64_t>(field.min, 0);
  if (value <= least) return false;
  if (shrink_numbers(shrinking, making, {field.name}, least)) return true;
  // Where it cannot alone, as a depthwise convolution's channels, groups and filters.
  const std::vector<std::string> equal = equal_to(making.problem, field);
  return equal.size() > 1 && shrink_numbers(shrinking, making, equal, least);
}

// ---- shapes ----

std::vector<std::string> shape_fields(const Problem& problem) {
  std::vector<std::string> fields;
  for (const Field& field : problem.schema().fields) {
    if (field.kind == Kind::shape && !problem.shape(field.name).empty()) {
      fields.push_back(field.name);
    }
  }
  return fields;
}

/// Place of an axis that is the `back`-th from the end; nothing where there is none.
std::optional<std::size_t> place(const Shape& shape, std::size_t back) {
  if (back >= shape.size()) return std::nullopt;
  return shape.size() - 1 - back;
}

/// One axis of these shapes, counted from the end, to `value`; 0: away.
Changes with_axis(const Problem& problem, const std::vector<std::string>& fields, std::size_t back,
                  std::int64_t value) {
  Changes changes;
  for (const std::string& field : fields) {
    Shape shape = problem.shape(field);
    const auto at = place(shape, back);
    if (!at || (value == 0 && shape.size() == 1)) continue;
    shape[*at] = value;
    if (value == 0) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*at));
    changes[field] = to_string(shape);
  }
  return changes;
}

/// Those of the fields whose axis is as long as that of the first one.
std::vector<std::string> as_long(const Problem& problem, std::size_t first, std::size_t back) {
  const std::vector<std::string> all = shape_fields(problem);
  std::vector<std::string> fields;
  const Shape own = problem.shape(all[first]);
  for (std::size_t i = first; i < all.size(); ++i) {
    const Shape shape = problem.shape(all[i]);
    const auto at = place(shape, back);
    if (at && shape[*at] == own[*place(own, back)]) fields.push_back(all[i]);
  }
  return fields;
}

/// An axis of these shapes, the same in all of them, towards 1, and then away.
bool shrink_axis(Shrinking& shrinking, Making& making, const std::vector<std::string>& fields,
                 std::size_t back) {
  const std::string& field = fields.front();
  const auto shape = [&] { return making.problem.shape(field); };
  const Shape before = shape();
  const std::size_t at = *place(before, back);
  const auto with = [&](std::int64_t value) {
    return with_axis(making.problem, fields, back, value);
  };
  const auto set = [&](std::int64_t value) {
    const Changes changes = with(value);
    const auto to = changes.find(field);
    return to != changes.end() &&
           take_problem(shrinking, making, changes, field, to_string(shape()), to->second);
  };
  smallest(1, before[at], [&](std::int64_t value) {
    const auto fits = fitting(shrinking, making, value, shape()[at], with);
    return fits && set(*fits);
  });
  if (shape()[at] == 1) set(0);
  return shape() != before;
}

/// Axes of several shapes together, as they mostly belong together, and each alone.
bool shrink_shapes(Shrinking& shrinking, Making& making) {
  bool smaller = false;
  for (std::size_t i = 0; i < shape_fields(making.problem).size(); ++i) {
    const std::string field = shape_fields(making.problem)[i];
    for (std::size_t back = making.problem.shape(field).size(); back-- > 0;) {
      const std::vector<std::string> together = as_long(making.problem, i, back);
      smaller = shrink_axis(shrinking, making, together, back) || smaller;
      if (together.size() == 1 || back >= making.problem.shape(field).size()) continue;
      smaller = shrink_axis(shrinking, making, {field}, back) || smaller;
    }
  }
  return smaller;
}

}  // namespace

bool shrink_problem(Shrinking& shrinking, Making& making) {
  for (const auto& [name, tensor] : making.given) {
    if (is_constant(tensor)) continue;
    shrinking.note(fmt::format("the extents stay: {} is as it was given", name));
    return false;
  }
  bool smaller = shrink_shapes(shrinking, making);
  for (const Field& field : making.problem.schema().fields) {
    smaller = drop_word(shrinking, making, field) || smaller;
    smaller = shrink_field(shrinking, making, field) || smaller;
  }
  return smaller;
}

}  // namespace clam
