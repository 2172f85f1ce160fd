// SPDX-License-Identifier: MIT
#include "subject.hpp"

#include <algorithm>
#include <utility>

#include "statistics.hpp"
#include "stopwatch.hpp"

namespace clam::bench {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr int kPackRuns = 5;
constexpr std::size_t kWarmUpRuns = 200;
constexpr std::size_t kStableRuns = 5;
constexpr double kStable = 0.02;

/// Packs again and again, always from the same inputs: the last leaves what the first did.
Packing measure_packing(Trial& trial) {
  Packing packing;
  packing.launches = static_cast<std::int64_t>(trial.plan().pack.size());
  if (packing.launches == 0) return packing;
  for (const BufferSpec& buffer : trial.plan().buffers) {
    if (buffer.role == BufferSpec::Role::packed) packing.bytes += buffer.bytes;
  }
  std::vector<double> times_us;
  for (int i = 0; i < kPackRuns; ++i) {
    const Clock::time_point start = Clock::now();
    Batch batch{trial.pack(), 1, packing.launches};
    batch.wall_ns = nanoseconds_since(start);
    require(events_are_times(batch));
    times_us.push_back(batch.events_ns() * 1e-3);
  }
  packing.us = {median(times_us), *std::min_element(times_us.begin(), times_us.end())};
  return packing;
}

}  // namespace

Subject::Subject(Runtime& runtime, const Row& row)
    : Subject(runtime, row, Trial(runtime, row.problem, row.options())) {}

Subject::Subject(Runtime& runtime, const Row& row, Trial trial)
    : runtime_(runtime), set_(usual_data_set(row.problem)), trial_(std::move(trial)) {
  const Tensors inputs = make_inputs(row.problem, set_, kSeed);
  reference_ = reference_of(row.problem, inputs,
                            reference_options(set_.check, runtime_.device(), plan().variant));
  trial_.upload(inputs);
  packing_ = measure_packing(trial_);
}

Verification Subject::check(int group) {
  const Tensors outputs = trial_.download();
  return compare_all(reference_, outputs, trial_.trespass(), group, &runtime_.device());
}

Batch Subject::run(std::int64_t iterations) {
  Batch& batch = last_ = {};
  batch.iterations = iterations;
  batch.launches = static_cast<std::int64_t>(plan().launches.size());
  const Clock::time_point start = Clock::now();
  const Clock::duration own = Clock::thread_time();
  for (std::int64_t i = 0; i < iterations; ++i) enqueue();
  batch.host_ns = double((Clock::thread_time() - own).count());
  batch.times = finish();
  batch.wall_ns = nanoseconds_since(start);
  const cl_command_queue_properties queue = runtime_.queue().getInfo<CL_QUEUE_PROPERTIES>();
  require(queue_is_kept(batch, !(queue & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE),
                        queue & CL_QUEUE_PROFILING_ENABLE));
  require(events_are_times(batch));
  return batch;
}

double Subject::warm_up(double seconds) {
  const Clock::time_point start = Clock::now();
  std::vector<double> walls_ns;
  do {
    walls_ns.push_back(run(1).wall_ns);
  } while (walls_ns.size() < kWarmUpRuns && !is_stable(walls_ns, kStableRuns, kStable) &&
           seconds_since(start) < seconds);
  const std::size_t last = std::min(walls_ns.size(), kStableRuns);
  return median({walls_ns.end() - static_cast<std::ptrdiff_t>(last), walls_ns.end()});
}

}  // namespace clam::bench
