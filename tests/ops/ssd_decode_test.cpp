// SPDX-License-Identifier: MIT
// ssd_decode_test.cpp - problems, plans, references and kernels of ssd_decode.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "clam/planner.hpp"
#include "every_op.hpp"
#include "faults.hpp"
#include "op_device.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace clam::ssd_decode_test {
namespace {

constexpr const char* kVoc = "ssd_decode classes=21 n=6132";

Problem parse(const std::string& line, const std::string& dtype = "f32") {
  return Problem::parse(line + " dtype=" + dtype);
}

Tensors inputs_of(const Problem& problem, const char* set) {
  return make_inputs(problem, find_data_set(problem, set), test::seed());
}

Expected reference(const Problem& problem, const Tensors& inputs) {
  return reference_of(problem, inputs, {Check::hard}).at("data");
}

// ---- the problem and its plan ----

TEST(ssd_decode, defaults_are_those_of_gluoncv) {
  const Problem problem = Problem::parse("ssd_decode classes=21 n=6132 dtype=f32");
  EXPECT_EQ(problem.text(), "ssd_decode classes=21 n=6132 dtype=f32");
  EXPECT_EQ(problem.number("threshold"), 0.01f);
  EXPECT_EQ(problem.numbers("variances"), (std::vector<float>{0.1f, 0.1f, 0.2f, 0.2f}));
  EXPECT_EQ(problem.tensors().back().shape, (Shape{1, 122640, 6}));
}

TEST(ssd_decode, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& line, const std::string& words) {
    EXPECT_THROWS_SAYING(Problem::parse(line), BadArgument, words);
  };
  expect("ssd_decode n=5 dtype=f32", "classes is missing");
  expect("ssd_decode classes=1 n=5 dtype=f32", "classes=1, needs 2 to 16777216, of which");
  expect("ssd_decode classes=2050 n=5 dtype=f16", "classes=2050, needs 2 to 2049, of which");
  expect("ssd_decode classes=3 n=5 dtype=f32 variances=0.1", "variances=0.1, needs four finite");
  expect("ssd_decode classes=3 n=5 dtype=f32 variances=1x1x1xinf", "needs four finite numbers");
  expect("ssd_decode classes=3 n=5 dtype=f32 variances=1x1xax1", "needs a number, inf or -inf");
  expect("ssd_decode classes=3 n=5 dtype=f32 variances=1xx1", "needs a number, inf or -inf");
  expect("ssd_decode classes=3 n=5 dtype=f32 variances=1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1",
         "needs 1 to 16 numbers");
  expect("ssd_decode classes=3 n=5 dtype=f32 threshold=nan", "threshold='nan'");
  expect("ssd_decode classes=21 n=5 dtype=f32 ldcls=20",
         "ldcls=20, is under the 21 elements of a row");
  expect("ssd_decode classes=21 n=5 dtype=f32 ldbox=3",
         "ldbox=3, is under the 4 elements of a row");
  expect("ssd_decode classes=21 n=5 dtype=f32 offbox=-1", "offbox='-1', needs 0");
  expect("ssd_decode classes=21 n=6000000 dtype=f32", "over the limit of 2147483647");
  expect("ssd_decode batch=2147483647 classes=16777216 n=2147483647 dtype=f32", "2147483647");
}

/// Boxes are loaded as vectors where each begins at one.
TEST(ssd_decode, joined_heads_are_read_where_they_lie) {
  const auto is_loose = [](const std::string& places) {
    const Plan plan = make_plan(parse(std::string(kVoc) + places), generic_device());
    return plan.launches[0].options.find("SSD_DECODE_UNIT=1") != std::string::npos;
  };
  EXPECT_FALSE(is_loose(""));
  EXPECT_FALSE(is_loose(" ldcls=21 ldbox=4"));
  EXPECT_FALSE(is_loose(" ldcls=28 ldbox=28 offbox=24"));
  EXPECT_TRUE(is_loose(" ldcls=25 ldbox=25 offbox=20"));
  EXPECT_TRUE(is_loose(" ldcls=28 ldbox=28 offbox=21"));
  const Problem joined = parse(std::string(kVoc) + " ldcls=25 ldbox=25 offbox=21");
  EXPECT_EQ(joined.tensors()[1].strides, (std::vector<std::int64_t>{6132 * 25, 25, 1}));
  EXPECT_EQ(joined.tensors()[1].offset, 21);
  EXPECT_EQ(parse(std::string(kVoc) + " ldcls=21 ldbox=4").text(), parse(kVoc).text());
}

