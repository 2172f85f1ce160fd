// SPDX-License-Identifier: MIT
// summation.hpp - the error bound of a floating-point sum, kept while a reference sums.
//
// A sum rounded once a term has the error sum_k d_k p_k with |d_k| <= u and p_k the partial sums.
// Worst case: u*sum|p_k|. For zero-mean data the d_k behave like independent variables, so six
// standard deviations are u*6*sqrt(sum p_k^2). Both stand far closer to the real error than the
// textbook K*u*sum|a*b|, which an all-zero output would pass.
#pragma once

#include <algorithm>
#include <cmath>

#include "../../op.hpp"

namespace clam {

/// Unit roundoff: half the distance from 1 to the next number.
inline double unit_roundoff(Dtype dtype) {
  return dtype == Dtype::f16 ? std::ldexp(1.0, -11) : std::ldexp(1.0, -24);
}

class Summation {
 public:
  void add(double term) {
    sum_ += term;
    squares_ += sum_ * sum_;
    magnitudes_ += std::fabs(sum_);
  }
  /// The sum times a factor, rounded once more (a factor of 1 costs no rounding).
  void scale(double factor) {
    if (factor == 1) return;
    sum_ *= factor;
    squares_ = squares_ * factor * factor + sum_ * sum_;
    magnitudes_ = magnitudes_ * std::fabs(factor) + std::fabs(sum_);
  }
  /// The worst case is at least u * magnitudes: for sums that a device may add in another order.
  void allow(double magnitudes) { magnitudes_ = std::max(magnitudes_, magnitudes); }
  double value() const { return sum_; }
  /// Largest error allowed for accumulators of roundoff u.
  double bound(Check check, double u) const {
    if (check == Check::exact) return 0;
    return check == Check::zero_mean ? 6 * u * std::sqrt(squares_) : u * magnitudes_;
  }

 private:
  double sum_ = 0, squares_ = 0, magnitudes_ = 0;
};

}  // namespace clam
