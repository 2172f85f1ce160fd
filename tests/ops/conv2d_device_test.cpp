// SPDX-License-Identifier: MIT
// conv2d_device_test.cpp - kernels of conv2d on a device, and broken ones that must be caught.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "check/op_proof.hpp"
#include "clam/planner.hpp"
#include "contains.hpp"
#include "op_device.hpp"
#include "ops/conv2d_problem.hpp"
#include "ops/shared/activation.hpp"
#include "test_device.hpp"

namespace clam::conv2d_device_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const DataSet& data_set(const char* name) { return find_data_set(find_op("conv2d"), name); }

HostTensor tensor(Dtype dtype, Shape shape, const std::vector<double>& values) {
  HostTensor tensor(dtype, std::move(shape));
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, values[static_cast<std::size_t>(i)]);
  return tensor;
}

/// conv2d_product as a device of so many cores would run it: few cores want large tiles, many want
/// sums in parts.
Plan on_cores(int cores, const Problem& problem, const std::string& variant) {
  DeviceInfo device = test::runtime().device();
  device.compute_units = cores;
  return make_plan(problem, device, {variant});
}

using conv2d_device = test::OpDevice;

class conv2d_product_device : public test::OpDevice {
 public:
  static void expect_right(const Plan& plan, const Problem& problem) {
    SCOPED_TRACE(problem.text() + plan.launches.back().options);
    const Tensors inputs = make_inputs(problem, data_set("exact"), test::seed());
    Trial trial(test::runtime(), plan);
    expect_pass(trial, inputs, expected(problem, inputs, Check::exact));
  }
  static void expect_right_on_cores(int cores, const Problem& problem, const std::string& variant) {
    expect_right(on_cores(cores, problem, variant), problem);
  }
};

/// Kernels made worse on purpose: one driver is enough to see that they are caught.
class conv2d_broken : public test::OpDevice {};

TEST_F(conv2d_device, groups_too_small_for_parts_compute_the_same) {
  const Problem problem = parse("conv2d c=37 h=4 w=8 k=5 r=3 pad=1");
  const Tensors inputs = make_inputs(problem, data_set("zero_mean"), test::seed());
  const Reference reference = expected(problem, inputs, Check::zero_mean);
  for (const int limit : {1, 8}) {
    for_each_variant(problem, limit, [&](Trial& trial) {
      expect_pass(trial, inputs, expected_of(trial, inputs, Check::zero_mean, reference));
    });
  }
}

TEST_F(conv2d_device, every_height_of_a_depthwise_tile_is_right_at_its_edges) {
  // Of one slow core, so that small problems have high tiles.
  DeviceInfo device = test::runtime().device();
  device.compute_units = 1;
  std::set<std::string> heights;
  for (const char* line : {"c=1 h={} w=20 k=1 r=3 pad=1", "c=99 h={} w=20 k=99 r=3 pad=1 groups=99",
                           "c=90 h={} w=18 k=90 r=3 s=2 pad=1 dilation=2 groups=90",
                           "c=40 h={} w=21 k=40 r=5 pad=2 groups=40"}) {
    for (const int h : {9, 10, 11, 12}) {
      const Problem problem = parse("conv2d " + fmt::format(fmt::runtime(line), h));
      SCOPED_TRACE(problem.text());
      const Tensors inputs = make_inputs(problem, data_set("exact"), test::seed());
      const Plan plan = make_plan(problem, device, {"conv2d_depthwise"});
      const std::string& options = plan.launches.back().options;
      heights.insert(options.substr(options.find("ROWS="), 6));
      Trial trial(test::runtime(), plan);
      expect_pass(trial, inputs, expected(problem, inputs, Check::exact));
    }
  }
  EXPECT_EQ(heights, (std::set<std::string>{"ROWS=1", "ROWS=2", "ROWS=3", "ROWS=4"}));
}

/// The plan for a compiler that gains by split addresses.
Plan with_split(Plan plan) {
  std::string& options = plan.launches.back().options;
  if (!test::contains(options, "CONV2D_SPLIT")) options += " -DCONV2D_SPLIT=1";
  return plan;
}

