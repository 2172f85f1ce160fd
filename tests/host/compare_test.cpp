// SPDX-License-Identifier: MIT
#include "check/compare.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "clam/error.hpp"
#include "test_errors.hpp"

namespace clam {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

HostTensor tensor_of(Dtype dtype, const std::vector<double>& values) {
  HostTensor tensor(dtype, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i)
    tensor.set(static_cast<std::int64_t>(i), values[i]);
  return tensor;
}

Expected within(std::vector<double> value, double bound) {
  Expected expected;
  expected.bound.assign(value.size(), bound);
  expected.value = std::move(value);
  return expected;
}

TEST(compare, an_error_inside_its_bound_passes_and_one_outside_is_named) {
  const Expected expected = within({1, 2, 3, 4}, 0.01);
  EXPECT_TRUE(compare(tensor_of(Dtype::f32, {1, 2.009, 3, 4}), expected).pass);
  const Verdict verdict = compare(tensor_of(Dtype::f32, {1, 2, 3.5, 4.02}), expected);
  EXPECT_FALSE(verdict.pass);
  EXPECT_EQ(verdict.worst_index, 2);
  EXPECT_NEAR(verdict.worst_ratio, 50, 1e-3);
  EXPECT_EQ(verdict.fraction_over, 0.5);
  EXPECT_NE(verdict.reason.find("element 2 is 3.5, expected 3 +- 0.01"), std::string::npos)
      << verdict.reason;
}

TEST(compare, metrics_match_their_formulas) {
  const Verdict verdict = compare(tensor_of(Dtype::f32, {1.5, 2, 3, 3}), within({1, 2, 3, 4}, 10));
  EXPECT_DOUBLE_EQ(verdict.max_abs, 1);
  EXPECT_DOUBLE_EQ(verdict.rms, std::sqrt((0.25 + 1) / 4));
  EXPECT_DOUBLE_EQ(verdict.bias, -0.125);
  EXPECT_DOUBLE_EQ(verdict.snr_db, 10 * std::log10(30 / 1.25));
  EXPECT_DOUBLE_EQ(verdict.max_ulp, 0.5 / std::ldexp(1.0, -23));
  EXPECT_DOUBLE_EQ(verdict.reference_variance, 1.25);
  EXPECT_NEAR(verdict.cosine, 26.5 / std::sqrt(24.25 * 30), 1e-12);
}

TEST(compare, unwritten_elements_are_seen_whatever_the_bound) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f16}) {
    HostTensor output = tensor_of(dtype, {1, 2, 3});
    output.set_bits(1, poison_bits(dtype, 7));
    Expected expected = within({1, std::nan(""), 3}, 1e9);
    const Verdict verdict = compare(output, expected, 7);
    EXPECT_FALSE(verdict.pass);
    EXPECT_EQ(verdict.poison, 1);
    EXPECT_NE(verdict.reason.find("1 of 3 elements were never written"), std::string::npos);
  }
}

TEST(compare, poison_differs_between_iterations_and_is_nan) {
  HostTensor tensor(Dtype::f16, {1});
  for (int i = 0; i < 300; ++i) {
    EXPECT_NE(poison_bits(Dtype::f32, i), poison_bits(Dtype::f32, i + 1));
    EXPECT_NE(poison_bits(Dtype::f16, i), poison_bits(Dtype::f16, i + 1));
    fill_poison(tensor, i);
    EXPECT_TRUE(std::isnan(tensor.get(0)));
  }
}

TEST(compare, special_values_must_match) {
  const Expected expected = within({std::nan(""), kInfinity, -kInfinity, 1}, 0.5);
  EXPECT_TRUE(
      compare(tensor_of(Dtype::f32, {std::nan(""), kInfinity, -kInfinity, 1}), expected).pass);
  EXPECT_FALSE(compare(tensor_of(Dtype::f32, {0, kInfinity, -kInfinity, 1}), expected).pass);
  EXPECT_FALSE(
      compare(tensor_of(Dtype::f32, {std::nan(""), -kInfinity, -kInfinity, 1}), expected).pass);
  EXPECT_FALSE(compare(tensor_of(Dtype::f32, {std::nan(""), 3e38, -kInfinity, 1}), expected).pass);
  EXPECT_FALSE(
      compare(tensor_of(Dtype::f32, {std::nan(""), kInfinity, -kInfinity, std::nan("")}), expected)
          .pass);
}

