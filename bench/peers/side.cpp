// SPDX-License-Identifier: MIT
#include "side.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

namespace clam::peers {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kInFlight = 16;  // calls between two waits, the same for all sides
constexpr std::uint64_t kSeed = 1;

}  // namespace

Task::Task(Runtime& runtime, const Problem& problem)
    : runtime(runtime),
      problem(problem),
      set(find_data_set(problem.op(), "zero_mean")),
      inputs(make_inputs(problem, set, kSeed)),
      reference(
          problem.op().reference(problem, inputs, reference_options(set.check, runtime.device()))),
      trial(runtime, problem),
      output(reference.begin()->first) {
  trial.upload(inputs);
}

double Side::seconds(int calls) {
  const Clock::time_point start = Clock::now();
  for (int i = 1; i <= calls; ++i) {
    call();
    if (i % kInFlight == 0 || i == calls) wait();
  }
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void Side::take_turn(int turn, int calls) {
  poison(turn);
  us_.push_back(seconds(calls) / calls * 1e6);
  const HostTensor y = output();
  if (const Reason reason = trespass()) throw Error(fmt::format("{}: {}", name_, *reason));
  const Verdict verdict = compare(y, task_.reference.at(task_.output), turn);
  if (!verdict.pass) throw Error(fmt::format("{}: {}", name_, verdict.reason));
}

double Side::median_us() const {
  std::vector<double> sorted = us_;
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

}  // namespace clam::peers
