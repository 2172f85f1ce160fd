// SPDX-License-Identifier: MIT
// bench_honest_test.cpp - an honest row is never INVALID: on the scripted device, beside recorded
// loads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "bench/measure.hpp"
#include "scripted.hpp"
#include "test_device.hpp"

namespace clam::test {
namespace {

using namespace bench;
using nlohmann::json;

constexpr const char* kLine = "unary op=exp shape=99 dtype=f32";
constexpr const char* kNoises[] = {"busy_short", "busy_long", "llvmpipe", "llvmpipe_loops"};

/// Launches of 0.5 us to 5 ms, even by factors.
double launch_us(int row) { return 0.5 * std::pow(1e4, double(row * 7919 % 1000) / 1000); }

/// Of a device that is a CPU whose other load is known, small, or not known.
json script_of(int row, const std::string& noise) {
  const std::string file =
      CLAM_SOURCE_DIR "/tests/support/scripted_opencl/noise/" + noise + ".json";
  return {{"costs", {{{"kernel", "unary*"}, {"us", launch_us(row)}}}},
          {"noise", {{"seed", row + 1}, {"recorded", file}}},
          {"other_load", row % 2 == 0 ? -1.0 : 0.05},
          {"skips_repeats", true}};
}

Result measure(int row, const Limits& limits) {
  const Selection selection{{{kLine, Problem::parse(kLine), ""}}, {}};
  std::vector<Result> results(1);
  MeterOptions options;
  options.seconds = row % 3 == 0 ? 0.05 : 0.002;
  options.rounds = options.fewest_rounds = 6;
  options.warm_up_seconds = 0.001;
  options.limits = &limits;
  Meter(runtime(), selection, results, options).measure(0);
  return results.front();
}

/// What launches and waits cost there without noise, and no peak.
Limits quiet_limits() {
  Limits limits;
  limits.launch_us = 3, limits.round_trip_us = 10;
  return limits;
}

TEST(bench_honest_scripted, rows_beside_recorded_loads_are_never_invalid) {
  CLAM_ON_SCRIPTED_DEVICE();
  const int rows = test::is_weekly() ? 5000 : 200;
  int marked = 0;
  for (int row = 0; row < rows; ++row) {
    const std::string noise = kNoises[row % 4];
    scripted::play(script_of(row, noise));
    const Result result = measure(row, quiet_limits());
    ASSERT_TRUE(result.valid()) << row << ", " << noise << ", " << launch_us(row)
                                << " us: " << result.reason;
    marked += std::count(result.marks.begin(), result.marks.end(), kTooShort);
  }
  EXPECT_LT(marked, rows / 4);
  RecordProperty("marked", marked);
}

/// The mark waives condition 5 alone: a row that is too short to judge is INVALID all the same if
/// it was not written, or is wrong.
TEST(bench_honest_scripted, what_is_too_short_to_judge_must_be_written_and_right) {
  CLAM_ON_SCRIPTED_DEVICE();
  json wrong = {{"call", "clEnqueueNDRangeKernel"}, {"kernel", "unary*"}, {"does", "wrong"}};
  wrong.update({{"argument", 1}, {"byte", 3}, {"bits", 64}});
  json nothing = {{"call", "clEnqueueNDRangeKernel"}, {"kernel", "unary*"}, {"does", "nothing"}};
  int marked = 0;
  for (int row = 0; row < 200 && marked < 5; ++row) {
    json script = script_of(row, kNoises[row % 4]);
    scripted::play(script);
    const std::vector<std::string> marks = measure(row, quiet_limits()).marks;
    if (std::count(marks.begin(), marks.end(), kTooShort) == 0) continue;
    ++marked;
    for (const auto& [lie, condition] :
         {std::pair(wrong, "condition 3"), std::pair(nothing, "condition 2")}) {
      script["lies"] = json::array({lie});
      scripted::play(script);
      const Result result = measure(row, quiet_limits());
      EXPECT_FALSE(result.valid()) << row;
      EXPECT_EQ(result.reason.rfind(condition, 0), 0u) << result.reason;
    }
  }
  EXPECT_EQ(marked, 5);
}

TEST(bench_honest_scripted, on_a_quiet_machine_no_row_over_100_us_is_too_short) {
  CLAM_ON_SCRIPTED_DEVICE();
  for (int row = 0; row < 100; ++row) {
    json script = script_of(row, "busy_short");
    script["noise"] = {{"spread", 0.02}, {"seed", row + 1}};
    script["costs"][0]["us"] = 100 + launch_us(row);
    scripted::play(script);
    const Result result = measure(row, quiet_limits());
    ASSERT_TRUE(result.valid()) << result.reason;
    EXPECT_EQ(std::count(result.marks.begin(), result.marks.end(), kTooShort), 0) << row;
  }
}

}  // namespace
}  // namespace clam::test