const std::vector<std::pair<std::string, std::string>> kSplit = {
    {"conv2d_product.cl", "conv2d n=2 c=79 h=4 w=20 k=9 r=1"},
    {"conv2d_product.cl", "conv2d c=130 h=4 w=5 k=7 r=1 bias"},
    {"conv2d_product.cl", "conv2d c=130 h=3 w=5 k=7 r=1 bias"},
    {"conv2d_product.cl", "conv2d n=2 c=14 h=6 w=5 k=8 r=3 stride=2 groups=2 residual"},
    {"conv2d_3x3.cl", "conv2d n=2 c=37 h=5 w=8 k=6 r=3 pad=1"},
    {"conv2d_3x3.cl", "conv2d c=5 h=9 w=16 k=701 r=3 pad=1"},
    {"conv2d_3x3.cl", "conv2d c=9 h=8 w=12 k=5 r=3 stride=2 pad=1"},
    {"conv2d_nhwc.cl", "conv2d c=12 h=5 w=9 k=7 r=3 pad=1 layout=nhwc"}};

TEST_F(conv2d_device, split_addresses_give_the_same_bits_on_either_way) {
  const test::TemporaryFolder folder;
  for (const char* file : {"conv2d_product.cl", "conv2d_3x3.cl", "conv2d_nhwc.cl"}) {
    test::break_kernel(folder, file, "< (uint)(ulong)base", ">= 0 * (uint)(ulong)base");
  }
  const auto carrying = test::runtime_with_kernels(folder);
  for (const std::string& dtype : dtypes()) {
    for (const auto& [file, line] : test::of_this_run(kSplit)) {
      for (const char* acc : {"", " acc=chunk", " acc=f16"}) {
        if (*acc != 0 && dtype == "f32") continue;
        if (test::contains(acc, "f16") && !test::contains(file, "product")) continue;
        const Problem problem = parse(line + acc, dtype);
        SCOPED_TRACE(problem.text());
        const std::string variant = file.substr(0, file.find('.'));
        const Plan plan = make_plan(problem, test::runtime().device(), {variant});
        const Tensors inputs = make_inputs(problem, data_set("zero_mean"), test::seed());
        Trial whole(test::runtime(), plan), split(test::runtime(), with_split(plan));
        Trial carried(*carrying, with_split(plan));
        const HostTensor y = run(whole, inputs).at("y");
        EXPECT_TRUE(run(split, inputs).at("y") == y);
        EXPECT_TRUE(run(carried, inputs).at("y") == y);
      }
    }
  }
}

/// Half sums of eight channels leave no registers: a tile waits in local memory, and its start for
/// the slow way.
TEST_F(conv2d_device, eight_channels_of_chunks_give_the_bits_of_four) {
  CLAM_NEEDS_F16();
  const test::TemporaryFolder folder;
  test::break_kernel(folder, "conv2d_product.cl", "< (uint)(ulong)base",
                     ">= 0 * (uint)(ulong)base");
  const auto carrying = test::runtime_with_kernels(folder);
  struct Case {
    int parts;
    const char *words, *form = "";
  };
  const std::vector<Case> all = {{1, "n=2 c=64 h=8 w=8 k=15 r=1 bias residual"},
                                 {1, "c=32 h=9 w=10 k=12 r=3 stride=2 pad=1"},
                                 {1, "c=69 h=5 w=7 k=12 r=1"},
                                 {2, "c=74 h=5 w=7 k=12 r=1 bias"},
                                 {1, "c=13 h=5 w=8 k=12 r=3 pad=1", "_rows"},
                                 {3, "c=7 h=5 w=8 k=12 r=3 pad=1", "_rows"}};
  for (const Case& one : all) {
    const Problem problem = parse(fmt::format("conv2d {} acc=chunk", one.words), "f16");
    SCOPED_TRACE(problem.text());
    const auto plan_of = [&](int channels) {
      PlanOptions options{fmt::format("conv2d_product{}", one.form)};
      options.tile = fmt::format("CHANNELS={},PARTS={}", channels, one.parts);
      return make_plan(problem, test::runtime().device(), options);
    };
    const Tensors inputs = make_inputs(problem, data_set("zero_mean"), test::seed());
    Trial four(test::runtime(), plan_of(4)), eight(test::runtime(), plan_of(8));
    const HostTensor y = run(four, inputs).at("y");
    EXPECT_TRUE(run(eight, inputs).at("y") == y);
    Trial split(test::runtime(), with_split(plan_of(8))),
        carried(*carrying, with_split(plan_of(8)));
    for (Trial* other : {&split, &carried}) EXPECT_TRUE(run(*other, inputs).at("y") == y);
  }
}

