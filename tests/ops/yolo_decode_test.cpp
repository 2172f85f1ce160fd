// SPDX-License-Identifier: MIT
// yolo_decode_test.cpp - problems, plans, references and kernels of yolo_decode.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "clam/planner.hpp"
#include "every_op.hpp"
#include "faults.hpp"
#include "op_device.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace clam::yolo_decode_test {
namespace {

using Values = std::vector<double>;
constexpr double kU = 0x1p-24;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Problem parse(const std::string& words, const std::string& dtype = "f32") {
  return Problem::parse("yolo_decode " + words + " dtype=" + dtype);
}

Expected reference(const Problem& problem, const Tensors& inputs, bool denormals = true) {
  return reference_of(problem, inputs, {Check::hard, denormals}).at("data");
}

/// src as it is stored.
Expected of_values(const Problem& problem, const Values& src, bool denormals = true) {
  const TensorSpec spec = problem.tensors().front();
  Tensors inputs;
  HostTensor& tensor = inputs.emplace("src", HostTensor(spec.dtype, spec.shape)).first->second;
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, src.at(static_cast<std::size_t>(i)));
  return reference(problem, inputs, denormals);
}

// ---- the problem and its plan ----

TEST(yolo_decode, forms_have_their_own_shapes) {
  const Problem columns = parse("n=8400 classes=80"), rows = parse("n=25200 classes=80 form=v5");
  EXPECT_EQ(columns.text(), "yolo_decode n=8400 classes=80 dtype=f32");
  EXPECT_EQ(parse("form=v8 classes=80 n=8400").text(), columns.text());
  EXPECT_EQ(rows.text(), "yolo_decode n=25200 classes=80 dtype=f32 form=v5");
  EXPECT_EQ(columns.tensors()[0].shape, (Shape{1, 84, 8400}));
  EXPECT_EQ(rows.tensors()[0].shape, (Shape{1, 25200, 85}));
  EXPECT_EQ(rows.tensors()[1].shape, (Shape{1, 25200, 6}));
  EXPECT_EQ(bytes_of(columns), 4.0 * 8400 * (84 + 6));
  EXPECT_EQ(flops_of(columns), 8400.0 * 88);
  EXPECT_EQ(flops_of(rows), 25200.0 * 89);
}

TEST(yolo_decode, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& words, const std::string& sentence) {
    EXPECT_THROWS_SAYING(Problem::parse("yolo_decode " + words), BadArgument, sentence);
  };
  expect("n=5 dtype=f32", "classes is missing");
  expect("classes=5 dtype=f32", "n is missing");
  expect("n=5 classes=0 dtype=f32", "classes='0'");
  expect("n=5 classes=2050 dtype=f16", "classes=2050, needs 1 to 2049, whose numbers f16 holds");
  expect("n=1 classes=16777217 dtype=f32", "needs 1 to 16777216, whose numbers f32 holds");
  expect("n=5 classes=3 dtype=f32 form=v6", "form='v6'");
  expect("n=8400000 classes=80 dtype=f32", "over the limit of 2147483647");
}

TEST(yolo_decode, a_form_has_one_kernel) {
  const auto why_not = [](const std::string& words, const char* variant) {
    const Problem problem = parse(words);
    return find_variant(op_of(problem), variant).refuses(problem, generic_device()).value_or("");
  };
  EXPECT_EQ(why_not("n=8 classes=3", "yolo_decode_columns"), "");
  EXPECT_EQ(why_not("n=8 classes=3", "yolo_decode_rows"),
            "form=v8 has the numbers of a box in a column");
  EXPECT_EQ(why_not("n=8 classes=3 form=v5", "yolo_decode_rows"), "");
  EXPECT_EQ(why_not("n=8 classes=3 form=v5", "yolo_decode_columns"),
            "form=v5 has the numbers of a box in a row");
  DeviceInfo tiny = generic_device();
  tiny.max_work_group = 3;
  EXPECT_THROWS_SAYING(make_plan(parse("n=8 classes=3 form=v5"), tiny), Unsupported,
                       "4 lanes share a result, a group has at most 3 items");
}

TEST(yolo_decode, vectors_are_of_whole_columns) {
  const auto options = [](const std::string& words) {
    return make_plan(parse(words), generic_device()).launches[0].options;
  };
  EXPECT_EQ(options("n=8400 classes=80"), "-DYOLO_DECODE_UNIT=4 -DYOLO_DECODE_WG=64");
  EXPECT_EQ(options("n=3549 classes=80"), "-DYOLO_DECODE_UNIT=1 -DYOLO_DECODE_WG=64");
}

// ---- the reference ----

