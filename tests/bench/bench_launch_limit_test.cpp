// SPDX-License-Identifier: MIT
// bench_launch_limit_test.cpp - boards whose driver ends what takes too long.
#include <gtest/gtest.h>

#include "bench/conditions.hpp"
#include "bench/measure.hpp"
#include "expect_reason.hpp"
#include "scripted.hpp"
#include "test_device.hpp"

namespace clam::test {
namespace {

using namespace bench;

constexpr const char* kWork = "dense m=33 n=20 k=48 dtype=f32 bias";

std::vector<LaunchTime> times_of(const std::vector<double>& seconds) {
  std::vector<LaunchTime> times;
  for (const double each : seconds) {
    times.push_back({0, 0, 1000, 1000 + static_cast<std::uint64_t>(each * 1e9)});
  }
  return times;
}

TEST(bench_launch_limit, launches_in_flight_stay_below_half_the_limit) {
  EXPECT_EQ(launches_in_flight(times_of({0.001, 0.1}), 5, 32), 25);
  EXPECT_EQ(launches_in_flight(times_of({0.001}), 5, 32), 32) << "as many as the queue may have";
  EXPECT_EQ(launches_in_flight(times_of({2}), 5, 32), 1);
  EXPECT_EQ(launches_in_flight(times_of({4}), 5, 32), 1) << "one at least";
  EXPECT_EQ(launches_in_flight(times_of({4}), 0, 32), 32) << "no limit";
}

TEST(bench_launch_limit, a_launch_over_the_limit_is_refused) {
  expect_holds(too_long(times_of({0.1, 2.4}), 5));
  expect_says(too_long(times_of({0.1, 6}), 5),
              "a launch took 6 s, over half of the limit of 5 s; a driver");
  expect_holds(too_long(times_of({60}), 0));
  const Problem dense = Problem::parse("dense m=1000 n=1000 k=1000 dtype=f32");  // 2 GFLOP
  Limits slow;
  slow.gflops_f32 = 0.25;
  expect_says(too_long_at_best(dense, 1, slow, 5), "a launch takes 8 s at least by the measured");
  expect_holds(too_long_at_best(dense, 4, slow, 5));
  expect_holds(too_long_at_best(dense, 1, slow, 0));
  expect_holds(too_long_at_best(dense, 1, Limits{}, 5));
  Limits narrow;
  narrow.best_gb_per_s = 1e-3;  // 12 MB
  expect_says(too_long_at_best(dense, 1, narrow, 5), "a launch takes 12 s at least");
}

/// Keeps how many launches may be in flight.
class Watched : public Subject {
 public:
  Watched(Runtime& runtime, const Row& row, std::vector<int>& in_flight)
      : Subject(runtime, row), runtime_(runtime), in_flight_(in_flight) {}
  void enqueue() override {
    in_flight_.push_back(runtime_.max_in_flight());
    Subject::enqueue();
  }

 private:
  Runtime& runtime_;
  std::vector<int>& in_flight_;
};

/// Launches that take so long, under a limit of 10 us; `in_flight`: at each iteration.
Result measure_slow(double us, std::vector<int>& in_flight, const Limits& peaks = {}) {
  scripted::play({{"costs", {{{"us", us}}}}});
  Selection selection;
  selection.rows.push_back({kWork, Problem::parse(kWork), ""});
  std::vector<Result> results(1);
  MeterOptions options;
  options.seconds = options.warm_up_seconds = 1e-3;
  options.rounds = options.fewest_rounds = 2;
  options.limits = &peaks;
  options.launch_limit_s = 1e-5;
  options.make = [&](const Row& row) {
    return std::make_unique<Watched>(runtime(), row, in_flight);
  };
  Meter(runtime(), selection, results, options).measure(0);
  return results[0];
}

TEST(bench_launch_limit_scripted, launches_are_submitted_so_that_none_exceeds_it) {
  CLAM_ON_SCRIPTED_DEVICE();
  const int usual = runtime().max_in_flight();
  std::vector<int> in_flight;
  const Result result = measure_slow(1, in_flight);
  EXPECT_TRUE(result.valid()) << result.reason;
  ASSERT_GE(in_flight.size(), 6u) << "one, a warm-up, and two rounds of two batches at least";
  EXPECT_EQ(in_flight.front(), 1) << "until it is known how long one takes";
  for (std::size_t i = 1; i < in_flight.size(); ++i) EXPECT_EQ(in_flight[i], 5) << i;
  EXPECT_EQ(runtime().max_in_flight(), usual);
}

TEST(bench_launch_limit_scripted, a_long_launch_is_skipped_after_one) {
  CLAM_ON_SCRIPTED_DEVICE();
  std::vector<int> in_flight;
  const Result result = measure_slow(20, in_flight);
  EXPECT_EQ(result.outcome, Outcome::skipped);
  EXPECT_EQ(result.reason.rfind("a launch took 2e-05 s, over half of the limit of 1e-05 s", 0), 0u)
      << result.reason;
  EXPECT_EQ(in_flight.size(), 1u);
}

TEST(bench_launch_limit_scripted, a_launch_that_must_take_long_is_never_tried) {
  CLAM_ON_SCRIPTED_DEVICE();
  std::vector<int> in_flight;
  const Result result = measure_slow(1, in_flight, {1e-3, 0, 0, 0, 0});
  EXPECT_EQ(result.outcome, Outcome::skipped);
  EXPECT_NE(result.reason.find(" at least by the measured peaks"), std::string::npos)
      << result.reason;
  EXPECT_TRUE(in_flight.empty());
}

}  // namespace
}  // namespace clam::test
