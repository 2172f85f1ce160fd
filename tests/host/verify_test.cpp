// SPDX-License-Identifier: MIT
// verify_test.cpp - the guard bands and the judge must catch what they are for.
#include "check/verify.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "clam/error.hpp"
#include "foreign_plan.hpp"
#include "test_errors.hpp"

namespace clam {
namespace {

class verify_device : public testing::Test {
 protected:
  void SetUp() override { CLAM_NEEDS_DEVICE(); }

  /// Runs scale.cl with `body` in place of its guarded store.
  std::unique_ptr<Trial> run_with(const std::string& body, TensorSpec dst = {}) {
    const std::string store = "if (i < n) dst[i] = src[i] * factor;";
    std::string source = test::kScaleSource;
    source.replace(source.find(store), store.size(), body);
    write_file(folder_.file("scale.cl"), source);
    runtime_ = test::runtime_with_kernels(folder_);
    Plan plan = test::scale_plan(24, 2);
    if (!dst.name.empty()) plan.tensors[1] = dst;
    auto trial = std::make_unique<Trial>(*runtime_, plan);
    HostTensor src(Dtype::f32, {24});
    for (std::int64_t i = 0; i < 24; ++i) src.set(i, static_cast<double>(i + 1));
    trial->upload({{"src", src}});
    trial->run(1);
    outputs_ = trial->download();
    return trial;
  }

  test::TemporaryFolder folder_;
  std::unique_ptr<Runtime> runtime_;
  Tensors outputs_;
};

TEST_F(verify_device, an_honest_kernel_trespasses_nowhere) {
  EXPECT_FALSE(run_with("if (i < n) dst[i] = src[i] * factor;")->trespass());
  EXPECT_EQ(outputs_.at("dst").get(23), 48);
}

TEST_F(verify_device, a_write_past_the_end_is_seen) {
  const Reason reason = run_with("dst[i] = 1.0f;")->trespass();
  ASSERT_TRUE(reason);
  EXPECT_NE(
      reason->find("memory around tensor dst was overwritten at byte 96 (its 96 bytes start at 0)"),
      std::string::npos)
      << *reason;
}

TEST_F(verify_device, a_write_before_the_start_is_seen) {
  const Reason reason = run_with("if (i == 0) dst[-1] = 1.0f;")->trespass();
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->find("at byte -4"), std::string::npos) << *reason;
}

TEST_F(verify_device, a_write_into_the_gap_between_rows_is_seen) {
  const TensorSpec dst{"dst", TensorSpec::Role::output, Dtype::f32, {4, 3}, {6, 1}, 0};
  const Reason reason = run_with("if (i < 21 && i % 6 < 4) dst[i] = 1.0f;", dst)->trespass();
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->find("at byte 12"), std::string::npos) << *reason;
  EXPECT_FALSE(run_with("if (i < 21 && i % 6 < 3) dst[i] = 1.0f;", dst)->trespass());
}

TEST_F(verify_device, a_changed_input_is_seen) {
  const Reason reason = run_with("if (i < n) ((__global float*)src)[i] = 0.0f;")->trespass();
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->find("input tensor src was overwritten at byte"), std::string::npos) << *reason;
}

TEST_F(verify_device, a_read_past_the_end_shows_as_nan) {
  run_with("if (i < n) dst[i] = src[i + 1] * factor;");
  EXPECT_TRUE(std::isnan(outputs_.at("dst").get(23)));
  run_with("if (i < n) dst[i] = src[i - 1] * factor;");
  EXPECT_TRUE(std::isnan(outputs_.at("dst").get(0)));
}

TEST_F(verify_device, elements_nobody_wrote_hold_the_poison_of_their_iteration) {
  run_with("if (i < n - 1) dst[i] = src[i] * factor;");
  EXPECT_EQ(outputs_.at("dst").bits(23), poison_bits(Dtype::f32, 1));
}

TEST_F(verify_device, inputs_must_be_given_and_agree) {
  auto trial = run_with("dst[0] = 1.0f;");
  EXPECT_THROWS_SAYING(trial->upload({}), BadArgument, "input 'src' is missing");
  EXPECT_THROWS_SAYING(trial->upload({{"src", HostTensor(Dtype::f32, {25})}}), BadArgument,
                       "tensor src is f32[25], needs f32[24]");
  EXPECT_THROWS_SAYING(trial->upload({{"src", HostTensor(Dtype::f16, {24})}}), BadArgument,
                       "tensor src is f16[24], needs f32[24]");
}

/// As a kernel without its bounds check would, which passes on the NaN that it read past an input.
TEST_F(verify_device, a_nan_written_past_the_end_is_seen) {
  const TensorSpec spec{"y", TensorSpec::Role::output, Dtype::f32, {5}, {}, 0};
  GuardedBuffer buffer(test::runtime(), spec);
  buffer.poison(1);
  const cl::Buffer& window = buffer.buffer();
  const cl::Buffer whole(window.getInfo<CL_MEM_ASSOCIATED_MEMOBJECT>()(), true);
  const cl::size_type end = window.getInfo<CL_MEM_OFFSET>() + spec.bytes();
  test::runtime().queue().enqueueFillBuffer(whole, cl_uint{0xFFFFFFFF}, end, 4);
  buffer.download();
  EXPECT_TRUE(buffer.trespass());
}

TEST_F(verify_device, elements_that_share_a_place_must_be_equal) {
  TensorSpec spec{"a", TensorSpec::Role::input, Dtype::f32, {2, 3}, {2, 1}, 0};
  GuardedBuffer buffer(test::runtime(), spec);
  HostTensor tensor(Dtype::f32, {2, 3});
  for (std::int64_t i = 0; i < 6; ++i) tensor.set(i, static_cast<double>(i < 3 ? i : i - 1));
  EXPECT_NO_THROW(buffer.upload(tensor));
  tensor.set(3, 7);
  EXPECT_THROWS_SAYING(buffer.upload(tensor), BadArgument,
                       "tensor a: element 2 lies on another, which has another value");
}

TEST(verify, an_output_that_is_missing_is_a_fault) {
  Reference reference;
  reference["y"].exact = HostTensor(Dtype::f32, {2});
  EXPECT_EQ(compare_all(reference, {}, {}, 0).reason(), "output 'y' is missing");
  EXPECT_TRUE(compare_all(reference, {{"y", HostTensor(Dtype::f32, {2})}}, {}, 0).pass());
}

TEST(verify, a_verification_without_outputs_fails) {
  EXPECT_FALSE(Verification{}.pass());
  EXPECT_EQ(Verification{}.reason(), "nothing was compared");
}

}  // namespace
}  // namespace clam
