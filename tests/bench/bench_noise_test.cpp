// SPDX-License-Identifier: MIT
// bench_noise_test.cpp - records what other load adds to launches and waits, as record_noise.py
// does, from drivers too that Python does not find.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/measure.hpp"
#include "test_device.hpp"

namespace clam::test {
namespace {

using namespace bench;

/// What each value has on top of the least, in tenths of a microsecond.
std::vector<double> over_the_least(std::vector<double> all_us) {
  const double least = *std::min_element(all_us.begin(), all_us.end());
  for (double& us : all_us) us = std::round(10 * (us - least)) / 10;
  return all_us;
}

/// Run with --gtest_also_run_disabled_tests; the last line of the output is the file.
TEST(bench_noise_device, DISABLED_record) {
  CLAM_NEEDS_DEVICE();
  constexpr int kBatches = 1000;
  const std::string line = "unary op=exp shape=4099 dtype=f32";
  Subject subject(runtime(), {line, Problem::parse(line), ""});
  subject.warm_up(0.2);
  std::vector<double> device_us, wait_us;
  for (int i = 0; i < kBatches; ++i) {
    const Batch batch = subject.run(1);
    const LaunchTime& time = batch.times.front();
    device_us.push_back(time.ns() * 1e-3);
    wait_us.push_back((batch.wall_ns - double(time.ended - time.queued)) * 1e-3);
  }
  const double launch_us = *std::min_element(device_us.begin(), device_us.end());
  fmt::print("{}\n", nlohmann::json{{"device", runtime().device().name},
                                    {"platform", runtime().device().platform},
                                    {"launch_us", std::round(10 * launch_us) / 10},
                                    {"device_us", over_the_least(device_us)},
                                    {"wait_us", over_the_least(wait_us)}}
                         .dump());
}

}  // namespace
}  // namespace clam::test
