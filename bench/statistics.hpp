// SPDX-License-Identifier: MIT
// statistics.hpp - what samples of times allow to be said. Pure functions; no distribution is
// assumed.
#pragma once

#include <cstddef>
#include <vector>

namespace clam::bench {

struct Interval {
  double low = 0, high = 0;
  bool has(double value) const { return low <= value && value <= high; }
};

/// Of an even number of samples the mean of the middle two; 0 of none.
double median(std::vector<double> samples);

/// Deviation / mean; 0 of fewer than two samples.
double variation(const std::vector<double>& samples);

/// The 95 % interval of the median, between two of the samples: as many of n samples lie under the
/// median as heads come in n tosses of a coin, so the binomial distribution says how far from the
/// middle to go (W. R. Thompson 1936; David and Nagaraja, Order Statistics, 7.1). Fewer than six
/// samples cannot give 95 %: theirs is the whole range.
Interval median_interval(std::vector<double> samples);

/// The rank test of Mann and Whitney (1947): whether one of two sets of samples tends to be larger.
struct RankTest {
  double u = 0;  ///< pairs in which b's sample is the larger one, ties as a half
  double p = 1;  ///< two-sided
};
/// Up to 40 samples in all p is exact, ties included: every way to deal the ranks out is counted,
/// by the shift algorithm of Streitberg and Roehmel (1986). Beyond that it is the normal
/// approximation with the corrections for ties and for continuity (Lehmann, Nonparametrics, 1975,
/// section 1.4).
RankTest rank_test(const std::vector<double>& a, const std::vector<double>& b);

/// The sign test (Arbuthnot 1710): the chance of so many heads or more in so many tosses of a coin.
double sign_test(std::size_t heads, std::size_t tosses);

/// By what factor b's samples are larger than a's: the median of all quotients b / a, which is the
/// shift of Hodges and Lehmann (1963) between their logarithms, and its 95 % interval (Moses; in
/// Hollander and Wolfe, Nonparametric Statistical Methods, section 4.3).
struct Ratio {
  double value = 1;
  Interval interval{1, 1};
};
Ratio shift_ratio(const std::vector<double>& a, const std::vector<double>& b);

/// Whether the median of the last `k` is within `tolerance` (0.02: 2 %) of the median of the `k`
/// before them.
bool is_stable(const std::vector<double>& samples, std::size_t k, double tolerance);

/// At most `count` of the samples, evenly over all of them, in their order.
std::vector<double> thin_out(const std::vector<double>& samples, std::size_t count);

}  // namespace clam::bench