TEST(compare, half_may_overflow_only_where_the_bound_reaches_the_limit) {
  const HostTensor overflown = tensor_of(Dtype::f16, {kInfinity});
  EXPECT_TRUE(compare(overflown, within({65500}, 10)).pass);
  EXPECT_FALSE(compare(overflown, within({65400}, 10)).pass);
  EXPECT_FALSE(compare(tensor_of(Dtype::f16, {-kInfinity}), within({65500}, 10)).pass);
  EXPECT_TRUE(compare(overflown, within({1e6}, 1)).pass);
  EXPECT_FALSE(compare(tensor_of(Dtype::f16, {65504}), within({1e6}, 1)).pass);
}

TEST(compare, bounds_that_would_let_zeros_pass_are_blind) {
  const Verdict verdict = compare(tensor_of(Dtype::f32, {1, 2, 3, 4}), within({1, 2, 3, 4}, 5));
  EXPECT_TRUE(verdict.blind);
  EXPECT_FALSE(verdict.pass);
  // Zeros of a relu, and values that are crumbs beside the others, blind nobody.
  EXPECT_FALSE(compare(tensor_of(Dtype::f32, {0, 0, 0, 4}), within({0, 0, 0, 4}, 1e-6)).blind);
  // A few huge elements hide no blindness of the others.
  std::vector<double> values(100, 1);
  values[7] = 1e9;
  EXPECT_TRUE(compare(tensor_of(Dtype::f32, values), within(values, 2)).blind);
  const Verdict zeros = compare(tensor_of(Dtype::f32, {0, 0}), within({0, 0}, 1e-9));
  EXPECT_TRUE(zeros.blind);
  EXPECT_NE(zeros.reason.find("the right result is zero everywhere"), std::string::npos);
}

TEST(compare, a_second_value_is_as_right_where_there_is_one) {
  Expected expected = within({1, 2, 3, 0}, 0.001);
  expected.other = {std::nan(""), -1, std::nan(""), std::nan("")};
  EXPECT_TRUE(compare(tensor_of(Dtype::f32, {1, 2, 3, 0}), expected).pass);
  EXPECT_TRUE(compare(tensor_of(Dtype::f32, {1, -1.0005, 3, 0}), expected).pass);
  EXPECT_FALSE(compare(tensor_of(Dtype::f32, {1, 0.5, 3, 0}), expected).pass) << "between the two";
  EXPECT_FALSE(compare(tensor_of(Dtype::f32, {1, -1.002, 3, 0}), expected).pass);
  EXPECT_FALSE(compare(tensor_of(Dtype::f32, {-1, 2, 3, 0}), expected).pass) << "it has one value";
  EXPECT_FALSE(compare(tensor_of(Dtype::f32, {1, 2, std::nan(""), 0}), expected).pass);
}

TEST(compare, elements_that_stand_together_are_of_one_choice) {
  Expected expected = within({7, 0.5, 3, 9, 8, 0.25}, 0.001);
  expected.other = {-1, 0, std::nan(""), std::nan(""), -1, 0};
  const auto passes = [&](const std::vector<double>& row) {
    return compare(tensor_of(Dtype::f32, row), expected).pass;
  };
  EXPECT_TRUE(passes({7, 0, 3, 9, -1, 0.25})) << "each has a choice of its own";
  expected.together = 2;
  EXPECT_TRUE(passes({7, 0.5, 3, 9, 8, 0.25}));
  EXPECT_TRUE(passes({-1, 0, 3, 9, 8, 0.25}));
  EXPECT_TRUE(passes({7, 0.5, 3, 9, -1, 0}));
  EXPECT_TRUE(passes({-1, 0, 3, 9, -1, 0}));
  EXPECT_FALSE(passes({7, 0, 3, 9, 8, 0.25})) << "the class of one and the score of the other";
  EXPECT_FALSE(passes({-1, 0.5, 3, 9, 8, 0.25}));
  EXPECT_FALSE(passes({7, 0.5, 3, 9, 8, 0})) << "up to the last";
  EXPECT_FALSE(passes({7, 0.5, 3, -1, 8, 0.25})) << "it has one value";
  const Verdict other = compare(tensor_of(Dtype::f32, {-1, 0, 3, 9, -1, 0}), expected);
  EXPECT_EQ(other.max_abs, 0) << "measures are those beside the choice";
  EXPECT_EQ(compare(tensor_of(Dtype::f32, {7, 0, 3, 9, 8, 0.25}), expected).fraction_over, 1.0 / 6);
}