/// Each of two parts has whole chunks, or none, and a rest.
TEST_F(conv2d_device, a_rest_of_a_chunk_of_any_length_is_right) {
  CLAM_NEEDS_F16();
  std::vector<int> rests(31);
  std::iota(rests.begin(), rests.end(), 1);
  for (const int rest : test::of_this_run(rests)) {
    const int whole = rest % 2 * 32, channels = rest % 4 < 2 ? 4 : 8;
    const Problem problem =
        parse(fmt::format("conv2d c={} h=4 w=9 k=9 r=1 acc=chunk", 2 * (whole + rest)), "f16");
    const std::string tile = fmt::format("CHANNELS={},PARTS=2", channels);
    const Plan plan = make_plan(problem, test::runtime().device(), {"conv2d_product", 0, tile});
    const std::string& options = plan.launches.back().options;
    const std::string known = fmt::format("WHOLE={} -DCONV2D_REST={} ", whole > 0 ? 1 : 2, rest);
    EXPECT_TRUE(test::contains(options, known)) << options;
    conv2d_product_device::expect_right(plan, problem);
  }
}

/// A tile that only large maps are planned with. The sums of its second vector wait in local
/// memory.
struct TwoVectorsOfChunks {
  const char *words, *chunk;
  Plan plan() const {
    return make_plan(problem(), test::runtime().device(),
                     {"conv2d_3x3", 0, fmt::format("VECTORS=2,CHUNK={},PARTS=1", chunk)});
  }
  Problem problem() const {
    return Problem::parse(fmt::format("conv2d {} r=3 pad=1 acc=chunk dtype=f16", words));
  }
};

constexpr TwoVectorsOfChunks kTwoVectorsOfChunks[] = {
    {"c=12 h=40 w=40 k=30 bias residual act=relu", "4"},
    {"n=2 c=8 h=48 w=24 k=66", "8"},
    {"c=24 h=32 w=24 k=64 groups=2 bias", "4"},
    {"c=9 h=2 w=512 k=65 bias act=silu", "3"}};

TEST_F(conv2d_device, two_vectors_of_chunks_are_right_by_split_addresses_too) {
  CLAM_NEEDS_F16();
  const test::TemporaryFolder folder;
  test::break_kernel(folder, "conv2d_3x3.cl", "< (uint)(ulong)base", ">= 0 * (uint)(ulong)base");
  const auto carrying = test::runtime_with_kernels(folder);
  for (const TwoVectorsOfChunks& one : kTwoVectorsOfChunks) {
    const Plan plan = one.plan();
    conv2d_product_device::expect_right(plan, one.problem());
    const Tensors inputs = make_inputs(one.problem(), data_set("zero_mean"), test::seed());
    Trial whole(test::runtime(), plan), split(test::runtime(), with_split(plan));
    Trial carried(*carrying, with_split(plan));
    const HostTensor y = run(whole, inputs).at("y");
    EXPECT_TRUE(run(split, inputs).at("y") == y);
    EXPECT_TRUE(run(carried, inputs).at("y") == y);
  }
}

/// Of vectors that overlap, each adds r to its own pixels alone.
TEST_F(conv2d_product_device, a_residual_on_y_is_added_once) {
  const Problem problem = parse("conv2d c=6 h=9 w=7 k=5 r=3 pad=1 residual");
  Trial trial(test::runtime(), problem, {"conv2d_product"});
  ASSERT_TRUE(test::contains(trial.plan().launches.back().options, "CONV2D_LOOSE=2"));
  test::expect_pass_in_place(trial, sample_of(problem, data_set("exact"), test::seed()));
}

/// k ends in the first and in the second four channels of a tile. Maps are whole vectors, or not.
TEST_F(conv2d_product_device, tiles_of_eight_channels_are_right_at_the_end_of_k) {
  for (const std::string& dtype : dtypes()) {
    const char* acc = dtype == "f16" ? " acc=f16" : "";
    for (const char* rest : {"h=4 w=8 k=3 r=1", "h=5 w=5 k=77 r=1", "h=3 w=5 k=14 r=3 pad=1"}) {
      const Problem problem = parse(fmt::format("conv2d n=2 c=64 {}{}", rest, acc), dtype);
      for (const int parts : {1, 4}) {
        const std::string tile = fmt::format("CHANNELS=8,PARTS={}", parts);
        expect_right(make_plan(problem, test::runtime().device(), {"conv2d_product", 0, tile}),
                     problem);
      }
    }
  }
}

