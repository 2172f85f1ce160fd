// SPDX-License-Identifier: MIT
// softmax_test.cpp - problems, plans, references and kernels of softmax.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "clam/planner.hpp"
#include "every_op.hpp"
#include "faults.hpp"
#include "op_device.hpp"
#include "softmax_faults.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace clam::softmax_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Problem parse(const std::string& line, const std::string& dtype = "f32") {
  return Problem::parse(line + " dtype=" + dtype);
}

const DataSet& data_set(const char* name) { return find_data_set(find_op("softmax"), name); }

Expected reference(const Problem& problem, const Tensors& inputs) {
  return reference_of(problem, inputs, {Check::hard}).at("dst");
}

HostTensor tensor(Dtype dtype, Shape shape, const std::vector<double>& values) {
  HostTensor tensor(dtype, std::move(shape));
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, values[static_cast<std::size_t>(i)]);
  return tensor;
}

// ---- problems ----

TEST(softmax, canonical_text_has_the_shape_then_what_is_not_default) {
  EXPECT_EQ(Problem::parse("softmax mask=5x6 scale=0.5 log=1 axis=1 dtype=f16 shape=4x5x6").text(),
            "softmax shape=4x5x6 dtype=f16 axis=1 log=1 scale=0.5 mask=5x6");
  EXPECT_EQ(parse("softmax shape=1x4x192x192").text(), "softmax shape=1x4x192x192 dtype=f32");
}

TEST(softmax, an_axis_is_counted_from_the_front_but_for_the_last) {
  const auto axis = [](const std::string& line) { return parse(line).integer("axis"); };
  EXPECT_EQ(axis("softmax shape=2x3x4 axis=2"), -1);
  EXPECT_EQ(axis("softmax shape=2x3x4 axis=-1"), -1);
  EXPECT_EQ(axis("softmax shape=2x3x4 axis=-2"), 1);
  EXPECT_EQ(axis("softmax shape=2x3x4 axis=-3"), 0);
  EXPECT_EQ(axis("softmax shape=7 axis=0"), -1);
  EXPECT_EQ(axis("softmax shape=1x1x1x1x1x1x2x2 axis=-8"), 0);
  EXPECT_EQ(parse("softmax shape=2x3x4 axis=2"), parse("softmax shape=2x3x4"));
}

TEST(softmax, rows_lie_as_shape_axis_and_mask_say) {
  const auto rows = [](const std::string& line) {
    const SoftmaxRows r(parse(line));
    return fmt::format("{} {} {} blocks {} mask {}{}", r.outer, r.n, r.inner, r.blocks, r.mask,
                       r.mask_along_axis ? " along" : "");
  };
  EXPECT_EQ(rows("softmax shape=2x3x4x5"), "24 5 1 blocks 1 mask 0");
  EXPECT_EQ(rows("softmax shape=2x3x4x5 axis=1"), "2 3 20 blocks 1 mask 0");
  EXPECT_EQ(rows("softmax shape=2x3x4x5 mask=4x5"), "24 5 1 blocks 6 mask 20 along");
  EXPECT_EQ(rows("softmax shape=2x3x4x5 mask=5"), "24 5 1 blocks 24 mask 5 along");
  EXPECT_EQ(rows("softmax shape=2x3x4x5 mask=2x3x4x5"), "24 5 1 blocks 1 mask 120 along");
  EXPECT_EQ(rows("softmax shape=2x3x4x5 mask=3x4x5 axis=1"), "2 3 20 blocks 2 mask 60 along");
  EXPECT_EQ(rows("softmax shape=2x3x4x5 mask=4x5 axis=1"), "2 3 20 blocks 1 mask 20");
}

