// SPDX-License-Identifier: MIT
// summation.hpp - the error bound of a floating-point sum, kept while a reference sums.
//
// A sum rounded once a term has the error sum_k d_k p_k with |d_k| <= u and p_k the partial sums.
// Worst case: u*sum|p_k|. For zero-mean data the d_k behave like independent variables, so six
// standard deviations are u*6*sqrt(sum p_k^2). Both stand far closer to the real error than the
// textbook K*u*sum|a*b|, which an all-zero output would pass.
//
// Where order and grouping of a sum are the device's choice, as they are in half, the mean of
// sum p_k^2 over all orders takes its place, and the worst case is that of all orders.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "check/op_proof.hpp"

namespace clam {

/// Unit roundoff: half the distance from 1 to the next number.
inline double unit_roundoff(Dtype dtype) {
  return dtype == Dtype::f16 ? std::ldexp(1.0, -11) : std::ldexp(1.0, -24);
}

/// The number of the dtype that is nearest to a value.
inline double rounded_to(Dtype dtype, double value) {
  return dtype == Dtype::f16 ? round_to_half(value) : static_cast<float>(value);
}

/// The least error allowed: half the smallest half; for f32 what is lost where a device keeps
/// denormals, half of the smallest or more, and where it takes them for 0.
inline double crumb(Dtype dtype, bool denormals, double kept = 0x1p-149, double lost = 0x1p-126) {
  if (dtype == Dtype::f16) return 0x1p-25;
  return denormals ? kept : lost;
}

class Summation {
 public:
  Summation() = default;
  /// Of partial sums that were not added here, by the sums of their squares and magnitudes.
  Summation(double sum, double squares, double magnitudes)
      : sum_(sum), squares_(squares), magnitudes_(magnitudes) {}
  /// A sum that is off by no more than `error`.
  Summation(double sum, double error) : sum_(sum), inherited_(error) {}
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
    inherited_ *= std::fabs(factor);
  }
  /// The worst case is at least u * magnitudes: for sums that a device may add in another order.
  void allow(double magnitudes) { magnitudes_ = std::max(magnitudes_, magnitudes); }
  void allow(const Summation& other) { allow(other.magnitudes_); }
  /// The terms were off by so much before they were added.
  void inherit(double error) { inherited_ += error; }
  double value() const { return sum_; }
  Summation total(Check) const { return *this; }
  /// Largest error allowed for accumulators of roundoff u.
  double bound(Check check, double u) const {
    if (check == Check::exact) return 0;
    const double own = check == Check::zero_mean ? 6 * u * std::sqrt(squares_) : u * magnitudes_;
    return own + inherited_;
  }

 private:
  double sum_ = 0, squares_ = 0, magnitudes_ = 0, inherited_ = 0;
};

/// The mean of sum p_k^2 over all orders of n terms, by the sum of their squares and their sum p_n.
inline double mean_of_squares(double n, double squares, double sum) {
  return (n + 1) / 6 * (squares + 2 * sum * sum);
}

/// A sum in order, and its worst case in parts too: there each part is summed from 0, and the
/// parts' sums are added up.
class SumInParts {
 public:
  void add(double term) {
    whole_.add(term);
    own_ += std::fabs(whole_.value() - begin_);
  }
  void end_part() {
    begin_ = whole_.value();
    own_ += std::fabs(begin_);
  }
  Summation total(Check) const {
    Summation sum = whole_;
    sum.allow(own_);
    return sum;
  }

 private:
  Summation whole_;
  double begin_ = 0, own_ = 0;
};

/// Whether a part ends behind product i of a product of matrices whose k work-items share: all
/// parts but the last have as many whole trips of a kernel's loop, of `trip` products each.
inline bool ends_part(std::int64_t i, std::int64_t products, int parts, int trip) {
  const std::int64_t part = (products + trip - 1) / trip / parts * trip, end = i + 1;
  return end == products || (part > 0 && end % part == 0 && end / part < parts);
}

