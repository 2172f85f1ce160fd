// SPDX-License-Identifier: MIT
// per_axis.hpp - words of a problem that name an axis of its shape, or have a number for each axis;
// a single number stands for all of them.
#pragma once

#include <vector>

#include "clam/problem.hpp"

namespace clam {

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

}  // namespace clam
