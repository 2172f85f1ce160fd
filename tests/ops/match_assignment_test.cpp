// SPDX-License-Identifier: MIT
// match_assignment_test.cpp - problems, plans, references and kernels of match_assignment.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "check/op_proof.hpp"
#include "clam/planner.hpp"
#include "every_op.hpp"
#include "faults.hpp"
#include "op_device.hpp"
#include "test_errors.hpp"

namespace clam::match_assignment_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Problem parse(const std::string& words, const std::string& dtype = "f32") {
  return Problem::parse("match_assignment " + words + " dtype=" + dtype);
}

Reference reference(const Problem& problem, const Tensors& inputs, Check check = Check::hard) {
  return reference_of(problem, inputs, {check});
}

/// Inputs of nothing but zeros.
Tensors zeros(const Problem& problem) {
  Tensors inputs;
  for (const TensorSpec& spec : problem.tensors()) {
    if (spec.role == TensorSpec::Role::input) {
      inputs.emplace(spec.name, HostTensor(spec.dtype, spec.shape));
    }
  }
  return inputs;
}

bool passes(const Reference& reference, const Tensors& outputs) {
  return compare_all(reference, outputs, {}, 0).pass();
}

// ---- problems and plans ----

TEST(match_assignment, canonical_text_and_tensors) {
  const Problem problem = parse("n=5 m=3 threshold=0.10", "f16");
  EXPECT_EQ(problem.text(), "match_assignment m=3 n=5 dtype=f16");
  const std::vector<TensorSpec> specs = problem.tensors();
  ASSERT_EQ(specs.size(), 8u);
  EXPECT_EQ(specs[3].shape, (Shape{3, 5}));
  EXPECT_EQ(specs[4].dtype, Dtype::i32);
  EXPECT_EQ(specs[5].shape, Shape{5});
  EXPECT_EQ(flops_of(problem), 14 * 15);
  EXPECT_EQ(bytes_of(problem), 2 * (2 * 15 + 2 * 8) + 4 * 8);
}

TEST(match_assignment, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& words, const std::string& sentence) {
    EXPECT_THROWS_SAYING(parse(words), BadArgument, sentence);
  };
  expect("m=3", "n is missing");
  expect("m=0 n=1", "m='0', needs 1 to");
  expect("m=65536 n=65536", "2147483647");
  expect("m=3 n=3 threshold=-0.1", "match_assignment: threshold=-0.1, needs a finite number of 0");
  expect("m=3 n=3 threshold=inf", "needs a finite number of 0 or more");
}

TEST(match_assignment, three_launches_in_groups_of_16_items_or_more) {
  for (const Problem& problem : problems_of(proof_of(find_op("match_assignment")).cases, "f32")) {
    for (const int limit : {16, 64, 100, 1024}) {
      EXPECT_EQ(make_plan(problem, generic_device(), {"", limit}).launches.size(), 3u);
    }
  }
  DeviceInfo device = generic_device();
  device.max_work_group = 8;
  EXPECT_THROWS_SAYING(make_plan(parse("m=2 n=2"), device), Unsupported, "16 items share");
}

// ---- the reference ----

TEST(match_assignment, the_reference_takes_a_hand_made_example) {
  const Problem problem = parse("m=2 n=3 threshold=0.2");
  Tensors inputs = zeros(problem);
  // Row 0 has column 2, with exp(score) 0.5 of the row, 0.8 of the column and 0.25 of two
  // certainties; row 1 has column 0, whose 0.25 * 0.5 * 0.25 are under the threshold.
  inputs.at("sim").set(2, std::log(4.0));
  const auto right = reference(problem, inputs);
  const double p = 4.0 / 6 * 4 / 5 / 4;
  EXPECT_NEAR(right.at("scores").value[2], std::log(p), 1e-7);
  EXPECT_NEAR(right.at("scores").value[3], std::log(1.0 / 3 / 2 / 4), 1e-7);
  EXPECT_EQ(right.at("m0").value[0], p > 0.2 ? 2 : -1);
  EXPECT_NEAR(right.at("s0").value[0], p, 1e-7);
  EXPECT_NEAR(right.at("s1").value[2], p, 1e-7);
  EXPECT_EQ(right.at("m1").value[2], right.at("m0").value[0] < 0 ? -1 : 0);
  // Columns 0 and 1 are equal: row 1's best is 0, and column 0's best is row 1.
  const auto lowest = reference(problem, inputs, Check::exact);
  EXPECT_EQ(lowest.at("m0").value[1], -1);
  EXPECT_NEAR(lowest.at("s0").value[1], 1.0 / 24, 1e-7) << "mutual, but under the threshold";
  EXPECT_NEAR(lowest.at("s1").value[0], 1.0 / 24, 1e-7);
  EXPECT_EQ(lowest.at("s1").value[1], 0) << "not mutual";
}

