// SPDX-License-Identifier: MIT
#include "launch_guard.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "clam/job_limit.hpp"
#include "clock.hpp"
#include "guarded_buffer.hpp"
#include "op_proof.hpp"
#include "runtime/refuse.hpp"

namespace clam {
namespace {

constexpr double kFarBelow = 0.1;      // of what is safe: predictions are right to a factor of 3
constexpr double kFirstTry = 1.0 / 8;  // of what is safe, as predicted
constexpr double kLongEnough =
    1.0 / 16;                      // of what is safe: the GPU is full, and the rest takes alike
constexpr std::int64_t kMore = 4;  // times the groups of the try before

std::int64_t groups_of(const Launch& launch) {
  std::int64_t groups = 1;
  for (std::size_t i = 0; i < 3; ++i) groups *= launch.global[i] / launch.local[i];
  return groups;
}

/// The launch with at most so many of its groups, whole rows of them where there are several rows.
Launch part_of(Launch launch, std::int64_t groups) {
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t kept =
        std::clamp<std::int64_t>(groups, 1, launch.global[i] / launch.local[i]);
    groups /= launch.global[i] / launch.local[i];
    launch.global[i] = kept * launch.local[i];
  }
  return launch;
}

/// The tensors of a plan with the op's usual data.
struct Data {
  std::vector<GuardedBuffer> buffers;
  Bindings bindings;

  Data(Runtime& runtime, const Problem& problem, const Plan& plan) {
    const Tensors inputs = make_inputs(problem, usual_data_set(problem), 1);
    for (const TensorSpec& spec : plan.tensors) {
      GuardedBuffer& buffer = buffers.emplace_back(runtime, spec);
      bindings[spec.name] = buffer.buffer();
      if (spec.role == TensorSpec::Role::output) {
        buffer.poison(0);
      } else {
        buffer.upload(inputs.at(spec.name));
      }
    }
  }
};

/// Runs the launches and returns the seconds that the last one took.
double time_last(Runtime& runtime, const Plan& plan, const Data& data) {
  Executable executable = runtime.prepare(plan);
  const Clock::time_point start = Clock::now();
  runtime.enqueue(executable, data.bindings);
  const std::vector<LaunchTime> times = runtime.finish();
  const double by_event = times.empty() ? 0 : 1e-9 * times.back().ns();
  return by_event > 0 ? by_event : seconds_since(start);
}

/// The seconds of `plan`'s last launch. Throws Unsupported where they are more than is safe.
double measure_last(Runtime& runtime, Plan plan, const Data& data, double predicted,
                    const JobLimit& limit) {
  const double safe = limit.safe_seconds();
  const Launch whole = plan.launches.back();
  const std::int64_t all = groups_of(whole);
  const double first = all * kFirstTry * safe / predicted;
  for (auto groups = std::max<std::int64_t>(1, static_cast<std::int64_t>(first));;
       groups *= kMore) {
    plan.launches.back() = part_of(whole, std::min(groups, all));
    const std::int64_t run = groups_of(plan.launches.back());
    const double part = time_last(runtime, plan, data);
    const double seconds = part * all / run;
    if (seconds <= safe) return seconds;
    if (run < all && part < kLongEnough * safe) continue;
    throw Unsupported(fmt::format(
        "{}: launch of {} would take {:.2g} s, since {} of its {} groups took {:.2g} s; that is "
        "over half of the {:.2g} s after which {} ends it",
        plan.problem, whole.kernel, seconds, run, all, part, limit.seconds, limit.driver));
  }
}

}  // namespace

void require_short_launches(Runtime& runtime, const Plan& plan) {
  const JobLimit limit = job_limit(runtime.device());
  if (limit.seconds == 0 || runtime.tainted()) return;
  std::optional<Problem> problem;
  try {
    problem = Problem::parse(plan.problem);
  } catch (const BadArgument&) {
    return;  // somebody's own plan
  }
  const double predicted = predicted_seconds(*problem, plan, runtime.device());
  if (predicted <= kFarBelow * limit.safe_seconds()) return;
  const Data data(runtime, *problem, plan);
  Plan tried = plan;
  tried.pack.clear();
  tried.launches.clear();
  double longest = 0;
  for (const Launch* launch : launches_of(plan)) {
    tried.launches.push_back(*launch);
    longest = std::max(longest, measure_last(runtime, tried, data, predicted, limit));
  }
  const double together = longest > 0 ? limit.safe_seconds() / longest : runtime.max_in_flight();
  if (together < runtime.max_in_flight()) {
    runtime.bound_flight(std::max(1, static_cast<int>(together)));
  }
}

Reason ended_by_driver(const DeviceInfo& device, const LaunchTime& time) {
  constexpr double kNearly = 0.9;
  const JobLimit limit = job_limit(device);
  const double seconds = 1e-9 * time.ns();
  return reason_if(
      limit.seconds != 0 && seconds >= kNearly * limit.seconds,
      "a launch took {:.2g} s, and {} ends it after {:.2g} s: its result is not judged", seconds,
      limit.driver, limit.seconds);
}

void require_not_ended(const DeviceInfo& device, const std::string& what,
                       const std::vector<LaunchTime>& times) {
  for (const LaunchTime& time : times) {
    if (const Reason ended = ended_by_driver(device, time)) throw Unsupported(what + ": " + *ended);
  }
}

std::string unwritten_text(const DeviceInfo& device, std::int64_t unwritten,
                           std::int64_t elements) {
  const JobLimit limit = job_limit(device);
  const std::string count =
      fmt::format("{} of {} elements were never written", unwritten, elements);
  if (limit.seconds == 0) return count;
  return fmt::format("not written: ended by the driver? {}; {} ends a launch after {:.2g} s", count,
                     limit.driver, limit.seconds);
}

}  // namespace clam
