// SPDX-License-Identifier: MIT
// conv_transpose_test.cpp - problems, plans, references and kernels of conv_transpose.
#include "ops/conv_transpose.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "check/op_proof.hpp"
#include "clam/gpu.hpp"
#include "clam/planner.hpp"
#include "contains.hpp"
#include "conv_transpose_faults.hpp"
#include "every_op.hpp"
#include "faults.hpp"
#include "op_device.hpp"
#include "test_errors.hpp"

namespace clam::conv_transpose_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Problem parse(const std::string& line, const std::string& dtype = "f32") {
  return Problem::parse("conv_transpose " + line + " dtype=" + dtype);
}

Expected reference(const Problem& problem, const Tensors& inputs, Check check = Check::hard) {
  return reference_of(problem, inputs, {check}).at("y");
}

HostTensor tensor(Shape shape, const std::vector<double>& values) {
  HostTensor tensor(Dtype::f32, std::move(shape));
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set(i, values[static_cast<std::size_t>(i)]);
  }
  return tensor;
}

// ---- problems ----

TEST(conv_transpose, what_can_be_said_in_two_ways_has_one_text) {
  const auto expect = [](const std::string& words, const std::string& canonical) {
    const Problem problem = parse("c=3 h=9 w=9 k=2 r=3 " + words);
    EXPECT_EQ(problem.text(), "conv_transpose c=3 h=9 w=9 k=2 r=3 dtype=f32" + canonical);
    EXPECT_EQ(Problem::parse(problem.text()), problem);
    EXPECT_EQ(Problem::parse(problem.text()), problem);
  };
  expect("", "");
  expect("n=1 s=3 stride=1 pad=0 out_pad=0 dilation=1 groups=1 act=none", "");
  expect("act=relu bias out_pad=1 pad=1 stride=2", " stride=2 pad=1 out_pad=1 bias act=relu");
  expect("stride=2 out_pad_h=1 out_pad_w=1", " stride=2 out_pad=1");
  expect("stride=2 out_pad=1 out_pad_w=0", " stride=2 out_pad_h=1");
  expect("stride_h=2 stride_w=3 pad_t=1 pad_r=2", " stride_h=2 stride_w=3 pad_t=1 pad_r=2");
  expect("dilation=2 dilation_w=1", " dilation_h=2");
}

TEST(conv_transpose, tensors_have_the_extents_of_the_formula) {
  const Problem problem = parse(
      "n=2 c=6 h=9 w=11 k=4 r=3 s=2 stride_h=2 stride_w=3 pad_t=1 pad_r=4 out_pad_w=2 dilation_w=2 "
      "groups=2 bias");
  using Role = TensorSpec::Role;
  const std::vector<TensorSpec> specs = problem.tensors();
  ASSERT_EQ(specs.size(), 4u);
  EXPECT_EQ(specs[0], (TensorSpec{"x", Role::input, Dtype::f32, {2, 6, 9, 11}, {}, 0}));
  EXPECT_EQ(specs[1], (TensorSpec{"w", Role::input, Dtype::f32, {6, 2, 3, 2}, {}, 0}));
  EXPECT_EQ(specs[2], (TensorSpec{"b", Role::input, Dtype::f32, {4}, {}, 0}));
  EXPECT_EQ(specs[3], (TensorSpec{"y", Role::output, Dtype::f32, {2, 4, 18, 31}, {}, 0}));
  EXPECT_EQ(flops_of(problem), 2.0 * 2 * 6 * 9 * 11 * 2 * 3 * 2);
  EXPECT_EQ(bytes_of(problem), 4.0 * (1188 + 72 + 4 + 4464));
  // The first row of taps of the first row of x is cut off, and so are columns 31 to 33 of y.
  EXPECT_DOUBLE_EQ(least_flops_of(problem), flops_of(problem) * (26. / 27) * (21. / 22));
}

