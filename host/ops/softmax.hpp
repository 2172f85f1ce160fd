// SPDX-License-Identifier: MIT
// softmax.hpp - what the plans of softmax share with its reference.
#pragma once

#include "clam/op.hpp"

namespace clam {

/// How the rows of a problem lie. Element i of row (o, j) is element (o * n + i) * inner + j.
struct SoftmaxRows {
  std::int64_t outer, n, inner;  ///< extents before, along and after the axis
  std::int64_t blocks = 1;       ///< how often the mask repeats over the extents before the axis
  std::int64_t mask = 0;         ///< elements of the mask; 0: there is none
  bool mask_along_axis = false;  ///< else the mask is the same for all elements of a row
  explicit SoftmaxRows(const Problem& problem);
};

}  // namespace clam