TEST(softmax, tensors_are_dense_and_dst_may_be_src) {
  const Problem problem = parse("softmax shape=4x5x6 mask=5x6", "f16");
  const std::vector<TensorSpec> specs = problem.tensors();
  ASSERT_EQ(specs.size(), 3u);
  EXPECT_EQ(specs[0].shape, (Shape{4, 5, 6}));
  EXPECT_EQ(specs[1].name, "mask");
  EXPECT_EQ(specs[1].shape, (Shape{5, 6}));
  EXPECT_EQ(specs[2].name, "dst");
  EXPECT_EQ(specs[2].role, TensorSpec::Role::output);
  EXPECT_EQ(specs[2].may_be, "src");
  EXPECT_EQ(flops_of(problem), 5.0 * 120);
  EXPECT_EQ(bytes_of(problem), 2.0 * (120 + 30 + 120));
}

TEST(softmax, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& line, const std::string& words) {
    EXPECT_THROWS_SAYING(parse(line), BadArgument, words);
  };
  expect("softmax", "softmax: shape is missing");
  expect("softmax shape=none", "softmax: shape='none', needs 1 to 8 extents");
  expect("softmax shape=4x0x6", "softmax: shape='4x0x6', needs 1 to 8 extents");
  expect("softmax shape=1x1x1x1x1x1x1x1x1", "needs 1 to 8 extents");
  expect("softmax shape=65536x65536", "over 2147483647");
  expect("softmax shape=65536x16384", "over the limit of 2147483647");
  expect("softmax shape=4x5 axis=2", "softmax: axis=2, needs -2 to 1");
  expect("softmax shape=4x5 axis=-3", "softmax: axis=-3, needs -2 to 1");
  expect("softmax shape=4x5 axis=8", "softmax: axis='8', needs -8 to 7");
  expect("softmax shape=4x5 log=2", "softmax: log='2', needs 0 to 1");
  expect("softmax shape=4x5 scale=inf", "softmax: scale=inf, needs a finite number");
  expect("softmax shape=4x5 scale=nan", "softmax: scale='nan', needs a number");
  expect("softmax shape=4x5 mask=4", "softmax: mask=4, needs the last extents of shape=4x5");
  expect("softmax shape=4x5 mask=1x5", "softmax: mask=1x5, needs the last extents of shape=4x5");
  expect("softmax shape=4x5 mask=2x4x5", "needs the last extents of shape=4x5");
  expect("softmax shape=4x5 temperature=2", "softmax: unknown word 'temperature'");
}

// ---- plans ----

Launch planned(const std::string& line, const PlanOptions& options = {},
               const DeviceInfo& device = generic_device()) {
  return make_plan(parse(line), device, options).launches.at(0);
}

TEST(softmax, variants_refuse_with_a_reason) {
  const auto refusal = [](const std::string& line, const std::string& variant,
                          const DeviceInfo& device = generic_device()) {
    const Problem problem = parse(line);
    return find_variant(op_of(problem), variant).refuses(problem, device).value_or("");
  };
  EXPECT_EQ(refusal("softmax shape=3x1024", "softmax_row"), "");
  EXPECT_EQ(refusal("softmax shape=3x1025", "softmax_row"),
            "n=1025 is over the 1024 elements that 64 lanes hold");
  EXPECT_EQ(refusal("softmax shape=3x1025", "softmax_row_long"), "");
  for (const char* variant : {"softmax_row", "softmax_row_long"}) {
    EXPECT_EQ(refusal("softmax shape=3x4x5 axis=0", variant),
              "elements of a row lie 20 apart, not side by side");
    EXPECT_EQ(refusal("softmax shape=3x4x1 axis=1 mask=1", variant),
              "the mask does not reach as far as the axis");
  }
  EXPECT_EQ(refusal("softmax shape=256x16 axis=0", "softmax_column"), "");
  EXPECT_EQ(refusal("softmax shape=257x16 axis=0", "softmax_column"),
            "n=257 is over the 256 elements that 16 lanes hold");
  EXPECT_EQ(refusal("softmax shape=5x192", "softmax_column_long"),
            "a row lies in one piece, and so does its mask");
  EXPECT_EQ(refusal("softmax shape=3x4x1 axis=1 mask=1", "softmax_column"), "");
  EXPECT_EQ(refusal("softmax shape=1000x3 axis=0", "softmax_column"), "");
  DeviceInfo tiny = generic_device();
  tiny.max_work_group = 2;
  for (const Variant& variant : find_op("softmax").variants) {
    EXPECT_EQ(refusal(variant.name.find("row") == std::string::npos ? "softmax shape=4x4 axis=0"
                                                                    : "softmax shape=4x4",
                      variant.name, tiny),
              "4 lanes share a row, a group has at most 2 items");
  }
}

