// SPDX-License-Identifier: MIT
// The statistics of clam-bench on distributions whose truth is known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "bench/statistics.hpp"
#include "process/other_load.hpp"
#include "test_device.hpp"

namespace clam::test {
namespace {

using namespace bench;

/// Seeded draws; the standard's own distributions differ between libraries.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}
  double uniform() { return (double(random_() >> 11) + 0.5) / 9007199254740992.0; }
  double exponential() { return -std::log(uniform()); }
  double normal() { return std::sqrt(2 * exponential()) * std::cos(6.283185307179586 * uniform()); }
  template <typename Draw>
  std::vector<double> many(std::size_t n, const Draw& draw) {
    std::vector<double> values(n);
    for (double& value : values) value = draw();
    return values;
  }

 private:
  std::mt19937_64 random_;
};

TEST(bench_statistics, sign_test_counts_the_tosses) {
  EXPECT_NEAR(sign_test(0, 5), 1, 1e-12);
  EXPECT_NEAR(sign_test(5, 5), 1.0 / 32, 1e-12);
  EXPECT_NEAR(sign_test(4, 5), 6.0 / 32, 1e-12);
  EXPECT_NEAR(sign_test(50, 100) + sign_test(51, 100), 1, 1e-9);
  EXPECT_EQ(sign_test(0, 0), 1);
}

TEST(bench_statistics, median_and_variation) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median({}), 0);
  EXPECT_DOUBLE_EQ(variation({1, 3}), 0.5);
  EXPECT_EQ(variation({7}), 0);
}

TEST(bench_statistics, interval_ends_at_the_ranks_of_the_tables) {
  const auto ends = [](int n) {
    std::vector<double> samples;
    for (int i = n; i > 0; --i) samples.push_back(i);
    const Interval interval = median_interval(samples);
    return std::pair{interval.low, interval.high};
  };
  using Ends = std::pair<double, double>;
  EXPECT_EQ(ends(1), Ends(1, 1));
  EXPECT_EQ(ends(5), Ends(1, 5)) << "93.75 % at most";
  EXPECT_EQ(ends(6), Ends(1, 6));
  EXPECT_EQ(ends(9), Ends(2, 8));
  EXPECT_EQ(ends(10), Ends(2, 9));
  EXPECT_EQ(ends(25), Ends(8, 18));
  EXPECT_EQ(ends(100), Ends(40, 61));
}

TEST(bench_statistics, interval_covers_the_median_of_any_distribution) {
  Draws draws(1);
  const struct {
    const char* name;
    double (*draw)(Draws&);
    double truth;
  } distributions[] = {
      {"exponential", [](Draws& d) { return d.exponential(); }, std::log(2)},
      {"two humps", [](Draws& d) { return d.uniform() + (d.uniform() < 0.4 ? 5 : 0); }, 5. / 6},
      {"heavy tail", [](Draws& d) { return std::pow(d.uniform(), -2); }, 4},
  };
  constexpr int kDraws = 4000;
  for (const auto& each : distributions) {
    for (const std::size_t n : {6, 10, 25, 60, 200}) {
      int covered = 0;
      for (int i = 0; i < kDraws; ++i) {
        covered += median_interval(draws.many(n, [&] { return each.draw(draws); })).has(each.truth);
      }
      const double share = double(covered) / kDraws;
      EXPECT_GT(share, 0.93) << each.name << " " << n;
      EXPECT_LT(share, 0.985) << each.name << " " << n;
    }
  }
}

/// The share of all ways to choose b among the values in which U is as far from its mean.
double counted_p(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> all = a;
  all.insert(all.end(), b.begin(), b.end());
  const auto u_of = [&](unsigned mask) {
    double u = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t j = 0; j < all.size(); ++j) {
        if (!(mask >> i & 1) && (mask >> j & 1)) u += (all[j] > all[i]) + 0.5 * (all[j] == all[i]);
      }
    }
    return u;
  };
  const double mean = double(a.size() * b.size()) / 2;
  const double seen = std::abs(u_of(((1u << b.size()) - 1) << a.size()) - mean);
  int far = 0, ways = 0;
  for (unsigned mask = 0; mask < 1u << all.size(); ++mask) {
    if (static_cast<std::size_t>(__builtin_popcount(mask)) != b.size()) continue;
    ++ways;
    far += std::abs(u_of(mask) - mean) >= seen - 1e-9;
  }
  return double(far) / ways;
}

