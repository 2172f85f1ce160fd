// SPDX-License-Identifier: MIT
// winograd_test.cpp - when Winograd's sum is taken, its bounds, and faults that they catch.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "check/compare.hpp"
#include "clam/error.hpp"
#include "clam/gpu.hpp"
#include "clam/planner.hpp"
#include "contains.hpp"
#include "op_device.hpp"
#include "ops/conv2d_problem.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace clam::winograd_test {
namespace {

using conv2d_device = test::OpDevice;

Problem conv(const std::string& words) { return Problem::parse("conv2d " + words + " dtype=f32"); }

const DataSet& data_set(const char* name) { return find_data_set(find_op("conv2d"), name); }

class winograd_broken : public test::OpDevice {
 protected:
  void expect_caught_in(const Plan& plan, const char* right, const char* wrong) {
    const Problem problem = Problem::parse(plan.problem);
    const test::Sample sample = sample_of(problem, data_set("exact"), test::seed());
    const test::TemporaryFolder folder;
    test::break_kernel(folder, "conv2d_winograd.cl", right, wrong);
    const auto broken = test::runtime_with_kernels(folder);
    Trial trial(*broken, plan);
    EXPECT_FALSE(compare_all(sample.reference, run(trial, sample.inputs), {}, 1).pass()) << right;
  }
};

std::string variant_on_board(const std::string& words) {
  return make_plan(conv(words), gpu_device(find_gpu("g610"))).variant;
}

TEST(conv2d, algo_says_how_a_3x3_filter_is_summed) {
  const std::string large = "c=256 h=14 w=14 k=256 r=3 pad=1",
                    small = "c=4 h=80 w=80 k=4 r=3 pad=1";
  EXPECT_EQ(variant_on_board(large), "conv2d_winograd");
  EXPECT_NE(variant_on_board(small), "conv2d_winograd");
  EXPECT_NE(variant_on_board(large + " algo=direct"), "conv2d_winograd");
  EXPECT_EQ(variant_on_board(small + " algo=winograd"), "conv2d_winograd");
  EXPECT_THROWS_SAYING(
      make_plan(conv(small + " algo=winograd"), generic_device(), {"conv2d_plain"}), Unsupported,
      "algo=winograd asks for conv2d_winograd");
  const auto refused = [](const std::string& words, const char* why) {
    EXPECT_THROWS_SAYING(conv("c=4 h=9 w=9 k=4 algo=winograd " + words), BadArgument, why);
  };
  refused("r=1", "the filter is 1x1, not 3x3");
  refused("r=3 stride=2", "the stride is over 1");
  refused("r=3 dilation_w=2", "the dilation is over 1");
  refused("r=3 layout=nhwc", "conv2d_winograd reads layout=nchw");
}

/// Sums in float keep what acc=chunk promises: their bound is far below that of half chunks.
TEST(conv2d, winograd_is_taken_with_chunks_where_it_is_faster_and_never_in_half) {
  const auto halves = [](const char* acc) {
    return conv("c=256 h=14 w=14 k=256 r=3 pad=1").with("dtype", "f16").with("acc", acc);
  };
  EXPECT_EQ(make_plan(halves("chunk"), gpu_device(find_gpu("g610"))).variant, "conv2d_winograd");
  EXPECT_THROWS_SAYING(halves("chunk").with("c", "16").with("acc", "f16").with("algo", "winograd"),
                       BadArgument, "conv2d_winograd sums in float");
  const Problem small = halves("chunk").with("c", "64").with("k", "4");
  const Tensors inputs = make_inputs(small, data_set("positive"), 1);
  const Expected chunks = reference_of(small, inputs, {Check::hard}).at("y");
  const Expected own =
      reference_of(small, inputs, {Check::hard, true, 0, "conv2d_winograd"}).at("y");
  double ours = 0, theirs = 0;
  for (std::size_t i = 0; i < own.bound.size(); ++i) {
    ours += own.bound[i];
    theirs += chunks.bound[i];
  }
  EXPECT_LT(ours, theirs / 2);
}

// ---- bounds ----

/// The bounds for the variant over those for the others: of their sums, and the largest.
std::pair<double, double> bound_ratio(const Problem& problem, const DataSet& set) {
  const Tensors inputs = make_inputs(problem, set, 1);
  const Expected others = reference_of(problem, inputs, {set.check}).at("y");
  const Expected own =
      reference_of(problem, inputs, {set.check, true, 0, "conv2d_winograd"}).at("y");
  EXPECT_EQ(others.value, own.value);
  double sum = 0, sum_of_others = 0, largest = 0;
  for (std::size_t i = 0; i < own.bound.size(); ++i) {
    sum += own.bound[i];
    sum_of_others += others.bound[i];
    largest = std::max(largest, own.bound[i] / others.bound[i]);
  }
  return {sum / sum_of_others, largest};
}

TEST(conv2d, bounds_of_winograd_are_of_that_variant_alone) {
  const Problem problem = conv("c=32 h=8 w=8 k=8 r=3 pad=1");
  for (const char* set : {"zero_mean", "positive", "outliers"}) {
    const auto [mean, largest] = bound_ratio(problem, data_set(set));
    EXPECT_GT(mean, 0.1) << set;
    EXPECT_LT(mean, 1.5) << set;
    // One outlier of a tile counts for pixels whose windows lack it.
    EXPECT_EQ(largest > 8, std::string(set) == "outliers") << set << " " << largest;
  }
  const Tensors inputs = make_inputs(problem, data_set("zero_mean"), 1);
  EXPECT_EQ(reference_of(problem, inputs, {Check::hard, true, 0, "conv2d_3x3"}).at("y").bound,
            reference_of(problem, inputs, {Check::hard}).at("y").bound);
}

TEST(conv2d, a_sum_of_one_term_has_the_bound_of_winograds_steps) {
  const Problem problem = conv("c=1 h=2 w=2 k=1 r=3 pad=1 algo=winograd");
  Tensors inputs = make_inputs(problem, data_set("exact"), 1);
  for (auto& [name, tensor] : inputs) {
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, name == "w" ? i == 4 : i == 0);
  }
  // d is 1 at (1, 1), g is 1 in its middle. With c = (0, 1/2, -1/2, 0) of G and e = (0, 1, -1, 1)
  // of B^T, the four products c_i c_j e_i e_j are 1/4, and y[0][0] is their sum, which is 1.
  const Expected y = reference_of(problem, inputs, {Check::hard}).at("y");
  EXPECT_EQ(y.value[0], 1);
  // More than a dozen units, fewer than a hundred.
  EXPECT_GT(y.bound[0], 0x1p-24 * 4);
  EXPECT_LT(y.bound[0], 0x1p-24 * 40);
}

