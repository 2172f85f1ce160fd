// SPDX-License-Identifier: MIT
// multibox_prior_test.cpp - problems, plans, references and kernels of multibox_prior.
#include <gtest/gtest.h>

#include "clam/planner.hpp"
#include "every_op.hpp"
#include "op_device.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace clam::multibox_prior_test {
namespace {

Problem parse(const std::string& line, const std::string& dtype = "f32") {
  return Problem::parse(line + " dtype=" + dtype);
}

Expected reference(const Problem& problem) {
  return reference_of(problem, {}, {Check::hard}).at("anchors");
}

// ---- the problem and its plan ----

TEST(multibox_prior, defaults_are_those_of_mxnet) {
  const Problem problem = parse("multibox_prior h=2 w=3");
  EXPECT_EQ(problem.text(), "multibox_prior h=2 w=3 dtype=f32");
  EXPECT_EQ(problem.numbers("sizes"), std::vector<float>{1});
  EXPECT_EQ(problem.numbers("steps"), (std::vector<float>{-1, -1}));
  EXPECT_EQ(problem.numbers("offsets"), (std::vector<float>{0.5f, 0.5f}));
  const Problem boxes = parse("multibox_prior h=2 w=3 sizes=0.20x3e-1 ratios=1x2.0x.5 clip=1");
  EXPECT_EQ(boxes.text(), "multibox_prior h=2 w=3 dtype=f32 sizes=0.2x0.3 ratios=1x2x0.5 clip=1");
  EXPECT_EQ(boxes.tensors()[0].shape, (Shape{1, 2 * 3 * 4, 4}));
}

TEST(multibox_prior, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& words, const std::string& sentence) {
    EXPECT_THROWS_SAYING(parse("multibox_prior " + words), BadArgument, sentence);
  };
  expect("w=3", "h is missing");
  expect("h=0 w=3", "h='0', needs 1 to");
  expect("h=2 w=3 sizes=0", "sizes=0, needs finite numbers above 0");
  expect("h=2 w=3 sizes=0.1xinf", "sizes=0.1xinf, needs finite numbers above 0");
  expect("h=2 w=3 sizes=", "sizes='', needs a number");
  expect("h=2 w=3 ratios=1x-2", "ratios=1x-2, needs finite numbers above 0");
  expect("h=2 w=3 ratios=1,2", "ratios='1,2', needs a number");
  expect("h=2 w=3 steps=0.1", "steps=0.1, needs two finite numbers, of y and x");
  expect("h=2 w=3 offsets=1x2x3", "offsets=1x2x3, needs two finite numbers, of y and x");
  expect("h=2 w=3 clip=2", "clip='2', needs 0 to 1");
  expect("h=65536 w=65536", "2147483647");
  // 29 boxes a cell come to 2^64 and a few: a product that has wrapped would look small.
  expect(
      "h=687101716 w=925764859 sizes=1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1 "
      "ratios=1x1x1x1x1x1x1x1x1x1x1x1x1x1",
      "2147483647");
  expect("h=8192 w=4096 sizes=1x2x3x4", "over the limit of 2147483647");
}

TEST(multibox_prior, lists_become_literals_without_spaces) {
  const Plan plan = make_plan(parse("multibox_prior h=1 w=2 sizes=1x0.272x1e-05 ratios=1x2", "f16"),
                              generic_device());
  EXPECT_EQ(plan.launches[0].options,
            "-DCLAM_F16 -DMULTIBOX_PRIOR_WG=64 -DMULTIBOX_PRIOR_SIZES=1.0f,0.272f,1e-05f "
            "-DMULTIBOX_PRIOR_RATIOS=1.0f,2.0f");
  EXPECT_EQ(plan.launches[0].global[0], 64);
}

TEST(multibox_prior, groups_are_legal_and_bounded) {
  const auto items = [](int bound, const DeviceInfo& device) {
    return make_plan(parse("multibox_prior h=1 w=2"), device, {"", bound}).launches[0].local[0];
  };
  EXPECT_EQ(items(0, generic_device()), 64);
  EXPECT_EQ(items(1000, generic_device()), 256);
  EXPECT_EQ(items(31, generic_device()), 16);
  DeviceInfo tiny = generic_device();
  tiny.max_work_group = 8;
  EXPECT_THROWS_SAYING(make_plan(parse("multibox_prior h=1 w=2"), tiny), Unsupported,
                       "the device has no work-groups of 16 work-items");
}