TEST(softmax, as_few_lanes_as_hold_a_row_share_it) {
  const auto options = [](const std::string& shape) {
    return planned("softmax shape=" + shape).options;
  };
  EXPECT_EQ(options("100x3"),
            "-DSOFTMAX_UNIT=1 -DSOFTMAX_LANES=4 -DSOFTMAX_ROWS=16 -DSOFTMAX_HELD=1");
  EXPECT_EQ(options("100x21"),
            "-DSOFTMAX_UNIT=1 -DSOFTMAX_LANES=4 -DSOFTMAX_ROWS=16 -DSOFTMAX_HELD=6");
  EXPECT_EQ(options("100x64"),
            "-DSOFTMAX_UNIT=4 -DSOFTMAX_LANES=4 -DSOFTMAX_ROWS=16 -DSOFTMAX_HELD=4");
  EXPECT_EQ(options("100x192"),
            "-DSOFTMAX_UNIT=4 -DSOFTMAX_LANES=16 -DSOFTMAX_ROWS=4 -DSOFTMAX_HELD=3");
  EXPECT_EQ(options("100x512"),
            "-DSOFTMAX_UNIT=4 -DSOFTMAX_LANES=32 -DSOFTMAX_ROWS=2 -DSOFTMAX_HELD=4");
  EXPECT_EQ(options("100x1024"),
            "-DSOFTMAX_UNIT=4 -DSOFTMAX_LANES=64 -DSOFTMAX_ROWS=1 -DSOFTMAX_HELD=4");
  EXPECT_EQ(options("122640"), "-DSOFTMAX_UNIT=4 -DSOFTMAX_LANES=256 -DSOFTMAX_ROWS=1");
}

TEST(softmax, rows_that_a_smaller_group_cannot_hold_are_read_twice) {
  EXPECT_EQ(planned("softmax shape=3x1024", {"softmax_row", 32}).kernel, "softmax_row_long");
  EXPECT_EQ(planned("softmax shape=3x512", {"softmax_row", 32}).kernel, "softmax_row");
  EXPECT_EQ(planned("softmax shape=192x192 axis=0", {"softmax_column", 64}).kernel,
            "softmax_column_long");
}

TEST(softmax, a_mask_repeats_along_an_axis_of_the_launch) {
  const auto global = [](const std::string& line) { return planned("softmax " + line).global; };
  using Size = std::array<std::int64_t, 3>;
  EXPECT_EQ(global("shape=4x10x192"), (Size{16, 40, 1}));
  EXPECT_EQ(global("shape=4x10x192 mask=10x192"), (Size{16, 12, 4}));
  EXPECT_EQ(global("shape=4x10x192 mask=192"), (Size{16, 1, 40}));
  EXPECT_EQ(global("shape=2x3x64x15 axis=2"), (Size{16, 4, 6}));
  EXPECT_EQ(global("shape=2x3x64x15 axis=2 mask=64x15"), (Size{16, 24, 1}));
  EXPECT_EQ(global("shape=2x3x64x15 axis=2 mask=15"), (Size{16, 4, 6}));
}

TEST(softmax, native_exp2_is_taken_where_it_was_measured_and_is_good) {
  const auto native = [](double ulp) {
    DeviceInfo device = generic_device();
    device.native_exp2_ulp = ulp;
    const std::string options = planned("softmax shape=5x192", {}, device).options;
    return options.find("-DSOFTMAX_NATIVE=1") != options.npos;
  };
  EXPECT_FALSE(native(0)) << "not measured";
  EXPECT_FALSE(native(-1)) << "it could not be";
  EXPECT_TRUE(native(0.5));
  EXPECT_TRUE(native(16));
  EXPECT_FALSE(native(16.1));
  EXPECT_FALSE(native(1e6));
}

