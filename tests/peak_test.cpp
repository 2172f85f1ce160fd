// SPDX-License-Identifier: MIT
#include "peak.hpp"

#include <gtest/gtest.h>

#include "gpu.hpp"

namespace clam {
namespace {

TEST(peak, a_peak_is_known_where_cores_and_clock_can_be_true) {
  DeviceInfo device = gpu_device(find_gpu("g610"));
  device.max_clock_mhz = 1000;
  const auto of_g610 = peak(device);
  ASSERT_TRUE(of_g610);
  EXPECT_DOUBLE_EQ(of_g610->gflops_f32, 512);
  EXPECT_DOUBLE_EQ(of_g610->gflops_f16, 1024);
  EXPECT_EQ(of_g610->gb_per_s, find_gpu("g610").gb_per_s);
  device.max_clock_mhz = 5;  // as some drivers say
  EXPECT_FALSE(peak(device));
  EXPECT_FALSE(peak(generic_device()));
}

/// 512 GFLOP/s and 27.2 GB/s: a product of matrices by its arithmetic, a copy by its bytes.
TEST(peak, the_least_time_is_of_arithmetic_or_of_memory) {
  const Peak peak{512, 1024, 27.2};
  const auto least = [&](const char* line) { return floor_ms(Problem::parse(line), peak); };
  EXPECT_DOUBLE_EQ(least("dense m=512 n=512 k=512 dtype=f32"), 2.0 * 512 * 512 * 512 / 512e6);
  EXPECT_DOUBLE_EQ(least("dense m=512 n=512 k=512 dtype=f16"), 2.0 * 512 * 512 * 512 / 1024e6);
  EXPECT_DOUBLE_EQ(least("transpose shape=256x256 perm=1-0 dtype=f32"), 2.0 * 262144 / 27.2e6);
}

}  // namespace
}  // namespace clam
