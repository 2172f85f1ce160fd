// SPDX-License-Identifier: MIT
// multibox_transform_loc_test.cpp - problems, plans, references and kernels of
// multibox_transform_loc.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "clam/planner.hpp"
#include "every_op.hpp"
#include "op_device.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace clam::multibox_transform_loc_test {
namespace {

constexpr const char* kTwo = "multibox_transform_loc_two";

const Op& op() { return find_op("multibox_transform_loc"); }

Problem problem_of(const std::string& words, const std::string& dtype = "f32") {
  return Problem::parse("multibox_transform_loc " + words + " dtype=" + dtype);
}

Reference reference(const Problem& problem, const Tensors& inputs) {
  return reference_of(problem, inputs, {Check::hard});
}

double valid_anchors(const Problem& problem, const char* set, int item = 0) {
  const Tensors inputs = make_inputs(problem, find_data_set(op(), set), test::seed());
  return reference(problem, inputs).at("count").exact.get(item);
}

// ---- the problem and its plan ----

TEST(multibox_transform_loc, defaults_are_those_of_mxnet) {
  const Problem problem = problem_of("classes=21 n=8732");
  EXPECT_EQ(problem.text(), "multibox_transform_loc classes=21 n=8732 dtype=f32");
  EXPECT_EQ(problem.integer("clip"), 1);
  EXPECT_EQ(problem.number("threshold"), 0.01f);
  EXPECT_EQ(problem.numbers("variances"), (std::vector<float>{0.1f, 0.1f, 0.2f, 0.2f}));
  EXPECT_EQ(problem.tensors()[1].shape, (Shape{1, 4 * 8732}));
}

TEST(multibox_transform_loc, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& words, const std::string& sentence,
                         const char* dtype = "f32") {
    EXPECT_THROWS_SAYING(problem_of(words, dtype), BadArgument, sentence);
  };
  expect("classes=3", "n is missing");
  expect("classes=1 n=5", "classes=1, needs 2 to 16777216, of which the first is the background");
  expect("classes=2050 n=5", "classes=2050, needs 2 to 2049", "f16");
  expect("classes=3 n=5 clip=2", "clip='2', needs 0 to 1");
  expect("classes=3 n=5 variances=1x2", "variances=1x2, needs four finite numbers");
  expect("classes=3 n=5 threshold=nan", "threshold='nan', needs a number");
  expect("classes=21 n=40000000", "over the limit of 2147483647");
  expect("batch=3 classes=2 n=2147483647", "2147483647");
}

TEST(multibox_transform_loc, groups_are_legal_and_bounded) {
  const auto items = [](int bound, const DeviceInfo& device) {
    const Plan plan = make_plan(problem_of("classes=3 n=1000"), device, {"", bound});
    EXPECT_EQ(plan.launches[0].local, plan.launches[1].local);
    EXPECT_EQ(plan.buffer("counts")->bytes,
              4 * plan.launches[0].global[0] / plan.launches[0].local[0]);
    return plan.launches[0].local[0];
  };
  EXPECT_EQ(items(0, generic_device()), 64);
  EXPECT_EQ(items(1000, generic_device()), 256);
  EXPECT_EQ(items(31, generic_device()), 16);
  DeviceInfo tiny = generic_device();
  tiny.max_work_group = 8;
  EXPECT_THROWS_SAYING(make_plan(problem_of("classes=3 n=5"), tiny), Unsupported,
                       "the device has no work-groups of 16 work-items");
}

// ---- data and reference ----

TEST(multibox_transform_loc, data_sets_hold_what_they_promise) {
  const Problem problem = problem_of("batch=3 classes=5 n=5000");
  EXPECT_EQ(valid_anchors(problem, "none"), 0);
  EXPECT_EQ(valid_anchors(problem, "every"), 5000);
  for (int item = 0; item < 3; ++item) {
    EXPECT_NEAR(valid_anchors(problem, "mixed", item), 5000 * 0.3 * (1 + item), 200);
  }
  const double special = valid_anchors(problem, "special");
  EXPECT_GT(special, 1000);
  EXPECT_LT(special, 5000);
}

TEST(multibox_transform_loc, the_reference_takes_a_hand_made_example) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Problem problem = problem_of("classes=3 n=6 threshold=0.25");
  Tensors inputs = make_inputs(problem, find_data_set(op(), "none"), 1);
  const double scores[3][6] = {{9, 9, 9, 9, 9, 9},
                               {0.25, 0.5, NAN, 0.125, NAN, -kInfinity},
                               {0.2, 0.5, 0.75, 0.2, NAN, kInfinity}};
  for (int i = 0; i < 18; ++i) inputs.at("cls_prob").set(i, scores[i / 6][i % 6]);
  const double anchor[] = {0.25, 0.25, 0.5, 0.75}, offsets[] = {1, -1, 0, 20};
  for (int i = 0; i < 24; ++i) {
    inputs.at("anchors").set(i, anchor[i % 4]);
    inputs.at("loc").set(i, offsets[i % 4]);
  }
  const Reference result = reference(problem, inputs);
  EXPECT_EQ(result.at("count").exact.get(0), 4);
  const Expected& out = result.at("out");
  const double labels[] = {0, 0.25, 0, 0.5, 1, 0.75, 1, kInfinity};
  const double box[] = {0.275, 0, 0.525, 1};  // centre (0.4, 0.45), half (0.125, over 13)
  for (std::size_t row = 0; row < 4; ++row) {
    EXPECT_EQ(out.value[6 * row], labels[2 * row]);
    EXPECT_EQ(out.value[6 * row + 1], labels[2 * row + 1]);
    for (std::size_t j = 0; j < 4; ++j) {
      EXPECT_NEAR(out.value[6 * row + 2 + j], box[j], 1e-6);
      EXPECT_LT(out.bound[6 * row + 2 + j], 1e-6);
    }
    EXPECT_EQ(out.bound[6 * row + 5], 0) << "far over 1 is clipped whatever its error";
  }
  for (std::size_t i = 24; i < 36; ++i) EXPECT_EQ(out.value[i], -1);
}

