// SPDX-License-Identifier: MIT
// layer_norm_test.cpp - problems, plans, references and kernels of layer_norm.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "clam/planner.hpp"
#include "every_op.hpp"
#include "faults.hpp"
#include "layer_norm_faults.hpp"
#include "op_device.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace clam::layer_norm_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Problem parse(const std::string& line, const std::string& dtype = "f32") {
  return Problem::parse(line + " dtype=" + dtype);
}

const DataSet& data_set(const char* name) { return find_data_set(find_op("layer_norm"), name); }

Expected reference(const Problem& problem, const Tensors& inputs) {
  return reference_of(problem, inputs, {Check::hard}).at("dst");
}

Tensors tensors(Shape shape, const std::vector<double>& src, const std::vector<double>& gamma,
                const std::vector<double>& beta) {
  const auto tensor = [](Shape extents, const std::vector<double>& values) {
    HostTensor result(Dtype::f32, std::move(extents));
    for (std::int64_t i = 0; i < result.size(); ++i) {
      result.set(i, values[static_cast<std::size_t>(i)]);
    }
    return result;
  };
  const Shape row{shape[1]};
  return {{"src", tensor(shape, src)}, {"gamma", tensor(row, gamma)}, {"beta", tensor(row, beta)}};
}

// ---- problems ----

TEST(layer_norm, canonical_text_has_the_extents_then_what_is_not_default) {
  EXPECT_EQ(Problem::parse("layer_norm act=gelu eps=1e-6 dtype=f16 n=512 rows=192").text(),
            "layer_norm rows=192 n=512 dtype=f16 eps=1e-06 act=gelu");
  EXPECT_EQ(parse("layer_norm rows=2 n=3 eps=0.00001 act=none").text(),
            "layer_norm rows=2 n=3 dtype=f32");
}

TEST(layer_norm, tensors_are_dense_and_dst_may_be_src) {
  const Problem problem = parse("layer_norm rows=4 n=6", "f16");
  const std::vector<TensorSpec> specs = problem.tensors();
  ASSERT_EQ(specs.size(), 4u);
  EXPECT_EQ(specs[0].shape, (Shape{4, 6}));
  EXPECT_EQ(specs[1].name, "gamma");
  EXPECT_EQ(specs[1].shape, Shape{6});
  EXPECT_EQ(specs[2].name, "beta");
  EXPECT_EQ(specs[3].may_be, "src");
  EXPECT_EQ(bytes_of(problem), 2.0 * (24 + 6 + 6 + 24));
  EXPECT_EQ(flops_of(problem), 8.0 * 24);
}

TEST(layer_norm, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& words, const std::string& sentence) {
    EXPECT_THROWS_SAYING(parse("layer_norm " + words), BadArgument, sentence);
  };
  expect("n=3", "layer_norm: rows is missing");
  expect("rows=0 n=3", "layer_norm: rows='0', needs 1 to");
  expect("rows=65536 n=65536", "2147483647");
  expect("rows=32768 n=32768", "over the limit of 2147483647");
  expect("rows=2 n=3 eps=0", "layer_norm: eps=0, needs a finite number above 0");
  expect("rows=2 n=3 eps=-1", "layer_norm: eps=-1, needs a finite number above 0");
  expect("rows=2 n=3 eps=inf", "layer_norm: eps=inf, needs a finite number above 0");
  expect("rows=2 n=3 act=swish", "layer_norm: act='swish'");
}

// ---- plans ----

Launch planned(const std::string& line, const PlanOptions& options = {},
               const DeviceInfo& device = generic_device()) {
  return make_plan(parse(line), device, options).launches.at(0);
}

TEST(layer_norm, as_few_lanes_as_hold_a_row_share_it) {
  const auto options = [](int n) {
    const Launch launch = planned(fmt::format("layer_norm rows=100 n={}", n));
    return launch.kernel + " " + launch.options;
  };
  const auto row = [](int unit, int lanes, int rows, int held) {
    return fmt::format(
        "layer_norm_row -DLAYER_NORM_UNIT={} -DLAYER_NORM_LANES={} -DLAYER_NORM_ROWS={} "
        "-DLAYER_NORM_HELD={}",
        unit, lanes, rows, held);
  };
  EXPECT_EQ(options(3), row(1, 4, 16, 1));
  EXPECT_EQ(options(21), row(1, 4, 16, 6));
  EXPECT_EQ(options(64), row(4, 4, 16, 4));
  EXPECT_EQ(options(192), row(4, 16, 4, 3));
  EXPECT_EQ(options(512), row(4, 32, 2, 4));
  EXPECT_EQ(options(1021), row(1, 64, 1, 16));
  EXPECT_EQ(options(1025),
            "layer_norm_row_long -DLAYER_NORM_UNIT=1 -DLAYER_NORM_LANES=64 -DLAYER_NORM_ROWS=1");
}