TEST(match_assignment, an_index_is_right_where_its_score_is_within_both_errors_of_the_best) {
  const Problem problem = parse("m=1 n=4 threshold=0");
  Tensors inputs = zeros(problem);
  inputs.at("sim").set(1, 3);
  inputs.at("sim").set(2, 3 - 1e-7);
  const Reference right = reference(problem, inputs);
  Tensors outputs = test::rounded(problem, right);
  ASSERT_TRUE(passes(right, outputs));
  // Column 1 or 2 may be the row's match, 0 and 3 may not, nor may there be none.
  for (const int match : {-1, 0, 1, 2, 3}) {
    outputs.at("m0").set(0, match);
    EXPECT_EQ(passes(right, outputs), match == 1 || match == 2) << match;
  }
  const Reference exact = reference(problem, inputs, Check::exact);
  for (const int match : {-1, 0, 1, 2, 3}) {
    outputs.at("m0").set(0, match);
    EXPECT_EQ(passes(exact, outputs), match == 1) << match;
  }
}

TEST(match_assignment, a_match_may_be_there_or_not_where_its_score_is_at_the_threshold) {
  Problem problem = parse("m=1 n=1 threshold=0.25");
  const Tensors inputs = zeros(problem);
  Reference right = reference(problem, inputs);
  Tensors outputs = test::rounded(problem, right);
  for (const int match : {-1, 0, 1}) {
    outputs.at("m0").set(0, match);
    EXPECT_EQ(passes(right, outputs), match < 1) << match;
  }
  for (const char* threshold : {"0.24", "0.26"}) {
    right = reference(problem.with("threshold", threshold), inputs);
    for (const int match : {-1, 0}) {
      outputs.at("m0").set(0, match);
      outputs.at("m1").set(0, match);
      EXPECT_EQ(passes(right, outputs), (match == 0) == (std::string(threshold) == "0.24"));
    }
  }
}

TEST(match_assignment, the_sets_have_matches_on_both_sides_of_the_threshold) {
  const Problem problem = parse("m=187 n=192");
  const Tensors inputs = make_inputs(problem, find_data_set(problem, "matched"), 1);
  const Reference right = reference(problem, inputs);
  int matches = 0, under = 0, none = 0;
  for (std::size_t i = 0; i < 187; ++i) {
    const bool match = right.at("m0").value[i] >= 0;
    matches += match;
    under += !match && right.at("s0").value[i] > 0;
    none += right.at("s0").value[i] == 0;
  }
  EXPECT_GT(matches, 50);
  EXPECT_GT(under, 10);
  EXPECT_GT(none, 10);
}

// ---- kernels ----

using match_assignment_device = test::OpDevice;
class match_assignment_broken : public test::OpDevice {};