TEST(multibox_transform_loc, scores_of_minus_one_and_less_are_no_class) {
  const Problem problem = problem_of("classes=2 n=3 threshold=-inf");
  Tensors inputs = make_inputs(problem, find_data_set(op(), "none"), 1);
  const double scores[] = {0, 0, 0, -1, -0.5, -2};
  for (int i = 0; i < 6; ++i) inputs.at("cls_prob").set(i, scores[i]);
  EXPECT_EQ(reference(problem, inputs).at("count").exact.get(0), 1);
}

// ---- on a device ----

using multibox_transform_loc_device = test::OpDevice;
class multibox_transform_loc_broken : public test::OpDevice {};

TEST_F(multibox_transform_loc_device, a_hundred_runs_give_the_same_bits) {
  const Problem problem = problem_of("classes=21 n=6132");
  Trial trial(test::runtime(), problem);
  const Tensors inputs = make_inputs(problem, find_data_set(op(), "mixed"), test::seed());
  const Tensors first = run(trial, inputs);
  for (int i = 0; i < 100; ++i) {
    trial.run(1);
    const Tensors again = trial.download();
    for (const auto& [name, tensor] : first) ASSERT_TRUE(tensor == again.at(name)) << name;
  }
}

TEST_F(multibox_transform_loc_device, batch_items_have_counts_of_their_own) {
  const Problem problem = problem_of("batch=3 classes=5 n=1000");
  Trial trial(test::runtime(), problem);
  const Tensors inputs = make_inputs(problem, find_data_set(op(), "mixed"), test::seed());
  const HostTensor count = run(trial, inputs).at("count");
  EXPECT_EQ((std::set<double>{count.get(0), count.get(1), count.get(2)}.size()), 3u);
}

TEST_F(multibox_transform_loc_broken, broken_kernels_are_caught) {
  const char *line = "multibox_transform_loc batch=2 classes=5 n=1000",
             *open = "multibox_transform_loc classes=5 n=300 clip=0";
  const test::KernelFault faults[] = {
      {"the last of equals", "score > most &&", "score >= most &&", line, kTwo, "special"},
      {"a NaN is the best", " && score <= INFINITE", "", line, kTwo, "special"},
      {"the threshold is left out", "most >= order(threshold)", "most > order(threshold)", line,
       kTwo, "special"},
      {"-1 is a class", "most = order(-1.0f)", "most = order(-1.5f)",
       "multibox_transform_loc classes=2 n=300 threshold=-3", kTwo, "special"},
      {"the background is a class", "(batch * classes + 1) * n + min", "batch * classes * n + min",
       line, kTwo, "mixed"},
      {"the last class is left out", "c < classes; ++c", "c < classes - 1; ++c", line, kTwo,
       "mixed"},
      {"the item's own flag is counted", "(1u << 8 * (lane % 4)) - 1", "(1u << 8 * (lane % 4)) | 1",
       line, kTwo, "mixed"},
      {"words before its own are left out", "i < lane / 4 ?", "i + 1 < lane / 4 ?", line, kTwo,
       "mixed"},
      {"the group counts itself", "g < group ?", "g <= group ?", line, kTwo, "mixed"},
      {"a group's last anchor is not counted", "= before + valid;", "= before;", line, kTwo,
       "every"},
      {"rows are not filled", "if (i >= sum.y &&", "if (i > sum.y &&", line, kTwo, "mixed"},
      {"the count is not written", "if (i == 0) count[batch] = sum.y;", ";", line, kTwo, "mixed"},
      {"the class with the background", "(float)(found - 1)", "(float)found", line, kTwo, "mixed"},
      {"the score of another anchor", "+ found) * n + anchor]", "+ found) * n + place]", line, kTwo,
       "mixed"},
      {"the boxes of the first image", "load4(loc, batch * n + anchor)", "load4(loc, anchor)", line,
       kTwo, "mixed"},
      {"not clipped below", "fmax(box, (float4)(0.0f))", "box", line, kTwo, "mixed"},
      {"clipped though not asked", "if (clip) box", "box", open, kTwo, "mixed"},
      {"the corner for the centre", "(corners.lo + corners.hi) * 0.5f", "corners.lo", open, kTwo,
       "mixed"},
      {"variances the wrong way round", "exp(p.hi * variances.hi)", "exp(p.hi * variances.lo)",
       open, kTwo, "mixed"},
      {"an exponential of 18 bits", "exp(p.hi * variances.hi)",
       "(1.0f + 0x1p-18f) * exp(p.hi * variances.hi)", open, kTwo, "mixed"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("multibox_transform_loc.cl", fault);
}

// ---- for the tests of every op ----

const test::GroupSizes groups("multibox_transform_loc", 16, test::Bits::same,
                              {"batch=3 classes=5 n=1000"});

std::string random_case(Random& random) {
  return fmt::format("multibox_transform_loc batch={} classes={} n={} threshold={:.3f} clip={}",
                     random.integer(1, 3), random.integer(2, 40), random.integer(1, 700),
                     random.uniform(), random.integer(0, 1));
}

const test::RandomProblems random_problems("multibox_transform_loc", 15, random_case);

}  // namespace
}  // namespace clam::multibox_transform_loc_test
