// SPDX-License-Identifier: MIT
// lrn_test.cpp - problems, plans, references and kernels of lrn.
#include <gtest/gtest.h>

#include <cmath>

#include "clam/planner.hpp"
#include "every_op.hpp"
#include "lrn_faults.hpp"
#include "op_device.hpp"
#include "test_errors.hpp"

namespace clam::lrn_test {
namespace {

constexpr double kU = 0x1p-24;

Problem parse(const std::string& words, const std::string& dtype = "f32") {
  return Problem::parse("lrn " + words + " dtype=" + dtype);
}

Expected reference(const Problem& problem, const std::vector<double>& values) {
  HostTensor x(problem.dtype(), problem.tensors().front().shape);
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, values.at(static_cast<std::size_t>(i)));
  return reference_of(problem, {{"x", x}}, {Check::hard}).at("y");
}

// ---- problems ----

TEST(lrn, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& words, const std::string& sentence) {
    EXPECT_THROWS_SAYING(parse("n=1 c=4 h=2 w=2 " + words), BadArgument, sentence);
  };
  expect("size=0", "lrn: size='0', needs 1 to");
  expect("alpha=0", "lrn: alpha=0, needs a finite number above 0");
  expect("beta=-1", "lrn: beta=-1, needs a finite number above 0");
  expect("bias=inf", "lrn: bias=inf, needs a finite number above 0");
  EXPECT_THROWS_SAYING(parse("n=1 c=65536 h=256 w=256"), BadArgument, "2147483647");
  EXPECT_EQ(parse("n=1 c=4 h=2 w=2 size=5 alpha=1e-4 beta=0.75 bias=1").text(),
            "lrn n=1 c=4 h=2 w=2 dtype=f32");
}

// ---- plans ----

Launch planned(const std::string& words) {
  return make_plan(parse(words), generic_device(), {}).launches.at(0);
}

TEST(lrn, long_windows_have_a_kernel_of_their_own) {
  EXPECT_EQ(planned("n=1 c=96 h=55 w=55 size=8").kernel, "lrn_run");
  EXPECT_EQ(planned("n=1 c=96 h=55 w=55 size=9").kernel, "lrn_window");
  const Problem problem = parse("n=1 c=96 h=55 w=55 size=9");
  EXPECT_EQ(find_variant(op_of(problem), "lrn_run").refuses(problem, generic_device()).value(),
            "size=9 is over the 8 channels that an item holds");
}

TEST(lrn, large_maps_leave_more_channels_to_an_item) {
  const auto run = [](const std::string& words) {
    return std::get<std::int32_t>(planned(words).args.at(4));
  };
  EXPECT_GT(run("n=8 c=96 h=128 w=128"), run("n=1 c=96 h=13 w=13"));
}

// ---- the reference ----

TEST(lrn, the_reference_is_the_formula) {
  const auto y = [](const std::string& words) {
    return reference(parse("n=1 c=4 h=1 w=1 alpha=1 bias=2 " + words), {1, -2, 3, 4}).value;
  };
  const std::vector<double> of_three = y("size=3 beta=1");
  const double three[] = {1 / (2 + 5. / 3), -2 / (2 + 14. / 3), 3 / (2 + 29. / 3),
                          4 / (2 + 25. / 3)};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(of_three[i], three[i], 1e-15);
  // An even window has one more channel behind than before its own.
  const std::vector<double> of_two = y("size=2 beta=0.5");
  const double two[] = {1 / std::sqrt(2 + 5. / 2), -2 / std::sqrt(2 + 13. / 2),
                        3 / std::sqrt(2 + 25. / 2), 4 / std::sqrt(2 + 16. / 2)};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(of_two[i], two[i], 1e-15);
}

TEST(lrn, bounds_are_those_of_the_contract) {
  const auto error = [](const std::string& words, const std::string& dtype) {
    const Expected y = reference(parse("n=1 c=1 h=1 w=1 size=1 bias=1 " + words, dtype), {2});
    return y.bound[0] / y.value[0];
  };
  // A = 4, s = 5: the sum has one term.
  const double of_s = (3 * 4. / 5 + 1) * kU;
  EXPECT_NEAR(error("alpha=1", "f32"), 0.75 * of_s + (13 + 2) * kU, 1e-12);
  EXPECT_NEAR(error("alpha=1 beta=2", "f32"),
              2 * of_s + (7 * std::log(2) * 2 * std::log2(5) + 6 + 2) * kU, 1e-12);
  EXPECT_NEAR(error("alpha=1", "f16"), 0.75 * of_s + 14 * kU + 0x1p-11, 1e-7);
}

TEST(lrn, what_is_not_finite_stays_in_its_windows) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> y =
      reference(parse("n=1 c=6 h=1 w=1 size=3"), {1, inf, 1, 1, std::nan(""), 1}).value;
  EXPECT_EQ(y[0], 0);
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_EQ(y[2], 0);
  for (std::size_t i = 3; i < 6; ++i) EXPECT_TRUE(std::isnan(y[i]));
}

// ---- tests of the tests ----

const test::Simulation simulation("lrn", 1e30, [](const Problem& problem, const Tensors& inputs) {
  return lrn_faults::computed(problem, inputs, lrn_faults::Fault::none);
});

