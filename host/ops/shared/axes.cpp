// SPDX-License-Identifier: MIT
#include "axes.hpp"

#include <functional>

#include "runtime/refuse.hpp"

namespace clam {

std::size_t positive_axis(const Problem& problem, std::size_t axes) {
  const int count = static_cast<int>(axes), axis = problem.integer("axis");
  bad_field_if(axis < -count || axis >= count, problem, "axis", "needs {} to {}", -count,
               count - 1);
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
  bad_field_if(numbers.size() != axes, problem, field, "needs a number for each of the {} axes",
               axes);
  const bool differ =
      std::adjacent_find(numbers.begin(), numbers.end(), std::not_equal_to<>()) != numbers.end();
  if (!differ) values[field] = std::to_string(numbers.front());
}

int copy_unit(std::initializer_list<std::int64_t> lengths, Dtype dtype) {
  constexpr int kBytes = 16;
  int unit = kBytes / size_of(dtype);
  for (const std::int64_t length : lengths) {
    while (length % unit != 0) unit /= 2;
  }
  return unit;
}

std::vector<CopyAxis> copy_axes(const Shape& shape, const std::vector<std::int64_t>& src) {
  const std::vector<std::int64_t> dst = dense_strides(shape);
  std::vector<CopyAxis> axes;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (!axes.empty() && src[i] == axes.back().src * axes.back().extent) {
      axes.back().extent *= shape[i];
    } else {
      axes.push_back({shape[i], src[i], dst[i]});
    }
  }
  if (axes.empty()) axes.push_back({1, 1, 1});
  return axes;
}

Reason too_many_axes(std::size_t axes, const char* one) {
  return reason_if(axes > kMostCopyAxes, "{} axes are left where those that {} are one; {} can be",
                   axes, one, kMostCopyAxes);
}

}  // namespace clam