TEST(conv_transpose, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& words, const std::string& sentence) {
    EXPECT_THROWS_SAYING(parse(words), BadArgument, "conv_transpose: " + sentence);
  };
  expect("c=3 h=4 w=4 k=2", "r is missing");
  expect("c=3 h=4 w=4 k=2 r=1 residual", "unknown word 'residual'");
  expect("c=3 h=4 w=4 k=2 r=1 acc=f16", "unknown word 'acc'");
  expect("c=3 h=4 w=4 k=2 r=1 stride=0", "stride='0', needs 1 to 1048576");
  expect("c=3 h=4 w=4 k=2 r=1 out_pad=-1", "out_pad='-1', needs 0 to 1048576");
  expect("c=6 h=4 w=4 k=4 r=1 groups=4", "groups=4, does not divide c=6");
  expect("c=6 h=4 w=4 k=4 r=1 groups=3", "groups=3, does not divide k=4");
  expect("c=3 h=4 w=4 k=2 r=2 stride=2 out_pad=2",
         "out_pad=2, needs less than the stride 2 or the dilation 1");
  expect("c=3 h=4 w=4 k=2 r=2 stride_h=2 out_pad_h=1 out_pad_w=1",
         "out_pad_w=1, needs less than the stride 1 or the dilation 1");
  expect("c=3 h=2 w=4 k=2 r=2 pad_t=2 pad_b=1", "h=2, makes y of 3 rows, and pads cut off 3");
  expect("c=3 h=9 w=1 k=2 r=2 s=1 pad=1", "w=1, makes y of 1 columns, and pads cut off 2");
  expect("c=1 h=65536 w=1 k=1 r=1 stride=65536", "h=65536, makes y of 4294901761 rows, over");
  EXPECT_THROWS_SAYING(parse("c=1 h=4096 w=4096 k=1 r=1 stride=16"), BadArgument,
                       "over 2147483647 elements");
}

// ---- plans ----

TEST(conv_transpose, variants_refuse_with_a_reason) {
  const auto refusal = [](const std::string& words, const DeviceInfo& device) {
    const Problem problem = parse("c=4 h=5 w=8 k=4 " + words);
    const Variant variant = find_variant(op_of(problem), "conv_transpose_phases");
    return variant.refuses(problem, device).value_or("");
  };
  DeviceInfo device = generic_device();
  EXPECT_EQ(refusal("r=4 stride=2 pad=1 out_pad=1", device), "");
  EXPECT_EQ(refusal("r=20 s=1 stride_h=9 pad_t=7 pad_b=8", device), "");
  EXPECT_EQ(refusal("r=2 dilation_h=2", device), "the dilation is over 1");
  EXPECT_EQ(refusal("r=2 stride=5", device), "stride_w=5 is over 4");
  EXPECT_EQ(refusal("r=9 stride=4 pad=1", device), "the filter has 9 columns, over 8");
  for (const char* words : {"r=4 pad_l=2", "r=3", "r=6 stride=2 pad_r=1", "r=3 stride=2 pad=3"}) {
    EXPECT_EQ(refusal(words, device), "a tap takes columns of x further than one from a tile");
  }
  device.max_alloc_bytes = 200;
  EXPECT_EQ(refusal("r=2", device), "packed w would take 256 bytes, over the limit of 200");
}

TEST(conv_transpose, tiles_have_the_channels_that_registers_hold) {
  const auto options = [](const std::string& words) {
    return make_plan(parse("c=4 h=5 " + words), gpu_device(find_gpu("g610"))).launches[0].options;
  };
  EXPECT_TRUE(test::contains(options("w=8 k=9 r=2 stride=2"), "CHANNELS=4"));
  EXPECT_TRUE(test::contains(options("w=8 k=3 r=2 stride=2"), "CHANNELS=2"));
  EXPECT_TRUE(test::contains(options("w=8 k=1 r=2 stride=2"), "CHANNELS=1"));
  EXPECT_TRUE(test::contains(options("w=8 k=9 r=3 stride=3"), "CHANNELS=2"));
  EXPECT_TRUE(test::contains(options("w=7 k=9 r=2 stride=2"), "CHANNELS=2"));
  // Whether columns of y go on behind x.
  EXPECT_TRUE(test::contains(options("w=8 k=9 r=3 stride=2"), "LOOSE"));
  EXPECT_FALSE(test::contains(options("w=8 k=9 r=3 stride=2 pad=1 out_pad=1"), "LOOSE"));
}

// ---- the reference ----

TEST(conv_transpose, the_reference_is_the_formula) {
  const Problem problem =
      parse("c=2 h=1 w=2 k=1 r=2 s=3 stride_w=2 pad_l=1 pad_b=1 out_pad_w=1 bias act=relu");
  const Tensors inputs{{"x", tensor({1, 2, 1, 2}, {1, 10, 2, 20})},
                       {"w", tensor({2, 1, 2, 3}, {1, 2, 3, 9, 9, 9, 0, 0, -4, 9, 9, 9})},
                       {"b", tensor({1}, {5})}};
  // Of row 0, before column 0 is cut off: 1*(1 2 3) + 2*(0 0 -4), and two columns on ten times so.
  EXPECT_EQ(reference(problem, inputs).value, (std::vector<double>{7, 3 - 8 + 10 + 5, 25, 0, 5}));
}