TEST(layer_norm, variants_refuse_with_a_reason) {
  const auto refusal = [](const std::string& line, const std::string& variant,
                          const DeviceInfo& device = generic_device()) {
    const Problem problem = parse(line);
    return find_variant(op_of(problem), variant).refuses(problem, device).value_or("");
  };
  EXPECT_EQ(refusal("layer_norm rows=3 n=1024", "layer_norm_row"), "");
  EXPECT_EQ(refusal("layer_norm rows=3 n=1025", "layer_norm_row"),
            "n=1025 is over the 1024 elements that 64 lanes hold");
  EXPECT_EQ(refusal("layer_norm rows=3 n=1025", "layer_norm_row_long"), "");
  DeviceInfo tiny = generic_device();
  tiny.max_work_group = 8;
  for (const char* variant : {"layer_norm_row", "layer_norm_row_long"}) {
    EXPECT_EQ(refusal("layer_norm rows=3 n=4", variant, tiny),
              "the device has no work-groups of 16 work-items");
  }
}

TEST(layer_norm, groups_have_at_most_64_items) {
  test::for_each_case("layer_norm", [](const Problem& problem) {
    for (const Variant& variant : op_of(problem).variants) {
      if (variant.refuses(problem, generic_device())) continue;
      const Plan plan = make_plan(problem, generic_device(), {variant.name, 256});
      EXPECT_LE(plan.launches[0].local[0] * plan.launches[0].local[1], 64);
    }
  });
}

TEST(layer_norm, rows_that_a_smaller_group_cannot_hold_are_read_again) {
  EXPECT_EQ(planned("layer_norm rows=3 n=512", {"layer_norm_row", 32}).kernel, "layer_norm_row");
  EXPECT_EQ(planned("layer_norm rows=3 n=512", {"layer_norm_row", 16}).kernel,
            "layer_norm_row_long");
}

/// What a -D of a launch is set to.
int option(const Launch& launch, const std::string& name) {
  return std::stoi(launch.options.substr(launch.options.find(name + "=") + name.size() + 1));
}

// What the bound rests on: see layer_norm_proof.cpp.
TEST(layer_norm, no_term_goes_through_more_than_4_log2_n_additions) {
  for (const int limit : {16, 32, 64}) {
    for (int n = 2; n <= 1024; ++n) {
      const Launch launch =
          planned(fmt::format("layer_norm rows=1 n={}", n), {"layer_norm_row", limit});
      if (launch.kernel != "layer_norm_row") continue;
      const int unit = option(launch, "UNIT"), lanes = option(launch, "LANES");
      const int of_lane = option(launch, "HELD") - 1 + (unit == 4 ? 3 : 0);
      const int of_row = lanes / 4 - 1 + std::min(3, n / unit - 1);
      EXPECT_LE(of_lane + of_row, 4 * std::log2(n)) << n << " " << limit;
    }
  }
}

TEST(layer_norm, native_exp2_is_taken_where_it_was_measured_and_is_good) {
  const auto native = [](double ulp, const std::string& act) {
    DeviceInfo device = generic_device();
    device.native_exp2_ulp = ulp;
    const std::string options = planned("layer_norm rows=5 n=192 act=" + act, {}, device).options;
    return options.find("-DCLAM_NATIVE") != options.npos;
  };
  EXPECT_FALSE(native(0, "gelu")) << "not measured";
  EXPECT_FALSE(native(-1, "gelu")) << "it could not be";
  EXPECT_TRUE(native(4, "gelu"));
  EXPECT_TRUE(native(4, "silu"));
  EXPECT_FALSE(native(4.1, "gelu"));
  EXPECT_FALSE(native(1, "none"));
}

// ---- the reference ----

TEST(layer_norm, the_reference_is_the_formula) {
  const Tensors inputs = tensors({2, 4}, {1, 3, 1, 3, 5, 5, 5, 9}, {1, 2, -1, 1}, {0, 0, 10, -1});
  const std::vector<double> dst = reference(parse("layer_norm rows=2 n=4 eps=3"), inputs).value;
  const double a = std::sqrt(6.0);  // mean 6, variance 3
  const double expected[] = {-0.5, 1, 10.5, -0.5, -1 / a, -2 / a, 10 + 1 / a, 3 / a - 1};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(dst[i], expected[i], 1e-15) << i;
  const std::vector<double> active =
      reference(parse("layer_norm rows=2 n=4 eps=3 act=relu"), inputs).value;
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(active[i], std::max(expected[i], 0.0), 1e-15);
}