TEST(conv2d, no_bound_of_winograd_holds_near_numbers_that_are_none) {
  const Problem problem = conv("c=2 h=8 w=8 k=2 r=3 pad=1 algo=winograd");
  Tensors inputs = make_inputs(problem, data_set("positive"), 1);
  inputs.at("x").set(0, std::numeric_limits<double>::infinity());
  inputs.at("x").set(63, 1e38);
  const Expected y = reference_of(problem, inputs, {Check::hard}).at("y");
  EXPECT_TRUE(std::isinf(y.bound[0]));
  EXPECT_FALSE(std::isinf(y.bound[4]));
  EXPECT_TRUE(std::isinf(y.bound[63]));
  // The same where a filter is 0: 0 times what overflows in V.
  for (std::int64_t i = 0; i < inputs.at("w").size(); ++i) inputs.at("w").set(i, 0);
  inputs.at("x").set(0, 2e38);
  inputs.at("x").set(16, -2e38);
  EXPECT_TRUE(std::isinf(reference_of(problem, inputs, {Check::hard}).at("y").bound[0]));
}

// ---- on a device ----

TEST_F(conv2d_device, winograd_takes_what_is_no_number) {
  const Problem problem = conv("c=3 h=16 w=17 k=25 r=3 pad=1 algo=winograd bias");
  Tensors inputs = make_inputs(problem, data_set("zero_mean"), test::seed());
  inputs.at("x").set(9, std::numeric_limits<double>::quiet_NaN());
  inputs.at("w").set(100, std::numeric_limits<double>::infinity());
  expect_like_reference(problem, inputs);
}

TEST_F(conv2d_device, winograd_by_split_addresses_gives_the_same_bits_on_either_way) {
  const test::TemporaryFolder folder;
  test::break_kernel(folder, "conv2d_winograd.cl", "< (uint)(ulong)base",
                     ">= 0 * (uint)(ulong)base");
  const auto carrying = test::runtime_with_kernels(folder);
  for (const char* words : {"n=2 c=11 h=5 w=7 k=9 r=3 pad=1", "c=16 h=30 w=30 k=64 r=3"}) {
    const Problem problem = conv(words);
    const Plan plan = make_plan(problem, test::runtime().device(), {"conv2d_winograd"});
    Plan split = plan;
    split.launches.back().options += " -DCONV2D_SPLIT=1";
    const Tensors inputs = make_inputs(problem, data_set("zero_mean"), test::seed());
    Trial whole(test::runtime(), plan), fast(test::runtime(), split), slow(*carrying, split);
    const HostTensor y = run(whole, inputs).at("y");
    EXPECT_TRUE(run(fast, inputs).at("y") == y);
    EXPECT_TRUE(run(slow, inputs).at("y") == y);
  }
}

