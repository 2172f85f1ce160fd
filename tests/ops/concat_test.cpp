// SPDX-License-Identifier: MIT
// concat_test.cpp - problems, plans, references and kernels of concat.
#include "ops/concat.hpp"

#include <gtest/gtest.h>

#include "check/op_proof.hpp"
#include "clam/planner.hpp"
#include "every_op.hpp"
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
  const Problem four = parse("axis=1 shape_a=2x3 shape_b=2x5 shape_c=2x1 shape_d=2x4");
  EXPECT_EQ(four.text(), "concat axis=1 shape_a=2x3 shape_b=2x5 shape_c=2x1 shape_d=2x4 dtype=f32");
  EXPECT_EQ(four.tensors()[3].name, "d");
  EXPECT_EQ(four.tensors()[4].shape, (Shape{2, 13}));
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
  expect("axis=1 shape_a=2x3 shape_b=2x3 shape_c=3x3",
         "concat: shape_c=3x3, needs the extents of shape_a but along the axis");
  expect("axis=1 shape_a=2x3 shape_b=2x3 shape_d=2x3", "concat: shape_c=none, shape_d needs it");
  expect("axis=0 shape_a=2147483647 shape_b=1", "2147483647");
}

TEST(concat, variants_refuse_with_a_reason) {
  const auto refusal = [](const std::string& words, const std::string& variant) {
    const Problem problem = parse("axis=0 shape_a=2 shape_b=3" + words);
    return find_variant(op_of(problem), variant).refuses(problem, generic_device()).value_or("");
  };
  EXPECT_EQ(refusal("", "concat_four"), "there are two inputs");
  EXPECT_EQ(refusal(" shape_c=1", "concat_rows"), "there are 3 inputs");
}

TEST(concat, units_divide_all_rows) {
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
  EXPECT_EQ(unit("axis=1 shape_a=3x8 shape_b=3x16 shape_c=3x8", "f16"), "UNIT=8");
  EXPECT_EQ(unit("axis=1 shape_a=3x8 shape_b=3x16 shape_c=3x8 shape_d=3x2", "f16"), "UNIT=2");
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

using concat_device = test::OpDevice;
class concat_broken : public test::OpDevice {};

TEST_F(concat_device, integers_are_joined_too) {
  for (const char* more : {"", " shape_c=17x4"}) {
    expect_all_sets_pass(
        OpDevice::parse(std::string("concat axis=1 shape_a=17x6 shape_b=17x10") + more, "i32"));
  }
}

TEST_F(concat_broken, broken_kernels_are_caught) {
  const char *rows = "concat_rows", *line = "concat axis=1 shape_a=17x6 shape_b=17x10",
             *four = "concat_four",
             *of_four = "concat axis=1 shape_a=17x6 shape_b=17x10 shape_c=17x4 shape_d=17x2";
  const test::KernelFault faults[] = {
      {"a for b", "FROM(Unit, b, ", "FROM(Unit, a, ", line, rows, "bits"},
      {"b begins too late", "row * nb + i - na", "row * nb + i", line, rows, "bits"},
      {"one unit of a more", "i < (uint)na", "i <= (uint)na", line, rows, "bits"},
      {"the rows of b are as long as those of a", "row * nb", "row * na", line, rows, "bits"},
      {"the last row is left out", "row >= (uint)rows", "row + 1 >= (uint)rows", line, rows,
       "bits"},
      {"the last unit is left out", "i >= n ||", "i + UNIT >= n ||", line, rows, "bits"},
      {"c for d", "i < abc ? c : d", "i <= abc ? c : d", of_four, four, "bits"},
      {"the rows of d are as long as those of c", "i < abc ? nc : nd", "nc", of_four, four, "bits"},
      {"c begins too early", "i < abc ? ab : abc", "i < abc ? na : abc", of_four, four, "bits"},
      {"the last row of four is left out", "row >= rows", "row + 1 >= rows", of_four, four, "bits"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("concat.cl", fault);
}

// ---- for the tests of every op ----

const test::GroupSizes groups("concat", 1, test::Bits::same,
                              {"axis=1 shape_a=65x8 shape_b=65x16",
                               "axis=1 shape_a=65x8 shape_b=65x16 shape_c=65x24 shape_d=65x8"});

std::string random_case(Random& random) {
  Shape a;
  for (int axes = random.integer(1, 4); axes > 0; --axes) a.push_back(random.integer(1, 20));
  const int axis = random.integer(0, static_cast<int>(a.size()) - 1);
  std::string line = fmt::format("concat axis={} shape_a={}", axis, to_string(a));
  for (char input = 'b', last = "bcd"[random.integer(0, 2)]; input <= last; ++input) {
    a[static_cast<std::size_t>(axis)] = random.integer(1, 20);
    line += fmt::format(" shape_{}={}", input, to_string(a));
  }
  return line;
}

const test::RandomProblems random_problems("concat", 6, random_case);

}  // namespace
}  // namespace clam::concat_test