/// The last part is shorter than the others. Other tests take those of a power of two.
TEST_F(conv2d_product_device, every_number_of_parts_is_right) {
  for (const int parts : Conv2d::kProductParts) {
    const Problem problem = parse(fmt::format("conv2d n=2 c={} h=7 w=7 k=9 r=1", 8 * parts - 3));
    const Plan plan = on_cores(64, problem, "conv2d_product");
    EXPECT_TRUE(test::contains(plan.launches.back().options, fmt::format("PARTS={} ", parts)))
        << plan.launches.back().options;
    if (parts % 3 == 0) expect_right_on_cores(64, problem, "conv2d_product");
  }
}

/// Planes around a trip of the loops over them: of 1, 4, 8, 16 and 32.
TEST_F(conv2d_product_device, sums_are_right_at_the_ends_of_trips) {
  const std::vector<int> counts = {1, 3, 4, 7, 8, 9, 15, 16, 17, 28, 31, 32, 33, 63, 64, 71};
  for (const std::string& dtype : dtypes()) {
    for (const char* acc : {"", " acc=chunk", " acc=f16"}) {
      if (*acc != 0 && dtype == "f32") continue;
      for (const int c : test::of_this_run(counts)) {
        for (const int cores : {1, 64}) {
          const bool rows = c % 2 == 1;
          const Problem problem = parse(
              fmt::format("conv2d c={} h=4 w=9 k=5 {}{}", c, rows ? "r=2 s=1 pad_t=1" : "r=1", acc),
              dtype);
          expect_right_on_cores(cores, problem, rows ? "conv2d_product_rows" : "conv2d_product");
        }
      }
    }
  }
}

TEST_F(conv2d_device, sums_whole_and_in_parts_are_right_at_the_edges_of_parts) {
  const std::vector<int> counts = {15, 16, 17, 63, 64, 65, 68, 69};
  for (const char* rest : {"h=4 w=8 k=5 r=1", "h=2 w=8 k=5 r=3 pad=1", "h=2 w=3 k=5 r=3 pad=1"}) {
    for (const int c : test::of_this_run(counts)) {
      const Problem problem = parse(fmt::format("conv2d c={} {}", c, rest));
      SCOPED_TRACE(problem.text());
      const Tensors inputs = make_inputs(problem, data_set("exact"), test::seed());
      const Reference reference = expected(problem, inputs, Check::exact);
      for (const int limit : {8, 64}) {
        for_each_variant(problem, limit,
                         [&](Trial& trial) { expect_pass(trial, inputs, reference); });
      }
    }
  }
}

TEST_F(conv2d_device, sums_that_cancel_between_parts_stay_within_their_bound) {
  const Problem problem = parse("conv2d c=64 h=4 w=8 k=5 r=1");
  const Conv2d conv(problem);
  Tensors inputs = make_inputs(problem, data_set("positive"), test::seed());
  // In order, one partial sum is large; in parts, all of the second part's are.
  const std::int64_t last = conv.part() - 1, first = conv.part();
  for (std::int64_t i = 0; i < 32; ++i) {
    inputs.at("x").set(last * 32 + i, 3e6);
    inputs.at("x").set(first * 32 + i, -3e6);
  }
  for (std::int64_t k = 0; k < 5; ++k) {
    inputs.at("w").set(k * 64 + last, 1);
    inputs.at("w").set(k * 64 + first, 1);
  }
  expect_like_reference(problem, inputs);
}

TEST_F(conv2d_device, nan_stays_in_its_window_and_its_channel) {
  for (const std::string& dtype : dtypes()) {
    for (const char* line :
         {"conv2d c=5 h=6 w=8 k=5 r=3 pad=1", "conv2d c=5 h=8 w=8 k=5 r=3 stride=2 pad=1",
          "conv2d c=5 h=6 w=8 k=5 r=1", "conv2d c=5 h=7 w=7 k=5 r=3 pad=1 dilation=2",
          "conv2d c=5 h=6 w=8 k=5 r=3 pad=1 groups=5",
          "conv2d c=5 h=8 w=8 k=5 r=3 stride=2 pad=1 groups=5"}) {
      const Problem problem = parse(line, dtype);
      const Conv2d conv(problem);
      // A pixel at a corner is next to the padding, one inside is not.
      for (const std::int64_t pixel :
           {std::int64_t{0}, std::int64_t{conv.h} * conv.w - 1, std::int64_t{3} * conv.w + 4}) {
        Tensors inputs = make_inputs(problem, data_set("zero_mean"), test::seed());
        inputs.at("x").set(4 * conv.h * conv.w + pixel, kNan);
        inputs.at("w").set(2 * conv.products(), kNan);  // its first tap
        expect_like_reference(problem, inputs);
      }
    }
  }
}