TEST(ssd_decode, groups_are_legal_and_bounded) {
  const auto anchors = [](int bound, const DeviceInfo& device) {
    return make_plan(parse(kVoc), device, {"", bound}).launches[0].local[1];
  };
  const DeviceInfo device = generic_device();
  EXPECT_EQ(anchors(0, device), 16);
  EXPECT_EQ(anchors(256, device), 64);
  EXPECT_EQ(anchors(1000, device), 64);
  EXPECT_EQ(anchors(31, device), 4);
  EXPECT_EQ(anchors(1, device), 1);
  DeviceInfo tiny = device;
  tiny.max_work_group = 3;
  EXPECT_THROWS_SAYING(make_plan(parse(kVoc), tiny), Unsupported, "a group has at most 3");
}

// ---- the reference ----

/// One anchor in the middle of a unit square, three classes.
Tensors by_hand(const std::vector<double>& scores, const std::vector<double>& offsets) {
  Tensors inputs = inputs_of(parse("ssd_decode classes=3 n=1"), "zero_mean");
  const double anchor[] = {0.5, 0.5, 0.2, 0.4};
  for (int i = 0; i < 3; ++i) inputs.at("cls").set(i, scores[static_cast<std::size_t>(i)]);
  for (int i = 0; i < 4; ++i) inputs.at("box").set(i, offsets[static_cast<std::size_t>(i)]);
  for (int i = 0; i < 4; ++i) inputs.at("anchors").set(i, anchor[i]);
  return inputs;
}

TEST(ssd_decode, the_reference_takes_a_hand_made_example) {
  const Problem problem = parse("ssd_decode classes=3 n=1 threshold=0.2");
  const Expected data =
      reference(problem, by_hand({std::log(7), std::log(1), std::log(2)}, {1, -1, 5, 0}));
  const double half = std::exp(1) * 0.1;
  const double wanted[] = {-1, 0,   0.52 - half, 0.26, 0.52 + half, 0.66,   // class 1: 0.1
                           -1, 0.2, 0.52 - half, 0.26, 0.52 + half, 0.66};  // class 2: 0.2
  for (std::size_t i = 0; i < 12; ++i) {
    if (i == 6 || i == 7) continue;
    EXPECT_NEAR(data.value[i], wanted[i], 1e-6) << i;
    EXPECT_LT(data.bound[i], 1e-6) << i;
    EXPECT_TRUE(std::isnan(data.other[i])) << i;
  }
  // 0.2 is the threshold: rounding decides.
  EXPECT_EQ(std::max(data.value[6], data.other[6]), 1);
  EXPECT_EQ(std::min(data.value[6], data.other[6]), -1);
  EXPECT_NEAR(std::max(data.value[7], data.other[7]), 0.2, 1e-6);
  EXPECT_EQ(std::min(data.value[7], data.other[7]), 0);
}