TEST(conv_transpose, the_reference_knows_groups_dilations_and_images) {
  const Problem problem = parse("n=2 c=2 h=2 w=1 k=4 r=2 s=1 dilation_h=3 groups=2");
  const Tensors inputs{{"x", tensor({2, 2, 2, 1}, {1, 2, 3, 4, 5, 6, 7, 8})},
                       {"w", tensor({2, 2, 2, 1}, {1, 10, 2, 20, 3, 30, 4, 40})}};
  std::vector<double> y;
  for (const auto& [a, b] : {std::pair{1, 2}, {3, 4}, {5, 6}, {7, 8}}) {
    for (const int k : {1, 2}) {
      const int factor = a % 4 == 1 ? k : k + 2;
      for (const int value : {a, b, 0, 10 * a, 10 * b}) y.push_back(factor * value);
    }
  }
  EXPECT_EQ(reference(problem, inputs).value, y);
}

TEST(conv_transpose, bounds_are_those_of_the_contract) {
  const Problem f32 = parse("c=2 h=1 w=1 k=1 r=1 s=2 pad_l=1 bias"), f16 = f32.with("dtype", "f16");
  const Tensors inputs{{"x", tensor({1, 2, 1, 1}, {4, 2})},
                       {"w", tensor({2, 1, 1, 2}, {9, 1, 9, -1})},
                       {"b", tensor({1}, {8})}};
  const double u = 0x1p-24, worst = 4 + 2 + 10, root = std::sqrt(16 + 4 + 100);
  EXPECT_DOUBLE_EQ(reference(f32, inputs).bound[0], u * worst + u * 10 + 0x1p-149);
  EXPECT_DOUBLE_EQ(reference(f32, inputs, Check::zero_mean).bound[0],
                   6 * u * root + u * 10 + 0x1p-149);
  EXPECT_DOUBLE_EQ(reference(f16, inputs).bound[0], u * worst + 0x1p-11 * 10 + 0x1p-25);
}

// ---- tests of the tests ----

// Fixed, so that small cases cannot pass or fail by chance.
constexpr std::uint64_t kSeed = 1;

const test::Simulation simulation("conv_transpose", 4e5,
                                  [](const Problem& problem, const Tensors& inputs) {
                                    return conv_transpose_faults::computed(problem, inputs,
                                                                           Dtype::f32);
                                  });

TEST(conv_transpose, exact_catches_products_left_out) {
  test::for_each_case("conv_transpose", [](const Problem& problem) {
    const ConvTranspose conv(problem);
    const Tensors inputs = make_inputs(problem, find_data_set(problem, "exact"), kSeed);
    const Expected expected = reference(problem, inputs, Check::exact);
    const auto is_caught = [&](std::int64_t channel, std::int64_t first) {
      const Tensors fewer = conv_transpose_faults::without_taps(problem, inputs, channel, first);
      const Expected y = reference(problem, fewer);
      return !compare(test::rounded(y, problem.dtype(), conv.y_shape()), expected).pass;
    };
    const std::int64_t last = conv.cg() - 1;
    EXPECT_TRUE(is_caught(last, 0)) << "dropped last channel";
    // Of a pixel at least the last tap is not cut off.
    const auto is_met = [](int extent, int stride, int from, int out) {
      for (std::int64_t i = 0; i < extent; ++i) {
        if (i * stride + from >= 0 && i * stride + from < out) return true;
      }
      return false;
    };
    const int r = (conv.r - 1) * conv.dilation_h, s = (conv.s - 1) * conv.dilation_w;
    if (!is_met(conv.h, conv.stride_h, r - conv.pad_t, conv.oh())) return;
    if (!is_met(conv.w, conv.stride_w, s - conv.pad_l, conv.ow())) return;
    EXPECT_TRUE(is_caught(last, std::int64_t{conv.r} * conv.s - 1)) << "dropped last tap";
  });
}

TEST(conv_transpose, hard_sets_catch_a_half_accumulator) {
  test::for_each_case("conv_transpose", [](const Problem& problem) {
    const std::string& act = problem.choice("act");
    const bool saturates = act == "sigmoid" || act == "tanh" || act == "relu6";
    // In half outputs the final rounding hides a few roundings before it, and so do flat slopes.
    const ConvTranspose conv(problem);
    const double products = flops_of(problem) / 2 / static_cast<double>(conv.outputs());
    if (products < (problem.dtype() == Dtype::f32 ? 2 : 18) || saturates) return;
    for (const char* name : {"positive", "outliers"}) {
      const std::string own = name;
      const DataSet& set = find_data_set(problem, own);
      const Tensors inputs = make_inputs(problem, set, kSeed);
      EXPECT_FALSE(compare(conv_transpose_faults::computed(problem, inputs, Dtype::f16),
                           reference(problem, inputs, set.check))
                       .pass)
          << name;
    }
  });
}