// ---- the reference ----

TEST(softmax, the_reference_is_the_formula) {
  const Tensors inputs{{"src", tensor(Dtype::f32, {2, 3}, {0, std::log(2.0), 0, 1, 1, 1})}};
  const std::vector<double> rows = reference(parse("softmax shape=2x3"), inputs).value;
  const double expected[] = {0.25, 0.5, 0.25, 1. / 3, 1. / 3, 1. / 3};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(rows[i], expected[i], 1e-7);
  const std::vector<double> logs = reference(parse("softmax shape=2x3 log=1"), inputs).value;
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(logs[i], std::log(expected[i]), 1e-7);
  const std::vector<double> columns = reference(parse("softmax shape=2x3 axis=0"), inputs).value;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(columns[i] + columns[i + 3], 1, 1e-15);
    EXPECT_NEAR(columns[i] / columns[i + 3], std::exp((i == 1 ? std::log(2.0) : 0) - 1), 1e-7);
  }
}

TEST(softmax, scale_and_mask_come_before_the_maximum) {
  const Problem problem = parse("softmax shape=2x2x2 scale=-2 mask=2x2");
  const Tensors inputs{{"src", tensor(Dtype::f32, {2, 2, 2}, {0, 1, 2, 2, 0, 0, 3, 4})},
                       {"mask", tensor(Dtype::f32, {2, 2}, {0, 2, -kInfinity, 0})}};
  const std::vector<double> dst = reference(problem, inputs).value;
  const double more = 1 / (1 + std::exp(-2.0));  // of 0 and 2
  const double expected[] = {0.5, 0.5, 0, 1, 1 - more, more, 0, 1};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(dst[i], expected[i], 1e-15) << i;
}

TEST(softmax, what_is_not_finite_is_exact) {
  const Tensors inputs{{"src", tensor(Dtype::f32, {5, 2},
                                      {-kInfinity, -kInfinity, 1, -kInfinity, kNan, 1, kInfinity, 1,
                                       -kInfinity, kInfinity})}};
  for (const bool log : {false, true}) {
    const Expected dst =
        reference(parse(log ? "softmax shape=5x2 log=1" : "softmax shape=5x2"), inputs);
    const double none = log ? -kInfinity : 0, all = log ? 0 : 1;
    EXPECT_EQ(dst.value[0], none);
    EXPECT_EQ(dst.value[1], none);
    EXPECT_EQ(dst.value[2], all);
    EXPECT_EQ(dst.value[3], none);
    for (std::size_t i = 4; i < 10; ++i) EXPECT_TRUE(std::isnan(dst.value[i])) << i;
    EXPECT_EQ(dst.bound[3], 0);
  }
}

TEST(softmax, bounds_are_those_of_the_contract) {
  constexpr double kU = 0x1p-24;
  const double p[] = {1 / (1 + std::exp(-3.0)), 1 / (1 + std::exp(3.0))};
  const Tensors inputs{{"src", tensor(Dtype::f32, {1, 2}, {5, 2})}};
  const auto bound = [&](const std::string& words, std::size_t i) {
    return reference(parse("softmax shape=1x2" + words), inputs).bound[i];
  };
  EXPECT_NEAR(bound("", 0) / (p[0] * kU), 0 + 6 + 2 + 1, 1e-9);
  EXPECT_NEAR(bound("", 1) / (p[1] * kU), 2 * 3 + 6 + 2 + 1, 1e-9);
  EXPECT_EQ(bound(" scale=2", 1) / bound(" scale=-2", 0), 1) << "powers of two round nothing";
  const double q[] = {1 / (1 + std::exp(-9.0)), 1 / (1 + std::exp(9.0))};  // x = 15, 6
  const double sizes = q[0] * 15 + q[1] * 6;
  EXPECT_NEAR(bound(" scale=3", 1) / (q[1] * kU), 2 * 9 + 6 + 2 + 1 + 6 + sizes, 1e-6);
  const double sum = 1 + std::exp(-3.0), mean = p[1] * 3;
  EXPECT_NEAR(bound(" log=1", 1) / kU, 3 + 2 * mean + 6 + 2 + 6 * std::log(sum) + 3 + std::log(sum),
              1e-9);
  const Problem problem = parse("softmax shape=1x2");
  const auto native = [&](double ulp) {
    return reference_of(problem, inputs, {Check::hard, true, ulp}).at("dst").bound[0];
  };
  EXPECT_NEAR(native(2) / (p[0] * kU), 6 + 2 + 1, 1e-9);
  EXPECT_NEAR(native(8) / (p[0] * kU), 16 + 2 + 1, 1e-9);
}

