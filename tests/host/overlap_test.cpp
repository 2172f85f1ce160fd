// SPDX-License-Identifier: MIT
#include "runtime/overlap.hpp"

#include <gtest/gtest.h>

#include "check/ops/shared/random.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace clam {
namespace {

TensorSpec spec(Shape shape, std::vector<std::int64_t> strides = {}, std::int64_t offset = 0) {
  return {"x", TensorSpec::Role::input, Dtype::f32, std::move(shape), std::move(strides), offset};
}

TEST(overlap, tensors_apart_share_nothing) {
  const TensorSpec a = spec({4, 8});
  EXPECT_FALSE(share_bytes({&a, 0}, {&a, 128}));
  EXPECT_TRUE(share_bytes({&a, 0}, {&a, 124}));
  EXPECT_TRUE(share_bytes({&a, 0}, {&a, 0}));
}

TEST(overlap, parts_of_wider_rows_share_nothing_unless_their_columns_meet) {
  const TensorSpec left = spec({4, 8}, {16, 1}), right = spec({4, 8}, {16, 1}, 8);
  const TensorSpec middle = spec({4, 8}, {16, 1}, 7), whole = spec({4, 16});
  EXPECT_FALSE(share_bytes({&left, 0}, {&right, 0}));
  EXPECT_TRUE(share_bytes({&left, 0}, {&middle, 0}));
  EXPECT_TRUE(share_bytes({&whole, 0}, {&right, 0}));
}

TEST(overlap, agrees_with_a_count_of_the_bytes) {
  Random random(test::seed());
  const auto any = [&] {
    const std::int64_t rows = random.integer(1, 5), n = random.integer(1, 6);
    const std::int64_t heads = random.integer(1, 3), step = n + random.integer(0, 3);
    const std::int64_t ld = heads * step + random.integer(0, 20);
    return spec({heads, rows, n}, {step, ld, 1}, random.integer(0, 30));
  };
  int shared = 0;
  for (int i = 0; i < 2000; ++i) {
    const TensorSpec a = any(), b = any();
    const std::int64_t begin = 4 * random.integer(0, 20);
    std::vector<bool> bytes(10000);
    for (std::int64_t j = 0; j < count(a.shape); ++j)
      bytes[static_cast<std::size_t>(4 * a.position(j))] = true;
    bool meet = false;
    for (std::int64_t j = 0; j < count(b.shape); ++j) {
      meet = meet || bytes[static_cast<std::size_t>(begin + 4 * b.position(j))];
    }
    EXPECT_EQ(share_bytes({&a, 0}, {&b, begin}), meet);
    EXPECT_EQ(share_bytes({&b, begin}, {&a, 0}), meet);
    shared += meet;
  }
  EXPECT_GT(shared, 100);
  EXPECT_LT(shared, 1900);
}

TEST(overlap, coincidence_is_element_on_element) {
  const TensorSpec dense = spec({4, 8}), strided = spec({4, 8}, {8, 1}),
                   wide = spec({4, 8}, {9, 1});
  const TensorSpec shifted = spec({4, 8}, {}, 2);
  EXPECT_TRUE(coincide({&dense, 0}, {&strided, 0}));
  EXPECT_TRUE(coincide({&dense, 8}, {&shifted, 0}));
  EXPECT_FALSE(coincide({&dense, 0}, {&wide, 0}));
  EXPECT_FALSE(coincide({&dense, 0}, {&shifted, 0}));
}

class overlap_device : public testing::Test {
 protected:
  void SetUp() override { CLAM_NEEDS_DEVICE(); }

  static cl::Buffer buffer(std::size_t floats) {
    return {test::runtime().context(), CL_MEM_READ_WRITE, 4 * floats};
  }
  static void enqueue(const char* line, const Bindings& bindings) {
    Executable executable = test::runtime().prepare(Problem::parse(line), {"dense_nt"});
    test::runtime().enqueue(executable, bindings);
    test::runtime().finish();
  }
};

TEST_F(overlap_device, an_output_on_an_input_is_refused_before_a_launch) {
  const cl::Buffer x = buffer(64), w = buffer(64), y = buffer(64);
  const char* line = "dense m=8 n=8 k=8 dtype=f32";
  const std::int64_t launches = test::runtime().counters().launches;
  EXPECT_THROWS_SAYING(enqueue(line, {{"x", x}, {"w", w}, {"y", x}}), BadArgument,
                       "output 'y' overlaps 'x' in memory: bind another buffer");
  EXPECT_EQ(test::runtime().counters().launches, launches);
  EXPECT_NO_THROW(enqueue(line, {{"x", x}, {"w", x}, {"y", y}})) << "inputs may be one buffer";
}

TEST_F(overlap_device, an_output_may_be_the_input_that_the_plan_names_but_not_beside_it) {
  const cl::Buffer x = buffer(64), w = buffer(64), y = buffer(128);
  const char* line = "dense m=8 n=8 k=8 dtype=f32 residual";
  EXPECT_NO_THROW(enqueue(line, {{"x", x}, {"w", w}, {"r", y}, {"y", y}}));
  EXPECT_THROWS_SAYING(enqueue("dense m=8 n=8 k=8 dtype=f32 residual offy=4",
                               {{"x", x}, {"w", w}, {"r", y}, {"y", y}}),
                       BadArgument, "give it exactly the same elements, or bind another buffer");
}

TEST_F(overlap_device, parts_of_one_matrix_are_apart) {
  const cl::Buffer both = buffer(128), w = buffer(64);
  EXPECT_NO_THROW(enqueue("dense m=8 n=8 k=8 dtype=f32 ldx=16 ldy=16 offy=8",
                          {{"x", both}, {"w", w}, {"y", both}}));
}

TEST_F(overlap_device, sub_buffers_are_looked_up_in_their_parent) {
  const auto align = static_cast<std::size_t>(test::runtime().device().mem_base_addr_align);
  cl::Buffer parent = buffer(2 * align);
  const auto part = [&](std::size_t begin) {
    cl_buffer_region region{begin, 4 * 64};
    return parent.createSubBuffer(CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region);
  };
  const cl::Buffer w = buffer(64), low = part(0), same = part(0), high = part(4 * align);
  const char* line = "dense m=8 n=8 k=8 dtype=f32";
  EXPECT_THROWS_SAYING(enqueue(line, {{"x", low}, {"w", w}, {"y", same}}), BadArgument, "overlaps");
  EXPECT_NO_THROW(enqueue(line, {{"x", low}, {"w", w}, {"y", high}}));
}

}  // namespace
}  // namespace clam