/// A plan whose work-items finish two neighbouring tiles, which lie in two rows or images at times.
Plan plan_of_pairs(int max_work_group = 0) {
  return make_plan(conv("n=2 c=11 h=9 w=9 k=6 r=3 pad=1 algo=winograd bias residual"),
                   gpu_device(find_gpu("g610")),
                   {"conv2d_winograd", max_work_group, "VECTORS=2,PARTS=1,LX=1"});
}

Plan plan_of_parts(const std::string& tile, const Problem& problem) {
  return make_plan(problem, gpu_device(find_gpu("g610")), {"conv2d_winograd", 0, tile});
}

/// 71 channels of a group: of 8 parts, the last has 8 of them, and the others 9.
const char* const kParts = "n=2 c=142 h=9 w=9 k=12 r=3 pad=1 groups=2 algo=winograd bias residual";

TEST_F(conv2d_device, winograd_finishes_pairs_of_tiles_across_rows_and_images) {
  const Problem problem = Problem::parse(plan_of_pairs().problem);
  for (const int group : {0, 4, 1}) {
    SCOPED_TRACE(group);
    Trial trial(test::runtime(), plan_of_pairs(group));
    for (const test::Sample& sample : samples_of(problem)) {
      expect_pass(trial, sample);
      test::expect_pass_in_place(trial, sample);
    }
  }
}

TEST_F(conv2d_device, winograd_adds_the_sums_of_parts) {
  for (const std::string& dtype : dtypes()) {
    const Problem problem = conv(kParts).with("dtype", dtype);
    const std::vector<test::Sample> samples = samples_of(problem);
    for (const int vectors : {1, 2}) {
      for (const int parts : Conv2d::kWinogradParts) {
        const std::string tile = fmt::format("VECTORS={},PARTS={}", vectors, parts);
        SCOPED_TRACE(tile);
        Trial trial(test::runtime(), plan_of_parts(tile, problem));
        for (const test::Sample& sample : samples) {
          expect_pass(trial, sample);
          test::expect_pass_in_place(trial, sample);
        }
      }
    }
  }
}

TEST_F(winograd_broken, a_pair_that_stays_in_its_row_or_image_is_caught) {
  for (const char* next : {"tile.row += is_last;", "tile.image += is_end;"}) {
    expect_caught_in(plan_of_pairs(), next, "");
  }
}

TEST_F(winograd_broken, a_part_that_is_left_out_or_takes_channels_of_others_is_caught) {
  const Plan plan = plan_of_parts("VECTORS=1,PARTS=8", conv(kParts));
  expect_caught_in(plan, "part < CONV2D_PARTS;", "part < CONV2D_PARTS - 1;");
  expect_caught_in(plan, "from = part * range", "from = part * range - (part > 0)");
  expect_caught_in(plan, "from = part * range", "from = 0");
}

TEST_F(winograd_broken, faults_of_winograd_are_caught) {
  const char* file = "conv2d_winograd.cl";
  const char* line = "conv2d n=2 c=11 h=5 w=7 k=6 r=3 pad=1 algo=winograd bias act=relu";
  const char* variant = "conv2d_winograd";
  const test::KernelFault faults[] = {
      {"wrong sign in B", "t.z - t.y", "t.y - t.z", line, variant, "exact"},
      {"wrong sign in A", "m1 - m2 - m[(12", "m1 - m2 + m[(12", line, variant, "exact"},
      {"a filter without its middle", "half_b[s] = 0.5f * b", "half_b[s] = 0.25f * b", line,
       variant, "exact"},
      {"dropped channels after the last eight", "while (BEFORE(x, end)) {",
       "while (0 && BEFORE(x, end)) {", line, variant, "exact"},
      {"right padding read", "ix < w &&", "ix <= w &&", line, variant, "exact"},
      {"no second row", "oy + 1 < out.oh", "oy + 3 < out.oh", line, variant, "exact"},
      {"no second column", "both = ox + 1 < out.ow", "both = ox + 3 < out.ow", line, variant,
       "exact"},

      {"last channel not packed", "inside = j < k,", "inside = j < k - 1,", line, variant, "exact"},
      {"V as far off as halves are", "return (float4)(t.x - t.z, t.y + t.z,",
       "return (float4)((t.x - t.z) * 1.0005f, t.y + t.z,", line, variant, "zero_mean"}};
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught(file, fault);
}

}  // namespace
}  // namespace clam::winograd_test