// ---- tests of the tests ----

// Fixed, so that small cases cannot pass or fail by chance.
constexpr std::uint64_t kSeed = 1;

const test::Simulation simulation("softmax", 1e30,
                                  [](const Problem& problem, const Tensors& inputs) {
                                    return softmax_faults::computed(problem, inputs,
                                                                    softmax_faults::Fault::none);
                                  });

/// A problem with its inputs of one data set, and what is expected of them.
struct Sample {
  Problem problem;
  Tensors inputs;
  Expected expected;
  HostTensor honest;

  Sample(const Problem& problem, const char* set)
      : problem(problem),
        inputs(make_inputs(problem, data_set(set), kSeed)),
        expected(reference(problem, inputs)),
        honest(test::rounded(expected, problem.dtype(), problem.shape("shape"))) {}

  void expect_caught(const HostTensor& faulty, const char* fault) const {
    EXPECT_FALSE(compare(faulty, expected).pass) << fault;
  }
  void expect_caught(softmax_faults::Fault fault, const char* what) const {
    expect_caught(softmax_faults::computed(problem, inputs, fault), what);
  }
};

/// All rows are alike: of one element, or of equal ones.
bool is_trivial(const Problem& problem) {
  return SoftmaxRows(problem).n == 1 || problem.number("scale") == 0;
}

TEST(softmax, peaked_rows_catch_a_sum_without_its_last_element) {
  test::for_each_case("softmax", [](const Problem& problem) {
    if (is_trivial(problem)) return;
    Sample(problem, "peaked").expect_caught(softmax_faults::Fault::drop_last, "last one dropped");
  });
}

TEST(softmax, sets_catch_a_half_accumulator_and_a_maximum_that_is_not_subtracted) {
  test::for_each_case("softmax", [](const Problem& problem) {
    if (is_trivial(problem)) return;
    Sample(problem, "spread")
        .expect_caught(softmax_faults::Fault::maximum_not_subtracted, "no maximum");
    // In half outputs the final rounding hides a few roundings before it.
    const bool visible = problem.dtype() == Dtype::f32 && SoftmaxRows(problem).n < 1000;
    if (visible)
      Sample(problem, "zero_mean").expect_caught(softmax_faults::Fault::half_sum, "half");
  });
}

TEST(softmax, spread_rows_catch_an_error_that_grows_with_the_maximum) {
  for (const char* line : {"softmax shape=33x21 log=1", "softmax shape=192x192 log=1",
                           "softmax shape=192x192 axis=0 log=1"}) {
    Sample(parse(line), "spread").expect_caught(softmax_faults::Fault::one_fma, line);
  }
}

// ---- kernels ----

using softmax_device = test::OpDevice;

/// Kernels made worse on purpose: one driver is enough to see that they are caught.
class softmax_broken : public test::OpDevice {};

TEST_F(softmax_device, a_runtime_measures_native_exp2_before_it_plans) {
  const auto runtime = test::fresh_runtime();
  EXPECT_EQ(runtime->device().native_exp2_ulp, 0);
  const Executable executable = runtime->prepare(parse("softmax shape=5x192"));
  EXPECT_NE(runtime->device().native_exp2_ulp, 0);
  const bool good =
      runtime->device().native_exp2_ulp > 0 && runtime->device().native_exp2_ulp <= 16;
  const std::string& options = executable.plan().launches[0].options;
  EXPECT_EQ(options.find("NATIVE") != options.npos, good);
}