TEST(layer_norm, bounds_are_those_of_the_contract) {
  constexpr double kU = 0x1p-24;
  const Tensors inputs = tensors({1, 2}, {101, 99}, {3, 1}, {0, -2});
  const Expected dst = reference(parse("layer_norm rows=1 n=2 eps=1"), inputs);
  const double r = 1 / std::sqrt(2.0), mean = (4 + 5) * kU * 100;
  const double of_r = ((4 + 9) * kU + mean * mean) / 2 / 2 + kU / 2 + 4 * kU;
  EXPECT_NEAR(dst.bound[0] / (3 * r * (mean + 2 * kU + of_r) + 3 * r * (kU + kU)), 1, 1e-6);
  EXPECT_NEAR(dst.bound[1] / (r * (mean + 2 * kU + of_r) + (2 + r) * (kU + kU)), 1, 1e-6);
}

TEST(layer_norm, bounds_are_no_wider_than_the_textbook_rule) {
  // 4 log2(n) u (|x| + |mean|) / deviation |gamma|, where rows stand far from 0, and the rounding.
  const Problem problem = parse("layer_norm rows=4 n=512");
  const Tensors inputs = make_inputs(problem, data_set("offset"), 1);
  const Expected dst = reference(problem, inputs);
  for (std::size_t i = 0; i < dst.bound.size(); ++i) {
    const double gamma = inputs.at("gamma").get(static_cast<std::int64_t>(i % 512));
    EXPECT_LE(dst.bound[i], 0x1p-24 * (36 * 200 * std::fabs(gamma) + 2 * std::fabs(dst.value[i])));
  }
}

TEST(layer_norm, a_sum_beyond_the_largest_float_promises_nothing) {
  const Tensors inputs = tensors({2, 2}, {3e38, 3e38, 1e18, -1e18}, {1, 1}, {0, 0});
  const std::vector<double> bound = reference(parse("layer_norm rows=2 n=2"), inputs).bound;
  EXPECT_EQ(bound[0], kInfinity);
  EXPECT_LT(bound[2], 1e-5);
}

// ---- tests of the tests ----

// Fixed, so that small cases cannot pass or fail by chance.
constexpr std::uint64_t kSeed = 1;