/// A kernel may multiply padding by it; so its channel is not judged there, and all else is.
TEST_F(conv2d_device, a_weight_that_is_not_finite_changes_its_channel_alone) {
  for (const std::string& dtype : dtypes()) {
    for (const char* line : {"conv2d c=3 h=3 w=4 k=3 r=3 pad=1 algo=direct",
                             "conv2d c=20 h=3 w=4 k=3 r=3 pad=1 algo=direct",
                             "conv2d c=3 h=4 w=4 k=3 r=3 stride=2 pad=1",
                             "conv2d c=3 h=5 w=5 k=3 r=3 pad=1 algo=direct",
                             "conv2d c=3 h=3 w=4 k=3 r=3 pad=1 groups=3"}) {
      const Problem problem = parse(line, dtype);
      const std::int64_t products = Conv2d(problem).products(), outputs = Conv2d(problem).outputs();
      for (const double value : {kInfinity, -kInfinity, kNan}) {
        Tensors inputs = make_inputs(problem, data_set("zero_mean"), test::seed());
        inputs.at("w").set(products, value);  // the upper left tap of channel 1
        const Expected y = expected(problem, inputs, Check::hard).at("y");
        EXPECT_TRUE(std::isinf(y.bound[static_cast<std::size_t>(outputs / 3)]));
        EXPECT_TRUE(std::isfinite(y.bound[0]));
        for_each_variant(problem, 0, [&](Trial& trial) {
          EXPECT_LE(compare(run(trial, inputs).at("y"), y, 1).worst_ratio, 1);
        });
      }
    }
  }
}

TEST_F(conv2d_device, infinities_and_negative_zeros_are_numbers) {
  for (const std::string& dtype : dtypes()) {
    for (const char* line :
         {"conv2d c=5 h=6 w=8 k=5 r=3 pad=1 algo=direct", "conv2d c=5 h=6 w=8 k=5 r=1",
          "conv2d c=5 h=6 w=8 k=5 r=3 pad=1 groups=5"}) {
      const Problem problem = parse(line, dtype);
      Tensors inputs = make_inputs(problem, data_set("positive"), test::seed());
      HostTensor& x = inputs.at("x");
      for (std::int64_t i = 0; i < 20; ++i) x.set(i, -0.0);
      x.set(48, kInfinity);           // the first pixel of channel 1
      x.set(2 * 48 - 1, -kInfinity);  // the last one
      inputs.at("w").set(3, -kInfinity);
      expect_like_reference(problem, inputs);
    }
  }
}

/// One kernel a file, since the activations of a file are those of all its kernels.
TEST_F(conv2d_device, every_activation_takes_infinities_as_its_reference_does) {
  const std::pair<const char*, const char*> kernels[] = {
      {"conv2d_product", "conv2d c=1 h=2 w=4 k=2 r=1"},
      {"conv2d_depthwise", "conv2d c=1 h=2 w=4 k=1 r=3 pad=1"},
      {"conv2d_plain", "conv2d c=1 h=2 w=4 k=2 r=1"}};
  for (const std::string& act : activation_names()) {
    for (const auto& [variant, line] : kernels) {
      const Problem problem = parse(std::string(line) + " act=" + act);
      SCOPED_TRACE(problem.text() + " " + variant);
      Tensors inputs = make_inputs(problem, data_set("positive"), test::seed());
      for (int i = 0; i < 8; ++i) inputs.at("x").set(i, i - 2.5);
      Trial trial(test::runtime(), problem, {variant});
      expect_pass(trial, inputs, expected(problem, inputs, Check::hard));
      inputs.at("x").set(0, kInfinity);
      inputs.at("x").set(7, -kInfinity);
      // Where most outputs are no numbers, a verdict may be blind.
      const Expected y = expected(problem, inputs, Check::hard).at("y");
      EXPECT_LE(compare(run(trial, inputs).at("y"), y, 1).worst_ratio, 1);
    }
  }
}

TEST_F(conv2d_device, denormals_are_kept_where_the_device_has_them) {
  for (const std::string& dtype : dtypes()) {
    const Problem problem = parse("conv2d c=5 h=6 w=8 k=5 r=3 pad=1", dtype);
    Tensors inputs = make_inputs(problem, data_set("exact"), test::seed());
    const double step = dtype == "f16" ? 0x1p-20 : 0x1p-138;
    HostTensor& x = inputs.at("x");
    for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, step * static_cast<double>(i % 7 - 3));
    const Expected y = expected(problem, inputs, Check::hard).at("y");
    for_each_variant(problem, 0, [&](Trial& trial) {
      // A device without denormals may give zeros: then the bound says so, and the verdict is
      // blind.
      EXPECT_LE(compare(run(trial, inputs).at("y"), y, 1).worst_ratio, 1);
    });
  }
}

