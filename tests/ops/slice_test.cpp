// SPDX-License-Identifier: MIT
// slice_test.cpp - problems, plans, references and kernels of slice.
#include "ops/slice.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "check/op_proof.hpp"
#include "clam/error.hpp"
#include "clam/planner.hpp"
#include "every_op.hpp"
#include "op_device.hpp"
#include "test_errors.hpp"

namespace clam::slice_test {
namespace {

Problem parse(const std::string& words, const std::string& dtype = "f32") {
  return Problem::parse("slice " + words + " dtype=" + dtype);
}

// ---- problems and plans ----

TEST(slice, canonical_text_and_tensors) {
  const Problem problem = parse("count=4x5x3 start=0,9,0 shape=4x10x6 step=1,-2,2", "f16");
  EXPECT_EQ(problem.text(), "slice shape=4x10x6 start=0,9,0 count=4x5x3 step=1,-2,2 dtype=f16");
  EXPECT_EQ(problem.tensors()[1].shape, (Shape{4, 5, 3}));
  EXPECT_EQ(bytes_of(problem), 2.0 * 2 * 60);
  EXPECT_EQ(parse("shape=3x4 count=2x3 start=0,0 step=1,1").text(),
            "slice shape=3x4 count=2x3 dtype=f32");
  EXPECT_EQ(parse("shape=3x4 count=2x3 start=1").text(),
            "slice shape=3x4 start=1 count=2x3 dtype=f32");
  EXPECT_EQ(bytes_of(parse("shape=1x3 count=5x3 step=0,1")), 4.0 * (3 + 15));
}

TEST(slice, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& words, const std::string& sentence) {
    EXPECT_THROWS_SAYING(parse(words), BadArgument, sentence);
  };
  expect("shape=2x3", "count is missing");
  expect("shape=2x3 count=2", "slice: count=2, needs the 2 axes of shape");
  expect("shape=2x3 count=1x1 start=0,0,0",
         "slice: start=0,0,0, needs a number for each of the 2 axes");
  expect("shape=2x3 count=1x1 step=1,1,1", "step=1,1,1, needs a number for each of the 2 axes");
  expect("shape=2x3 count=1x1 start=-1", "slice: start='-1', needs 0 to 2147483647");
  expect("shape=2x3 count=1x1 start=0,x", "slice: start='x', needs a whole number");
  expect("shape=2x3 count=1x1 start=", "slice: start='', needs a whole number");
  expect("shape=2x3 count=1x1 start=0,", "slice: start='', needs a whole number");
  expect("shape=2x3 count=1x1 start=0,0,0,0,0,0,0,0,0", "needs 1 to 8 whole numbers");
  expect("shape=2x3 count=1x1 start=0,3", "slice: start=0,3, axis 1 needs 0 to 2");
  expect("shape=2x3 count=2x4",
         "slice: count=2x4, along axis 1 the last element is 3, needs 0 to 2");
  expect("shape=4x9 count=4x5 start=0,7 step=1,-2",
         "slice: count=4x5, along axis 1 the last element is -1, needs 0 to 8");
  expect("shape=9 count=2147483647 step=2147483647", "along axis 0 the last element is 46116860");
  expect("shape=1 count=2147483647 step=0", "over the limit of 2147483647");
}

TEST(slice, axes_that_lie_as_one_are_one) {
  const auto axes = [](const std::string& words) {
    const Slice slice(parse(words));
    std::string text = std::to_string(slice.first);
    for (const CopyAxis& axis : slice.axes) {
      text += fmt::format(" {}:{}:{}", axis.extent, axis.src, axis.dst);
    }
    return text;
  };
  EXPECT_EQ(axes("shape=1x1 count=1x1"), "0 1:1:1");
  EXPECT_EQ(axes("shape=2x3x4 count=2x3x4"), "0 24:1:1");
  EXPECT_EQ(axes("shape=2x3x4 count=2x2x4 start=0,1,0"), "4 8:1:1 2:12:8");
  EXPECT_EQ(axes("shape=2x6x4 count=2x3x4 step=1,2,1"), "0 4:1:1 6:8:4");
  EXPECT_EQ(axes("shape=3x4 count=3x4 start=2,3 step=-1"), "11 12:-1:1");
  EXPECT_EQ(axes("shape=3x4 count=3x5 step=1,0"), "0 5:0:1 3:4:5");
}

TEST(slice, units_divide_what_is_taken_and_where_it_lies) {
  const auto unit = [](const std::string& words, const char* dtype = "f32") {
    const std::string options =
        make_plan(parse(words, dtype), generic_device()).launches.at(0).options;
    return options.substr(options.find("UNIT="), 6);
  };
  EXPECT_EQ(unit("shape=3x16 count=3x8 start=0,4"), "UNIT=4");
  EXPECT_EQ(unit("shape=3x16 count=3x8 start=0,4", "f16"), "UNIT=4");
  EXPECT_EQ(unit("shape=3x16 count=3x8 start=0,8", "f16"), "UNIT=8");
  EXPECT_EQ(unit("shape=3x16 count=3x8 start=0,2"), "UNIT=2");
  EXPECT_EQ(unit("shape=3x16 count=3x8 start=0,1"), "UNIT=1");
  EXPECT_EQ(unit("shape=3x18 count=3x8"), "UNIT=2");
  EXPECT_EQ(unit("shape=3x16 count=3x8 step=1,2"), "UNIT=1");
  EXPECT_EQ(unit("shape=3x16 count=3x16 start=2,0 step=-1,1"), "UNIT=4");
}

TEST(slice, more_than_four_axes_are_refused) {
  EXPECT_THROWS_SAYING(make_plan(parse("shape=3x3x3x3x3 count=2x2x2x2x2"), generic_device()),
                       Unsupported,
                       "5 axes are left where those that lie as one are one; 4 can be");
}

// ---- the reference ----

TEST(slice, the_reference_takes_a_hand_made_example) {
  const Problem problem = parse("shape=3x5 start=2,1 count=2x2 step=-2,3");
  const Tensors inputs = make_inputs(problem, find_data_set(problem, "numbered"), 1);
  const HostTensor dst = reference_of(problem, inputs, {Check::exact}).at("dst").exact;
  const std::uint32_t wanted[] = {11, 14, 1, 4};
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(dst.bits(i), wanted[i]) << i;
}

// ---- kernels ----

using slice_device = test::OpDevice;
class slice_broken : public test::OpDevice {};

TEST_F(slice_device, integers_are_taken_too) {
  expect_all_sets_pass(
      OpDevice::parse("slice shape=4x10x6 start=0,9,0 count=4x5x3 step=1,-2,2", "i32"));
}

TEST_F(slice_broken, broken_kernels_are_caught) {
  const char *rows = "slice_rows", *wide = "slice shape=65x24 start=3,4 count=61x16",
             *four = "slice shape=5x6x7x8 start=4,1,6,0 count=2x3x4x4 step=-3,2,-2,1";
  const test::KernelFault faults[] = {
      {"it begins at the first element", "(first + ", "(", wide, rows, "bits"},
      {"every element of a row", "i * src_step", "i", "slice shape=5x20 count=5x7 step=1,3", rows,
       "bits"},
      {"the rows of dst for those of src", "row * src_row", "row * dst_row", wide, rows, "bits"},
      {"the last row is left out", "row >= (uint)rows", "row + 1 >= (uint)rows", wide, rows,
       "bits"},
      {"the last unit is left out", "i >= (uint)n ||", "i + UNIT >= (uint)n ||", wide, rows,
       "bits"},
      {"z of src stays", "z * src_z", "0", four, rows, "bits"},
      {"the planes of src stay", "from += src_plane * SIZE", "from += 0", four, rows, "bits"},
      {"the planes of dst stay", "to += dst_plane * SIZE", "to += 0", four, rows, "bits"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("slice.cl", fault);
}

// ---- for the tests of every op ----

const test::GroupSizes groups("slice", 1, test::Bits::same,
                              {"shape=65x24 start=3,4 count=61x16",
                               "shape=5x6x7x8 start=4,1,6,0 count=2x3x4x4 step=-3,2,-2,1"});

std::string random_case(Random& random) {
  Shape shape, count;
  std::vector<int> starts, steps;
  for (int axes = random.integer(1, 4); axes > 0; --axes) {
    const int extent = random.integer(1, 20), step = random.integer(-3, 3),
              most = step == 0 ? 20 : (extent - 1) / std::abs(step) + 1,
              taken = random.integer(0, 2) == 0 ? most : random.integer(1, most),
              reach = (taken - 1) * std::abs(step), low = random.integer(0, extent - 1 - reach);
    shape.push_back(extent);
    count.push_back(taken);
    starts.push_back(step < 0 ? low + reach : low);
    steps.push_back(step);
  }
  return fmt::format("slice shape={} start={} count={} step={}", to_string(shape),
                     fmt::join(starts, ","), to_string(count), fmt::join(steps, ","));
}

const test::RandomProblems random_problems("slice", 6, random_case);

}  // namespace
}  // namespace clam::slice_test