const test::Simulation simulation("layer_norm", 1e30,
                                  [](const Problem& problem, const Tensors& inputs) {
                                    return layer_norm_faults::computed(
                                        problem, inputs, layer_norm_faults::Fault::none);
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
        honest(test::rounded(expected, problem.dtype(), inputs.at("src").shape())) {}

  void expect_caught(const HostTensor& faulty, const char* fault) const {
    EXPECT_FALSE(compare(faulty, expected).pass) << fault;
  }
  void expect_caught(layer_norm_faults::Fault fault, const char* what) const {
    expect_caught(layer_norm_faults::computed(problem, inputs, fault), what);
  }
};

using layer_norm_faults::Fault;

TEST(layer_norm, peaked_rows_catch_sums_without_their_last_element) {
  test::for_each_case("layer_norm", [](const Problem& problem) {
    if (problem.integer("n") == 1) return;
    Sample(problem, "peaked").expect_caught(Fault::drop_last, "last one dropped");
  });
}

TEST(layer_norm, sets_catch_half_sums_and_variances_that_are_not_the_formula) {
  for (const char* line : {"layer_norm rows=33 n=21", "layer_norm rows=192 n=512 act=gelu"}) {
    for (const char* dtype : {"f32", "f16"}) {
      const Problem problem = parse(line, dtype);
      SCOPED_TRACE(problem.text());
      Sample(problem, "offset").expect_caught(Fault::half_sum, "half sum");
      Sample(problem, "zero_mean").expect_caught(Fault::sample_variance, "n - 1 for n");
      Sample(problem, "flat").expect_caught(Fault::no_eps, "no eps");
    }
    Sample(parse(line), "offset").expect_caught(Fault::squares_less_square, "squares");
  }
}

// ---- kernels ----

using layer_norm_device = test::OpDevice;

/// Kernels made worse on purpose: one driver is enough to see that they are caught.
class layer_norm_broken : public test::OpDevice {};

TEST_F(layer_norm_device, exp_passes_where_native_exp2_is_the_default) {
  DeviceInfo device = test::runtime().device();
  device.native_exp2_ulp = 0;
  const Problem problem = parse("layer_norm rows=5 n=192 act=gelu");
  const Plan plan = make_plan(problem, device);
  EXPECT_EQ(plan.launches[0].options.find("NATIVE"), std::string::npos);
  Trial trial(test::runtime(), plan);
  for (const DataSet& set : proof_of(problem).data_sets) {
    const Tensors inputs = make_inputs(problem, set, test::seed());
    expect_pass(trial, inputs, expected(problem, inputs, set.check));
  }
}

TEST_F(layer_norm_device, what_is_not_finite_stays_in_its_row) {
  for (const std::string& dtype : dtypes()) {
    const Problem problem = parse("layer_norm rows=5 n=192", dtype);
    Tensors inputs = make_inputs(problem, data_set("zero_mean"), test::seed());
    inputs.at("src").set(192 + 191, kNan);
    inputs.at("src").set(3 * 192 + 7, -kInfinity);
    for_each_variant(problem, 0, [&](Trial& trial) {
      const HostTensor dst = run(trial, inputs).at("dst");
      for (std::int64_t i = 0; i < dst.size(); ++i) {
        EXPECT_EQ(std::isnan(dst.get(i)), i / 192 == 1 || i / 192 == 3) << i;
      }
    });
  }
}

TEST_F(layer_norm_device, numbers_near_the_limits_pass) {
  for (const std::string& dtype : dtypes()) {
    const Problem problem = parse("layer_norm rows=4 n=192", dtype);
    Tensors inputs = make_inputs(problem, data_set("zero_mean"), test::seed());
    HostTensor& src = inputs.at("src");
    const double most = dtype == "f16" ? 65504 : 1e17, least = dtype == "f16" ? 0x1p-24 : 1e-40;
    for (std::int64_t i = 0; i < 192; ++i) {
      src.set(i, i % 3 == 0 ? most : -most);
      src.set(192 + i, i % 3 == 0 ? least : 0);
      src.set(2 * 192 + i, i % 2 == 0 ? 0.0 : -0.0);
      src.set(3 * 192 + i, i % 3 == 0 ? most : most / 2);
    }
    expect_like_reference(problem, inputs);
  }
}

// ---- broken kernels ----

TEST_F(layer_norm_broken, broken_kernels_are_caught) {
  const char *row = "layer_norm_row", *row_long = "layer_norm_row_long";
  const char *short_line = "layer_norm rows=5 n=192", *long_line = "layer_norm rows=2 n=1028";
  const test::KernelFault faults[] = {
      {"the last unit is left out of the sum", "i < LAYER_NORM_HELD; ++i) sum += x[i]",
       "i < LAYER_NORM_HELD - 1; ++i) sum += x[i]", short_line, row, "peaked"},
      {"what a lane does not hold counts", "|| has_last ? x[i] - mean", "|| true ? x[i] - mean",
       "layer_norm rows=4 n=196", row, "offset"},
      {"the rows of a group share a sum", "partials + row * (LAYER_NORM_LANES / 4)", "partials",
       short_line, row, "zero_mean"},
      {"no eps", "squares, row, lane) / (float)n + eps", "squares, row, lane) / (float)n",
       short_line, row, "flat"},
      {"the mean is not subtracted", "x[i] - mean :", "x[i] :", short_line, row, "offset"},
      {"gamma of another column", "gamma, beta, first + i * STEP", "gamma, beta, first", short_line,
       row, "zero_mean"},
      {"wrong row", "min(y, (uint)rows - 1)", "min(y / 2, (uint)rows - 1)", short_line, row,
       "zero_mean"},
      {"early return", "if (y >= (uint)rows)", "if (y + 1 >= (uint)rows)", short_line, row,
       "zero_mean"},
      {"a coarser gelu", "0.254829592f", "0.2549f", "layer_norm rows=7 n=127 act=gelu", row,
       "zero_mean"},
      {"the last lanes' units are left out", "at < end; at += STEP) add(load(src, at), &sum",
       "at + STEP < end; at += STEP) add(load(src, at), &sum", long_line, row_long, "zero_mean"},
      {"squares of x, not of differences", "load(src, at) - mean;", "load(src, at);", long_line,
       row_long, "offset"},
      {"what rounding took is lost", "*lost = (next - *sum) - mended", "*lost = (Unit)(0.0f)",
       "layer_norm rows=1 n=122640", row_long, "flat"},
      {"what rounding took is taken twice", "- mended;", "+ mended;", long_line, row_long,
       "zero_mean"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("layer_norm.cl", fault);
}

// ---- for the tests of every op ----

const test::GroupSizes groups("layer_norm", 16, test::Bits::follow_group,
                              {"rows=5 n=192", "rows=5 n=192 act=gelu", "rows=3 n=1021",
                               "rows=5 n=1028"});

std::string random_case(Random& random) {
  const char* acts[] = {"none", "gelu", "relu", "tanh"};
  return fmt::format("layer_norm rows={} n={} act={}", random.integer(1, 40),
                     random.integer(2, 300), acts[random.integer(0, 3)]);
}

const test::RandomProblems random_problems("layer_norm", 6, random_case);

}  // namespace
}  // namespace clam::layer_norm_test
