// SPDX-License-Identifier: MIT
#include "launch_limit.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace clam::bench {
namespace {

double longest_s(const std::vector<LaunchTime>& times) {
  double longest = 0;
  for (const LaunchTime& time : times) {
    longest = std::max(longest, time.ns());
  }
  return longest * 1e-9;
}

/// By its arithmetic, or by moving what it must.
double least_s(const Problem& problem, const Limits& limits) {
  const bool half = problem.dtype() == Dtype::f16;
  const double gflops = half ? std::max(limits.gflops_f16, limits.gflops_f32) : limits.gflops_f32;
  const auto least = [](double work, double giga) { return giga > 0 ? work / giga * 1e-9 : 0; };
  return std::max(least(least_flops_of(problem), gflops),
                  least(least_bytes_of(problem), limits.best_gb_per_s));
}

constexpr const char* kAdvice =
    "a driver may end it, and the device's context with it: take a smaller problem, or give "
    "--launch-limit more seconds (0: none)";

}  // namespace

Reason too_long_at_best(const Problem& problem, std::int64_t launches, const Limits& limits,
                        double limit_s) {
  if (limit_s <= 0 || launches < 1) return {};
  const double each_s = least_s(problem, limits) / double(launches);
  if (each_s <= limit_s) return {};
  return fmt::format(
      "a launch takes {:.3g} s at least by the measured peaks, over the limit of {:g} s; {}",
      each_s, limit_s, kAdvice);
}

Reason too_long(const std::vector<LaunchTime>& times, double limit_s) {
  const double seconds = longest_s(times);
  if (limit_s <= 0 || seconds <= limit_s) return {};
  return fmt::format("a launch took {:.3g} s, over the limit of {:g} s; {}", seconds, limit_s,
                     kAdvice);
}

int launches_in_flight(const std::vector<LaunchTime>& times, double limit_s, int most) {
  const double longest = longest_s(times);
  if (limit_s <= 0 || longest <= 0) return most;
  return static_cast<int>(std::clamp(limit_s / 2 / longest, 1.0, double(most)));
}

}  // namespace clam::bench