TEST_F(conv2d_device, the_largest_halves_add_up_and_overflow_like_ieee) {
  CLAM_NEEDS_F16();
  const Problem problem = parse("conv2d c=2 h=2 w=2 k=5 r=1", "f16");
  Tensors inputs = make_inputs(problem, data_set("exact"), test::seed());
  inputs.at("x") =
      tensor(Dtype::f16, {1, 2, 2, 2}, {65504, 65504, -65504, 0, -65504, 65504, 0, -65504});
  for (std::int64_t i = 0; i < inputs.at("w").size(); ++i) inputs.at("w").set(i, 1);
  for_each_variant(problem, 0, [&](Trial& trial) {
    const HostTensor y = run(trial, inputs).at("y");
    EXPECT_EQ(y.get(0), 0);
    EXPECT_EQ(y.get(1), kInfinity);
    EXPECT_EQ(y.get(2), -65504);
    EXPECT_EQ(y.get(3), -65504);
  });
}

// ---- broken kernels ----

struct FileFault {
  const char* file;
  test::KernelFault fault;
};

/// A tile that no small problem is planned with here.
TEST_F(conv2d_broken, second_four_channels_by_the_weights_of_the_first_are_caught) {
  const test::TemporaryFolder folder;
  test::break_kernel(folder, "conv2d_product.cl", "+ j * 4 * (uint)sizeof(S)", "");
  const auto broken = test::runtime_with_kernels(folder);
  const Problem problem = parse("conv2d c=64 h=5 w=5 k=13 r=1");
  const Tensors inputs = make_inputs(problem, data_set("exact"), test::seed());
  const PlanOptions wanted{"conv2d_product", 0, "CHANNELS=8,PARTS=1"};
  Trial trial(*broken, make_plan(problem, broken->device(), wanted));
  const Reference reference = expected(problem, inputs, Check::exact);
  EXPECT_FALSE(compare_all(reference, run(trial, inputs), {}, 1).pass());
}

TEST_F(conv2d_device, sums_that_wait_in_one_place_are_caught) {
  CLAM_NEEDS_F16();
  const test::TemporaryFolder folder;
  test::break_kernel(folder, "conv2d_3x3.cl", "in->waiting[(i - 4) *", "in->waiting[(i - 4) / 2 *");
  const auto broken = test::runtime_with_kernels(folder);
  const TwoVectorsOfChunks& one = kTwoVectorsOfChunks[0];
  const Tensors inputs = make_inputs(one.problem(), data_set("exact"), test::seed());
  Trial trial(*broken, one.plan());
  const Reference reference = expected(one.problem(), inputs, Check::exact);
  EXPECT_FALSE(compare_all(reference, run(trial, inputs), {}, 1).pass());
}

