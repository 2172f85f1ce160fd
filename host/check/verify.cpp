// SPDX-License-Identifier: MIT
#include "verify.hpp"

#include <fmt/core.h>

#include "launch_guard.hpp"
#include "runtime/refuse.hpp"

namespace clam {

Trial::Trial(Runtime& runtime, Executable executable)
    : runtime_(&runtime), executable_(std::move(executable)) {
  require_short_launches(runtime, plan());
  for (const TensorSpec& spec : plan().tensors) {
    const auto placed = buffers_.emplace(spec.name, GuardedBuffer(runtime, spec)).first;
    bindings_[spec.name] = placed->second.buffer();
  }
}

void Trial::upload(const Tensors& inputs) {
  for (auto& [name, buffer] : buffers_) {
    const auto found = inputs.find(name);
    if (buffer.spec().role == TensorSpec::Role::output) {
      if (found != inputs.end()) before_[name] = found->second;
      continue;
    }
    if (found == inputs.end()) refuse("{}: input '{}' is missing", plan().problem, name);
    buffer.upload(found->second);
  }
  pack();
}

void Trial::poison(int iteration) {
  for (auto& [name, buffer] : buffers_) {
    if (buffer.spec().role != TensorSpec::Role::output) continue;
    const auto before = before_.find(name);
    before == before_.end() ? buffer.poison(iteration) : buffer.upload(before->second);
  }
}

std::vector<LaunchTime> Trial::run(int iteration) {
  poison(iteration);
  enqueue();
  std::vector<LaunchTime> times = runtime_->finish();
  require_not_ended(runtime_->device(), plan().problem, times);
  return times;
}

Tensors Trial::download() {
  Tensors outputs;
  for (auto& [name, buffer] : buffers_) {
    HostTensor tensor = buffer.download();
    if (buffer.spec().role == TensorSpec::Role::output) outputs.emplace(name, std::move(tensor));
  }
  return outputs;
}

Reason Trial::trespass() const {
  for (const auto& [name, buffer] : buffers_) {
    if (const Reason reason = buffer.trespass()) return reason;
  }
  return {};
}

std::string Verification::reason() const {
  if (fault) return *fault;
  for (const auto& [name, verdict] : outputs) {
    if (!verdict.pass) return fmt::format("{}: {}", name, verdict.reason);
  }
  return outputs.empty() ? "nothing was compared" : "";
}

double Verification::worst_ratio() const {
  double worst = 0;
  for (const auto& [name, verdict] : outputs) worst = std::max(worst, verdict.worst_ratio);
  return worst;
}

Verification compare_all(const Reference& reference, const Tensors& outputs, Reason trespass,
                         int iteration, const DeviceInfo* device) {
  Verification verification;
  verification.fault = std::move(trespass);
  for (const auto& [name, expected] : reference) {
    const auto output = outputs.find(name);
    if (output == outputs.end()) {
      verification.fault = fmt::format("output '{}' is missing", name);
      continue;
    }
    Verdict& verdict = verification.outputs[name] = compare(output->second, expected, iteration);
    if (verdict.poison > 0 && device) {
      verdict.reason = unwritten_text(*device, verdict.poison, verdict.elements);
    }
  }
  return verification;
}

Verification verify(Runtime& runtime, Trial trial, const DataSet& set, std::uint64_t seed) {
  constexpr int kIteration = 1;
  const DeviceInfo& device = runtime.device();
  const std::string& variant = trial.plan().variant;
  const Problem problem = Problem::parse(trial.plan().problem);
  const Tensors inputs = make_inputs(problem, set, seed);
  refuse_bad_inputs(problem, inputs);
  trial.upload(inputs);
  trial.run(kIteration);
  const Tensors outputs = trial.download();
  const Reference reference =
      reference_of(problem, inputs, reference_options(set.check, device, variant));
  Verification verification =
      compare_all(reference, outputs, trial.trespass(), kIteration, &device);
  verification.problem = problem.text();
  verification.variant = variant;
  verification.data_set = set.name;
  return verification;
}

}  // namespace clam
