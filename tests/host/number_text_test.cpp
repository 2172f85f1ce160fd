// SPDX-License-Identifier: MIT
// number_text_test.cpp - floats as text.
#include "runtime/number_text.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>

#include "test_device.hpp"

namespace clam {
namespace {

TEST(number_text, is_the_shortest_and_reads_like_a_number) {
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(-0.0f), "-0");
  EXPECT_EQ(number_text(1), "1");
  EXPECT_EQ(number_text(-2.5f), "-2.5");
  EXPECT_EQ(number_text(0.1f), "0.1");
  EXPECT_EQ(number_text(0.0001f), "0.0001");
  EXPECT_EQ(number_text(0.00001f), "1e-05");
  EXPECT_EQ(number_text(0.00012345f), "0.00012345");
  EXPECT_EQ(number_text(16777216), "16777216");
  EXPECT_EQ(number_text(1e15f), "1000000000000000");
  EXPECT_EQ(number_text(1e16f), "1e+16");
  EXPECT_EQ(number_text(123.456f), "123.456");
  EXPECT_EQ(number_text(std::numeric_limits<float>::max()), "3.4028235e+38");
  EXPECT_EQ(number_text(std::numeric_limits<float>::denorm_min()), "1e-45");
  EXPECT_EQ(number_text(std::numeric_limits<float>::infinity()), "inf");
  EXPECT_EQ(number_text(-std::numeric_limits<float>::infinity()), "-inf");
  EXPECT_EQ(number_text(std::numeric_limits<float>::quiet_NaN()), "nan");
}

TEST(number_text, reads_back_as_the_same_float) {
  std::mt19937 random(static_cast<std::uint32_t>(test::seed()));
  for (int i = 0; i < 100000; ++i) {
    const std::uint32_t bits = random();
    float value;
    std::memcpy(&value, &bits, sizeof value);
    if (value != value) continue;
    ASSERT_EQ(std::strtof(number_text(value).c_str(), nullptr), value) << number_text(value);
  }
}

TEST(number_text, a_literal_is_of_type_float) {
  EXPECT_EQ(float_literal(1), "1.0f");
  EXPECT_EQ(float_literal(0.2f), "0.2f");
  EXPECT_EQ(float_literal(1e-5f), "1e-05f");
  EXPECT_EQ(float_literal(-3), "-3.0f");
  EXPECT_EQ(float_literal(-std::numeric_limits<float>::infinity()), "-INFINITY");
}

}  // namespace
}  // namespace clam
