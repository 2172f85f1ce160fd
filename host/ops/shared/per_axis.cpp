// SPDX-License-Identifier: MIT
#include "per_axis.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>

namespace clam {

std::size_t positive_axis(const Problem& problem, std::size_t axes) {
  const int count = static_cast<int>(axes), axis = problem.integer("axis");
  if (axis < -count || axis >= count) {
    bad_field(problem, "axis", fmt::format("needs {} to {}", -count, count - 1));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

AroundAxis::AroundAxis(const Problem& problem, const Shape& shape) {
  const std::size_t axis = positive_axis(problem, shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    (i < axis ? outer : i == axis ? n : inner) *= shape[i];
  }
}

std::vector<int> per_axis(const Problem& problem, const char* field, std::size_t axes) {
  std::vector<int> numbers = problem.integers(field);
  if (numbers.size() == 1) numbers.resize(axes, numbers.front());
  return numbers;
}

void unite_axes(const Problem& problem, Schema::Values& values, const char* field,
                std::size_t axes) {
  const std::vector<int> numbers = per_axis(problem, field, axes);
  if (numbers.size() != axes) {
    bad_field(problem, field, fmt::format("needs a number for each of the {} axes", axes));
  }
  const bool differ =
      std::adjacent_find(numbers.begin(), numbers.end(), std::not_equal_to<>()) != numbers.end();
  if (!differ) values[field] = std::to_string(numbers.front());
}

}  // namespace clam
