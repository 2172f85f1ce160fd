// SPDX-License-Identifier: MIT
// copy_unit.hpp - ops that only move elements: how many a load takes, and the axes that they are
// taken along.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "clam/op.hpp"

namespace clam {

/// Elements of the widest load, 16 bytes at most, that divides all of `lengths`, in elements.
int copy_unit(std::initializer_list<std::int64_t> lengths, Dtype dtype);

/// An axis of dst: its extent, and the elements of src and of dst from one of it to the next.
struct CopyAxis {
  std::int64_t extent = 1, src = 0, dst = 0;
};

/// The elements from one of each axis of a dense tensor to the next.
std::vector<std::int64_t> dense_steps(const Shape& shape);

/// The axes of dense elements of such a shape that are taken from src in such steps: from the
/// innermost on, at least one, without those of one element. Axes that lie in src as one are one.
std::vector<CopyAxis> copy_axes(const Shape& shape, const std::vector<std::int64_t>& src);

constexpr std::size_t kMostCopyAxes = 4;  ///< of a launch
/// The reason why there are too many of them. `one`: what those are that are one.
Reason too_many_axes(std::size_t axes, const char* one);

/// Axes that are not innermost, the largest first; those that are not there have one element.
template <typename Axis, typename Extent>
std::vector<Axis> outer_axes(std::vector<Axis> axes, const Extent& extent) {
  std::stable_sort(axes.begin(), axes.end(),
                   [&](const Axis& one, const Axis& other) { return extent(one) > extent(other); });
  axes.resize(kMostCopyAxes - 1);
  return axes;
}

}  // namespace clam