TEST(compare, an_element_may_have_more_values_that_are_right) {
  Expected expected = within({3, 0.5, 7}, 0.001);
  expected.also = {{4, 9}, {}, {-1}};
  const auto passes = [&](const std::vector<double>& row) {
    return compare(tensor_of(Dtype::f32, row), expected).pass;
  };
  for (const double first : {3, 4, 9}) EXPECT_TRUE(passes({first, 0.5, 7})) << first;
  EXPECT_TRUE(passes({9.0005, 0.5, -1})) << "each element for itself";
  EXPECT_FALSE(passes({5, 0.5, 7})) << "between two";
  EXPECT_FALSE(passes({3, 4, 7})) << "it has one value";
  EXPECT_FALSE(passes({std::nan(""), 0.5, 7}));
  EXPECT_EQ(compare(tensor_of(Dtype::f32, {9, 0.5, -1}), expected).max_abs, 0)
      << "measures are those beside the choice";
}

TEST(compare, bit_exact_means_every_bit) {
  Expected expected;
  expected.exact = tensor_of(Dtype::f32, {0, 1, std::nan("")});
  EXPECT_TRUE(compare(expected.exact, expected).pass);
  HostTensor minus_zero = expected.exact;
  minus_zero.set(0, -0.0);
  EXPECT_FALSE(compare(minus_zero, expected).pass);
  HostTensor other_nan = expected.exact;
  other_nan.set_bits(2, other_nan.bits(2) ^ 1);
  EXPECT_FALSE(compare(other_nan, expected).pass);
}

TEST(compare, an_expected_nan_with_the_poison_pattern_is_no_unwritten_element) {
  Expected expected;
  expected.exact = HostTensor(Dtype::f32, {2});
  fill_poison(expected.exact, 1);
  EXPECT_TRUE(compare(expected.exact, expected, 1).pass);
}

TEST(compare, sizes_must_agree) {
  EXPECT_THROWS_SAYING(compare(tensor_of(Dtype::f32, {1, 2}), within({1}, 1)), BadArgument,
                       "2 elements");
}

TEST(compare, a_verdict_prints_in_json_whatever_its_values) {
  const Verdict verdict = compare(tensor_of(Dtype::f32, {std::nan("")}), within({1}, 0));
  EXPECT_EQ(to_json(verdict)["worst_ratio"], "inf");
  EXPECT_NO_THROW(to_json(verdict).dump());
  EXPECT_NE(to_text(verdict).find("FAIL"), std::string::npos);
}

TEST(compare, a_verdict_comes_back_from_its_json) {
  for (const double value : {1.0, 1.5, std::nan("")}) {
    const Verdict verdict = compare(tensor_of(Dtype::f32, {value, 2}), within({1, 2}, 0.25));
    const nlohmann::json text = nlohmann::json::parse(to_json(verdict).dump());
    const Verdict back = verdict_from_json(text);
    EXPECT_EQ(to_json(back), to_json(verdict));
    EXPECT_EQ(to_text(back), to_text(verdict));
  }
  EXPECT_THROWS_SAYING(verdict_from_json({{"pass", true}}), BadArgument, "this is no verdict");
}

}  // namespace
}  // namespace clam
