// SPDX-License-Identifier: MIT
#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

namespace clam::bench {
namespace {

constexpr double kTail = 0.025;          // on each side of 95 %
constexpr double kNormalTail = 1.95996;  // the normal distribution's quantile for it
constexpr std::size_t kExact = 40;       // samples in all

double middle(const std::vector<double>& sorted) {
  const std::size_t n = sorted.size();
  return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

/// P(so many heads) in n tosses of a coin.
double chance_of(std::size_t heads, std::size_t n) {
  const double all = double(n), h = double(heads);
  return std::exp(std::lgamma(all + 1) - std::lgamma(h + 1) - std::lgamma(all - h + 1) -
                  all * std::log(2.0));
}

/// The rank, from each end, of the samples that the interval ends at: the largest with
/// P(heads < rank) <= 2.5 %. 0 where there is none.
std::size_t end_rank(std::size_t n) {
  double below = 0;
  for (std::size_t heads = 0; heads < n; ++heads) {
    below += chance_of(heads, n);
    if (below > kTail) return heads;
  }
  return 0;
}

/// Of the samples of a and b together.
struct Ranks {
  std::vector<std::int64_t> doubled;  ///< twice each one's rank, ascending; ties share the mean
  std::int64_t sum_of_b = 0;          ///< twice the sum of the ranks of b
  double ties = 0;                    ///< sum of t^3 - t over sets of t equal samples
};

Ranks ranks_of(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<std::pair<double, bool>> all;  // each sample, and whether it is of b
  for (const double value : a) all.emplace_back(value, false);
  for (const double value : b) all.emplace_back(value, true);
  std::sort(all.begin(), all.end());
  Ranks ranks;
  for (std::size_t from = 0, to = 0; from < all.size(); from = to) {
    while (to < all.size() && all[to].first == all[from].first) ++to;
    const auto rank = static_cast<std::int64_t>(from + 1 + to);
    const double t = double(to - from);
    ranks.ties += t * t * t - t;
    for (std::size_t i = from; i < to; ++i) {
      ranks.doubled.push_back(rank);
      if (all[i].second) ranks.sum_of_b += rank;
    }
  }
  return ranks;
}

/// The share of all ways to give `picked` of the ranks to b whose sum is as far from the mean sum
/// as b's is, or farther.
double exact_p(const Ranks& ranks, std::size_t picked) {
  const std::int64_t total =
      std::accumulate(ranks.doubled.begin(), ranks.doubled.end(), std::int64_t{0});
  const auto width = static_cast<std::size_t>(total) + 1;
  // ways[k][s]: to pick k of the ranks seen so far with the sum s
  std::vector<std::vector<double>> ways(picked + 1, std::vector<double>(width, 0));
  ways[0][0] = 1;
  for (const std::int64_t rank : ranks.doubled) {
    const auto shift = static_cast<std::size_t>(rank);
    for (std::size_t k = picked; k > 0; --k) {
      for (std::size_t s = width; s-- > shift;) ways[k][s] += ways[k - 1][s - shift];
    }
  }
  const auto n = static_cast<std::int64_t>(ranks.doubled.size());
  const auto distance = [&](std::int64_t sum) {  // times n, so that it is whole
    return std::abs(sum * n - total * static_cast<std::int64_t>(picked));
  };
  double far = 0, all = 0;
  for (std::size_t s = 0; s < width; ++s) {
    all += ways[picked][s];
    if (distance(static_cast<std::int64_t>(s)) >= distance(ranks.sum_of_b)) far += ways[picked][s];
  }
  return far / all;
}

double normal_p(double u, double a, double b, double ties) {
  const double n = a + b;
  const double variance = a * b / 12 * (n + 1 - ties / (n * (n - 1)));
  if (variance <= 0) return 1;  // all samples are equal
  const double z = std::max(0.0, std::abs(u - a * b / 2) - 0.5) / std::sqrt(variance);
  return std::erfc(z / std::sqrt(2.0));
}

}  // namespace

double median(std::vector<double> samples) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  return middle(samples);
}

double variation(const std::vector<double>& samples) {
  if (samples.size() < 2) return 0;
  const double n = double(samples.size());
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / n;
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  return mean > 0 ? std::sqrt(squares / n) / mean : 0;
}

Interval median_interval(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const std::size_t rank = end_rank(samples.size());
  const std::size_t low = rank > 0 ? rank - 1 : 0;
  return {samples[low], samples[samples.size() - 1 - low]};
}

RankTest rank_test(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || b.empty()) return {};
  const Ranks ranks = ranks_of(a, b);
  const double n = double(a.size()), m = double(b.size());
  RankTest test;
  test.u = double(ranks.sum_of_b) / 2 - m * (m + 1) / 2;
  test.p =
      a.size() + b.size() <= kExact ? exact_p(ranks, b.size()) : normal_p(test.u, n, m, ranks.ties);
  return test;
}

double sign_test(std::size_t heads, std::size_t tosses) {
  double p = 0;
  for (std::size_t h = heads; h <= tosses; ++h) p += chance_of(h, tosses);
  return p;
}

Ratio shift_ratio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> quotients;
  for (const double x : a) {
    for (const double y : b) {
      if (x > 0) quotients.push_back(y / x);
    }
  }
  if (quotients.empty()) return {};
  std::sort(quotients.begin(), quotients.end());
  const double pairs = double(quotients.size());
  const double deviation = std::sqrt(pairs * double(a.size() + b.size() + 1) / 12);
  const double place = std::floor(pairs / 2 - kNormalTail * deviation);
  const std::size_t low = place > 1 ? static_cast<std::size_t>(place) - 1 : 0;
  return {middle(quotients), {quotients[low], quotients[quotients.size() - 1 - low]}};
}

bool is_stable(const std::vector<double>& samples, std::size_t k, double tolerance) {
  if (k == 0 || samples.size() < 2 * k) return false;
  const auto last = samples.end() - static_cast<std::ptrdiff_t>(k);
  const double before = median({last - static_cast<std::ptrdiff_t>(k), last});
  return std::abs(median({last, samples.end()}) - before) <= tolerance * before;
}

std::vector<double> thin_out(const std::vector<double>& samples, std::size_t count) {
  if (samples.size() <= count) return samples;
  std::vector<double> kept;
  for (std::size_t i = 0; i < count; ++i) kept.push_back(samples[i * samples.size() / count]);
  return kept;
}

}  // namespace clam::bench
