// SPDX-License-Identifier: MIT
// axes.hpp - words of a problem that name an axis of its shape, or have a number for each axis; and
// the axes that ops which only move elements take them along.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "runtime/overlap.hpp"

namespace clam {

/// `axis`, as positive_axis reads it.
inline Field axis_field(const std::string& about, std::string fallback) {
  return integer("axis", about + "; negative ones count from the end", std::move(fallback), -8, 7);
}
/// The field `axis`, counted from the first of `axes` on; negative ones count from the end. Throws
/// BadArgument where there is none such.
std::size_t positive_axis(const Problem& problem, std::size_t axes);

/// The extents of a shape before that axis, along it and behind it, each as one.
struct AroundAxis {
  std::int64_t outer = 1, n = 1, inner = 1;
  AroundAxis(const Problem& problem, const Shape& shape);
};

/// The field's number for each of the axes.
std::vector<int> per_axis(const Problem& problem, const char* field, std::size_t axes);

/// Throws BadArgument where the field has not as many numbers as there are axes. Numbers that are
/// all alike become the one that stands for them.
void unite_axes(const Problem& problem, Schema::Values& values, const char* field,
                std::size_t axes);

// ---- ops that only move elements ----

/// Elements of the widest load, 16 bytes at most, that divides all of `lengths`, in elements.
int copy_unit(std::initializer_list<std::int64_t> lengths, Dtype dtype);

/// An axis of dst: its extent, and the elements of src and of dst from one of it to the next.
struct CopyAxis {
  std::int64_t extent = 1, src = 0, dst = 0;
};

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
