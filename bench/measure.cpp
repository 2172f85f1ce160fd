// SPDX-License-Identifier: MIT
#include "measure.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "error.hpp"
#include "event_times.hpp"

namespace clam::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kSeed = 1;
constexpr std::int64_t kBatch = 16;  // iterations enqueued before the host waits for them
constexpr auto kWarmUp = std::chrono::milliseconds(50);
constexpr int kWarmUpRuns = 20;
constexpr int kPackRuns = 5;

double nanoseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

/// Zero-mean data where the op has it: what a model's tensors look like most.
const DataSet& data_of(const Op& op) {
  const auto found = std::find_if(op.data_sets.begin(), op.data_sets.end(),
                                  [](const DataSet& s) { return s.check == Check::zero_mean; });
  return found == op.data_sets.end() ? op.data_sets.front() : *found;
}

double median(const std::vector<double>& sorted) {
  const std::size_t n = sorted.size();
  return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

/// Packs again and again, always from the same inputs: the last leaves what the first did.
Packing measure_packing(Trial& trial) {
  Packing packing;
  packing.launches = static_cast<std::int64_t>(trial.plan().pack.size());
  if (packing.launches == 0) return packing;
  for (const BufferSpec& buffer : trial.plan().buffers) {
    if (buffer.role == BufferSpec::Role::packed) packing.bytes += buffer.bytes;
  }
  std::vector<double> times_ns;
  for (int i = 0; i < kPackRuns; ++i) {
    const Clock::time_point start = Clock::now();
    const std::vector<LaunchTime> times = trial.pack();
    times_ns.push_back(
        iteration_times(times, trial.plan().pack.size(), nanoseconds_since(start)).at(0));
  }
  std::sort(times_ns.begin(), times_ns.end());
  packing.us = median(times_ns) * 1e-3;
  packing.us_min = times_ns.front() * 1e-3;
  return packing;
}

void summarise(std::vector<double> times_ns, Result& result) {
  std::sort(times_ns.begin(), times_ns.end());
  const std::size_t n = times_ns.size();
  const double mean = std::accumulate(times_ns.begin(), times_ns.end(), 0.0) / double(n);
  double squares = 0;
  for (const double time : times_ns) squares += (time - mean) * (time - mean);
  result.iterations = static_cast<std::int64_t>(n);
  result.us = median(times_ns) * 1e-3;
  result.us_min = times_ns.front() * 1e-3;
  result.cv = std::sqrt(squares / double(n)) / mean;
}

void set_counters(benchmark::State& state, const Result& result) {
  if (result.flops > 0) state.counters["GFLOP/s"] = result.gflops();
  state.counters["GB/s"] = result.gb_per_s();
  state.counters["launches"] = double(result.launches);
  state.counters["err/bound"] = result.error_over_bound;
  state.counters["us"] = result.us;
  state.counters["us_min"] = result.us_min;
  state.counters["cv_iterations"] = result.cv;
  state.counters["pack_us"] = result.packing.us;
}

}  // namespace

/// A row's problem on the device, with the result it must have.
struct Meter::Subject {
  Subject(Runtime& runtime, const Row& row)
      : name(row.name),
        set(data_of(row.problem.op())),
        trial(runtime, row.problem, {row.variant, 0}),
        inputs(make_inputs(row.problem, set, kSeed)),
        reference(row.problem.op().reference(row.problem, inputs,
                                             reference_options(set.check, runtime.device()))) {
    trial.upload(inputs);
    packing = measure_packing(trial);
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < kWarmUpRuns && (i == 0 || Clock::now() - start < kWarmUp); ++i) {
      trial.enqueue();
      runtime.finish();
    }
  }

  /// Holds what the timed group left on the device against the reference.
  Verification check(int group) {
    const Tensors outputs = trial.download();
    return compare_all(reference, outputs, trial.trespass(), group);
  }

  std::string name;
  const DataSet& set;
  Trial trial;
  Tensors inputs;
  Reference reference;
  Packing packing;
};

Meter::Meter(Runtime& runtime, Deadline deadline, ClockWatch& clock)
    : runtime_(runtime), deadline_(deadline), clock_(clock) {}
Meter::~Meter() = default;

void Meter::measure(benchmark::State& state, const Row& row, Result& result) {
  if (!subject_ || subject_->name != row.name) {
    if (deadline_ && Clock::now() > *deadline_)
      throw Unsupported("the time of --quick was used up");
    subject_.reset();  // its buffers go before new ones come
    subject_ = std::make_unique<Subject>(runtime_, row);
  }
  Trial& trial = subject_->trial;
  result.variant = trial.plan().variant;
  result.data_set = subject_->set.name;
  result.launches = static_cast<std::int64_t>(trial.plan().launches.size());
  result.packing = subject_->packing;
  result.flops = row.problem.op().flops(row.problem);
  result.bytes = row.problem.op().bytes(row.problem);

  const std::int64_t batches = (state.max_iterations + kBatch - 1) / kBatch;
  const std::int64_t batch = (state.max_iterations + batches - 1) / batches;
  std::vector<double> times_ns;
  trial.poison(++group_);
  clock_.before();
  while (state.KeepRunningBatch(batch)) {
    const Clock::time_point start = Clock::now();
    for (std::int64_t i = 0; i < batch; ++i) trial.enqueue();
    const std::vector<LaunchTime> times = runtime_.finish();
    const double wall_ns = nanoseconds_since(start);
    double batch_ns = 0;
    for (const double ns : iteration_times(times, trial.plan().launches.size(), wall_ns)) {
      times_ns.push_back(ns);
      batch_ns += ns;
    }
    state.SetIterationTime(batch_ns * 1e-9);
  }
  result.clock_moved = std::max(result.clock_moved, clock_.moved());
  result.verification = subject_->check(group_);
  result.error_over_bound = std::max(result.error_over_bound, result.verification.worst_ratio());
  if (!result.verification.pass()) throw CheckFailed(result.verification.reason());
  summarise(std::move(times_ns), result);
  set_counters(state, result);
}

void Meter::run(benchmark::State& state, const Row& row, Result& result) {
  const auto stop = [&](Outcome outcome, const std::string& reason) {
    result.outcome = outcome;
    result.reason = reason;
    subject_.reset();
    state.SkipWithError(reason.c_str());
  };
  const Outcome before = result.outcome;
  try {
    measure(state, row, result);
    // One good repetition does not make up for a bad one.
    if (before == Outcome::not_run) result.outcome = Outcome::fine;
  } catch (const Unsupported& reason) {
    stop(Outcome::skipped, reason.what());
  } catch (const CheckFailed& error) {
    stop(Outcome::check_failed, error.what());
  } catch (const BadArgument& error) {
    stop(Outcome::bad_input, error.what());
  } catch (const Error& error) {
    stop(Outcome::device_error, error.what());
  }
}

}  // namespace clam::bench
