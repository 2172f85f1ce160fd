// SPDX-License-Identifier: MIT
// unary.hpp - what the plans of unary share with its reference.
#pragma once

#include <vector>

#include "clam/op.hpp"
#include "ops/shared/activation.hpp"

namespace clam {

/// What a function's arguments are drawn from.
struct UnaryRange {
  const char* name;
  double low, high;  ///< where it does what it is for
  int from, to;      ///< sizes, as powers of two, of a wide set
  bool negative;     ///< defined for negative arguments
  OwnNumber alpha = {}, beta = {};
};

/// Every function, in the order of the words of a Problem line.
const std::vector<UnaryRange>& unary_ranges();
const UnaryRange& unary_range(const Problem& problem);

/// scale or shift are to be applied.
inline bool is_affine(const Problem& problem) {
  return problem.number("scale") != 1 || problem.number("shift") != 0;
}

}  // namespace clam
