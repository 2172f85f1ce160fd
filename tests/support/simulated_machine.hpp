// SPDX-License-Identifier: MIT
// simulated_machine.hpp - a device in front of condition 5 that only adds up times: what launches
// take, what a recorded noise adds, and where it lies.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/work.hpp"
#include "runtime/atomic_file.hpp"

namespace clam::test {

/// What other load added to launches and to waits, in us, in the order in which it came.
struct NoiseSeries {
  double launch_us = 10;  ///< how long the recorded launch takes alone
  std::vector<double> device_us = {0}, wait_us = {0};
};

/// Of scripted_opencl/noise, whose README says how they were recorded.
inline NoiseSeries read_noise(const std::string& name) {
  const auto file = nlohmann::json::parse(
      read_file(CLAM_SOURCE_DIR "/tests/support/scripted_opencl/noise/" + name + ".json"));
  NoiseSeries noise{file.at("alone_us").at(0), {}, {}};
  for (const auto& each : file.at("device_and_wait_us")) {
    noise.device_us.push_back(each.at(0));
    noise.wait_us.push_back(each.at(1));
  }
  return noise;
}

/// What a device says that lies.
struct SimulatedLie {
  bool once = false;       ///< it does one iteration of a batch, and deals its time out
  double constant_us = 0;  ///< that every launch is said to take
  double factor = 1;       ///< of what events claim to what is true
};

struct SimulatedMachine {
  double kernel_us = 100;  ///< of one launch
  std::int64_t launches = 1;
  double enqueue_us = 1, gap_us = 2, wait_us = 5;
  double empty_gap_us = 2;  ///< before an empty launch
  NoiseSeries noise;
  std::size_t device_turn = 0, wait_turn = 0;  ///< where in the series it is
  SimulatedLie lie;

  bench::Span run(std::int64_t iterations) {
    const std::int64_t done = lie.once ? 1 : iterations;
    bench::Span span = batch(done * launches, kernel_us, gap_us);
    span.iterations = iterations, span.launches = iterations * launches;
    span.events_us *= lie.factor;
    if (lie.constant_us > 0) span.events_us = lie.constant_us * double(span.launches);
    return span;
  }
  double run_empty(std::int64_t count) { return batch(count, kEmptyUs, empty_gap_us).wall_us; }

 private:
  static constexpr double kEmptyUs = 0.5;

  /// A launch twice as long as the recorded one meets twice as much.
  double device_noise(double us) {
    double sum = 0;
    for (double left = us / noise.launch_us; left > 0; left -= 1) {
      sum += std::min(left, 1.0) * noise.device_us[device_turn++ % noise.device_us.size()];
    }
    return sum;
  }
  double wait_noise() { return noise.wait_us[wait_turn++ % noise.wait_us.size()]; }

  /// As the Runtime does it: at most 32 launches are in flight.
  bench::Span batch(std::int64_t count, double us, double gap) {
    constexpr std::int64_t kInFlight = 32;
    bench::Span span{count, count};
    double host = 0, device = 0;
    std::vector<double> ends;
    for (std::int64_t i = 0; i < count; ++i) {
      if (i >= kInFlight && ends[static_cast<std::size_t>(i - kInFlight)] > host) {
        host = ends[static_cast<std::size_t>(i - kInFlight)] + wait_noise();
      }
      host += enqueue_us;
      const double takes = us + device_noise(us);
      device = std::max(device, host) + gap + takes;
      ends.push_back(device);
      span.events_us += takes;
    }
    span.host_us = enqueue_us * double(count);
    span.wall_us = std::max(host, device) + wait_us + wait_noise();
    return span;
  }
};

}  // namespace clam::test
