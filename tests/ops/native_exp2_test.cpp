// SPDX-License-Identifier: MIT
#include "runtime/native_exp2.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "runtime/atomic_file.hpp"
#include "test_device.hpp"

namespace clam::native_exp2_test {
namespace {

/// What a device would give: 2^x in double, changed by `change`, rounded to float; and reciprocals.
template <typename Change>
double error_of(bool denormals, const Change& change, double recip_error = 0) {
  const std::vector<float> arguments = exp2_arguments();
  std::vector<float> results;
  for (const float x : arguments) {
    results.push_back(static_cast<float>(change(x, std::exp2(static_cast<double>(x)))));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    results.push_back(static_cast<float>((1 + recip_error) / (1 + 4.0 * results[i])));
  }
  return largest_exp2_error(arguments, results, denormals);
}

TEST(native_exp2, arguments_reach_from_minus_infinity_to_zero) {
  const std::vector<float> arguments = exp2_arguments();
  EXPECT_EQ(arguments.size() % 64, 0u);
  int nans = 0, infinities = 0, zeros = 0;
  for (const float x : arguments) {
    nans += std::isnan(x), infinities += std::isinf(x), zeros += x == 0;
    EXPECT_FALSE(x > 0);
  }
  EXPECT_EQ(nans, 1);
  EXPECT_EQ(infinities, 1);
  EXPECT_EQ(zeros, 2);
}

TEST(native_exp2, errors_are_counted_in_ulp) {
  EXPECT_EQ(error_of(true, [](float, double y) { return y; }), 0.5);
  const double three = error_of(false, [](float x, double y) {
    return x > -100 ? y + 3 * std::ldexp(1.0, std::ilogb(y) - 23) : y;
  });
  EXPECT_GE(three, 2.5);
  EXPECT_LE(three, 4);
  // An argument of which a relative 2^-20 is lost.
  EXPECT_GT(error_of(true, [](float x, double) { return std::exp2(x * (1 + 0x1p-20)); }), 16);
}

TEST(native_exp2, what_is_wrong_beyond_rounding_is_never_good_enough) {
  const auto wrong = [](const auto& change) { return error_of(true, change) == 1e6; };
  EXPECT_TRUE(wrong([](float x, double y) { return std::isinf(x) ? NAN : y; }));
  EXPECT_TRUE(wrong([](float x, double y) { return std::isnan(x) ? 0 : y; }));
  EXPECT_TRUE(wrong([](float x, double y) { return x == -300 ? 1.0 : y; }));
  EXPECT_TRUE(wrong([](float x, double y) { return x == -300 ? 0x1p-126 : y; }));
  EXPECT_TRUE(wrong([](float x, double y) { return x == -1e9f ? -y - 1 : y; }));
}

TEST(native_exp2, errors_of_reciprocals_count_too) {
  const auto exact = [](float, double y) { return y; };
  EXPECT_GE(error_of(true, exact, 0x1p-21), 3.5);
  EXPECT_LE(error_of(true, exact, 0x1p-21), 9.5);
  EXPECT_EQ(error_of(true, exact, -1), 1e6);
  EXPECT_EQ(error_of(true, exact, NAN), 1e6);
}

TEST(native_exp2, denormals_count_where_the_device_keeps_them) {
  const auto flush = [](float, double y) { return y < 0x1p-126 ? 0 : y; };
  EXPECT_EQ(error_of(false, flush), 0.5);
  EXPECT_GT(error_of(true, flush), 16);
}

class native_exp2_device : public testing::Test {
 protected:
  void SetUp() override { CLAM_NEEDS_DEVICE(); }
  static const DeviceInfo& info() { return test::runtime().device(); }
  double figure(const std::string& dir) const {
    return native_exp2_ulp(test::runtime().queue(), info(), dir);
  }
  test::TemporaryFolder folder_;
};

TEST_F(native_exp2_device, is_measured) {
  const double ulp = measure_native_exp2(test::runtime().queue(), info());
  EXPECT_GE(ulp, 0.5);
}

TEST_F(native_exp2_device, the_figure_is_kept_for_the_next_start) {
  const std::string dir = folder_.file("cache"), path = native_exp2_file(info(), dir);
  const double measured = figure(dir);
  const std::string text = read_file(path);
  EXPECT_EQ(figure(dir), measured);
  const std::size_t last = text.rfind('\n', text.size() - 2) + 1;
  write_file(path, text.substr(0, last) + "7.25\n");
  EXPECT_EQ(figure(dir), 7.25) << "it is read, not measured again";
}

TEST_F(native_exp2_device, a_damaged_file_or_one_of_another_driver_is_not_believed) {
  const std::string dir = folder_.file("cache"), path = native_exp2_file(info(), dir);
  const double measured = figure(dir);
  const std::string text = read_file(path);
  const std::size_t last = text.rfind('\n', text.size() - 2) + 1;
  for (const std::string& damaged :
       {std::string(), text.substr(0, text.size() / 2), text.substr(0, last) + "fine\n",
        text.substr(0, last) + "-3\n", "x" + text.substr(0, last) + "7.25\n"}) {
    write_file(path, damaged);
    EXPECT_EQ(figure(dir), measured) << damaged;
    EXPECT_EQ(read_file(path), text) << "mended";
  }
  DeviceInfo other = info();
  other.driver_version += ".1";
  EXPECT_NE(native_exp2_file(other, dir), path);
  EXPECT_EQ(native_exp2_file(info(), ""), "");
}

TEST_F(native_exp2_device, an_unwritable_folder_only_costs_time) {
  write_file(folder_.file("file"), "");
  EXPECT_EQ(figure(folder_.file("file") + "/cache"), figure(""));
}

}  // namespace
}  // namespace clam::native_exp2_test
