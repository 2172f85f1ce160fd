// SPDX-License-Identifier: MIT
#include "side.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "check/clock.hpp"

namespace clam::peers {
namespace {

constexpr int kInFlight = 16;  // calls between two waits, the same for all sides
constexpr double kTurnSeconds = 0.05;
constexpr int kMostCalls = 200;
constexpr std::uint64_t kSeed = 1;

}  // namespace

Subject::Subject(Runtime& runtime, const Plan& plan, Tensors inputs, Reference reference)
    : runtime(runtime),
      trial(runtime, plan),
      inputs(std::move(inputs)),
      reference(std::move(reference)) {
  trial.upload(this->inputs);
}

Task::Task(Runtime& runtime, const Problem& problem, const std::string& set)
    : Subject(runtime, Trial(runtime, problem)), problem(problem) {
  const DataSet& data = find_data_set(problem, set);
  inputs = make_inputs(problem, data, kSeed);
  reference = reference_of(problem, inputs,
                           reference_options(data.check, runtime.device(), trial.plan().variant));
  plain = has_own_bound(problem, trial.plan().variant)
              ? reference_of(problem, inputs, reference_options(data.check, runtime.device()))
              : reference;
  output = reference.begin()->first;
  trial.upload(inputs);
}

double Side::seconds(int calls) {
  const Clock::time_point start = Clock::now();
  for (int i = 1; i <= calls; ++i) {
    call();
    if (i % kInFlight == 0 || i == calls) wait();
  }
  return seconds_since(start);
}

void Side::take_turn(int turn, int calls) {
  poison(turn);
  us_.push_back(seconds(calls) / calls * 1e6);
  const Tensors left = outputs();
  const Verification result = compare_all(reference_, left, trespass(), turn);
  if (!result.pass()) throw Error(fmt::format("{}: {}", name_, result.reason()));
}

std::vector<double> take_turns(const Sides& sides, int turns) {
  std::vector<int> calls;
  for (const auto& side : sides) {
    side->seconds(1);  // builds, first touch
    calls.push_back(std::clamp(static_cast<int>(kTurnSeconds / side->seconds(1)), 1, kMostCalls));
  }
  for (int turn = 1; turn <= turns; ++turn) {
    for (std::size_t i = 0; i < sides.size(); ++i) sides[i]->take_turn(turn, calls[i]);
  }
  std::vector<double> us;
  for (const auto& side : sides) us.push_back(side->median_us());
  return us;
}

}  // namespace clam::peers
