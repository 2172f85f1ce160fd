// SPDX-License-Identifier: MIT
#include "bisect.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "clam/error.hpp"
#include "runtime/words.hpp"

namespace clam {
namespace {

using Outcome = Attempt::Outcome;

constexpr Words<3> kAttemptOutcomeWords{"right", "wrong", "not here"};

constexpr int kIteration = 1;

/// Inputs of the node, by the op's names, and what its reference makes of them.
struct Data {
  Tensors inputs;
  Reference reference;
};

/// What the run gave to the node: both inputs of an isolated one, or the device's own.
std::vector<Tensors> inputs_in(const Graph& graph, const Graph::Node& node, const GraphRun& run) {
  if (run.chained) return {inputs_of(graph, node, run.device)};
  std::vector<Tensors> inputs{inputs_of(graph, node, run.reference)};
  if (!run.second.empty()) inputs.push_back(inputs_of(graph, node, run.second));
  return inputs;
}

/// The same numbers in the dtypes of the problem, which may be another one of the op.
std::vector<Data> data_of(const Problem& problem, const std::vector<Tensors>& inputs,
                          const DeviceInfo& device, const std::string& variant) {
  std::vector<Data> data;
  for (const Tensors& each : inputs) {
    Tensors own;
    for (const TensorSpec& spec : problem.tensors()) {
      if (spec.role != TensorSpec::Role::input) continue;
      own[spec.name] = converted(each.at(spec.name), spec.dtype);
    }
    Reference reference =
        reference_of(problem, own, reference_options(Check::hard, device, variant));
    data.push_back({std::move(own), std::move(reference)});
  }
  return data;
}

bool is_wrong(const Verification& verification) {
  return !verification.pass() && !is_only_blind(verification);
}

/// A run on data that were uploaded before, which leaves its outputs.
Verification run_once(Trial& trial, const Data& data, Tensors& outputs) {
  trial.run(kIteration);
  outputs = trial.download();
  return compare_all(data.reference, outputs, trial.trespass(), kIteration);
}

/// Runs the data one after another until one comes out wrong, and returns its place, or the end.
std::size_t first_wrong(Trial& trial, const std::vector<Data>& data, Attempt& attempt) {
  attempt.outcome = Outcome::right;
  Tensors outputs;
  for (std::size_t i = 0; i < data.size(); ++i) {
    trial.upload(data[i].inputs);
    const Verification result = run_once(trial, data[i], outputs);
    attempt.worst_ratio = std::max(attempt.worst_ratio, result.worst_ratio());
    if (!is_wrong(result)) continue;
    attempt.outcome = Outcome::wrong;
    attempt.reason = result.reason();
    return i;
  }
  return data.size();
}

/// The node's problem in `dtype`, by every variant of its op.
void try_variants(Runtime& runtime, const Problem& problem, const std::vector<Tensors>& inputs,
                  std::vector<Attempt>& attempts) {
  std::map<std::string, std::vector<Data>> data_by;  // the variant with bounds of its own, or ""
  for (const Variant& variant : op_of(problem).variants) {
    Attempt attempt{problem.dtype(), variant.name};
    try {
      Trial trial(runtime, problem, {variant.name, 0});
      std::vector<Data>& data = data_by[has_own_bound(problem, variant.name) ? variant.name : ""];
      if (data.empty()) data = data_of(problem, inputs, runtime.device(), variant.name);
      first_wrong(trial, data, attempt);
    } catch (const Unsupported& error) {
      attempt.reason = error.what();
    } catch (const BuildFailure& error) {
      attempt.outcome = Outcome::wrong;
      attempt.reason = error.what();
    }
    attempts.push_back(std::move(attempt));
  }
}

std::vector<Attempt> all_attempts(Runtime& runtime, const Problem& problem,
                                  const std::vector<Tensors>& inputs) {
  const Dtype own = problem.dtype();
  std::vector<Attempt> attempts;
  for (const Dtype dtype : {own, own == Dtype::f32 ? Dtype::f16 : Dtype::f32}) {
    if (own == Dtype::i32 && dtype != own) continue;  // floats would be other bits
    try {
      try_variants(runtime, problem.with("dtype", name(dtype)), inputs, attempts);
    } catch (const BadArgument& error) {  // a half accumulator is of f16 alone
      attempts.push_back({dtype, "", Outcome::refused, error.what(), 0});
    }
  }
  return attempts;
}

/// Alone, as it was in the graph, again and again: how often it is wrong, and how many results
/// there are. Of two inputs it takes those that come out wrong.
void repeat(Runtime& runtime, const Problem& problem, const std::vector<Tensors>& inputs,
            Culprit& culprit) {
  Trial trial(runtime, problem);
  const std::vector<Data> data = data_of(problem, inputs, runtime.device(), trial.plan().variant);
  Attempt first;
  const std::size_t wrong = first_wrong(trial, data, first);
  const Data& chosen = data[wrong % data.size()];
  culprit.inputs = chosen.inputs;
  trial.upload(chosen.inputs);
  std::vector<Tensors> results;
  for (int i = 0; i < culprit.runs; ++i) {
    Tensors outputs;
    culprit.wrong += is_wrong(run_once(trial, chosen, outputs));
    const auto same = std::find(results.begin(), results.end(), outputs);
    if (same == results.end()) results.push_back(std::move(outputs));
  }
  culprit.distinct = static_cast<int>(results.size());
}

bool is_guilty(const NodeResult& result) {
  return !result.on_cpu() && (result.constant || is_wrong(result.own) || result.unlike_recorded());
}

/// "in f32 all 3 variants are wrong"
std::string variants_text(const Culprit& culprit, Dtype dtype) {
  std::string right;
  int wrong = 0;
  for (const Attempt& each : culprit.attempts) {
    if (each.dtype != dtype) continue;
    wrong += each.outcome == Outcome::wrong;
    if (each.outcome == Outcome::right) right += (right.empty() ? "" : ", ") + each.variant;
  }
  if (wrong == 0 && right.empty()) return fmt::format("{} cannot be tried here", name(dtype));
  if (wrong == 0) return fmt::format("in {} every variant is right", name(dtype));
  if (!right.empty()) return fmt::format("in {} right by {}", name(dtype), right);
  if (wrong == 1) return fmt::format("in {} the only variant is wrong", name(dtype));
  return fmt::format("in {} all {} variants are wrong", name(dtype), wrong);
}

}  // namespace

const char* name(Attempt::Outcome outcome) { return word_of(kAttemptOutcomeWords, outcome); }

std::string Culprit::sentence() const {
  std::string text =
      fmt::format("node '{}' is wrong: {} by {} fails on right inputs", node, problem, variant);
  if (wrong == 0) {
    text += fmt::format("{}. Run alone it is right {} times of {}", chained ? " in the chain" : "",
                        runs, runs);
  } else {
    text += fmt::format(". Run alone it is wrong {} times of {}", wrong, runs);
  }
  text += deterministic() ? ", with the same bits every time"
                          : fmt::format(", with {} different results", distinct);
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::i32}) {
    const bool is_i32 = !attempts.empty() && attempts.front().dtype == Dtype::i32;
    if ((dtype == Dtype::i32) == is_i32) text += "; " + variants_text(*this, dtype);
  }
  if (also.empty()) return text + ". No other node is wrong.";
  text += ". Also wrong:";
  for (const std::string& each : also) text += " " + each;
  return text;
}

std::optional<Culprit> find_culprit(Runtime& runtime, const Graph& graph, const GraphRun& run,
                                    int runs) {
  std::optional<Culprit> culprit;
  for (const NodeResult& result : run.nodes) {
    if (!is_guilty(result)) continue;
    if (culprit) {
      culprit->also.push_back(result.node);
      continue;
    }
    const std::string reason = result.constant        ? *result.constant
                               : is_wrong(result.own) ? result.own.reason()
                                                      : *result.unlike_recorded();
    const std::string problem = graph.node(result.node).problem.text();
    culprit = Culprit{result.node, problem, result.variant, reason, {}, run.chained, runs};
  }
  if (!culprit) return culprit;
  const Graph::Node& node = graph.node(culprit->node);
  const std::vector<Tensors> inputs = inputs_in(graph, node, run);
  repeat(runtime, node.problem, inputs, *culprit);
  culprit->attempts = all_attempts(runtime, node.problem, inputs);
  return culprit;
}

}  // namespace clam
