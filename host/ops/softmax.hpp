// SPDX-License-Identifier: MIT
// softmax.hpp - what the plans of softmax share with its reference.
#pragma once

#include "shared/axes.hpp"

namespace clam {

/// How the rows of a problem lie. Element i of row (o, j) is element (o * n + i) * inner + j.
struct SoftmaxRows : AroundAxis {
  std::int64_t blocks = 1;       ///< how often the mask repeats over the extents before the axis
  std::int64_t mask = 0;         ///< elements of the mask; 0: there is none
  bool mask_along_axis = false;  ///< else the mask is the same for all elements of a row
  explicit SoftmaxRows(const Problem& problem);

  /// Extents before the axis that the mask has; without a mask, all.
  std::int64_t masked() const { return outer / blocks; }
  bool repeats() const { return mask > 0 && !mask_along_axis; }
  /// See softmax.cl.
  std::int64_t mask_step() const { return repeats() ? 0 : inner; }
  std::int64_t mask_period() const { return repeats() ? mask : inner; }
};

}  // namespace clam