// ---- kernels ----

using conv_transpose_device = test::OpDevice;
class conv_transpose_broken : public test::OpDevice {};

/// What lies left and right of x may be multiplied by a weight; it must not change what x adds.
TEST_F(conv_transpose_device, infinities_stay_where_they_are_added) {
  for (const std::string& dtype : dtypes()) {
    for (const char* words :
         {"c=3 h=4 w=8 k=5 r=2 stride=2", "c=3 h=4 w=7 k=5 r=2 stride=2",
          "c=3 h=4 w=8 k=5 r=4 stride=2 pad=1", "c=3 h=4 w=7 k=2 r=3 stride=2 pad=1 out_pad=1"}) {
      const Problem problem = OpDevice::parse(std::string("conv_transpose ") + words, dtype);
      for (const char* name : {"x", "w"}) {
        Tensors inputs = make_inputs(problem, find_data_set(problem, "zero_mean"), test::seed());
        HostTensor& operand = inputs.at(name);
        for (std::int64_t i = 0; i < operand.size(); i += 23) {
          operand.set(i, i % 2 == 0 ? kInfinity : -kInfinity);
        }
        const Expected y = expected(problem, inputs, Check::hard).at("y");
        for_each_variant(problem, 0, [&](Trial& trial) {
          const Verdict verdict = compare(run(trial, inputs).at("y"), y, 1);
          EXPECT_LE(verdict.worst_ratio, 1) << verdict.reason;
        });
      }
    }
  }
}

TEST_F(conv_transpose_device, split_addresses_give_the_same_bits_on_either_way) {
  const test::TemporaryFolder folder;
  test::break_kernel(folder, "conv_transpose_phases.cl", "< (uint)(ulong)base",
                     ">= 0 * (uint)(ulong)base");
  const auto carrying = test::runtime_with_kernels(folder);
  for (const char* words : {"n=2 c=5 h=3 w=8 k=6 r=2 stride=2 bias", "c=7 h=3 w=7 k=3 r=3 stride=3",
                            "c=6 h=4 w=8 k=10 r=4 stride=2 pad=1 groups=2"}) {
    const Problem problem = OpDevice::parse(std::string("conv_transpose ") + words, "f32");
    const Plan plan = make_plan(problem, test::runtime().device(), {"conv_transpose_phases"});
    Plan split = plan;
    split.launches.back().options += " -DCONVT_SPLIT=1";
    const Tensors inputs = make_inputs(problem, find_data_set(problem, "zero_mean"), test::seed());
    Trial whole(test::runtime(), plan), fast(test::runtime(), split), slow(*carrying, split);
    const HostTensor y = run(whole, inputs).at("y");
    EXPECT_TRUE(run(fast, inputs).at("y") == y);
    EXPECT_TRUE(run(slow, inputs).at("y") == y);
  }
}