TEST(yolo_decode, the_reference_takes_a_hand_made_example) {
  // Two boxes of two classes: (10, 20, 4, 6) and (1, 2, 8, 2).
  const Expected columns =
      of_values(parse("n=2 classes=2"), {10, 1, 20, 2, 4, 8, 6, 2, .25, .5, .75, .5});
  EXPECT_EQ(columns.value, (Values{1, .75, 8, 17, 12, 23, 0, .5, -3, 1, 5, 3}));
  const Expected rows = of_values(parse("n=2 classes=2 form=v5"),
                                  {10, 20, 4, 6, .5, .25, .75, 1, 2, 8, 2, .25, .5, .5});
  EXPECT_EQ(rows.value, (Values{1, .375, 8, 17, 12, 23, 0, .125, -3, 1, 5, 3}));
}

TEST(yolo_decode, bounds_are_those_of_the_contract) {
  const Expected columns = of_values(parse("n=1 classes=1"), {10, 20, 4, 6, .75});
  EXPECT_EQ(columns.bound[0], 0);
  EXPECT_EQ(columns.bound[1], 0) << "a score is copied";
  EXPECT_NEAR(columns.bound[2], 8 * kU, 1e-15);
  EXPECT_NEAR(columns.bound[5], 23 * kU, 1e-15);
  const Expected rows = of_values(parse("n=1 classes=1 form=v5"), {10, 20, 4, 6, .5, .75});
  EXPECT_EQ(rows.bound[0], 0);
  EXPECT_NEAR(rows.bound[1], .375 * kU, 1e-15);
  const Expected half = of_values(parse("n=1 classes=1 form=v5", "f16"), {10, 20, 4, 6, .5, .75});
  EXPECT_NEAR(half.bound[1], .375 * (kU + 0x1p-11) + 0x1p-25, 1e-12);
  EXPECT_NEAR(half.bound[2], 8 * (kU + 0x1p-11) + 0x1p-25, 1e-12);
}

TEST(yolo_decode, what_is_no_number_has_no_class) {
  for (const double bad : {kInfinity, -kInfinity, std::nan("")}) {
    const Expected columns = of_values(parse("n=1 classes=2"), {10, 20, 4, 6, bad, .5});
    EXPECT_EQ(Values(columns.value.begin(), columns.value.begin() + 3), (Values{-1, 0, 8}));
    const Expected rows = of_values(parse("n=1 classes=2 form=v5"), {10, 20, 4, 6, bad, .5, .25});
    EXPECT_EQ(Values(rows.value.begin(), rows.value.begin() + 3), (Values{-1, 0, 8}));
  }
}

TEST(yolo_decode, of_equal_scores_the_first_counts_and_denormals_may_be_equal) {
  const Problem problem = parse("n=1 classes=3");
  const auto passes = [&](const Values& scores, bool denormals, double id) {
    Values src{10, 20, 4, 6};
    src.insert(src.end(), scores.begin(), scores.end());
    const Expected data = of_values(problem, src, denormals);
    HostTensor y = test::rounded(data, Dtype::f32, {1, 1, 6});
    y.set(0, id);
    return compare(y, data).pass;
  };
  EXPECT_TRUE(passes({.25, .5, .5}, true, 1));
  EXPECT_FALSE(passes({.25, .5, .5}, true, 2));
  EXPECT_FALSE(passes({.25, .5, .5}, false, 2));
  EXPECT_TRUE(passes({0, 0x1p-130, 0x1p-131}, true, 1));
  EXPECT_FALSE(passes({0, 0x1p-130, 0x1p-131}, true, 0));
  EXPECT_TRUE(passes({0, 0x1p-130, 0x1p-131}, false, 0));
  EXPECT_FALSE(passes({-1, 0x1p-130, 0x1p-131}, false, 0));
}

TEST(yolo_decode, rows_of_another_box_or_image_are_caught) {
  for (const char* form : {"v5", "v8"}) {
    const Problem problem = parse(std::string("batch=2 n=33 classes=5 form=") + form);
    for (const DataSet& set : proof_of(problem).data_sets) {
      const Expected data = reference(problem, make_inputs(problem, set, test::seed()));
      const HostTensor y = test::rounded(data, problem.dtype(), {2, 33, 6});
      EXPECT_TRUE(compare(y, data).pass) << set.name;
      const auto next = [](std::int64_t i) { return (i + 6) % (2 * 33 * 6); };
      const auto first_image = [](std::int64_t i) { return i % (33 * 6); };
      EXPECT_FALSE(compare(test::moved(y, next), data).pass) << set.name;
      EXPECT_FALSE(compare(test::moved(y, first_image), data).pass) << set.name;
    }
  }
}

// ---- on a device ----

class yolo_decode_broken : public test::OpDevice {};

