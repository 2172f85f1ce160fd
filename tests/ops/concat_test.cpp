// SPDX-License-Identifier: MIT
// concat_test.cpp - problems, plans, references and kernels of concat.
#include "ops/concat.hpp"

#include <gtest/gtest.h>

#include "check/op_proof.hpp"
#include "clam/planner.hpp"
#include "op_device.hpp"
#include "test_errors.hpp"

namespace clam::concat_test {
namespace {

Problem parse(const std::string& words, const std::string& dtype = "f32") {
  return Problem::parse("concat " + words + " dtype=" + dtype);
}

Expected reference(const Problem& problem, const Tensors& inputs) {
  return reference_of(problem, inputs, {Check::exact}).at("dst");
}

// ---- problems and plans ----

TEST(concat, canonical_text_and_tensors) {
  const Problem problem = parse("axis=-1 shape_a=2x3 shape_b=2x5", "f16");
  EXPECT_EQ(problem.text(), "concat axis=1 shape_a=2x3 shape_b=2x5 dtype=f16");
  EXPECT_EQ(problem.tensors()[2].shape, (Shape{2, 8}));
  EXPECT_EQ(bytes_of(problem), 2.0 * 2 * 16);
}

TEST(concat, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& words, const std::string& sentence) {
    EXPECT_THROWS_SAYING(parse(words), BadArgument, sentence);
  };
  expect("shape_a=2 shape_b=2", "axis is missing");
  expect("axis=2 shape_a=2x3 shape_b=2x3", "concat: axis=2, needs -2 to 1");
  expect("axis=0 shape_a=2x3 shape_b=2x4",
         "concat: shape_b=2x4, needs the extents of shape_a but along the axis");
  expect("axis=0 shape_a=2x3 shape_b=2", "needs the extents of shape_a but along the axis");
  expect("axis=0 shape_a=2147483647 shape_b=1", "2147483647");
}

TEST(concat, units_divide_both_rows) {
  const auto unit = [](const std::string& words, const char* dtype) {
    const std::string options =
        make_plan(parse(words, dtype), generic_device()).launches.at(0).options;
    return options.substr(options.find("UNIT="), 6);
  };
  EXPECT_EQ(unit("axis=1 shape_a=3x8 shape_b=3x12", "f32"), "UNIT=4");
  EXPECT_EQ(unit("axis=1 shape_a=3x8 shape_b=3x12", "f16"), "UNIT=4");
  EXPECT_EQ(unit("axis=1 shape_a=3x8 shape_b=3x16", "f16"), "UNIT=8");
  EXPECT_EQ(unit("axis=1 shape_a=3x8 shape_b=3x10", "f32"), "UNIT=2");
  EXPECT_EQ(unit("axis=1 shape_a=3x8 shape_b=3x11", "f32"), "UNIT=1");
}

// ---- the reference ----

TEST(concat, the_reference_takes_a_hand_made_example) {
  const Problem problem = parse("axis=1 shape_a=2x2 shape_b=2x1");
  Tensors inputs = make_inputs(problem, find_data_set(problem, "numbered"), 1);
  for (std::int64_t i = 0; i < 2; ++i) inputs.at("b").set_bits(i, 10 + static_cast<unsigned>(i));
  const HostTensor dst = reference(problem, inputs).exact;
  const std::uint32_t wanted[] = {0, 1, 10, 2, 3, 11};
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(dst.bits(i), wanted[i]) << i;
}

// ---- kernels ----

class concat_broken : public test::OpDevice {};

TEST_F(concat_broken, broken_kernels_are_caught) {
  const char *rows = "concat_rows", *line = "concat axis=1 shape_a=17x6 shape_b=17x10";
  const test::KernelFault faults[] = {
      {"a for b", "FROM(Unit, b, ", "FROM(Unit, a, ", line, rows, "bits"},
      {"b begins too late", "row * nb + i - na", "row * nb + i", line, rows, "bits"},
      {"one unit of a more", "i < (uint)na", "i <= (uint)na", line, rows, "bits"},
      {"the rows of b are as long as those of a", "row * nb", "row * na", line, rows, "bits"},
      {"the last row is left out", "row >= (uint)rows", "row + 1 >= (uint)rows", line, rows,
       "bits"},
      {"the last unit is left out", "i >= n ||", "i + UNIT >= n ||", line, rows, "bits"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("concat.cl", fault);
}

}  // namespace
}  // namespace clam::concat_test