TEST(lrn, sets_catch_wrong_windows_and_a_half_accumulator) {
  using lrn_faults::Fault;
  test::for_each_case("lrn", [](const Problem& problem) {
    const Lrn lrn(problem);
    const DataSet data = find_data_set(problem, "positive");
    const Tensors inputs = make_inputs(problem, data, 1);
    const Expected expected = reference_of(problem, inputs, {data.check}).at("y");
    const auto caught = [&](Fault fault) {
      return !compare(lrn_faults::computed(problem, inputs, fault), expected).pass;
    };
    // Half outputs hide what a single channel of many counts.
    const bool single = problem.dtype() == Dtype::f32 || lrn.size < 30;
    EXPECT_TRUE(!single || caught(Fault::drop_last));
    if (lrn.size % 2 == 0 && lrn.c > lrn.size / 2) {
      EXPECT_TRUE(caught(Fault::turned));
    }
    if (lrn.size > 1) {
      EXPECT_TRUE(caught(Fault::edges_divided));
    }
    if (problem.dtype() == Dtype::f32) {
      EXPECT_TRUE(caught(Fault::half_sum));
    }
  });
}

// ---- kernels ----

using lrn_device = test::OpDevice;
class lrn_broken : public test::OpDevice {};

TEST_F(lrn_device, large_numbers_and_denormals_pass) {
  for (const std::string& dtype : dtypes()) {
    for (const char* words : {"n=1 c=24 h=3 w=3", "n=1 c=24 h=3 w=3 size=11 beta=0.5"}) {
      const Problem problem = OpDevice::parse(std::string("lrn ") + words, dtype);
      Tensors inputs = make_inputs(problem, find_data_set(problem, "zero_mean"), test::seed());
      HostTensor& x = inputs.at("x");
      const double most = dtype == "f16" ? 65504 : 1e18,
                   least = dtype == "f16" ? 0x1p-24 : 0x1p-149;
      for (std::int64_t i = 0; i < x.size(); ++i) {
        x.set(i, i / 9 % 8 < 4 ? (i % 2 == 0 ? most : -most) : least * static_cast<double>(i % 5));
      }
      const Expected y = expected(problem, inputs, Check::hard).at("y");
      for_each_variant(problem, 0, [&](Trial& trial) {
        const Verdict verdict = compare(run(trial, inputs).at("y"), y, 1);
        EXPECT_LE(verdict.worst_ratio, 1) << verdict.reason;
      });
    }
  }
}

TEST_F(lrn_broken, broken_kernels_are_caught) {
  const char *run = "lrn_run", *window = "lrn_window", *set = "balanced";
  const test::KernelFault faults[] = {
      {"a channel outside counts as its neighbour", "there == channel ? v : (Unit)(0.0f)", "v",
       "lrn n=1 c=7 h=3 w=3", run, set},
      {"the window is a channel too far", "channel - before + LRN_SIZE - 1",
       "channel - before + LRN_SIZE", "lrn n=1 c=7 h=3 w=3", run, set},
      {"the window does not move", "held[i - 1] = held[i];", "held[i] = held[i];",
       "lrn n=1 c=7 h=3 w=3", run, set},
      {"the last channel of an item is left out", "min(first + run, c);\n  for",
       "min(first + run - 1, c);\n  for", "lrn n=1 c=7 h=3 w=3", run, set},
      {"another channel is divided", "divide(held[before]", "divide(held[0]", "lrn n=1 c=7 h=3 w=3",
       run, set},
      {"another root", "root * sqrt(root)", "root * root", "lrn n=1 c=7 h=3 w=3", run, set},
      {"another power", "exp2(-beta * log2(s))", "native_recip(s)", "lrn n=1 c=7 h=3 w=3 beta=0.5",
       run, set},
      {"no bias", "(Unit)(bias)", "(Unit)(0.0f)", "lrn n=1 c=13 h=3 w=3 size=11", window, set},
      {"the last channel of a window is left out", "i < end; ++i", "i + 1 < end; ++i",
       "lrn n=1 c=13 h=3 w=3 size=11", window, set},
      {"another image", "get_global_id(2) * c * pixels", "get_global_id(2) * pixels",
       "lrn n=2 c=13 h=3 w=3 size=11", window, set},
      {"a pixel beyond the last", "pixel >= (uint)pixels", "pixel + 1 >= (uint)pixels",
       "lrn n=1 c=7 h=3 w=3", run, set},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("lrn.cl", fault);
}

// ---- for the tests of every op ----

const test::GroupSizes groups("lrn", 1, test::Bits::same,
                              {"n=1 c=33 h=9 w=9", "n=2 c=40 h=12 w=12 size=10"});

std::string random_case(Random& random) {
  const char* of_power[] = {"", " beta=0.5", " alpha=0.3 bias=2", " beta=1.5 alpha=1e-3"};
  return fmt::format("lrn n={} c={} h={} w={} size={}{}", random.integer(1, 3),
                     random.integer(1, 40), random.integer(1, 12), random.integer(1, 12),
                     random.integer(1, 12), of_power[random.integer(0, 3)]);
}

const test::RandomProblems random_problems("lrn", 6, random_case);

}  // namespace
}  // namespace clam::lrn_test