TEST(bench_statistics, rank_test_of_few_samples_is_exact) {
  EXPECT_NEAR(rank_test({1, 2, 3}, {4, 5, 6}).p, 0.1, 1e-12);
  EXPECT_NEAR(rank_test({1, 2, 3, 4}, {5, 6, 7, 8}).p, 2.0 / 70, 1e-12);
  EXPECT_EQ(rank_test({1, 2, 3}, {4, 5, 6}).u, 9);
  EXPECT_EQ(rank_test({5, 5}, {5, 5}).p, 1);
  EXPECT_EQ(rank_test({}, {1}).p, 1);
  Draws draws(2);
  for (int i = 0; i < 30; ++i) {
    const auto few = [&] { return std::floor(4 * draws.uniform()); };  // so that ties abound
    const auto a = draws.many(2 + static_cast<std::size_t>(i) % 5, few), b = draws.many(6, few);
    EXPECT_NEAR(rank_test(a, b).p, counted_p(a, b), 1e-9);
  }
}

TEST(bench_statistics, normal_approximation_meets_the_exact_test) {
  // 20 against 20 is exact, 20 against 21 is not: one more sample in the middle changes little.
  Draws draws(3);
  for (int i = 0; i < 20; ++i) {
    const auto a = draws.many(20, [&] { return draws.normal(); });
    auto b = draws.many(20, [&] { return draws.normal() + 0.4; });
    const double exact = rank_test(a, b).p;
    std::vector<double> all = a;
    all.insert(all.end(), b.begin(), b.end());
    b.push_back(median(all));
    EXPECT_NEAR(rank_test(a, b).p, exact, 0.03);
  }
}

TEST(bench_statistics, rank_test_alarms_as_rarely_as_it_says) {
  Draws draws(4);
  constexpr int kDraws = 2000;
  for (const std::size_t n : {8, 15, 50, 100}) {
    if (n > 15 && !is_weekly()) continue;
    for (const double step : {0.0, 0.5}) {  // 0.5: clocks that tick coarsely make ties
      const auto draw = [&] {
        const double value = draws.exponential();
        return step > 0 ? std::floor(value / step) : value;
      };
      int alarms = 0;
      for (int i = 0; i < kDraws; ++i) {
        alarms += rank_test(draws.many(n, draw), draws.many(n, draw)).p < 0.05;
      }
      EXPECT_LT(double(alarms) / kDraws, 0.065) << n << " " << step;
      EXPECT_GT(double(alarms) / kDraws, 0.02) << n << " " << step;
    }
  }
}

TEST(bench_statistics, rank_test_sees_a_shift) {
  Draws draws(5);
  int seen = 0;
  for (int i = 0; i < 500; ++i) {
    const auto draw = [&] { return 1 + 0.05 * draws.normal(); };
    auto b = draws.many(60, draw);
    for (double& value : b) value *= 1.05;
    seen += rank_test(draws.many(60, draw), b).p < 0.01;
  }
  EXPECT_GT(seen, 450);
}

TEST(bench_statistics, shift_ratio_finds_the_factor) {
  Draws draws(6);
  int covered = 0;
  constexpr int kDraws = 1000;
  for (int i = 0; i < kDraws; ++i) {
    const auto draw = [&] { return std::exp(0.1 * draws.normal() + 0.3 * draws.exponential()); };
    auto b = draws.many(25, draw);
    for (double& value : b) value *= 1.25;
    const Ratio ratio = shift_ratio(draws.many(25, draw), b);
    covered += ratio.interval.has(1.25);
    EXPECT_TRUE(ratio.interval.has(ratio.value));
  }
  EXPECT_GT(covered, 0.93 * kDraws);
  EXPECT_LT(covered, 0.98 * kDraws);
  EXPECT_EQ(shift_ratio({2}, {3}).value, 1.5);
  EXPECT_EQ(shift_ratio({}, {3}).value, 1);
}

TEST(bench_statistics, stable_is_said_of_two_spans_that_agree) {
  EXPECT_FALSE(is_stable({1, 1, 1}, 2, 0.02));
  EXPECT_TRUE(is_stable({9, 1, 1, 1.01, 1.01}, 2, 0.02));
  EXPECT_FALSE(is_stable({1, 1, 1.03, 1.03}, 2, 0.02));
}

TEST(bench_statistics, thinned_samples_keep_their_order_and_spread) {
  EXPECT_EQ(thin_out({1, 2, 3}, 5), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(thin_out({1, 2, 3, 4, 5, 6}, 3), (std::vector<double>{1, 3, 5}));
}

TEST(bench_statistics, processor_time_is_read_from_proc_stat) {
  const auto time = parse_processor_time("cpu  10 20 30 400 50 1 2 3 7 8\ncpu0 1 2 3\n");
  ASSERT_TRUE(time);
  EXPECT_EQ(time->busy, 66) << "idle and iowait are not, guests are in user";
  EXPECT_EQ(time->all, 516);
  EXPECT_FALSE(parse_processor_time(""));
  EXPECT_FALSE(parse_processor_time("intr 5"));
}

}  // namespace
}  // namespace clam::test