TEST_F(yolo_decode_broken, broken_kernels_are_caught) {
  const char *columns = "yolo_decode_columns", *rows = "yolo_decode_rows";
  const char* wide = "yolo_decode batch=2 n=8192 classes=5";
  const char* odd = "yolo_decode batch=2 n=131 classes=5";
  const char* v5 = "yolo_decode batch=2 n=33 classes=21 form=v5";
  const test::KernelFault faults[] = {
      {"the last of equal scores", "score > best ?", "score >= best ?", odd, columns, "ties"},
      {"the last of equal scores", "score.z > best.z ?", "score.z >= best.z ?", wide, columns,
       "ties"},
      {"the last class is left out", "c < classes; ++c", "c + 1 < classes; ++c", odd, columns,
       "zero_mean"},
      {"scores below 0 are none", "(Unit)(-INFINITY)", "(Unit)(0.0f)",
       "yolo_decode n=131 classes=1", columns, "zero_mean"},
      {"the classes from the size on", "first + 4 * step", "first + 3 * step", odd, columns,
       "detector"},
      {"NaN is no reason", "fabs(z) < INFINITY", "fabs(z) != INFINITY", wide, columns, "special"},
      {"infinity is no reason", "fabs(z) < INFINITY", "z == z", odd, columns, "special"},
      {"a number behind another is no reason", "is_finite(score.z) ? finite.z : 0",
       "is_finite(score.z)", wide, columns, "special"},
      {"a score without a class", "where(finite, best, 0.0f)", "best", odd, columns, "special"},
      {"whole heights", "first + 3 * step) * 0.5f", "first + 3 * step)", odd, columns, "detector"},
      {"the width for the height", "load_two(src, first + 3 * step)",
       "load_two(src, first + 2 * step)", wide, columns, "detector"},
      {"an upper corner", "y - half_h", "y + half_h", wide, columns, "detector"},
      {"corners of 18 bits", "x + half_w", "(1.0f + 0x1p-18f) * (x + half_w)", odd, columns,
       "detector"},
      {"the first image", "(batch * (4 + classes) * n + i)", "(i)", odd, columns, "detector"},
      {"all to the first image", "(batch * n + i) * 6", "i * 6", odd, columns, "detector"},
      {"early return", "if (i >= (uint)n)", "if (i + 1 >= (uint)n)", odd, columns, "zero_mean"},
      {"the classes of the first two boxes", "store_two(id.hi, score.hi,",
       "store_two(id.lo, score.lo,", wide, columns, "zero_mean"},
      {"a corner of the neighbour", "(x0.y, y0.y, x1.y, y1.y)", "(x0.y, y0.y, x1.x, y1.y)", wide,
       columns, "detector"},
      {"the last of equal scores", "score > own ?", "score >= own ?", v5, rows, "ties"},
      {"the highest item of equal ones", "min(min(x, y), min(z, w))",
       "z != NO_CLASS ? z : min(min(x, y), w)", v5, rows, "ties"},
      {"three of the four items", "fmax(fmax(s.x, s.y), fmax(s.z, s.w))",
       "fmax(fmax(s.x, s.y), s.z)", v5, rows, "zero_mean"},
      {"the last class is left out", "for (int c = lane; c < classes",
       "for (int c = lane; c + 1 < classes", v5, rows, "zero_mean"},
      {"objectness is a class", "first + (5 + lane) * SIZE", "first + (4 + lane) * SIZE", v5, rows,
       "detector"},
      {"no objectness", "object * best", "best", v5, rows, "detector"},
      {"objectness of any kind", "finite = is_finite(object)", "finite = 1", v5, rows, "special"},
      {"the sizes of the first two boxes", "first + 2 * SIZE, step", "first, step", wide, columns,
       "detector"},
      {"NaN is no reason", "finite ? own_id : -1", "own_id", v5, rows, "special"},
      {"a score of 18 bits", "object * best", "(1.0f + 0x1p-18f) * object * best", v5, rows,
       "zero_mean"},
      {"the boxes of a group share a maximum", "partial_scores[place]", "partial_scores[0]", v5,
       rows, "detector"},
      {"the boxes of a group share a class", "partial_ids[place]", "partial_ids[0]", v5, rows,
       "detector"},
      {"the centre for a corner", "lane == 1 ? -0.5f", "lane == 1 ? 0.0f", v5, rows, "detector"},
      {"the width for the height", "first + 3 * SIZE", "first + 2 * SIZE", v5, rows, "detector"},
      {"early return", "get_global_id(1) >= (uint)rows", "get_global_id(1) + 1 >= (uint)rows", v5,
       rows, "zero_mean"},
      {"rows are a number shorter", "row * (5 + classes)", "row * (4 + classes)", v5, rows,
       "detector"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("yolo_decode.cl", fault);
}

// ---- for the tests of every op ----

const test::GroupSizes groups("yolo_decode", 4, test::Bits::same,
                              {"batch=2 classes=5 n=516", "batch=2 classes=5 n=131",
                               "batch=2 classes=6 n=131 form=v5"});

std::string random_case(Random& random) {
  return fmt::format("yolo_decode batch={} n={} classes={} form=v{}", random.integer(1, 3),
                     random.integer(1, 300), random.integer(1, 40),
                     random.integer(0, 1) == 0 ? 5 : 8);
}

const test::RandomProblems random_problems("yolo_decode", 20, random_case);

}  // namespace
}  // namespace clam::yolo_decode_test