TEST_F(match_assignment_device, matches_of_rows_and_columns_agree_and_repeat) {
  for (const std::string& dtype : dtypes()) {
    const Problem problem = OpDevice::parse("match_assignment m=187 n=192", dtype);
    const Tensors inputs = make_inputs(problem, find_data_set(problem, "matched"), test::seed());
    for_each_variant(problem, 0, [&](Trial& trial) {
      const Tensors outputs = run(trial, inputs);
      for (const auto& [mine, theirs] : {std::pair{"0", "1"}, std::pair{"1", "0"}}) {
        const HostTensor& match = outputs.at(std::string("m") + mine);
        for (std::int64_t i = 0; i < match.size(); ++i) {
          const auto other = static_cast<std::int64_t>(match.get(i));
          if (other < 0) continue;
          EXPECT_EQ(outputs.at(std::string("m") + theirs).get(other), static_cast<double>(i));
          EXPECT_EQ(outputs.at(std::string("s") + mine).bits(i),
                    outputs.at(std::string("s") + theirs).bits(other));
        }
      }
      const Tensors again = run(trial, inputs);
      for (const auto& [name, tensor] : outputs) EXPECT_TRUE(tensor == again.at(name)) << name;
    });
  }
}

TEST_F(match_assignment_device, what_is_not_finite_stays_in_its_row_and_column) {
  for (const std::string& dtype : dtypes()) {
    const Problem problem = OpDevice::parse("match_assignment m=21 n=37", dtype);
    for (const double special : {kNan, kInfinity, -kInfinity}) {
      Tensors inputs = make_inputs(problem, find_data_set(problem, "matched"), test::seed());
      inputs.at("sim").set(0, special);
      inputs.at("sim").set(4 * 37 + 9, special);
      expect_like_reference(problem, inputs);
    }
  }
}

TEST_F(match_assignment_broken, broken_kernels_are_caught) {
  const char *scores = "match_assignment_scores", *line = "match_assignment m=33 n=63";
  const test::KernelFault faults[] = {
      {"of equal scores the highest lane's", "min(lowest, select((int4)(NO_INDEX)",
       "max(i == 0 ? (int4)(0) : lowest, select((int4)(0)", line, scores, "ties"},
      {"of equal scores a lane's last column", "index = s > most", "index = s >= most", line,
       scores, "echoes"},
      {"of equal scores a lane's last row", "row = s > most", "row = s >= most", line, scores,
       "echoes"},
      {"rows are statistics of columns", "(of_rows ? rows : columns)[own]", "rows[own]",
       "match_assignment m=33 n=33", scores, "zero_mean"},
      {"no certainty", "agreed.y - certain", "agreed.y", line, scores, "zero_mean"},
      {"the last trip is left out", "begin < length", "begin + 4 * lanes < length", line, scores,
       "zero_mean"},
      {"what is behind the end counts", "i < (int4)(length));", "(int4)(-1));", line, scores,
       "zero_mean"},
      {"the sum is not brought down", "fma(sum, exp_one(m - higher), ", "(sum + ",
       "match_assignment m=257 n=31", scores, "matched"},
      {"sums of other maxima", "own.y * exp_one(own.x - m)", "own.y", line, scores, "matched"},
      {"the maximum is added to the sum", "(sim - row.x) - row.y", "sim - (row.x + row.y)", line,
       scores, "spread"},
      {"any best is a match", "best[row] == column", "row >= 0", line, scores, "matched"},
      {"the threshold is forgotten", "s > threshold", "s > 0.0f", line, scores, "zero_mean"},
      {"the threshold counts as over it", "const int kept = s > threshold",
       "const int kept = s > 2.0f * threshold", line, scores, "matched"},
      {"a score under the threshold is 0", "s0[row] = (T)s;", "s0[row] = kept ? (T)s : (T)0;", line,
       scores, "zero_mean"},
      {"rows without a match are not written", "  m0[row] = -1;\n", "", line, scores, "matched"},
      {"the last column is left out", "const int end = column < n ? m : 0;",
       "const int end = column + 1 < n ? m : 0;", line, scores, "matched"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("match_assignment.cl", fault);
}

// ---- for the tests of every op ----

const test::GroupSizes groups("match_assignment", 16, test::Bits::follow_group,
                              {"m=33 n=70", "m=187 n=192"});

std::string random_case(Random& random) {
  return fmt::format("match_assignment m={} n={} threshold={}", random.integer(1, 90),
                     random.integer(1, 90), random.integer(0, 9) / 10.0);
}

const test::RandomProblems random_problems("match_assignment", 6, random_case);

}  // namespace
}  // namespace clam::match_assignment_test
