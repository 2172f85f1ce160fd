// SPDX-License-Identifier: MIT
// planted.hpp - a case whose fault is a question about it, made smaller without a device.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "bundle/case.hpp"
#include "clam/planner.hpp"
#include "foreign_plan.hpp"
#include "shrink/shrink.hpp"

namespace clam::test {

inline Seen failure(Seen::Outcome outcome, const std::string& reason,
                    const std::string& tensor = "") {
  Seen seen;
  seen.outcome = outcome;
  seen.reason = reason;
  if (!tensor.empty()) seen.first_wrong = {tensor, 3, 1.5, 1};
  return seen;
}

using Question = std::function<bool(const Bundle&)>;

/// A shrinking whose fault is where the answer is yes; it counts the runs.
struct Planted {
  Planted(Bundle bundle, Seen::Outcome outcome, const Question& question)
      : shrinking(
            started(std::move(bundle), outcome),
            [this, question](Bundle& smaller) { return ++runs, question(smaller); },
            [this](const std::string& step) { told.push_back(step); },
            [this] { return ++asked > patience; }) {}

  static Bundle started(Bundle bundle, Seen::Outcome outcome) {
    bundle.seen = failure(outcome, "planted");
    for (const TensorSpec& spec : bundle.plan ? bundle.plan->tensors : std::vector<TensorSpec>()) {
      if (spec.role == TensorSpec::Role::output && !bundle.seen.first_wrong) {
        bundle.seen.first_wrong = {spec.name, 0, 1, 0};
      }
    }
    return bundle;
  }
  const Bundle& shrink(Oracle oracle = Oracle::reference) {
    clam::shrink(shrinking, oracle,
                 [this](const Problem& problem, const Tensors& inputs,
                        const ReferenceOptions& options, Bundle& bundle) {
                   ++references;
                   expect_here(problem, inputs, options, bundle);
                 });
    return shrinking.smallest();
  }

  int runs = 0, asked = 0, references = 0;
  int patience = std::numeric_limits<int>::max();  ///< questions until the time is over
  std::vector<std::string> told;
  Shrinking shrinking;
};

/// The case of a problem as `clam record` puts it together.
inline Bundle bundle_of(const std::string& line, const std::string& variant = "",
                        int max_work_group = 0, std::uint64_t seed = 1) {
  const Problem problem = Problem::parse(line);
  const DataSet& set = proof_of(problem).data_sets.front();
  DeviceInfo device = generic_device();
  device.native_exp2_ulp = 3;
  Bundle bundle;
  bundle.device = device;
  bundle.data_set = set.name;
  bundle.seed = seed;
  const Plan plan = make_plan(problem, device, {variant, max_work_group});
  take_plan(plan, KernelFiles(), bundle);
  const Tensors inputs = make_inputs(problem, set, bundle.seed);
  take_inputs(inputs, bundle);
  for (const auto& [name, expected] :
       reference_of(problem, inputs, reference_options(set.check, device, plan.variant))) {
    expect(*bundle.plan->tensor(name), expected, bundle);
  }
  return bundle;
}

/// Launches a -> b -> c and a -> d, of one kernel.
inline Bundle chain() {
  using Role = TensorSpec::Role;
  Bundle bundle;
  bundle.plan = scale_plan(4, 2);
  Plan& plan = *bundle.plan;
  const Launch one = plan.launches[0];
  plan.tensors = {{"a", Role::input, Dtype::f32, {4}, {}, 0},
                  {"c", Role::output, Dtype::f32, {4}, {}, 0},
                  {"d", Role::output, Dtype::f32, {4}, {}, 0}};
  plan.buffers = {{"b", BufferSpec::Role::scratch, 16}};
  plan.launches.clear();
  for (const auto& [from, to] :
       std::vector<std::pair<const char*, const char*>>{{"a", "b"}, {"b", "c"}, {"a", "d"}}) {
    plan.launches.push_back(one);
    plan.launches.back().args[0] = BufferArg{from};
    plan.launches.back().args[1] = BufferArg{to};
  }
  bundle.kernels["scale.cl"] = kScaleSource;
  bundle.inputs["a"] = bundle.expected["c"] = bundle.expected["d"] = HostTensor(Dtype::f32, {4});
  return bundle;
}

}  // namespace clam::test