TEST_F(softmax_device, exp2_passes_where_native_exp2_is_the_default) {
  DeviceInfo device = test::runtime().device();
  device.native_exp2_ulp = 0;
  for (const char* line : {"softmax shape=5x192", "softmax shape=65x17 axis=0 log=1"}) {
    const Problem problem = parse(line);
    const Plan plan = make_plan(problem, device);
    EXPECT_EQ(plan.launches[0].options.find("NATIVE"), std::string::npos);
    Trial trial(test::runtime(), plan);
    for (const DataSet& set : proof_of(problem).data_sets) {
      const Tensors inputs = make_inputs(problem, set, test::seed());
      expect_pass(trial, inputs, reference_of(problem, inputs, {set.check}));
    }
  }
}

TEST_F(softmax_device, what_is_not_finite_stays_in_its_row) {
  for (const std::string& dtype : dtypes()) {
    for (const char* line : {"softmax shape=5x192", "softmax shape=5x192 log=1"}) {
      const Problem problem = parse(line, dtype);
      Tensors inputs = make_inputs(problem, data_set("zero_mean"), test::seed());
      inputs.at("src").set(192 + 191, kNan);
      inputs.at("src").set(3 * 192 + 7, kInfinity);
      inputs.at("src").set(4 * 192 + 7, -kInfinity);
      for_each_variant(problem, 0, [&](Trial& trial) {
        const HostTensor dst = run(trial, inputs).at("dst");
        for (std::int64_t i = 0; i < dst.size(); ++i) {
          EXPECT_EQ(std::isnan(dst.get(i)), i / 192 == 1 || i / 192 == 3) << i;
        }
        EXPECT_EQ(dst.get(4 * 192 + 7), problem.integer("log") == 1 ? -kInfinity : 0);
      });
    }
  }
}

TEST_F(softmax_device, large_numbers_and_large_differences_pass) {
  for (const std::string& dtype : dtypes()) {
    for (const char* line : {"softmax shape=5x192", "softmax shape=5x192 log=1"}) {
      const Problem problem = parse(line, dtype);
      Tensors inputs = make_inputs(problem, data_set("zero_mean"), test::seed());
      HostTensor& src = inputs.at("src");
      const double most = dtype == "f16" ? 65504 : 3.0e38;
      for (std::int64_t i = 0; i < 192; ++i) src.set(i, i % 3 == 0 ? most : -most);
      for (std::int64_t i = 0; i < 192; ++i) src.set(192 + i, i % 3 == 0 ? 0 : -most);
      for (std::int64_t i = 0; i < 192; ++i) src.set(2 * 192 + i, most);
      for (std::int64_t i = 0; i < 192; ++i) src.set(3 * 192 + i, -0.1 * static_cast<double>(i));
      for (std::int64_t i = 0; i < 192; ++i) src.set(4 * 192 + i, i % 2 == 0 ? 0.0 : -0.0);
      const Expected dst = expected(problem, inputs, Check::hard).at("dst");
      for_each_variant(problem, 0, [&](Trial& trial) {
        // Zeros are right where the difference is large, so the verdict may be blind.
        const Verdict verdict = compare(run(trial, inputs).at("dst"), dst, 1);
        EXPECT_LE(verdict.worst_ratio, 1) << verdict.reason;
      });
    }
  }
}

TEST_F(softmax_device, exponentials_reach_down_to_denormals) {
  const Problem problem = parse("softmax shape=5x192");
  Tensors inputs = make_inputs(problem, data_set("zero_mean"), test::seed());
  HostTensor& src = inputs.at("src");
  for (std::int64_t i = 0; i < src.size(); ++i) src.set(i, -0.6 * static_cast<double>(i % 192));
  const Expected dst = expected(problem, inputs, Check::hard).at("dst");
  for_each_variant(problem, 0, [&](Trial& trial) {
    EXPECT_LE(compare(run(trial, inputs).at("dst"), dst, 1).worst_ratio, 1);
  });
}

