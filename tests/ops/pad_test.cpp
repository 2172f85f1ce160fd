// SPDX-License-Identifier: MIT
// pad_test.cpp - problems, plans, references and kernels of pad.
#include "ops/pad.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "check/op_proof.hpp"
#include "clam/error.hpp"
#include "clam/planner.hpp"
#include "every_op.hpp"
#include "op_device.hpp"
#include "test_errors.hpp"

namespace clam::pad_test {
namespace {

Problem parse(const std::string& words, const std::string& dtype = "f32") {
  return Problem::parse("pad " + words + " dtype=" + dtype);
}

// ---- problems and plans ----

TEST(pad, canonical_text_and_tensors) {
  const Problem problem = parse("mode=reflect after=0,0,2,1 before=0,0,1,1 shape=1x3x5x5", "f16");
  EXPECT_EQ(problem.text(),
            "pad shape=1x3x5x5 before=0,0,1,1 after=0,0,2,1 mode=reflect dtype=f16");
  EXPECT_EQ(problem.tensors()[1].shape, (Shape{1, 3, 8, 7}));
  EXPECT_EQ(bytes_of(problem), 2.0 * (75 + 168));
  EXPECT_EQ(parse("shape=2x3 before=0,0 after=1,1 value=-0 mode=constant").text(),
            "pad shape=2x3 after=1 dtype=f32");
}

TEST(pad, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& words, const std::string& sentence,
                         const char* dtype = "f32") {
    EXPECT_THROWS_SAYING(parse(words, dtype), BadArgument, sentence);
  };
  expect("before=1", "shape is missing");
  expect("shape=2x3 before=1,1,1", "pad: before=1,1,1, needs a number for each of the 2 axes");
  expect("shape=2x3 after=0,-1", "pad: after=0,-1, needs numbers from 0 on; a slice takes less");
  expect("shape=2x3 before=0,3 mode=reflect", "pad: before=0,3, mode=reflect: axis 1 needs 0 to 2");
  expect("shape=2x3 after=3,0 mode=wrap", "pad: after=3,0, mode=wrap: axis 0 needs 0 to 2");
  expect("shape=2x3 after=1 mode=edge value=1", "pad: value=1, is for mode=constant");
  expect("shape=2x3 mode=symmetric", "mode='symmetric', knows constant edge reflect wrap");
  expect("shape=2x3 value=0.5", "pad: value=0.5, needs a whole number of 32 bits", "i32");
  expect("shape=2x3 value=2147483648", "needs a whole number of 32 bits", "i32");
  expect("shape=2x3 value=inf", "needs a whole number of 32 bits", "i32");
  expect("shape=2x3 before=2147483647 after=2147483647", "over 2147483647 elements");
  expect("shape=2 before=2147483640", "over the limit of 2147483647");
}

TEST(pad, axes_that_are_not_padded_are_one) {
  const auto axes = [](const std::string& words) {
    std::string text;
    for (const PadAxis& axis : Pad(parse(words)).axes) {
      text += fmt::format("{}{}+{}+{}:{}:{}", text.empty() ? "" : " ", axis.before, axis.extent,
                          axis.after, axis.src, axis.dst);
    }
    return text;
  };
  EXPECT_EQ(axes("shape=1x1"), "0+1+0:1:1");
  EXPECT_EQ(axes("shape=2x3x4"), "0+24+0:1:1");
  EXPECT_EQ(axes("shape=2x3x4 after=0,2,0"), "0+12+8:1:1 0+2+0:12:20");
  EXPECT_EQ(axes("shape=2x3x4 after=0,2,0 mode=wrap"), "0+12+8:1:1 0+2+0:12:20");
  EXPECT_EQ(axes("shape=2x3x4 after=0,2,0 mode=edge"), "0+4+0:1:1 0+3+2:4:4 0+2+0:12:20");
  EXPECT_EQ(axes("shape=2x3x1x5 before=0,0,0,1"), "1+5+0:1:1 0+6+0:5:6");
  EXPECT_EQ(axes("shape=2x1x5 before=0,1,0 mode=edge"), "0+5+0:1:1 1+1+0:5:5 0+2+0:5:10");
}

TEST(pad, units_divide_src_and_what_is_added) {
  const auto unit = [](const std::string& words, const char* dtype = "f32") {
    const std::string options =
        make_plan(parse(words, dtype), generic_device()).launches.at(0).options;
    return options.substr(options.find("UNIT="), 6);
  };
  EXPECT_EQ(unit("shape=3x8 before=1,4 after=0,8"), "UNIT=4");
  EXPECT_EQ(unit("shape=3x8 before=1,8 after=0,8", "f16"), "UNIT=8");
  EXPECT_EQ(unit("shape=3x8 before=1,2"), "UNIT=2");
  EXPECT_EQ(unit("shape=3x8 before=1,1"), "UNIT=1");
  EXPECT_EQ(unit("shape=3x8 before=1,4 mode=wrap"), "UNIT=4");
  EXPECT_EQ(unit("shape=3x8 before=1,4 mode=edge"), "UNIT=1");
  EXPECT_EQ(unit("shape=3x8 before=1,0 mode=reflect"), "UNIT=4");
  EXPECT_EQ(unit("shape=3x5x2 before=1,2,0"), "UNIT=2");
}

TEST(pad, the_value_is_rounded_to_the_dtype) {
  const auto fill = [](const std::string& value, const char* dtype) {
    const Plan plan = make_plan(parse("shape=3 after=1 value=" + value, dtype), generic_device());
    return static_cast<std::uint32_t>(std::get<std::int32_t>(plan.launches.at(0).args.at(2)));
  };
  EXPECT_EQ(fill("-1.5", "f32"), 0xBFC00000U);
  EXPECT_EQ(fill("-1.5", "f16"), 0xBE00BE00U);
  EXPECT_EQ(fill("1e6", "f16"), 0x7C007C00U);
  EXPECT_EQ(fill("-7", "i32"), 0xFFFFFFF9U);
}

TEST(pad, more_than_four_axes_are_refused) {
  EXPECT_THROWS_SAYING(make_plan(parse("shape=3x3x3x3x3 before=1"), generic_device()), Unsupported,
                       "5 axes are left where those that are not padded are one; 4 can be");
}

// ---- the reference ----

TEST(pad, the_reference_takes_a_hand_made_example) {
  const auto reference = [](const std::string& mode) {
    const Problem problem = parse("shape=4 before=2 after=3 mode=" + mode, "i32");
    const Tensors inputs = make_inputs(problem, find_data_set(problem, "numbered"), 1);
    const HostTensor dst = reference_of(problem, inputs, {Check::exact}).at("dst").exact;
    std::string text;
    for (std::int64_t i = 0; i < dst.size(); ++i) text += fmt::format("{} ", dst.get(i));
    return text;
  };
  EXPECT_EQ(reference("constant value=9"), "9 9 0 1 2 3 9 9 9 ");
  EXPECT_EQ(reference("edge"), "0 0 0 1 2 3 3 3 3 ");
  EXPECT_EQ(reference("reflect"), "2 1 0 1 2 3 2 1 0 ");
  EXPECT_EQ(reference("wrap"), "2 3 0 1 2 3 0 1 2 ");
}

// ---- kernels ----

using pad_device = test::OpDevice;
class pad_broken : public test::OpDevice {};

TEST_F(pad_device, integers_are_padded_too) {
  for (const char* mode : {"constant value=-7", "edge"}) {
    expect_all_sets_pass(OpDevice::parse(
        std::string("pad shape=2x3x4x5 before=1,2,3,4 after=1,0,2,1 mode=") + mode, "i32"));
  }
}

TEST_F(pad_broken, broken_kernels_are_caught) {
  const char* rows = "pad_rows";
  const auto line = [](const char* mode) {
    return std::string("pad shape=2x3x4x5 before=1,2,3,4 after=1,0,2,1 mode=") + mode;
  };
  const std::string constant = line("constant value=2"), edge = line("edge"),
                    reflect = line("reflect"), wrap = line("wrap");
  const test::KernelFault faults[] = {
      {"src begins at the first element", "i - before", "i", constant.c_str(), rows, "bits"},
      {"another value", "(Unit)((uint)fill)", "(Unit)(0)", constant.c_str(), rows, "bits"},
      {"one element of src more", "(uint)at < (uint)n", "(uint)at <= (uint)n",
       "pad shape=4x7 after=1", rows, "bits"},
      {"the planes are inside", "inside && is_inside(at_plane, src_planes)",
       "inside && is_inside(0, src_planes)", "pad shape=3x2x3x5 before=0,1,1,1 after=1", rows,
       "bits"},
      {"the last element but one", "clamp(at, 0, n - 1)", "clamp(at, 0, n - 2)", edge.c_str(), rows,
       "bits"},
      {"the mirror is beside the edge", "at < 0 ? -at :", "at < 0 ? -at - 1 :", reflect.c_str(),
       rows, "bits"},
      {"and at the other one", "2 * (n - 1) - at", "2 * n - 1 - at", reflect.c_str(), rows, "bits"},
      {"it does not go around", "at < n ? at : at - n", "at < n ? at : n - 1", wrap.c_str(), rows,
       "bits"},
      {"the last row is left out", "row >= rows", "row + 1 >= rows", edge.c_str(), rows, "bits"},
      {"the last unit is left out", "i >= n ||", "i + UNIT >= n ||", edge.c_str(), rows, "bits"},
      {"the planes of dst stay", "to += dst_plane * SIZE", "to += 0", edge.c_str(), rows, "bits"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("pad.cl", fault);
}

// ---- for the tests of every op ----

const test::GroupSizes groups("pad", 1, test::Bits::same,
                              {"shape=65x24 before=1,0 after=2,0 mode=edge",
                               "shape=3x17x33 before=0,1,1 after=0,1,1"});

std::string random_case(Random& random) {
  const char* modes[] = {"constant", "edge", "reflect", "wrap"};
  const std::string mode = modes[random.integer(0, 3)];
  Shape shape;
  std::vector<int> before, after;
  for (int axes = random.integer(1, 4); axes > 0; --axes) {
    const int extent = random.integer(1, 12), most = mode == "reflect" ? extent - 1
                                                     : mode == "wrap"  ? extent
                                                                       : 5;
    const bool is_padded = random.integer(0, 1) == 1;
    shape.push_back(extent);
    before.push_back(is_padded ? random.integer(0, most) : 0);
    after.push_back(is_padded ? random.integer(0, most) : 0);
  }
  return fmt::format("pad shape={} before={} after={} mode={}{}", to_string(shape),
                     fmt::join(before, ","), fmt::join(after, ","), mode,
                     mode == "constant" ? " value=-1.5" : "");
}

const test::RandomProblems random_problems("pad", 6, random_case);

}  // namespace
}  // namespace clam::pad_test
