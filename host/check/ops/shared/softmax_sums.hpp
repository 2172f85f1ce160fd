// SPDX-License-Identifier: MIT
// softmax_sums.hpp - what the elements of a softmax share.
#pragma once

#include "proof.hpp"

namespace clam {

/// Of a row x. Where its largest element is not finite, there are no sums.
struct SoftmaxSums {
  double m = -kInfinity, sum = 0;             ///< sum: of exp(x - m)
  double mean_difference = 0, mean_size = 0;  ///< of m - x and |x|, weighted by the softmax
  std::int64_t numbers = 0;                   ///< elements that are not -inf

  explicit SoftmaxSums(const std::vector<double>& x) {
    for (const double value : x) m = std::isnan(value) ? kNan : value > m ? value : m;
    if (!std::isfinite(m)) return;
    for (const double value : x) {
      if (std::isinf(value)) continue;
      const double e = std::exp(value - m);
      ++numbers;
      sum += e;
      mean_difference += e * (m - value);
      mean_size += e * std::fabs(value);
    }
    mean_difference /= sum;
    mean_size /= sum;
  }
};

}  // namespace clam
