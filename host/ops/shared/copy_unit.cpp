// SPDX-License-Identifier: MIT
#include "copy_unit.hpp"

#include <fmt/core.h>

namespace clam {

int copy_unit(std::initializer_list<std::int64_t> lengths, Dtype dtype) {
  constexpr int kBytes = 16;
  int unit = kBytes / size_of(dtype);
  for (const std::int64_t length : lengths) {
    while (length % unit != 0) unit /= 2;
  }
  return unit;
}

std::vector<std::int64_t> dense_steps(const Shape& shape) {
  std::vector<std::int64_t> steps(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) steps[i - 1] = steps[i] * shape[i];
  return steps;
}

std::vector<CopyAxis> copy_axes(const Shape& shape, const std::vector<std::int64_t>& src) {
  const std::vector<std::int64_t> dst = dense_steps(shape);
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
  if (axes <= kMostCopyAxes) return {};
  return fmt::format("{} axes are left where those that {} are one; {} can be", axes, one,
                     kMostCopyAxes);
}

}  // namespace clam
