// SPDX-License-Identifier: MIT
// reduce_test.cpp - problems, plans, references and kernels of reduce.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>

#include "clam/planner.hpp"
#include "every_op.hpp"
#include "op_device.hpp"
#include "reduce_faults.hpp"
#include "test_errors.hpp"

namespace clam::reduce_test {
namespace {

constexpr double kU = 0x1p-24;

Problem parse(const std::string& words, const std::string& dtype = "f32") {
  return Problem::parse("reduce " + words + " dtype=" + dtype);
}

Expected reference(const Problem& problem, const std::vector<double>& values,
                   Check check = Check::hard) {
  HostTensor src(problem.dtype(), problem.tensors().front().shape);
  for (std::int64_t i = 0; i < src.size(); ++i) src.set(i, values.at(static_cast<std::size_t>(i)));
  return reference_of(problem, {{"src", src}}, {check}).at("dst");
}

// ---- problems ----

TEST(reduce, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& words, const std::string& sentence) {
    EXPECT_THROWS_SAYING(parse(words), BadArgument, sentence);
  };
  expect("op=sum axes=0", "shape is missing");
  expect("op=sum shape=3x4", "axes is missing");
  expect("shape=3x4 axes=0", "op is missing");
  expect("op=median shape=3x4 axes=0", "op='median'");
  expect("op=sum shape=3x4 axes=2", "reduce: axes=2, but shape has 2 axes");
  for (const char* axes : {"1-0", "0-0", "0-", "-1", "01", "8", "", "0,1"}) {
    expect(std::string("op=sum shape=3x4x5 axes=") + axes, "needs axes in ascending order");
  }
  expect("op=sum shape=1x2x3x4x5 axes=0", "shape=1x2x3x4x5, needs 1 to 4 extents");
  const Problem problem = parse("op=mean shape=4x3x5x7 axes=1-3");
  EXPECT_EQ(problem.text(), "reduce op=mean shape=4x3x5x7 axes=1-3 dtype=f32");
  EXPECT_EQ(problem.tensors()[1].shape, (Shape{4, 1, 5, 1}));
}

TEST(reduce, neighbouring_axes_are_one) {
  const auto form = [](const std::string& words) {
    const Reduction r(parse("op=sum " + words));
    return Shape{r.outer, r.r1, r.blocks, r.r2, r.c};
  };
  EXPECT_EQ(form("shape=2x3x4x5 axes=2-3"), (Shape{1, 1, 6, 20, 1}));
  EXPECT_EQ(form("shape=2x3x4x5 axes=0-1"), (Shape{1, 1, 1, 6, 20}));
  EXPECT_EQ(form("shape=2x3x4x5 axes=1-2"), (Shape{1, 1, 2, 12, 5}));
  EXPECT_EQ(form("shape=2x3x4x5 axes=1-3"), (Shape{2, 3, 4, 5, 1}));
  EXPECT_EQ(form("shape=2x3x4x5 axes=0-2"), (Shape{1, 2, 3, 4, 5}));
  EXPECT_EQ(form("shape=2x3x4x5 axes=0-3"), (Shape{1, 2, 12, 5, 1}));
  EXPECT_EQ(form("shape=2x1x4x5 axes=0-2"), (Shape{1, 1, 1, 8, 5}));
  EXPECT_EQ(form("shape=2x3x4x5 axes=0-1-2-3"), (Shape{1, 1, 1, 120, 1}));
  EXPECT_EQ(form("shape=1x3 axes=0"), (Shape{1, 1, 1, 1, 3}));
}

// ---- plans ----

Launch planned(const std::string& words) {
  return make_plan(parse(words), generic_device(), {}).launches.at(0);
}

TEST(reduce, what_lies_side_by_side_has_lanes_along_it) {
  EXPECT_EQ(planned("op=mean shape=1x384x31x31 axes=2-3").options,
            "-DREDUCE_LANES=16 -DREDUCE_ROWS=4");
  EXPECT_EQ(planned("op=l2 shape=768x64 axes=0").options,
            "-DREDUCE_TERM=1 -DREDUCE_ROOT=1 -DREDUCE_UNIT=4 -DREDUCE_LANES=16 -DREDUCE_ROWS=16");
  EXPECT_EQ(planned("op=max shape=8x64x4096 axes=1").options,
            "-DREDUCE_MERGE=2 -DREDUCE_UNIT=4 -DREDUCE_LANES=1 -DREDUCE_ROWS=64");
  const Problem problem = parse("op=sum shape=3x4x5 axes=1");
  const Variant row = find_variant(op_of(problem), "reduce_row");
  EXPECT_EQ(row.refuses(problem, generic_device()).value(),
            "elements of a result lie 5 apart, not side by side");
  DeviceInfo tiny = generic_device();
  tiny.max_work_group = 2;
  EXPECT_EQ(row.refuses(parse("op=sum shape=3x4 axes=1"), tiny).value(),
            "4 lanes share a result, a group has at most 2 items");
}

// ---- the reference ----

TEST(reduce, the_reference_is_the_formula) {
  const auto values = [](const std::string& words) {
    return reference(parse(words + " shape=2x3"), {1, -2, 3, -4, 5, 6}).value;
  };
  using Values = std::vector<double>;
  EXPECT_EQ(values("op=sum axes=1"), (Values{2, 7}));
  EXPECT_EQ(values("op=sum axes=0"), (Values{-3, 3, 9}));
  EXPECT_EQ(values("op=mean axes=0-1"), (Values{1.5}));
  EXPECT_EQ(values("op=max axes=1"), (Values{3, 6}));
  EXPECT_EQ(values("op=min axes=0"), (Values{-4, -2, 3}));
  EXPECT_EQ(values("op=prod axes=1"), (Values{-6, -120}));
  EXPECT_EQ(values("op=l1 axes=1"), (Values{6, 15}));
  EXPECT_EQ(values("op=sum_square axes=1"), (Values{14, 77}));
  EXPECT_EQ(values("op=l2 axes=1"), (Values{std::sqrt(14), std::sqrt(77)}));
}

TEST(reduce, bounds_are_those_of_the_contract) {
  const auto bound = [](const std::string& words, const char* dtype = "f32",
                        Check check = Check::hard) {
    return reference(parse(words + " shape=4 axes=0", dtype), {1, -2, 3, 5}, check).bound[0];
  };
  EXPECT_NEAR(bound("op=sum"), 3 * kU * 11 + kU * 7, 1e-15);
  EXPECT_NEAR(bound("op=sum", "f16"), 3 * kU * 11 + 0x1p-11 * 7 + 0x1p-25, 1e-15);
  EXPECT_NEAR(bound("op=mean"), (3 * 11. / 4 + 3 * 7. / 4) * kU, 1e-15);
  EXPECT_NEAR(bound("op=sum_square"), (4 + 1) * 39 * kU, 1e-15);
  EXPECT_NEAR(bound("op=l2"), (2 + 7) * std::sqrt(39) * kU, 1e-12);
  EXPECT_NEAR(bound("op=prod"), (3 + 1) * 30 * kU, 1e-15);
  EXPECT_EQ(bound("op=max"), 0);
  EXPECT_EQ(bound("op=sum", "f32", Check::exact), 0);
}

TEST(reduce, nan_is_the_largest_and_the_smallest) {
  for (const char* op : {"max", "min", "sum", "prod"}) {
    const std::vector<double> y =
        reference(parse(std::string("shape=2x3 axes=1 op=") + op), {1, std::nan(""), 2, 3, -1, 2})
            .value;
    EXPECT_TRUE(std::isnan(y[0])) << op;
    EXPECT_FALSE(std::isnan(y[1])) << op;
  }
}

// ---- tests of the tests ----

const test::Simulation simulation("reduce", 1e30,
                                  [](const Problem& problem, const Tensors& inputs) {
                                    return reduce_faults::computed(problem, inputs,
                                                                   reduce_faults::Fault::none);
                                  });

TEST(reduce, sets_catch_a_dropped_element_a_half_accumulator_and_another_divisor) {
  using reduce_faults::Fault;
  test::for_each_case("reduce", [](const Problem& problem) {
    const std::string op = problem.choice("op");
    const double n = static_cast<double>(Reduction(problem).elements());
    const auto caught = [&](Fault fault, const char* set) {
      const std::string own = set;
      const DataSet& data = find_data_set(problem, own);
      const Tensors inputs = make_inputs(problem, data, 1);
      return !compare(reduce_faults::computed(problem, inputs, fault),
                      reference_of(problem, inputs, {data.check}).at("dst"))
                  .pass;
    };
    const bool f32 = problem.dtype() == Dtype::f32, extreme = op == "max" || op == "min";
    const double results = static_cast<double>(count(problem.tensors().back().shape));
    // Of few extremes none may be the last; and halves hide one of many terms.
    if (n > 1 && (extreme ? results > 4 * n : f32 ? n < 4000 : n < 500)) {
      EXPECT_TRUE(caught(Fault::drop_last, "positive"));
    }
    if (f32 && !extreme && n > 4) {
      EXPECT_TRUE(caught(Fault::half, "positive"));
    }
    if (op == "mean" && n < 500) {
      EXPECT_TRUE(caught(Fault::other_divisor, "positive"));
    }
  });
}

// ---- kernels ----

using reduce_device = test::OpDevice;
class reduce_broken : public test::OpDevice {};

TEST_F(reduce_device, large_numbers_and_denormals_pass) {
  const std::vector<const char*> ops{"sum", "mean", "max", "min", "prod", "l1", "l2", "sum_square"};
  for (const std::string& dtype : dtypes()) {
    for (const char* op : test::of_this_run(ops)) {
      for (const char* form : {" shape=9x11 axes=1", " shape=9x11 axes=0"}) {
        const Problem problem = OpDevice::parse(std::string("reduce op=") + op + form, dtype);
        Tensors inputs = make_inputs(problem, find_data_set(problem, "zero_mean"), test::seed());
        HostTensor& src = inputs.at("src");
        const double most = dtype == "f16" ? 65504 : 1e36,
                     least = dtype == "f16" ? 0x1p-24 : 0x1p-149;
        for (std::int64_t i = 0; i < src.size(); ++i) {
          src.set(i, i < 33 ? (i % 3 ? -most : most) : i < 66 ? least * double(i % 5) : -0.0);
        }
        const Expected dst = expected(problem, inputs, Check::hard).at("dst");
        for_each_variant(problem, 0, [&](Trial& trial) {
          const Verdict verdict = compare(run(trial, inputs).at("dst"), dst, 1);
          EXPECT_LE(verdict.worst_ratio, 1) << verdict.reason;
        });
      }
    }
  }
}

TEST_F(reduce_broken, broken_kernels_are_caught) {
  const char *row = "reduce_row", *column = "reduce_column";
  const test::KernelFault faults[] = {
      {"the elements before the first vector are left out", "lane < head", "lane + 1 < head",
       "reduce op=sum shape=5x961 axes=1", row, "exact"},
      {"the pieces lie side by side", "((z * r1 + i) * rows + there) * n",
       "(z * rows + there + i) * n", "reduce op=sum shape=2x3x4x5 axes=1-3", row, "exact"},
      {"the last piece is left out", "i < r1; ++i) {\n    const float",
       "i + 1 < r1; ++i) {\n    const float", "reduce op=sum shape=2x3x4x5 axes=1-3", row, "exact"},
      {"the last row is left as it was", "row < (uint)rows)", "row + 1 < (uint)rows)",
       "reduce op=max shape=5x9 axes=1", row, "exact"},
      {"the sum is not divided", "(v) * scale", "(v)", "reduce op=mean shape=5x9 axes=1", row,
       "exact"},
      {"no root", "sqrt(v)", "(v)", "reduce op=l2 shape=5x9 axes=1", row, "positive"},
      {"no square", "(v) * (v)", "(v)", "reduce op=sum_square shape=5x9 axes=0", column, "exact"},
      {"signs count", "fabs(v)", "(v)", "reduce op=l1 shape=5x9 axes=0", column, "exact"},
      {"the smallest starts at 0", "#define START INFINITY", "#define START 0.0f",
       "reduce op=min shape=5x9 axes=1", row, "positive"},
      {"a NaN is no larger than a number", "| ((b) != (b))", "| (0 != 0)",
       "reduce op=max shape=40x9 axes=0", column, "special"},
      {"a product starts at 0", "#define START 1.0f", "#define START 0.0f",
       "reduce op=prod shape=5x9 axes=0", column, "exact"},
      {"a lane's result is left out", "i < LANES; ++i", "i < LANES - 1; ++i",
       "reduce op=sum shape=300x3 axes=0", column, "exact"},
      {"the last elements are left out", "j < (uint)r2; j", "j + LANES < (uint)r2; j",
       "reduce op=sum shape=300x3 axes=0", column, "exact"},
      {"another block", "* blocks + block) * r2", "* blocks) * r2",
       "reduce op=sum shape=3x4x5x8 axes=0-2", column, "exact"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("reduce.cl", fault);
}

// ---- for the tests of every op ----

const test::GroupSizes groups("reduce", 4, test::Bits::follow_group,
                              {"op=sum shape=9x961 axes=1", "op=max shape=4x3x50x7 axes=1-3",
                               "op=mean shape=300x70 axes=0", "op=sum shape=2x90x12 axes=1"});

std::string random_case(Random& random) {
  const char* ops[] = {"sum", "mean", "max", "min", "prod", "l1", "l2", "sum_square"};
  const int rank = random.integer(1, 4), forced = random.integer(0, rank - 1);
  Shape shape;
  std::vector<int> axes;
  for (int axis = 0; axis < rank; ++axis) {
    shape.push_back(random.integer(1, 20));
    if (axis == forced || random.integer(0, 1)) axes.push_back(axis);
  }
  return fmt::format("reduce op={} shape={} axes={}", ops[random.integer(0, 7)], to_string(shape),
                     fmt::join(axes, "-"));
}

const test::RandomProblems random_problems("reduce", 6, random_case);

}  // namespace
}  // namespace clam::reduce_test