TEST_F(conv_transpose_broken, broken_kernels_are_caught) {
  const char* plain = "conv_transpose_plain";
  const test::KernelFault faults[] = {
      {"the last channel is left out", "c < cg;", "c + 1 < cg;",
       "conv_transpose c=5 h=3 w=5 k=2 r=2", plain, "exact"},
      {"a row of x beyond the last", "(uint)iy >= (uint)h", "iy < 0",
       "conv_transpose c=5 h=3 w=5 k=2 r=3 stride=2", plain, "exact"},
      {"the filter is not turned", "ix -= back", "ix += back", "conv_transpose c=5 h=3 w=5 k=2 r=3",
       plain, "exact"},
      {"rows of the filter are passed over", "r += step_h", "r += 2 * step_h",
       "conv_transpose c=5 h=3 w=5 k=2 r=3", plain, "exact"},
      {"the first tap is that of another output", "!= 0) ++tap", "== 0) ++tap",
       "conv_transpose c=5 h=3 w=5 k=2 r=3 stride=2", plain, "exact"},
      {"pads are not cut off", "ox + pad_l - first_s", "ox - first_s",
       "conv_transpose c=5 h=3 w=5 k=2 r=3 pad=1", plain, "exact"},
      {"the channels of another group", "k / kg * cg * kg", "0 * kg",
       "conv_transpose c=4 h=3 w=5 k=6 r=2 groups=2", plain, "exact"},
      {"weights as conv2d has them", "c, from += h * w, w_from += kg * taps",
       "c, from += h * w, w_from += taps", "conv_transpose c=5 h=3 w=5 k=2 r=2", plain, "exact"},
      {"the bias of another channel", "(float)b[k]", "(float)b[0]",
       "conv_transpose c=5 h=3 w=5 k=2 r=2 bias", plain, "exact"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("conv_transpose.cl", fault);
}

TEST_F(conv_transpose_broken, broken_phases_are_caught) {
  const char *phases = "conv_transpose_phases",
             *two = "conv_transpose c=5 h=3 w=8 k=6 r=2 stride=2",
             *four = "conv_transpose c=5 h=3 w=8 k=6 r=4 stride=2 pad=1",
             *loose = "conv_transpose c=5 h=3 w=7 k=6 r=4 stride=2 pad=1";
  const test::KernelFault faults[] = {
      {"the channels after the last four are left out", "if (BEFORE(weight, end))",
       "if (0 && BEFORE(weight, end))", two, phases, "exact"},
      {"phases change places", "(t0.x, t1.x, t0.y, t1.y)", "(t1.x, t0.x, t1.y, t0.y)", two, phases,
       "exact"},
      {"the second vector is left as it was", "if (end <= 0) return;", "if (v > 0) return;", two,
       phases, "exact"},
      {"the neighbour on the left is the other one", "SHIFT(s) < 0 ? from_left",
       "SHIFT(s) > 0 ? from_left", four, phases, "exact"},
      {"no neighbour on the left", "(float4)(left, middle.x,", "(float4)(0.0f, middle.x,",
       "conv_transpose c=5 h=3 w=16 k=6 r=4 stride=2 pad=1", phases, "exact"},
      {"what is outside counts", "(uint)column < (uint)w ? v : 0.0f", "v", loose, phases, "exact"},
      {"a row of x beyond the last", "(uint)iy >= (uint)h", "iy < 0", four, phases, "exact"},
      {"rows of the filter one after the other", "r += stride_h, --iy", "r += 1, --iy", four,
       phases, "exact"},
      {"the weights of another group", "(own * tiles + tile) * rows", "tile * rows",
       "conv_transpose c=4 h=3 w=8 k=6 r=2 stride=2 groups=2", phases, "exact"},
      {"the bias of another channel", "out.b[out.channel + i]", "out.b[i]",
       "conv_transpose c=5 h=3 w=8 k=6 r=2 stride=2 bias", phases, "exact"},
      {"a row that ends inside a vector", "if (end > 1)", "if (end > 2)", loose, phases, "exact"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("conv_transpose_phases.cl", fault);
}

TEST_F(conv_transpose_broken, broken_packing_is_caught) {
  expect_caught("conv_transpose.cl",
                {"the last channel is not packed", "k < kg ?", "k < kg - 1 ?",
                 "conv_transpose c=5 h=3 w=8 k=6 r=2 stride=2", "conv_transpose_phases", "exact"});
}

// ---- for the tests of every op ----

const test::GroupSizes groups("conv_transpose", 1, test::Bits::same,
                              {"c=5 h=6 w=20 k=5 r=2 stride=2 bias",
                               "n=2 c=3 h=5 w=7 k=3 r=4 stride=2 pad=1",
                               "c=3 h=5 w=7 k=3 r=3 stride=2 dilation=2"});

std::string random_case(Random& random) {
  const int groups = random.integer(1, 3), strides[] = {random.integer(1, 4), random.integer(1, 4)};
  const bool dilated = random.integer(0, 3) == 0;
  const int dilations[] = {dilated ? random.integer(1, 3) : 1, dilated ? random.integer(1, 3) : 1};
  std::string line = fmt::format(
      "conv_transpose n={} c={} h={} w={} k={} r={} s={} stride_h={} stride_w={} pad_t={} pad_l={} "
      "pad_b={} pad_r={} out_pad_h={} out_pad_w={} dilation_h={} dilation_w={} groups={}",
      random.integer(1, 2), groups * random.integer(1, 9), random.integer(4, 12),
      random.integer(4, 20), groups * random.integer(1, 9), random.integer(1, 5),
      random.integer(1, 5), strides[0], strides[1], random.integer(0, 1), random.integer(0, 1),
      random.integer(0, 1), random.integer(0, 1), random.integer(0, strides[0] - 1),
      random.integer(0, strides[1] - 1), dilations[0], dilations[1], groups);
  if (random.integer(0, 1) == 1) line += " bias";
  return line;
}

const test::RandomProblems random_problems("conv_transpose", 12, random_case);

}  // namespace
}  // namespace clam::conv_transpose_test