/// A device whose every operation is off by all that OpenCL allows it, in the worst direction.
TEST(ssd_decode, scores_are_bounded_by_what_a_device_may_do) {
  constexpr double u = 0x1p-24;
  const auto exponential = [](double x, int side) {  // of x <= 0, too large or too small
    const double log2_e = side > 0 ? 1.44269504f : 1.4426950408889634;
    return std::exp2(x * (1 - side * u) * log2_e * (1 - side * u)) * (1 + side * 6 * u);
  };
  const Problem problem = parse("ssd_decode classes=3 n=1 threshold=0");
  for (const double d : {0.0, 0.5, 5.0, 50.0}) {
    const Expected data = reference(problem, by_hand({0, -d, -d}, {0, 0, 0, 0}));
    EXPECT_NEAR(data.value[1], std::exp(-d) / (1 + 2 * std::exp(-d)), 1e-15);
    // Each of the four items has at most one score: two additions after another.
    const double sum = (exponential(0, -1) + 2 * exponential(-d, -1)) * (1 - u) * (1 - u);
    const double score = exponential(-d, 1) / sum * (1 + 5 * u) * (1 + u);
    const double ratio = std::fabs(score - data.value[1]) / data.bound[1];
    EXPECT_LE(ratio, 1) << d;
    EXPECT_GT(ratio, 0.95) << d << ": the bound is no looser than it must be";
  }
}

TEST(ssd_decode, a_row_at_the_threshold_is_one_of_two) {
  const Problem problem = parse("ssd_decode classes=3 n=1 threshold=0.2");
  const Expected data =
      reference(problem, by_hand({std::log(7), std::log(1), std::log(2)}, {1, -1, 5, 0}));
  HostTensor y = test::rounded(data, Dtype::f32, {1, 2, 6});
  const auto passes = [&](double id, double score) {
    y.set(6, id);
    y.set(7, score);
    return compare(y, data).pass;
  };
  EXPECT_TRUE(passes(1, 0.2));
  EXPECT_TRUE(passes(-1, 0));
  EXPECT_FALSE(passes(1, 0)) << "a class without a score";
  EXPECT_FALSE(passes(-1, 0.2)) << "a score without a class";
}

TEST(ssd_decode, what_is_no_number_has_no_class) {
  const Problem problem = parse("ssd_decode classes=3 n=1");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double score : {kInfinity, std::nan("")}) {
    const Expected data = reference(problem, by_hand({0, score, 1}, {0, 0, 0, 0}));
    for (const std::size_t row : {0, 6}) {
      EXPECT_EQ(data.value[row], -1);
      EXPECT_EQ(data.value[row + 1], 0);
      EXPECT_NEAR(data.value[row + 2], 0.4, 1e-6) << "the box is written";
    }
  }
  const Expected data = reference(problem, by_hand({0, -kInfinity, 1}, {0, 0, 0, 0}));
  EXPECT_EQ(data.value[0], -1);
  EXPECT_EQ(data.value[6], 1);
}

TEST(ssd_decode, rows_near_the_threshold_are_few_but_where_they_are_meant) {
  const Problem problem = parse("ssd_decode classes=21 n=1000");
  const auto undecided = [&](const char* set) {
    const Expected data = reference(problem, inputs_of(problem, set));
    return std::count_if(data.other.begin(), data.other.end(),
                         [](double other) { return !std::isnan(other); });
  };
  EXPECT_LT(undecided("zero_mean"), 10);
  EXPECT_LT(undecided("detector"), 10);
  EXPECT_GT(undecided("threshold"), 1000);
}

TEST(ssd_decode, rows_in_the_order_of_anchors_are_caught) {
  for (const char* dtype : {"f32", "f16"}) {
    const Problem problem = parse("ssd_decode batch=2 classes=5 n=33", dtype);
    const Expected data = reference(problem, inputs_of(problem, "zero_mean"));
    const HostTensor y = test::rounded(data, problem.dtype(), {2, 132, 6});
    const auto anchor_major = [](std::int64_t i) {
      const std::int64_t row = i / 6 % 132;
      return i + 6 * (row % 33 * 4 + row / 33 - row);
    };
    EXPECT_FALSE(compare(test::moved(y, anchor_major), data).pass);
  }
}

// ---- on a device ----

class ssd_decode_broken : public test::OpDevice {};

