// SPDX-License-Identifier: MIT
// scale_shift_test.cpp - problems, plans, references and kernels of scale_shift.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "check/op_proof.hpp"
#include "clam/planner.hpp"
#include "every_op.hpp"
#include "op_device.hpp"
#include "scale_shift_faults.hpp"
#include "test_errors.hpp"

namespace clam::scale_shift_test {
namespace {

constexpr double kU = 0x1p-24;

Problem parse(const std::string& words, const std::string& dtype = "f32") {
  return Problem::parse("scale_shift " + words + " dtype=" + dtype);
}

/// src is 1, 2, 3, ..., scale 10, 20, ... and shift 1, 2, ...
Expected reference(const Problem& problem, double first = 1) {
  Tensors inputs;
  for (const TensorSpec& spec : problem.tensors()) {
    HostTensor& tensor =
        inputs.emplace(spec.name, HostTensor(spec.dtype, spec.shape)).first->second;
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      const auto at = static_cast<double>(i);
      tensor.set(i, spec.name == "scale" ? 10 * (at + 1)
                    : spec.name == "src" ? at + first
                                         : at + 1);
    }
  }
  inputs.erase("dst");
  return reference_of(problem, inputs, {Check::hard}).at("dst");
}

TEST(scale_shift, canonical_text_has_an_axis_from_the_front) {
  EXPECT_EQ(parse("axis=-2 act=relu shape=2x3x4").text(),
            "scale_shift shape=2x3x4 dtype=f32 act=relu");
  EXPECT_EQ(parse("axis=-1 shape=2x3x4").text(), "scale_shift shape=2x3x4 dtype=f32 axis=2");
  const std::vector<TensorSpec> specs = parse("shape=2x3x4", "f16").tensors();
  ASSERT_EQ(specs.size(), 4U);
  EXPECT_EQ(to_string(specs[1].shape), "3");
  EXPECT_EQ(specs[3].may_be, "src");
  EXPECT_EQ(bytes_of(parse("shape=2x3x4")), 4.0 * (24 + 3 + 3 + 24));
  EXPECT_EQ(flops_of(parse("shape=2x3x4")), 48);
}

TEST(scale_shift, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& words, const std::string& sentence) {
    EXPECT_THROWS_SAYING(parse(words), BadArgument, sentence);
  };
  expect("axis=1", "scale_shift: shape is missing");
  expect("shape=7", "scale_shift: axis=1, needs -1 to 0");
  expect("shape=2x3 axis=-3", "scale_shift: axis=-3, needs -2 to 1");
  expect("shape=2x3 act=swish", "act='swish'");
  expect("shape=65536x65536", "2147483647");
}

TEST(scale_shift, vectors_lie_along_rows) {
  const auto planned = [](const std::string& words) {
    const Launch launch = make_plan(parse(words), generic_device()).launches.at(0);
    return launch.kernel + " " + launch.options;
  };
  EXPECT_EQ(planned("shape=1x64x56x56 act=relu"),
            "scale_shift_rows -DSCALE_SHIFT_UNIT=4 -DSCALE_SHIFT_LX=16 -DSCALE_SHIFT_LY=4 "
            "-DSCALE_SHIFT_ACT=relu");
  EXPECT_EQ(planned("shape=1x64x7x7"),
            "scale_shift_rows -DSCALE_SHIFT_UNIT=1 -DSCALE_SHIFT_LX=16 -DSCALE_SHIFT_LY=4");
  EXPECT_EQ(planned("shape=49x64"),
            "scale_shift_last -DSCALE_SHIFT_UNIT=4 -DSCALE_SHIFT_LX=16 -DSCALE_SHIFT_LY=2");
  const Problem rows = parse("shape=2x3x4");
  EXPECT_EQ(find_variant(op_of(rows), "scale_shift_last").refuses(rows, generic_device()),
            "elements follow the axis");
}

TEST(scale_shift, the_reference_is_the_formula) {
  using Values = std::vector<double>;
  EXPECT_EQ(reference(parse("shape=2x2x2")).value, (Values{11, 21, 62, 82, 51, 61, 142, 162}));
  EXPECT_EQ(reference(parse("shape=2x2x2 axis=0")).value,
            (Values{11, 21, 31, 41, 102, 122, 142, 162}));
  EXPECT_EQ(reference(parse("shape=2x2 axis=1")).value, (Values{11, 42, 31, 82}));
  EXPECT_EQ(reference(parse("shape=1x2x2 act=relu6"), -2).value, (Values{0, 0, 2, 6}));
}

