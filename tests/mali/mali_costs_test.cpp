// SPDX-License-Identifier: MIT
// mali_costs_test.cpp - the rows of kernels/costs.json: how they are computed, measured and
// written.
#include <gtest/gtest.h>

#include "clam/error.hpp"
#include "mali/costs.hpp"
#include "runtime/embedded.hpp"
#include "test_errors.hpp"

namespace clam::mali {
namespace {

std::string committed() { return std::string(embedded_costs().front().text); }

const std::string kHead = R"({
  "format": 2,
  "columns": ["kernel", "dtype", "acc", "tile", "Mesa 25", "Mesa 26", "other"],
  "costs": [)";

/// A table of one row.
std::string table_of(const std::string& row) { return kHead + "\n    [" + row + "]\n  ]\n}\n"; }

TEST(mali_costs, equations_are_solved) {
  const std::vector<double> x = solve({{0, 2, 1}, {1, 1, 1}, {2, 0, -1}}, {7, 6, -1});
  ASSERT_EQ(x.size(), 3u);
  EXPECT_NEAR(x[0], 1, 1e-9);
  EXPECT_NEAR(x[1], 2, 1e-9);
  EXPECT_NEAR(x[2], 3, 1e-9);
  EXPECT_THROWS_SAYING(solve({{1, 2}, {2, 4}}, {1, 2}), BadArgument, "no solution");
}

TEST(mali_costs, the_committed_table_is_written_as_it_stands) {
  EXPECT_EQ(with_costs(committed(), {}, "Mesa 25"), committed());
}

TEST(mali_costs, measured_rows_replace_those_of_their_compiler_alone) {
  const std::string named = R"("k", "f32", "f32", "M0=4", )";
  const std::string text = table_of(named + "[1, 2], null, [3, 4]");
  CostRow row{"k", "f32", "f32", "M0=4", {10.04, 20.55}};
  EXPECT_EQ(with_costs(text, {row}, "Mesa 26"), table_of(named + "[1, 2], [10, 20.6], [3, 4]"));
  EXPECT_EQ(with_costs(text, {row}, "Mesa 25"), table_of(named + "[10, 20.6], null, [3, 4]"));
  row.numbers.clear();  // it was not compiled
  EXPECT_EQ(with_costs(text, {row}, "Mesa 25"), text);
  row.spills = true;
  EXPECT_EQ(with_costs(text, {row}, "Mesa 25"), table_of(named + "null, null, [3, 4]"));
  EXPECT_EQ(with_costs(table_of(named + "[1, 2], null, null"), {row}, "Mesa 25"),
            kHead + "\n  ]\n}\n");
  row.tile = "M0=6";
  EXPECT_EQ(with_costs(text, {row}, "Mesa 25"), text);
  EXPECT_THROWS_SAYING(with_costs("{}", {}, "Mesa 25"), BadArgument, "no list 'costs'");
  EXPECT_THROWS_SAYING(with_costs("not json", {}, "Mesa 25"), BadArgument, "no list 'costs'");
}

}  // namespace
}  // namespace clam::mali