TEST_F(ssd_decode_broken, broken_kernels_are_caught) {
  const char* rows = "ssd_decode_rows";
  const char* small = "ssd_decode batch=2 classes=21 n=33";
  const char* joined = "ssd_decode batch=2 classes=21 n=33 ldcls=25 ldbox=25 offbox=21";
  const test::KernelFault faults[] = {
      {"the background has rows", "id + 1, (uint)classes", "id, (uint)classes", small, rows,
       "detector"},
      {"the maximum is not subtracted", "exp2((load_score(cls, first, c) - m) * LOG2_E)",
       "exp2(load_score(cls, first, c) * LOG2_E)", small, rows, "spread"},
      {"each score multiplied before the difference", "(load_score(cls, first, c) - m) * LOG2_E",
       "(load_score(cls, first, c) - m + 1024.0f) * LOG2_E - 1024.0f * LOG2_E", small, rows,
       "zero_mean"},
      {"the last class twice in the sum", "c < classes ? e : 0.0f", "e", small, rows, "zero_mean"},
      {"the sum of one lane", "s.x + s.y + (s.z + s.w)", "4.0f * s.x", small, rows, "zero_mean"},
      {"the anchors of a group share a sum", "return partials[anchor];", "return partials[0];",
       small, rows, "zero_mean"},
      {"the last row is left out", "if (id < (uint)classes - 1 &&", "if (id + 2 < (uint)classes &&",
       small, rows, "zero_mean"},
      {"early return", "get_global_id(1) < (uint)n", "get_global_id(1) + 1 < (uint)n", small, rows,
       "zero_mean"},
      {"score without a class", "(float2)(-1.0f, 0.0f)", "(float2)(-1.0f, score)", small, rows,
       "detector"},
      {"no threshold", "score > threshold ?", "score >= 0.0f ?", small, rows, "detector"},
      {"at the threshold", "score > threshold ?", "score >= threshold ?",
       "ssd_decode batch=2 classes=7 n=65 threshold=0", rows, "special"},
      {"rows in the order of anchors", "row + id * n", "row - anchor + anchor * (classes - 1) + id",
       small, rows, "detector"},
      {"the boxes of the first image", "place * box_ld + box_offset",
       "anchor * box_ld + box_offset", small, rows, "detector"},
      {"the scores as if they were alone", "place * cls_ld + cls_offset",
       "place * classes + cls_offset", joined, rows, "zero_mean"},
      {"the boxes as if they were alone", "place * box_ld + box_offset", "place * 4 + box_offset",
       joined, rows, "zero_mean"},
      {"the boxes from the first score on", "place * box_ld + box_offset", "place * box_ld", joined,
       rows, "zero_mean"},
      {"the scores from the first element on", "place * cls_ld + cls_offset", "place * cls_ld",
       "ssd_decode batch=2 classes=4 n=17 ldcls=9 offcls=3", rows, "zero_mean"},
      {"whole sizes for halves", "* size * 0.5f", "* size", small, rows, "detector"},
      {"variances the wrong way round", "exp(p.hi * variances.hi)", "exp(p.hi * variances.lo)",
       small, rows, "detector"},
      {"an exponential of 18 bits", "exp(p.hi * variances.hi)",
       "(1.0f + 0x1p-18f) * exp(p.hi * variances.hi)", small, rows, "detector"},
      {"a class by its number", "(float2)((float)id, score)", "(float2)((float)(id + 1), score)",
       small, rows, "zero_mean"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("ssd_decode.cl", fault);
}

// ---- for the tests of every op ----

const test::GroupSizes groups("ssd_decode", 4, test::Bits::same, {"batch=2 classes=21 n=131"});

std::string random_case(Random& random) {
  const int classes = random.integer(2, 40);
  std::string line =
      fmt::format("ssd_decode batch={} classes={} n={} threshold={:.3f}", random.integer(1, 3),
                  classes, random.integer(1, 300), random.uniform() / 4);
  if (random.integer(0, 1) == 0) return line;
  return line + fmt::format(" ldcls={} ldbox={} offcls={} offbox={}",
                            classes + random.integer(0, 9), 4 + random.integer(0, 9),
                            random.integer(0, 9), random.integer(0, 9));
}

const test::RandomProblems random_problems("ssd_decode", 20, random_case);

}  // namespace
}  // namespace clam::ssd_decode_test
