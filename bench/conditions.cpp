// SPDX-License-Identifier: MIT
#include "conditions.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace clam::bench {
namespace {

constexpr double kOver = 1.05;         // more than this over what is possible is not noise
constexpr double kClocksApart = 1.01;  // the device's clock against the host's
constexpr double kLaunchCosts = 10;    // beyond which a time is the kernel's and not the host's

bool all_start_together(const std::vector<LaunchTime>& times) {
  return times.size() > 1 && std::all_of(times.begin(), times.end(), [&](const LaunchTime& time) {
           return time.started == times.front().started;
         });
}

Reason memory_below_the_peak(const Claim& claim, const Limits& limits) {
  constexpr double kStep = 4;  // of the sizes that were measured
  const bool cache = limits.last_cache_bytes > 0;
  const double most = cache ? limits.gb_per_s : limits.best_gb_per_s;
  const double bytes = claim.bytes - kStep * double(limits.last_cache_bytes);
  const double rate = bytes / claim.us * 1e-3;
  if (most <= 0 || rate <= kOver * most) return {};
  return fmt::format("condition 4, peak: {:.1f} GB/s{}, but memory gives {:.1f}", rate,
                     cache ? " of what the last cache cannot hold" : "", most);
}

double longest_s(const std::vector<LaunchTime>& times) {
  double longest = 0;
  for (const LaunchTime& time : times) longest = std::max(longest, time.ns());
  return longest * 1e-9;
}

/// By its arithmetic, or by moving what it must.
double least_s(const Problem& problem, const Limits& limits) {
  const Peak peak{limits.gflops_f32, std::max(limits.gflops_f16, limits.gflops_f32),
                  limits.best_gb_per_s};
  return 1e-3 * floor_ms(problem, peak, least_flops_of(problem), least_bytes_of(problem));
}

constexpr const char* kAdvice =
    "a driver may end it, and the device's context with it: take a smaller problem, or give "
    "--launch-limit more seconds (0: none)";

}  // namespace

double Batch::events_ns() const {
  double sum = 0;
  for (const LaunchTime& time : times) sum += time.ns();
  return sum;
}

std::vector<double> Batch::iterations_ns() const {
  std::vector<double> sums(static_cast<std::size_t>(iterations));
  for (std::size_t i = 0; i < times.size(); ++i) {
    sums.at(i / static_cast<std::size_t>(launches)) += times[i].ns();
  }
  return sums;
}

Reason events_are_times(const Batch& batch) {
  for (std::size_t i = 0; i < batch.times.size(); ++i) {
    const double ns = batch.times[i].ns();
    if (ns > 0 && ns <= kClocksApart * batch.wall_ns) continue;
    return fmt::format(
        "condition 1, events: an event says that launch {} took {:.0f} ns, but the host waited "
        "{:.0f} ns for all: the driver's event times are wrong; run `clam probe event-garbage`",
        i, ns, batch.wall_ns);
  }
  if (!all_start_together(batch.times)) return {};
  return fmt::format(
      "condition 1, events: {} launches one after another all say that they started at {} ns: the "
      "driver's event times are wrong; run `clam probe event-garbage`",
      batch.times.size(), batch.times.front().started);
}

Reason all_is_written(const Verification& timed) {
  if (timed.fault) return fmt::format("condition 2, written: {}", *timed.fault);
  for (const auto& [name, verdict] : timed.outputs) {
    if (verdict.poison > 0)
      return fmt::format("condition 2, written: {}: {}", name, verdict.reason);
  }
  return {};
}

Reason result_is_right(const Verification& timed) {
  if (timed.pass()) return {};
  return fmt::format("condition 3, right: {}", timed.reason());
}

Reason below_the_peaks(const Claim& claim, const Limits& limits) {
  if (claim.us <= 0) return {};
  // Halves may be stored as such and computed as floats.
  const double most_gflops = claim.half && limits.gflops_f16 > 0
                                 ? std::max(limits.gflops_f16, limits.gflops_f32)
                                 : (claim.half ? 0 : limits.gflops_f32);
  const double gflops = claim.flops / claim.us * 1e-3;
  if (most_gflops > 0 && gflops > kOver * most_gflops) {
    return fmt::format("condition 4, peak: {:.1f} GFLOP/s, but the device does {:.1f} at most",
                       gflops, most_gflops);
  }
  return memory_below_the_peak(claim, limits);
}

bool lacks_a_peak(const Claim& claim, const Limits& limits) {
  const bool arithmetic = claim.half ? limits.gflops_f16 <= 0 : limits.gflops_f32 <= 0;
  return limits.gb_per_s <= 0 || (claim.flops > 0 && arithmetic);
}

Span span_of(const Batch& batch) {
  return {batch.iterations, batch.iterations * batch.launches, batch.events_ns() * 1e-3,
          batch.wall_ns * 1e-3, batch.host_ns * 1e-3};
}

Reason queue_is_kept(const Batch& batch, bool in_order, bool profiling) {
  const std::string queue = "condition 6, queue: ";
  if (!in_order) return queue + "it runs out of order, so launches may share their time";
  if (!profiling) return queue + "it has no profiling, so nothing says how long a launch took";
  const std::int64_t enqueued = batch.iterations * batch.launches;
  const auto ended = static_cast<std::int64_t>(batch.times.size());
  if (ended == enqueued) return {};
  return fmt::format("{}{} launches were enqueued, and {} ended", queue, enqueued, ended);
}

Reason device_is_sound(const std::string& error) {
  if (error.empty()) return {};
  return kNotSound + ("it is not trusted since an error before: " + error);
}

bool is_launch_bound(double us, std::int64_t launches, const Limits& limits) {
  return us < kLaunchCosts * double(launches) * limits.launch_us;
}

void require(const Reason& reason) {
  if (reason) throw CheckFailed(*reason);
}

Reason too_long_at_best(const Problem& problem, std::int64_t launches, const Limits& limits,
                        double limit_s) {
  if (limit_s <= 0 || launches < 1) return {};
  const double each_s = least_s(problem, limits) / double(launches);
  if (each_s <= limit_s / 2) return {};
  return fmt::format(
      "a launch takes {:.3g} s at least by the measured peaks, over half of the limit of {:g} s; "
      "{}",
      each_s, limit_s, kAdvice);
}

Reason too_long(const std::vector<LaunchTime>& times, double limit_s) {
  const double seconds = longest_s(times);
  if (limit_s <= 0 || seconds <= limit_s / 2) return {};
  return fmt::format("a launch took {:.3g} s, over half of the limit of {:g} s; {}", seconds,
                     limit_s, kAdvice);
}

int launches_in_flight(const std::vector<LaunchTime>& times, double limit_s, int most) {
  const double longest = longest_s(times);
  if (limit_s <= 0 || longest <= 0) return most;
  return static_cast<int>(std::clamp(limit_s / 2 / longest, 1.0, double(most)));
}

}  // namespace clam::bench
