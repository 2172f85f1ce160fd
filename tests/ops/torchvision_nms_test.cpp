// SPDX-License-Identifier: MIT
#include <cmath>

#include "check/op_proof.hpp"
#include "every_op.hpp"
#include "op_device.hpp"
#include "ops/shared/suppression.hpp"
#include "test_errors.hpp"

namespace clam::torchvision_nms_test {
namespace {

const Op& op() { return find_op("torchvision_nms"); }

Problem problem_of(const std::string& words) {
  return Problem::parse("torchvision_nms " + words + " dtype=f32");
}

TEST(torchvision_nms, bad_arguments_are_refused_with_their_reason) {
  EXPECT_THROWS_SAYING(problem_of("n=0"), BadArgument, "n='0', needs 1 to 2147483647");
  EXPECT_THROWS_SAYING(problem_of("n=5 iou_threshold=nan"), BadArgument, "needs a number");
  EXPECT_THROWS_SAYING(problem_of("n=5 top_k=3"), BadArgument, "top_k");
}

struct Box {
  double score, x0, y0, x1, y1;
};

/// The kept rows in order, as text.
std::string kept_rows(const std::string& words, const std::vector<Box>& boxes) {
  const auto n = static_cast<std::int64_t>(boxes.size());
  Tensors inputs{{"boxes", HostTensor(Dtype::f32, {n, 4})},
                 {"scores", HostTensor(Dtype::f32, {n})}};
  for (std::int64_t i = 0; i < n; ++i) {
    const Box& box = boxes[static_cast<std::size_t>(i)];
    const double corners[4] = {box.x0, box.y0, box.x1, box.y1};
    for (int k = 0; k < 4; ++k) inputs.at("boxes").set(4 * i + k, corners[k]);
    inputs.at("scores").set(i, box.score);
  }
  const Problem problem = problem_of("n=" + std::to_string(n) + " " + words);
  const Reference reference = reference_of(problem, inputs, {});
  const auto count = static_cast<std::int64_t>(reference.at("keep_count").exact.get(0));
  std::string text;
  for (std::int64_t i = 0; i < n; ++i) {
    const double row = reference.at("keep_rows").exact.get(i);
    if (i < count) {
      text += fmt::format("{} ", row);
    } else {
      EXPECT_EQ(row, -1) << i;
    }
  }
  return text;
}

TEST(torchvision_nms, the_reference_takes_hand_made_examples) {
  const std::vector<Box> half{{0.5, 0, 0, 1, 1}, {0.9, 0, 0, 2, 1}, {-3, 0, 0, 2, 1}};
  EXPECT_EQ(kept_rows("", half), "1 0 ") << "an overlap of exactly 1/2 does not kill";
  EXPECT_EQ(kept_rows("iou_threshold=0.49", half), "1 ");
  EXPECT_EQ(kept_rows("iou_threshold=1", half), "1 0 2 ") << "no score is too low";
  EXPECT_EQ(kept_rows("", {{0.5, 2, 0, 0, 1}, {0.9, 0, 0, 2, 1}, {0.4, 0, 1, 2, 0}}), "1 0 2 ")
      << "a box turned over overlaps nothing";
  EXPECT_EQ(kept_rows("", {{-INFINITY, 0, 0, 1, 1}, {NAN, 5, 5, 6, 6}}), "0 ");
  EXPECT_EQ(kept_rows("iou_threshold=0", {{1, 0, 0, 0, 5}, {1, 0, 0, 0, 5}}), "0 1 ")
      << "no area, so no overlap";
}

// ---- on a device ----

using torchvision_nms_device = test::OpDevice;
class torchvision_nms_broken : public test::OpDevice {};

TEST_F(torchvision_nms_device, all_boxes_of_ssd_with_no_limit) {
  const Problem problem = problem_of("n=122640 iou_threshold=0.45");
  const Verification result =
      verify(test::runtime(), problem, find_data_set(op(), "every"), test::seed());
  EXPECT_TRUE(result.pass()) << result.reason();
}

TEST_F(torchvision_nms_broken, broken_rules_are_caught) {
  const test::KernelFault core[] = {
      {"the rows are none", "count ? clamp(count[set], 0, n) : n",
       "count ? clamp(count[set], 0, n) : 0", "torchvision_nms n=200", "nms_one", "every"},
      {">= for >", "(a) > (b)", "(a) >= (b)", "torchvision_nms n=200", "nms_one", "boundary"},
      {"scores of boxes", "at += row * score_step;", "at += row * 4;", "torchvision_nms n=50",
       "nms_one", "every"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(core))
    expect_caught("nms.cl", fault);
  expect_caught("nms_output.cl",
                {"ranks for rows", "rows[b * top + kept[b * top + i]]", "kept[b * top + i]",
                 "torchvision_nms n=200", "nms_one", "every"});
}

// ---- for the tests of every op ----

const test::GroupSizes groups("torchvision_nms", 16, test::Bits::same, {"n=1100"});

std::string random_case(Random& random) {
  return fmt::format("torchvision_nms n={} iou_threshold={:.2f}", random.integer(1, 5000),
                     random.uniform());
}

const test::RandomProblems random_problems("torchvision_nms", 6, random_case);

}  // namespace
}  // namespace clam::torchvision_nms_test
