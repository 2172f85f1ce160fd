// SPDX-License-Identifier: MIT
// What a launch costs by when the queue is flushed, on the scripted device, where a script says
// what a flush costs and whether anything starts before it.
#include "bench/launch_policy.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "clam/error.hpp"
#include "clam/runtime.hpp"
#include "scripted.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace clam::test {
namespace {

using bench::FlushCost;
using nlohmann::json;

constexpr int kAtTheEnd = RuntimeOptions::kWhenWaiting;

FlushCost cost(int launches_a_flush, double us) {
  FlushCost made{launches_a_flush, {}};
  for (int i = 0; i < 20; ++i) made.samples_us.push_back(us * (1 + 0.001 * i));
  return made;
}

TEST(launch_policy, the_usual_one_stays_where_none_is_faster_beyond_noise) {
  EXPECT_EQ(bench::best_of({cost(1, 2), cost(8, 1.0), cost(kAtTheEnd, 1)}).launches_a_flush, 8);
  EXPECT_EQ(bench::best_of({cost(1, 0.99), cost(8, 1.0), cost(16, 1.01)}).launches_a_flush, 8);
  EXPECT_EQ(bench::best_of({cost(1, 0.8), cost(8, 1.0), cost(16, 0.7)}).launches_a_flush, 16);
  FlushCost wild = cost(1, 0.5);  // fast now and then
  for (std::size_t i = 0; i < wild.samples_us.size(); i += 2) wild.samples_us[i] = 2;
  EXPECT_EQ(bench::best_of({wild, cost(8, 1.0)}).launches_a_flush, 8);
}

/// The JSON of what was measured while the script plays.
json measured(json script) {
  script["wait_us"] = 0;
  scripted::play(script);
  return to_json(bench::measure_launches(runtime(), 0));
}

double us_of(const json& costs, int launches_a_flush) {
  for (const json& each : costs.at("costs")) {
    if (each.at("launches_a_flush") == launches_a_flush) return each.at("us");
  }
  return 0;
}

/// Launches of `us` on a driver that starts them when they are flushed.
json held_back(double us, double flush_us) {
  return {{"costs", {{{"kernel", "unary*"}, {"us", us}}}},
          {"flush_us", flush_us},
          {"starts_when_flushed", true}};
}

TEST(launch_policy_scripted, the_best_is_taken) {
  CLAM_ON_SCRIPTED_DEVICE();
  // The host needs 1 us for a launch, so the device waits for what is kept back.
  const json free = measured(held_back(0.6, 0));
  EXPECT_EQ(free.at("launches_a_flush"), 1) << free;
  EXPECT_GT(us_of(free, kAtTheEnd), 1.2 * us_of(free, 1)) << free;

  const json some = measured(held_back(1, 4));
  EXPECT_EQ(some.at("launches_a_flush"), 16) << some;
  EXPECT_GT(us_of(some, 1), 3 * us_of(some, 16)) << some;
  EXPECT_GT(us_of(some, kAtTheEnd), us_of(some, 16)) << some;

  json at_once = held_back(1, 20);
  at_once["starts_when_flushed"] = false;
  const json dear = measured(at_once);
  EXPECT_EQ(dear.at("launches_a_flush"), kAtTheEnd) << dear;

  at_once["flush_us"] = 0;
  const json alike = measured(at_once);
  EXPECT_EQ(alike.at("launches_a_flush"), RuntimeOptions::kLaunchesAFlush) << alike;
}

/// A driver that counts launches as done which it leaves out must not look fast.
TEST(launch_policy_scripted, launches_that_did_not_run_are_an_error) {
  CLAM_ON_SCRIPTED_DEVICE();
  EXPECT_THROWS_SAYING(measured(scripted::lying("clEnqueueNDRangeKernel", "nothing")), DeviceError,
                       "launches ended, but did not run");
}

}  // namespace
}  // namespace clam::test
