// SPDX-License-Identifier: MIT
#include "check/peak.hpp"

#include <gtest/gtest.h>

#include "clam/gpu.hpp"

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

TEST(peak, what_fits_a_cache_moves_as_fast_as_the_cache) {
  const MeasuredPeak measured{
      100, 20, {{1024, 80}, {4096, 90}, {16384, 30}, {16384, 25}, {65536, 20}}};
  EXPECT_EQ(measured.gb_per_s(1), 90) << "small sizes are slow by their launch";
  EXPECT_EQ(measured.gb_per_s(4096), 90);
  EXPECT_EQ(measured.gb_per_s(16384), 90) << "a cache of 16 KiB would not show";
  EXPECT_EQ(measured.gb_per_s(16388), 30);
  EXPECT_EQ(measured.gb_per_s(65540), 20);
  EXPECT_EQ(measured.gb_per_s(1e9), 20) << "larger than all that was measured";
  EXPECT_EQ(MeasuredPeak{}.gb_per_s(1), 0);
}

TEST(peak, a_measured_peak_bounds_problems_of_any_device) {
  const MeasuredPeak measured{100, 20, {{1 << 20, 50}, {1 << 24, 10}}};
  const auto least = [&](const char* line) {
    const Problem problem = Problem::parse(line);
    return floor_ms(problem, measured.of(bytes_of(problem)));
  };
  EXPECT_DOUBLE_EQ(least("dense m=512 n=512 k=512 dtype=f32"), 2.0 * 512 * 512 * 512 / 100e6);
  EXPECT_DOUBLE_EQ(least("dense m=512 n=512 k=512 dtype=f16"), 2.0 * 512 * 512 * 512 / 100e6)
      << "halves summed in float, where that is the quicker";
  EXPECT_DOUBLE_EQ(least("transpose shape=256x256 perm=1-0 dtype=f32"), 2.0 * 262144 / 50e6);
  EXPECT_DOUBLE_EQ(least("transpose shape=4096x4096 perm=1-0 dtype=f32"), 2.0 * 67108864 / 10e6);
  const Problem problem = Problem::parse("dense m=512 n=512 k=512 dtype=f32");
  EXPECT_EQ(floor_ms(problem, MeasuredPeak{}.of(bytes_of(problem))), 0) << "nothing is known";
}

}  // namespace
}  // namespace clam
