// SPDX-License-Identifier: MIT
// transpose_test.cpp - problems, plans, references and kernels of transpose.
#include "ops/transpose.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "check/op_proof.hpp"
#include "clam/error.hpp"
#include "clam/planner.hpp"
#include "every_op.hpp"
#include "op_device.hpp"
#include "test_errors.hpp"

namespace clam::transpose_test {
namespace {

Problem parse(const std::string& words, const std::string& dtype = "f32") {
  return Problem::parse("transpose " + words + " dtype=" + dtype);
}

Expected reference(const Problem& problem, const Tensors& inputs) {
  return reference_of(problem, inputs, {Check::exact}).at("dst");
}

// ---- problems and plans ----

TEST(transpose, canonical_text_and_tensors) {
  const Problem problem = parse("perm=0-2-1 shape=2x3x5", "f16");
  EXPECT_EQ(problem.text(), "transpose shape=2x3x5 perm=0-2-1 dtype=f16");
  EXPECT_EQ(problem.tensors()[1].shape, (Shape{2, 5, 3}));
  EXPECT_EQ(bytes_of(problem), 2.0 * 2 * 30);
}

TEST(transpose, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& words, const std::string& sentence) {
    EXPECT_THROWS_SAYING(parse(words), BadArgument, sentence);
  };
  const std::string rule = "needs the axes from 0 on, each once, like 0-2-1";
  expect("shape=2x3", "perm is missing");
  for (const char* perm :
       {"", "1", "0-0", "0-2", "01", "0-1-", "-0-1", "0,1", "0-1-2-3-4-5-6-7-8", "a-b"}) {
    expect(std::string("shape=2x3 perm=") + perm,
           fmt::format("transpose: perm='{}', {}", perm, rule));
  }
  expect("shape=2x3 perm=0-1-2", "transpose: perm=0-1-2, needs the 2 axes of shape");
}

TEST(transpose, axes_that_stay_together_are_one) {
  const auto turn = [](const std::string& words) {
    std::string text;
    for (const CopyAxis& axis : transpose_axes(parse(words))) {
      text += fmt::format("{}{}:{}:{}", text.empty() ? "" : " ", axis.extent, axis.src, axis.dst);
    }
    return text;
  };
  EXPECT_EQ(turn("shape=1x1 perm=1-0"), "1:1:1");
  EXPECT_EQ(turn("shape=2x3x4 perm=0-1-2"), "24:1:1");
  EXPECT_EQ(turn("shape=2x3x4 perm=2-0-1"), "6:4:1 4:1:6");
  EXPECT_EQ(turn("shape=2x3x4x5 perm=0-2-3-1"), "2:60:60 3:20:1 20:1:3");
  EXPECT_EQ(turn("shape=2x1x4x5 perm=2-0-1-3"), "2:20:5 4:5:10 5:1:1");
  EXPECT_EQ(turn("shape=2x3x1x5 perm=0-1-3-2"), "30:1:1");
  EXPECT_EQ(turn("shape=2x3x4x5 perm=3-2-1-0"), "2:60:1 3:20:2 4:5:6 5:1:24");
  EXPECT_EQ(turn("shape=1x4x34x28x28 perm=0-2-1-3-4"), "4:26656:784 34:784:3136 784:1:1");
  EXPECT_EQ(turn("shape=1x5x6x2x7x2 perm=0-1-3-5-2-4"), "5:168:168 6:28:7 2:14:84 7:2:1 2:1:42");
}

TEST(transpose, variants_refuse_with_a_reason) {
  const auto refusal = [](const std::string& words, const std::string& variant,
                          const DeviceInfo& device = generic_device()) {
    const Problem problem = parse(words);
    return find_variant(op_of(problem), variant).refuses(problem, device).value_or("");
  };
  EXPECT_EQ(refusal("shape=4x8 perm=1-0", "transpose_rows"), "the innermost axis moves");
  EXPECT_EQ(refusal("shape=4x8 perm=0-1", "transpose_tile"), "the innermost axis stays");
  EXPECT_EQ(refusal("shape=4x8 perm=0-1", "transpose_blocks"), "the innermost axis stays");
  EXPECT_EQ(refusal("shape=4x9 perm=1-0", "transpose_blocks"),
            "4 x 9 elements are no number of blocks of 4 x 4");
  DeviceInfo tiny = generic_device();
  tiny.max_work_group = 8;
  EXPECT_EQ(refusal("shape=4x9 perm=1-0", "transpose_tile", tiny),
            "the device has no work-groups of 16 work-items");
}

TEST(transpose, more_than_four_axes_that_part_are_refused) {
  EXPECT_THROWS_SAYING(make_plan(parse("shape=2x3x4x5x6 perm=4-3-2-1-0"), generic_device()),
                       Unsupported,
                       "5 axes are left where those that stay together are one; 4 can be");
}

TEST(transpose, rows_are_copied_in_the_widest_unit) {
  const auto unit = [](const std::string& shape, const char* dtype) {
    const std::string options =
        make_plan(parse("shape=3x2x" + shape + " perm=1-0-2", dtype), generic_device())
            .launches.at(0)
            .options;
    return options.substr(options.find("UNIT="), 6);
  };
  EXPECT_EQ(unit("8", "f32"), "UNIT=4");
  EXPECT_EQ(unit("6", "f32"), "UNIT=2");
  EXPECT_EQ(unit("7", "f32"), "UNIT=1");
  EXPECT_EQ(unit("8", "f16"), "UNIT=8");
  EXPECT_EQ(unit("12", "f16"), "UNIT=4");
}

// ---- the reference ----

TEST(transpose, the_reference_moves_every_element) {
  const Problem problem = parse("shape=2x3x5 perm=2-0-1");
  const Tensors inputs = make_inputs(problem, find_data_set(problem, "numbered"), 1);
  const HostTensor dst = reference(problem, inputs).exact;
  for (std::uint32_t i = 0; i < 30; ++i) {
    const std::uint32_t at = i % 5 * 6 + i / 5;  // axis 2 first, then 0 and 1 together
    EXPECT_EQ(dst.bits(at), i);
  }
}

// ---- kernels ----

using transpose_device = test::OpDevice;
class transpose_broken : public test::OpDevice {};

TEST_F(transpose_device, every_permutation_of_four_axes_passes) {
  std::vector<int> perm(4);
  std::iota(perm.begin(), perm.end(), 0);
  do {
    const std::string line =
        fmt::format("transpose shape=3x4x5x8 perm={}-{}-{}-{}", perm[0], perm[1], perm[2], perm[3]);
    for (const std::string& dtype : dtypes()) expect_all_sets_pass(OpDevice::parse(line, dtype));
  } while (std::next_permutation(perm.begin(), perm.end()));
}

TEST_F(transpose_device, integers_are_turned_too) {
  for (const char* words :
       {"shape=3x4x5x8 perm=0-2-1-3", "shape=8x12 perm=1-0", "shape=5x7 perm=1-0"}) {
    expect_all_sets_pass(OpDevice::parse(std::string("transpose ") + words, "i32"));
  }
}

TEST_F(transpose_broken, broken_kernels_are_caught) {
  const char *rows = "transpose_rows", *blocks = "transpose_blocks", *tile = "transpose_tile";
  const char *of_rows = "transpose shape=5x6x7x9 perm=2-1-0-3",
             *of_blocks = "transpose shape=8x3x5x12 perm=3-2-1-0",
             *of_tile = "transpose shape=3x18x5x19 perm=3-2-1-0";
  const test::KernelFault faults[] = {
      {"the last row is left out", "row >= (uint)rows", "row + 1 >= (uint)rows", of_rows, rows,
       "bits"},
      {"rows of dst for those of src", "z * dst_z + row * dst_row", "z * dst_z + row * src_row",
       "transpose shape=3x5x7 perm=1-0-2", rows, "bits"},
      {"the planes of src stay", "from += src_plane * SIZE", "from += 0", of_rows, rows, "bits"},
      {"a row of a block for another", "(r0.y, r1.y, r2.y, r3.y)", "(r0.y, r1.y, r3.y, r2.y)",
       of_blocks, blocks, "bits"},
      {"the last block is left out", "ib >= (uint)b", "ib + 4 >= (uint)b", of_blocks, blocks,
       "bits"},
      {"a tile that is not turned", "= tile[x][row]", "= tile[row][x]", of_tile, tile, "bits"},
      {"the edge of a tile is left out", "first_a + row < (uint)a", "first_a + row + 1 < (uint)a",
       of_tile, tile, "bits"},
      {"the planes of dst stay", "plane * dst_plane", "0", of_tile, tile, "bits"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("transpose.cl", fault);
}

// ---- for the tests of every op ----

const test::GroupSizes groups("transpose", 16, test::Bits::same,
                              {"shape=68x20 perm=1-0", "shape=3x18x5x19 perm=3-2-1-0",
                               "shape=5x6x7x9 perm=2-1-0-3"});

std::string random_case(Random& random) {
  std::vector<int> perm(static_cast<std::size_t>(random.integer(1, 4)));
  std::iota(perm.begin(), perm.end(), 0);
  Shape shape;
  for (std::size_t axis = 0; axis < perm.size(); ++axis) {
    const int last = static_cast<int>(perm.size()) - 1;
    std::swap(perm[axis],
              perm[static_cast<std::size_t>(random.integer(static_cast<int>(axis), last))]);
    shape.push_back(random.integer(1, 24));
  }
  return fmt::format("transpose shape={} perm={}", to_string(shape), fmt::join(perm, "-"));
}

const test::RandomProblems random_problems("transpose", 6, random_case);

}  // namespace
}  // namespace clam::transpose_test
