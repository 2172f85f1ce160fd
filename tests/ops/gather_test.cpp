// SPDX-License-Identifier: MIT
// gather_test.cpp - problems, plans, references and kernels of gather.
#include "ops/gather.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <limits>

#include "check/op_proof.hpp"
#include "every_op.hpp"
#include "op_device.hpp"
#include "test_errors.hpp"

namespace clam::gather_test {
namespace {

Problem parse(const std::string& words, const std::string& dtype = "f32") {
  return Problem::parse("gather " + words + " dtype=" + dtype);
}

Expected reference(const Problem& problem, const Tensors& inputs) {
  return reference_of(problem, inputs, {Check::exact}).at("dst");
}

// ---- problems and plans ----

TEST(gather, canonical_text_and_tensors) {
  const Problem problem = parse("axis=-2 count=7 shape=2x3x5", "f16");
  EXPECT_EQ(problem.text(), "gather shape=2x3x5 dtype=f16 axis=1 count=7");
  const std::vector<TensorSpec> specs = problem.tensors();
  EXPECT_EQ(specs[1].dtype, Dtype::i32);
  EXPECT_EQ(specs[1].shape, Shape{7});
  EXPECT_EQ(specs[2].shape, (Shape{2, 7, 5}));
  EXPECT_EQ(bytes_of(problem), 2.0 * 2 * 70 + 4 * 7);
  EXPECT_EQ(parse("shape=2x3 axis=-2 count=1").text(), "gather shape=2x3 dtype=f32 count=1");
}

TEST(gather, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& words, const std::string& sentence) {
    EXPECT_THROWS_SAYING(parse(words), BadArgument, sentence);
  };
  expect("shape=2x3", "count is missing");
  expect("shape=2x3 count=0", "count='0', needs 1 to");
  expect("shape=2x3 axis=2 count=1", "gather: axis=2, needs -2 to 1");
  expect("shape=2x65536 count=65536", "2147483647");
}

// ---- the reference ----

TEST(gather, the_reference_takes_a_hand_made_example) {
  const Problem problem = parse("shape=2x3 axis=1 count=4");
  Tensors inputs = make_inputs(problem, find_data_set(problem, "numbered"), 1);
  const int index[] = {2, 0, -5, 9};
  for (std::int64_t j = 0; j < 4; ++j) inputs.at("index").set(j, index[j]);
  const HostTensor dst = reference(problem, inputs).exact;
  const std::uint32_t wanted[] = {2, 0, 0, 2, 5, 3, 3, 5};
  for (std::int64_t i = 0; i < 8; ++i) EXPECT_EQ(dst.bits(i), wanted[i]) << i;
}

TEST(gather, an_index_that_names_no_slice_is_refused_where_the_host_has_it) {
  const Problem problem = parse("shape=2x5x3 axis=1 count=4");
  Tensors inputs = make_inputs(problem, find_data_set(problem, "bits"), 1);
  EXPECT_NO_THROW(refuse_bad_inputs(problem, inputs));
  for (const int wrong : {-1, 5, 2147483647}) {
    inputs.at("index").set(2, wrong);
    EXPECT_THROWS_SAYING(
        refuse_bad_inputs(problem, inputs), BadArgument,
        fmt::format("gather: index[2]={}, needs 0 to 4, the 5 slices of src", wrong));
  }
}

// ---- kernels ----

using gather_device = test::OpDevice;
class gather_broken : public test::OpDevice {};

TEST_F(gather_device, an_index_that_names_no_slice_is_clamped) {
  for (const std::string& dtype : dtypes()) {
    const Problem problem = OpDevice::parse("gather shape=2x5x7 axis=1 count=6", dtype);
    Tensors inputs = make_inputs(problem, proof_of(problem).data_sets[0], test::seed());
    const double index[] = {5, -1, 4, 0, 2147483647, -2147483648.0};
    for (std::int64_t j = 0; j < 6; ++j) inputs.at("index").set(j, index[j]);
    expect_like_reference(problem, inputs, Check::exact);
  }
}

TEST_F(gather_device, integers_are_gathered_too) {
  expect_all_sets_pass(OpDevice::parse("gather shape=3x9x8 axis=1 count=5", "i32"));
}

TEST_F(gather_device, verify_refuses_such_an_index) {
  const DataSet bad{"bad", Check::exact, "an index past the last slice",
                    [](const Problem& problem, std::uint64_t seed, Tensors& inputs) {
                      proof_of(problem).data_sets[0].fill(problem, seed, inputs);
                      inputs.at("index").set(1, 5);
                    }};
  EXPECT_THROWS_SAYING(verify(test::runtime(), parse("gather shape=2x5x7 axis=1 count=6"), bad, 1),
                       BadArgument, "gather: index[1]=5, needs 0 to 4, the 5 slices of src");
}

TEST_F(gather_broken, broken_kernels_are_caught) {
  const char *slices = "gather_slices", *line = "gather shape=3x4x5x8 axis=2 count=9";
  const test::KernelFault faults[] = {
      {"the slices as they lie", "clamp(index[j], 0, extent - 1)", "clamp((int)j, 0, extent - 1)",
       line, slices, "bits"},
      {"the last slice is never taken", "0, extent - 1)", "0, extent - 2)", line, slices, "bits"},
      {"src as long as dst", "outer * extent + slice", "outer * count + slice",
       "gather shape=3x9x8 axis=1 count=5", slices, "bits"},
      {"the last slice is left out", "j >= (uint)count", "j + 1 >= (uint)count", line, slices,
       "bits"},
      {"the last unit is left out", "i >= (uint)inner", "i + UNIT >= (uint)inner", line, slices,
       "bits"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("gather.cl", fault);
}

// ---- for the tests of every op ----

const test::GroupSizes groups("gather", 1, test::Bits::same, {"shape=3x4x5x8 axis=2 count=9"});

std::string random_case(Random& random) {
  Shape shape;
  for (int axes = random.integer(1, 4); axes > 0; --axes) shape.push_back(random.integer(1, 20));
  return fmt::format("gather shape={} axis={} count={}", to_string(shape),
                     random.integer(0, static_cast<int>(shape.size()) - 1), random.integer(1, 40));
}

const test::RandomProblems random_problems("gather", 6, random_case);

}  // namespace
}  // namespace clam::gather_test
