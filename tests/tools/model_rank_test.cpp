// SPDX-License-Identifier: MIT
// model_rank_test.cpp - how well predictions order times.
#include "tune/model_rank.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "contains.hpp"

namespace clam::tune {
namespace {

/// Candidates of a problem, with their clocks and times.
std::vector<RankedTime> times_of(const std::string& problem,
                                 const std::vector<std::pair<double, double>>& pairs) {
  std::vector<RankedTime> times;
  for (const auto& [clocks, us] : pairs) {
    times.push_back({problem.substr(0, problem.find(' ')), problem,
                     "c" + std::to_string(times.size()), clocks, us});
  }
  return times;
}

double correlation_of(const std::vector<std::pair<double, double>>& pairs) {
  return rank_model(times_of("dense m=1", pairs)).ops.at(0).rank_correlation;
}

TEST(model_rank, is_spearmans) {
  EXPECT_DOUBLE_EQ(correlation_of({{1, 10}, {2, 20}, {3, 90}}), 1);
  EXPECT_DOUBLE_EQ(correlation_of({{1, 90}, {2, 20}, {3, 10}}), -1);
  EXPECT_DOUBLE_EQ(correlation_of({{1, 10}, {2, 30}, {3, 20}}), 0.5);  // 1 - 6 * 2 / (3 * 8)
  EXPECT_DOUBLE_EQ(correlation_of({{1, 10}, {2, 10}, {3, 10}}), 0);    // nothing to order
  EXPECT_NEAR(correlation_of({{1, 10}, {1, 20}, {3, 30}}), std::sqrt(0.75), 1e-12);  // a tie
}

TEST(model_rank, is_by_op_and_names_the_farthest) {
  std::vector<RankedTime> times = times_of("dense m=1", {{1, 1}, {2, 2}, {3, 30}, {4, 4}});
  for (const RankedTime& time : times_of("softmax shape=4", {{1, 5}, {2, 10}}))
    times.push_back(time);
  const ModelRank rank = rank_model(times);
  ASSERT_EQ(rank.ops.size(), 1u) << "two times have no order to speak of";
  EXPECT_EQ(rank.ops[0].candidates, 4);
  ASSERT_EQ(rank.worst.size(), 5u);
  EXPECT_EQ(rank.worst[0].candidate, "c2");
  EXPECT_DOUBLE_EQ(rank.worst[0].factor, 10);
  EXPECT_TRUE(test::contains(to_text(rank), "10.00  dense m=1: c2")) << to_text(rank);
  EXPECT_EQ(to_json(rank).at("worst")[0].at("us"), 30);
  EXPECT_TRUE(test::contains(to_text(rank_model({})), "no problem has three"));
}

}  // namespace
}  // namespace clam::tune
