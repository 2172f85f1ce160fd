// SPDX-License-Identifier: MIT
// model_time_test.cpp - the time of a model by op, and its nodes farthest above their floor.
#include "check/model_time.hpp"

#include <gtest/gtest.h>

namespace clam::test {
namespace {

TEST(model_time, nodes_add_up_by_op_once_a_call) {
  const ModelTime time = model_time(
      {{"a", "pool2d", 1, 30, 29.0}, {"b", "dense", 2, 20, 5.0}, {"c", "dense", 1, 10, 1.0}});
  EXPECT_EQ(time.us, 80);
  EXPECT_EQ(time.floor_us, 40);
  ASSERT_EQ(time.ops.size(), 2u);
  EXPECT_EQ(time.ops[0].name, "dense");
  EXPECT_EQ(time.ops[0].us, 50);
  EXPECT_EQ(time.ops[0].floor_us, 11);
  EXPECT_EQ(time.ops[0].nodes, 2u);
  ASSERT_EQ(time.farthest.size(), 3u);
  EXPECT_EQ(time.farthest[0].node, "b");  // 30 above the floor in two calls
  EXPECT_EQ(time.farthest[2].node, "a");  // it takes most, and is at its floor
}

/// One node without a floor makes the sum unknown; it counts as far as it is long.
TEST(model_time, a_floor_that_is_not_known_is_none) {
  const ModelTime time = model_time({{"a", "dense", 1, 30, 29.0}, {"b", "pool2d", 1, 20, {}}});
  EXPECT_FALSE(time.floor_us);
  EXPECT_EQ(time.farthest[0].node, "b");
  EXPECT_NE(to_text(time).find("what takes most"), std::string::npos);
}

TEST(model_time, ten_nodes_are_named_at_most) {
  std::vector<NodeTime> nodes;
  for (int i = 0; i < 25; ++i) nodes.push_back({std::to_string(i), "unary", 1, 100.0 - i, 1.0});
  const ModelTime time = model_time(nodes);
  ASSERT_EQ(time.farthest.size(), 10u);
  EXPECT_EQ(time.farthest[9].node, "9");
  EXPECT_EQ(time.ops[0].nodes, 25u);
}

}  // namespace
}  // namespace clam::test