TEST(scale_shift, bounds_are_those_of_the_contract) {
  const auto bound = [](const std::string& words, const char* dtype) {
    return reference(parse("shape=1x1x1" + words, dtype)).bound.at(0);
  };
  EXPECT_NEAR(bound("", "f32"), 11 * kU, 1e-15);
  EXPECT_NEAR(bound(" act=relu", "f32"), 11 * kU, 1e-15);
  EXPECT_NEAR(bound("", "f16"), 11 * (kU + 0x1p-11) + 0x1p-25, 1e-12);
  EXPECT_GT(bound(" act=tanh", "f32"), 6 * kU);
}

// ---- tests of the tests ----

using scale_shift_faults::Fault;

const test::Simulation simulation("scale_shift", 1e30,
                                  [](const Problem& problem, const Tensors& inputs) {
                                    return scale_shift_faults::computed(problem, inputs,
                                                                        Fault::none);
                                  });

TEST(scale_shift, sets_catch_other_channels_no_shift_and_narrow_sums) {
  for (const char* words : {"shape=3x5x40", "shape=33x20 act=relu", "shape=2x5x9x9 act=silu"}) {
    for (const char* dtype : {"f32", "f16"}) {
      const Problem problem = parse(words, dtype);
      const auto caught = [&](Fault fault, const char* set) {
        const Tensors inputs = make_inputs(problem, find_data_set(problem, set), 1);
        const Expected dst = reference_of(problem, inputs, {Check::hard}).at("dst");
        return !compare(scale_shift_faults::computed(problem, inputs, fault), dst).pass;
      };
      SCOPED_TRACE(problem.text());
      EXPECT_TRUE(caught(Fault::next_channel, "zero_mean"));
      EXPECT_TRUE(caught(Fault::no_shift, "zero_mean"));
      if (problem.choice("act") != "none") {
        EXPECT_TRUE(caught(Fault::no_act, "zero_mean"));
      }
      if (problem.dtype() == Dtype::f16) continue;
      EXPECT_TRUE(caught(Fault::half_sum, "zero_mean"));
      if (problem.choice("act") != "silu") {  // its own error is larger
        EXPECT_TRUE(caught(Fault::rounded_product, "cancelling"));
      }
    }
  }
}

// ---- kernels ----

class scale_shift_broken : public test::OpDevice {};

TEST_F(scale_shift_broken, broken_kernels_are_caught) {
  const char *rows = "scale_shift_rows", *last = "scale_shift_last";
  const char *r = "scale_shift shape=2x7x68 act=relu", *l = "scale_shift shape=9x68 act=relu";
  const test::KernelFault faults[] = {
      {"the next channel", "(float)scale[c]", "(float)scale[c / 2]", r, rows, "zero_mean"},
      {"no shift", "(float)shift[c]", "0.0f", r, rows, "zero_mean"},
      {"the channels of the first image", "get_global_id(2) * n + c", "get_global_id(2) + c", r,
       rows, "zero_mean"},
      {"early return", "i >= (uint)inner", "i + 1 >= (uint)inner", "scale_shift shape=2x7x65", rows,
       "zero_mean"},
      {"swapped elements", "SCALE_SHIFT_ACT(z.x), SCALE_SHIFT_ACT(z.y)",
       "SCALE_SHIFT_ACT(z.y), SCALE_SHIFT_ACT(z.x)", r, rows, "zero_mean"},
      {"relu of NaN", "z < 0.0f ? 0.0f : z", "fmax(z, 0.0f)", r, rows, "special"},
      {"a product of halves' precision", "store(activated(fma(load(src, at), (Unit)(factor)",
       "store(activated(fma(load(src, at), (Unit)(factor * 1.0001f)", r, rows, "zero_mean"},
      {"the shift of another channel", "load(shift, c * SIZE)", "load(shift, 0)", l, last,
       "zero_mean"},
      {"the last row is left as it was", "row >= (uint)rows", "row + 1 >= (uint)rows", l, last,
       "zero_mean"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("scale_shift.cl", fault);
}

// ---- for the tests of every op ----

const test::GroupSizes groups("scale_shift", 1, test::Bits::same,
                              {"shape=2x17x65 act=relu", "shape=2x17x68", "shape=67x68 act=silu"});

std::string random_case(Random& random) {
  Shape shape;
  for (int i = random.integer(1, 4); i > 0; --i) shape.push_back(random.integer(1, 13));
  const int axes = static_cast<int>(shape.size());
  const std::vector<std::string>& acts = activation_names();
  return fmt::format(
      "scale_shift shape={} axis={} act={}", to_string(shape), random.integer(-axes, axes - 1),
      acts[static_cast<std::size_t>(random.integer(0, static_cast<int>(acts.size()) - 1))]);
}

const test::RandomProblems random_problems("scale_shift", 6, random_case);

}  // namespace
}  // namespace clam::scale_shift_test