/// The worst case of the sums where `parts` work-items share them, each whole trips of its loop.
template <typename AddK>
void allow_parts(std::vector<Summation>& worst, std::int64_t products, int parts, int trip,
                 const AddK& add_k) {
  std::vector<SumInParts> sums(worst.size());
  for (std::int64_t i = 0; i < products; ++i) {
    add_k(sums, i);
    if (!ends_part(i, products, parts, trip)) continue;
    for (SumInParts& sum : sums) sum.end_part();
  }
  for (std::size_t j = 0; j < worst.size(); ++j) worst[j].allow(sums[j].total(Check::hard));
}

/// `count` sums in the order of k, and their worst case however many work-items share that.
/// add_k(sums, i) adds product i to each of them.
template <typename AddK>
std::vector<Summation> sums_in_any_parts(std::size_t count, std::int64_t products,
                                         const AddK& add_k) {
  constexpr std::int64_t kLeastShared = 128;
  constexpr int kVector = 4, kLongTrip = 8;  // products of a trip of the kernels' loops
  std::vector<Summation> worst(count);
  for (std::int64_t i = 0; i < products; ++i) add_k(worst, i);
  if (products < kLeastShared) return worst;
  for (const int parts : {2, 4}) {
    allow_parts(worst, products, parts, kVector, add_k);
    if (products % kLongTrip == 0) allow_parts(worst, products, parts, kLongTrip, add_k);
  }
  return worst;
}

/// A sum of products in half, in chunks of at most `chunk` of them, whose sums are added in float.
/// What makes a chunk and in which order it is summed is the device's choice, and whether it rounds
/// a product before it adds it (an unfused multiply-add).
class HalfSummation {
 public:
  explicit HalfSummation(int chunk) : chunk_(chunk) {}
  void add(double term) {
    own_ += term;
    squares_ += term * term;
    const double magnitude = std::fabs(term);
    magnitudes_ += magnitude;
    largest_ = std::max(largest_, magnitude);
    if (++terms_ == chunk_) end_chunk();
  }
  /// The sum, and how far off the device's float sum of chunks may be.
  Summation total(Check check) const {
    HalfSummation whole = *this;
    if (terms_ > 0) whole.end_chunk();
    Summation total = whole.chunks_;
    total.allow(whole.chunk_count_ * magnitudes_);
    total.inherit(whole.error(check));
    return total;
  }

 private:
  /// Products rounded on their own add sum t_k^2.
  void end_chunk() {
    variance_ += mean_of_squares(terms_, squares_, own_) + squares_;
    chunks_.add(own_);
    products_ += terms_;
    ++chunk_count_;
    terms_ = 0, own_ = 0, squares_ = 0;
  }
  /// Worst case of n products in any order, fused or not: n * u * sum|t_k| (Jeannerod and Rump,
  /// "Improved error bounds for inner products in floating-point arithmetic", 2013). Where a
  /// result is denormal, its rounding may cost 2^-25 instead.
  double error(Check check) const {
    const double u = unit_roundoff(Dtype::f16);
    const double products = products_;
    if (may_overflow()) return std::numeric_limits<double>::infinity();
    const double rounding =
        check == Check::zero_mean ? 6 * u * std::sqrt(variance_) : longest() * u * magnitudes_;
    return rounding + products * 0x1p-25;
  }
  /// A partial sum of some chunk in some order may round to infinity, as 65520 does.
  bool may_overflow() const {
    const double one_sign = (magnitudes_ + std::fabs(chunks_.value())) / 2;
    const double partial = std::min(one_sign, longest() * largest_);
    return std::isfinite(magnitudes_) &&
           partial * (1 + longest() * unit_roundoff(Dtype::f16)) >= 65520;
  }
  double longest() const { return std::min<std::int64_t>(chunk_, products_); }

  int chunk_, terms_ = 0;                ///< terms_ of the chunk that is not full yet
  double own_ = 0, squares_ = 0;         ///< its sum, and the sum of squared terms
  double magnitudes_ = 0, largest_ = 0;  ///< of all terms
  double variance_ = 0;
  std::int64_t products_ = 0, chunk_count_ = 0;
  Summation chunks_;
};

}  // namespace clam