TEST_F(conv2d_broken, broken_kernels_are_caught) {
  const char *three_by_three = "conv2d_3x3.cl", *nhwc = "conv2d_nhwc.cl";
  const char* nhwc_three = "conv2d n=2 c=4 h=5 w=7 k=6 r=3 pad=1 layout=nhwc";
  const char* nhwc_each = "conv2d n=2 c=8 h=5 w=9 k=8 r=3 pad=1 groups=8 layout=nhwc";
  const char *conv = "conv2d.cl", *product = "conv2d_product.cl", *move = "conv2d_move.cl",
             *depthwise = "conv2d_depthwise.cl";
  const char *one = "conv2d c=5 h=6 w=8 k=9 r=1", *three = "conv2d n=2 c=4 h=5 w=8 k=6 r=3 pad=1";
  const char* one_parts = "conv2d c=256 h=4 w=4 k=5 r=1";
  const char* product_taps = "conv2d c=40 h=9 w=8 k=5 r=3 pad=1";
  const char* product_tail = "conv2d c=6 h=9 w=3 k=5 r=3 pad=1";
  const char* loose = "conv2d c=6 h=9 w=7 k=5 r=3 pad=1 bias residual";
  const char* strided = "conv2d c=3 h=7 w=12 k=5 r=3 stride=2 pad=1";
  const char* grouped = "conv2d c=6 h=5 w=8 k=10 r=3 pad=1 groups=2";
  const char* each = "conv2d n=2 c=5 h=6 w=8 k=5 r=3 pad=1 groups=5 bias act=relu";
  const FileFault faults[] = {
      {product,
       {"wrong tile", "= {4 * v * SIZE, 4 * v * SIZE,", "= {4 * v * SIZE, v / 2 * 8 * SIZE,", one,
        "conv2d_product", "exact"}},
      {product,
       {"dropped last plane of a tap", "(uint)planes * in.plane",
        "(uint)(planes / 2 * 2) * in.plane", "conv2d c=13 h=6 w=8 k=9 r=1", "conv2d_product",
        "exact"}},
      {product,
       {"dropped last plane", "min(range, planes - begin), 0", "min(range, planes - begin - 1), 0",
        one, "conv2d_product", "exact"}},
      {product,
       {"early return", "(own >= vectors ||", "(own + 1 >= vectors ||",
        "conv2d c=5 h=6 w=8 k=9 r=1 bias act=sigmoid", "conv2d_product", "zero_mean"}},
      {product,
       {"lost part", "q < CONV2D_PARTS; ++q", "q < CONV2D_PARTS - 1; ++q", one_parts,
        "conv2d_product", "exact"}},
      {product,
       {"wrong image", "(z * planes + begin)", "(begin)", "conv2d n=2 c=5 h=4 w=4 k=7 r=1",
        "conv2d_product", "exact"}},
      {product,
       {"last channels not packed", "channels > 2", "channels > 4",
        "conv2d n=2 c=5 h=4 w=4 k=7 r=1", "conv2d_product", "exact"}},
      {product,
       {"one tap too few", "while (--left > 0)", "while (--left > 1)", product_taps,
        "conv2d_product_rows", "exact"}},
      {product,
       {"next row of a phase left out", "MOVE(tap, in.step + (wraps ? in.wrap : 0));",
        "MOVE(tap, wraps ? -in.step : in.step);", "conv2d c=3 h=9 w=8 k=5 r=5 stride=2 pad=1",
        "conv2d_product_rows", "exact"}},
      {product,
       {"wrong group of channels", "(panel * planes + begin)", "(panel % 2 * planes + begin)",
        "conv2d c=6 h=5 w=8 k=30 r=3 pad=1 groups=3", "conv2d_product", "exact"}},
      {product,
       {"tail pixels stored", "pixel < place.end)", "pixel < 4)", product_tail,
        "conv2d_product_rows", "exact"}},
      {product,
       {"last vector of a row behind its end", "min(column, out.width - 4)", "column", loose,
        "conv2d_product", "exact"}},
      {product,
       {"pixel left out where vectors overlap", "(place.from <= pixel)", "(place.from < pixel)",
        loose, "conv2d_product", "exact"}},
      {move,
       {"row not moved", "iy >= 0 && iy < h", "iy >= 1 && iy < h", product_taps,
        "conv2d_product_rows", "exact"}},
      {move,
       {"column not moved", "i >= 0 && i < extent", "i >= 1 && i < extent", product_taps,
        "conv2d_product", "exact"}},
      {move,
       {"planes without the line between them", "bytes = plane * SIZE;",
        "bytes = (int)get_global_size(2) * pitch * 4 * SIZE;",
        "conv2d c=3 h=32 w=32 k=5 r=2 pad_r=1 pad_b=1", "conv2d_product", "exact"}},
      {move,
       {"channels not moved", "p += plane;", "p += 0;", product_taps, "conv2d_product_rows",
        "exact"}},
      {three_by_three,
       {"wrong column", "(map - row * columns) * PIXELS", "(map - row * columns) / 2 * 2 * PIXELS",
        three, "conv2d_3x3", "exact"}},
      {three_by_three,
       {"dropped last channel", "min(range, cg - tile->begin)", "min(range, cg - tile->begin - 1)",
        three, "conv2d_3x3", "exact"}},
      {three_by_three,
       {"dropped last row of taps", "has_row(in, 2))", "has_row(in, 99))", three, "conv2d_3x3",
        "exact"}},
      {three_by_three,
       {"dropped left column", "in->ix > 0", "in->ix > 4", three, "conv2d_3x3", "exact"}},
      {three_by_three,
       {"dropped right column", "in->ix + 4 * CONV2D_VECTORS <", "in->ix + 8 * CONV2D_VECTORS <",
        three, "conv2d_3x3", "exact"}},
      {three_by_three,
       {"second vector not read", "has_high(&in) ? 4 * SIZE : 0", "0", strided, "conv2d_3x3",
        "exact"}},
      {three_by_three,
       {"early return", "CONV2D_PARTS == 1 && !tile.stored",
        "CONV2D_PARTS == 1 && (!tile.stored || tile.oy + 1 == oh)", three, "conv2d_3x3",
        "zero_mean"}},
      {three_by_three,
       {"wrong image", "(tile.n * groups + tile.g) * cg", "(tile.g) * cg", three, "conv2d_3x3",
        "exact"}},
      {three_by_three,
       {"tail channels stored over the next group", "channel >= (out.channels & 7)", "channel > 8",
        grouped, "conv2d_3x3", "exact"}},
      {conv,
       {"dropped last tap", "j < columns; ++j", "j < columns - 1; ++j", three, "conv2d_plain",
        "exact"}},
      {three_by_three,
       {"no bias", "CONV2D_BIAS ? (float)b[(out.channels >> 3) + channel] : 0.0f", "0.0f",
        "conv2d c=5 h=4 w=4 k=7 r=3 pad=1 bias", "conv2d_3x3", "exact"}},
      {three_by_three,
       {"no activation", "CONV2D_ACT(z.x)", "z.x", "conv2d c=5 h=4 w=4 k=7 r=3 pad=1 bias act=relu",
        "conv2d_3x3", "exact"}},
      {depthwise,
       {"wrong channel", "wp + channel *", "wp + (channel ^ 1) % k *", each, "conv2d_depthwise",
        "exact"}},
      {depthwise,
       {"dropped last row of taps", "tap < CONV2D_R)", "tap < CONV2D_R - 1)", each,
        "conv2d_depthwise", "exact"}},
      {depthwise,
       {"row outside added", "(uint)(iy + (i) * CONV2D_DILATION_H) < (uint)h",
        "iy + (i) * CONV2D_DILATION_H < h && from + iy > 0", each, "conv2d_depthwise", "exact"}},
      {depthwise,
       {"early return", "tile >= tiles", "tile + 1 >= tiles", each, "conv2d_depthwise",
        "positive"}},
      {depthwise,
       {"dropped right column", "<= (uint)(w - CONV2D_VECTOR)", "< (uint)(w - CONV2D_VECTOR)",
        "conv2d c=5 h=6 w=20 k=5 r=3 pad=1 groups=5", "conv2d_depthwise", "exact"}},
      {depthwise,
       {"dropped stored pixel", "ox + p < ow", "ox + p + 1 < ow",
        "conv2d c=5 h=6 w=19 k=5 r=3 pad=1 groups=5", "conv2d_depthwise", "positive"}},
      {nhwc,
       {"dropped last channel", "tap.channels * SIZE;", "(tap.channels - 4) * SIZE;",
        "conv2d c=12 h=6 w=12 k=9 r=3 layout=nhwc", "conv2d_nhwc", "exact"}},
      {nhwc,
       {"padding read", "(uint)(column + i * stride) >= (uint)w", "column + i * stride >= w",
        nhwc_three, "conv2d_nhwc", "exact"}},
      {nhwc,
       {"dropped first tap", "column >= w || last < 0", "column >= w || last < 3", nhwc_three,
        "conv2d_nhwc", "exact"}},
      {nhwc,
       {"wrong group of channels", "group * cg) * (int)SIZE", "0 * cg) * (int)SIZE",
        "conv2d c=8 h=4 w=5 k=8 r=3 groups=2 layout=nhwc", "conv2d_nhwc", "exact"}},
      {nhwc,
       {"tail channels stored", "if (channels > i)", "if (channels > i - 4)", nhwc_three,
        "conv2d_nhwc", "exact"}},
      {nhwc,
       {"wrong column", "if (j >= 2 &&", "if (j >= 3 &&", nhwc_each, "conv2d_nhwc_depthwise",
        "exact"}},
      {nhwc,
       {"not transposed", "w[c * 9 + t]", "w[t * channels + c]", nhwc_each, "conv2d_nhwc_depthwise",
        "exact"}},
      {nhwc,
       {"dropped last channel", "c < cg; ++c", "c < cg - 1; ++c", nhwc_three, "conv2d_nhwc_plain",
        "exact"}},
  };
  const auto variant_of = [](const FileFault& each) { return each.fault.variant; };
  for (const FileFault& each : test::faults_of_this_run(faults, variant_of)) {
    expect_caught(each.file, each.fault);
  }
}

}  // namespace
}  // namespace clam::conv2d_device_test