// ---- broken kernels ----

TEST_F(softmax_broken, broken_kernels_are_caught) {
  const char *row = "softmax_row", *row_long = "softmax_row_long", *column = "softmax_column";
  const test::KernelFault faults[] = {
      {"an error that grows with the maximum", "exp_units(d);\n    sum",
       "EXP2(fma(x[i], (Unit)(LOG2_E), (Unit)(-m * LOG2_E)));\n    sum",
       "softmax shape=33x21 log=1", row, "spread"},
      {"each x multiplied before the difference", "EXP2(d * LOG2_E)",
       "EXP2((d + 1024.0f) * LOG2_E - 1024.0f * LOG2_E)", "softmax shape=33x21", row, "zero_mean"},
      {"the last unit is left out of the sum", "sum += e;", "if (i < SOFTMAX_HELD - 1) sum += e;",
       "softmax shape=5x192", row, "peaked"},
      {"the rows of a group share a sum", "partials + row * (SOFTMAX_LANES / 4)", "partials",
       "softmax shape=5x192", row, "zero_mean"},
      {"wrong row", "min(y, (uint)rows - 1)", "min(y / 2, (uint)rows - 1)", "softmax shape=5x192",
       row, "zero_mean"},
      {"early return", "if (y < (uint)rows) put", "if (y + 1 < (uint)rows) put",
       "softmax shape=5x192", row, "zero_mean"},
      {"a row of -inf divides by its sum", "sum == 0.0f ? 0.0f : 1.0f / sum", "1.0f / sum",
       "softmax shape=5x192", row, "masked"},
      {"the maximum starts at -inf", "(-3.402823466e+38f)", "(-INFINITY)", "softmax shape=5x192",
       row, "masked"},
      {"the mask of another row", "(of_mask * n + first) * SIZE", "first * SIZE",
       "softmax shape=4x10x192 mask=10x192", row, "zero_mean"},
      {"the sum is not brought down", "fma(sum, exp_one(m - higher), ", "(sum + ",
       "softmax shape=2x1028", row_long, "zero_mean"},
      {"the lanes' sums are of other maxima", "own.y * exp_one(own.x - m)", "own.y",
       "softmax shape=2x1028", row_long, "zero_mean"},
      {"the last row of lanes is left out", "i < units; i += SOFTMAX_LANES",
       "i + SOFTMAX_LANES < units; i += SOFTMAX_LANES", "softmax shape=2x1028", row_long,
       "zero_mean"},
      {"wrong column", "min(column, (uint)inner - 1)", "min(column / 2, (uint)inner - 1)",
       "softmax shape=65x17 axis=0", column, "zero_mean"},
      {"a block of the mask for another", "get_group_id(1) * outer + z", "z",
       "softmax shape=2x3x64x15 axis=2 mask=64x15", column, "zero_mean"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("softmax.cl", fault);
}

// ---- for the tests of every op ----

const test::GroupSizes groups("softmax", 4, test::Bits::follow_group,
                              {"shape=5x192", "shape=5x1028", "shape=19x40 axis=0",
                               "shape=5x65x17 axis=1", "shape=257x33 axis=0"});

std::string random_case(Random& random) {
  Shape shape;
  for (int extents = random.integer(1, 4); extents > 0; --extents) {
    shape.push_back(random.integer(1, 24));
  }
  const int rank = static_cast<int>(shape.size()), masked = random.integer(0, rank);
  std::string line = fmt::format("softmax shape={} axis={} log={} scale={}", to_string(shape),
                                 random.integer(0, rank - 1), random.integer(0, 1),
                                 random.integer(0, 1) == 0 ? 1.0 : 0.3);
  if (masked > 0) line += " mask=" + to_string(Shape(shape.end() - masked, shape.end()));
  return line;
}

const test::RandomProblems random_problems("softmax", 6, random_case);

}  // namespace
}  // namespace clam::softmax_test