// ---- the reference ----

TEST(multibox_prior, the_reference_takes_a_hand_made_example) {
  const Expected anchors = reference(parse("multibox_prior h=1 w=2 sizes=0.4x0.6 ratios=3x4"));
  // Two cells of three boxes; the first ratio is not used; 1 / 2 is the map's height by its width.
  const double wanted[] = {0.25 - 0.1,  0.3, 0.25 + 0.1, 0.7, 0.25 - 0.15, 0.2,
                           0.25 + 0.15, 0.8, 0.25 - 0.2, 0.4, 0.25 + 0.2,  0.6};
  ASSERT_EQ(anchors.value.size(), 24u);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_NEAR(anchors.value[i], wanted[i], 1e-7) << i;
    EXPECT_NEAR(anchors.value[i + 12], wanted[i] + (i % 2 == 0 ? 0.5 : 0), 1e-7) << i;
    EXPECT_LT(anchors.bound[i], 1e-6) << i;
  }
}

TEST(multibox_prior, steps_offsets_and_clipping) {
  const Expected anchors =
      reference(parse("multibox_prior h=2 w=2 sizes=1 steps=0.25x0 offsets=0x1 clip=1"));
  const double last[] = {0.5, 0, 1, 0.75};  // centre (1, 0.25) of row 1, column 1
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(anchors.value[12 + i], last[i], 1e-7) << i;
  EXPECT_EQ(anchors.bound[14], 0) << "1.5 is clipped whatever its error";
}

// ---- on a device ----

class multibox_prior_broken : public test::OpDevice {};

TEST_F(multibox_prior_broken, broken_kernels_are_caught) {
  const char *boxes = "multibox_prior_boxes", *none = "none";
  const char* line = "multibox_prior h=4 w=33 sizes=0.2x0.272 ratios=3x2x0.5";
  const char* clipped = "multibox_prior h=4 w=5 sizes=1x2 ratios=1x2x0.5 clip=1";
  const test::KernelFault faults[] = {
      {"the first ratio is used", "k - SIZES + 1", "k - SIZES", line, boxes, none},
      {"a size has the first ratio", "is_size ? 1.0f : ratios", "is_size ? ratios[0] : ratios",
       line, boxes, none},
      {"a ratio has the last size", "is_size ? k : 0", "is_size ? k : SIZES - 1", line, boxes,
       none},
      {"the map is taken for a square", "(float)height / (float)width", "1.0f", line, boxes, none},
      {"a ratio for its root", "sqrt(ratio)", "ratio", line, boxes, none},
      {"whole sizes for halves", "* 0.5f", "* 1.0f", line, boxes, none},
      {"rows for columns", "((float)x + offset_x) * step_x", "((float)y + offset_x) * step_x", line,
       boxes, none},
      {"the last column is left out", "x >= (uint)width", "x + 1 >= (uint)width", line, boxes,
       none},
      {"not clipped above", "fmin(fmax(box, (float4)(0.0f)), (float4)(1.0f))",
       "fmax(box, (float4)(0.0f))", clipped, boxes, none},
      {"a root of 18 bits", "sqrt(ratio)", "(1.0f + 0x1p-18f) * sqrt(ratio)", line, boxes, none},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("multibox_prior.cl", fault);
}

// ---- for the tests of every op ----

const test::GroupSizes groups("multibox_prior", 16, test::Bits::same,
                              {"h=9 w=67 sizes=0.2x0.272 ratios=1x2x0.5"});

std::string random_case(Random& random) {
  return fmt::format(
      "multibox_prior h={} w={} sizes={:.3f}x{:.3f} ratios=1x{:.3f} offsets={:.3f}x{:.3f}",
      random.integer(1, 90), random.integer(1, 90), 0.01 + random.uniform(),
      0.01 + random.uniform(), 0.01 + 4 * random.uniform(), random.normal(), random.normal());
}

const test::RandomProblems random_problems("multibox_prior", 10, random_case);

}  // namespace
}  // namespace clam::multibox_prior_test
