// SPDX-License-Identifier: MIT
#include "graph_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "clam/error.hpp"
#include "launch_guard.hpp"

namespace clam {
namespace {

constexpr int kIteration = 1;

/// An element in which the two lie further apart than their bounds.
bool differ(const Expected& a, const Expected& b) {
  if (a.bit_exact()) return !(a.exact == b.exact);
  for (std::size_t i = 0; i < a.value.size(); ++i) {
    if (std::isnan(a.value[i]) != std::isnan(b.value[i])) return true;
    if (std::fabs(a.value[i] - b.value[i]) > a.bound[i] + b.bound[i]) return true;
  }
  return false;
}

Reason constant_output(const Tensors& first, const Tensors& second, const Reference& reference,
                       const Reference& other) {
  for (const auto& [name, expected] : reference) {
    if (!(first.at(name) == second.at(name)) || !differ(expected, other.at(name))) continue;
    return fmt::format("{}: two inputs, one output; the reference's two differ", name);
  }
  return {};
}

/// Every output of the node is recorded.
bool is_recorded(const Graph& graph, const Graph::Node& node) {
  return std::all_of(node.outputs.begin(), node.outputs.end(), [&](const auto& each) {
    return graph.tensors.at(each.second).recorded.exists();
  });
}

/// `made` is by the graph's names.
void compare_with_recorded(const Graph& graph, const Graph::Node& node, const Tensors& made,
                           const Oracles& oracles, NodeResult& result) {
  if (!oracles.recorded) return;
  for (const auto& [own, name] : node.outputs) {
    const Graph::Tensor& tensor = graph.tensors.at(name);
    if (!tensor.recorded.exists()) continue;
    const Dtype dtype = tensor.dtype == Dtype::i32 ? Dtype::i32 : Dtype::f32;
    const HostTensor recorded = load(tensor.recorded, dtype, tensor.shape);
    result.recorded[own] =
        compare_recorded(made.at(name), recorded, oracles.share(tensor.dtype), kIteration);
  }
}

/// The nodes that read them get what is recorded, not what a reference made.
void take_recorded(const Graph& graph, const Graph::Node& node, Tensors& tensors) {
  for (const auto& [own, name] : node.outputs) {
    const Graph::Tensor& tensor = graph.tensors.at(name);
    if (tensor.recorded.exists()) tensors[name] = load(tensor.recorded, tensor.dtype, tensor.shape);
  }
  put_outputs(graph, node, outputs_of(node, tensors), tensors);
}

/// The inputs of a node and, unless what is recorded suffices, what the reference makes of them.
struct Step {
  Tensors inputs;
  Reference reference;

  /// The outputs join `chain`: those that are recorded, where that is asked for.
  Step(const Graph& graph, const Graph::Node& node, const DeviceInfo& device, Tensors& chain,
       const std::string& variant, const Oracles& oracles)
      : inputs(inputs_of(graph, node, chain)) {
    if (oracles.references || !is_recorded(graph, node)) {
      reference = reference_step(graph, node, device, chain, variant);
    }
    if (oracles.recorded) take_recorded(graph, node, chain);
  }
};

/// The node on its inputs in `run`, and on the second ones if there are any.
NodeResult run_isolated(Runtime& runtime, const Graph& graph, const Graph::Node& node,
                        const GraphOptions& options, const std::string& variant, GraphRun& run) {
  const DeviceInfo& device = runtime.device();
  NodeResult result{node.name};
  std::vector<Step> steps;
  const auto add_step = [&](Tensors& chain) {
    steps.emplace_back(graph, node, device, chain, variant, options.oracles);
  };
  add_step(run.reference);
  if (!run.second.empty()) add_step(run.second);
  if (options.on_cpu.count(node.name)) {
    put_outputs(graph, node, outputs_of(node, run.reference), run.device);
    return result;
  }
  Trial trial(runtime, prepare_node(runtime, node, options));
  result.variant = trial.plan().variant;
  std::vector<Tensors> outputs;
  for (const Step& step : steps) {
    trial.upload(step.inputs);
    double ms = 0;
    for (const LaunchTime& time : trial.run(kIteration)) ms += 1e-6 * time.ns();
    outputs.push_back(trial.download());
    Verification own = compare_all(step.reference, outputs.back(), trial.trespass(), kIteration,
                                   &trial.plan().device);
    const bool first = outputs.size() == 1;
    if (first) result.ms = ms;
    // The result is that of the first inputs, or of the second where those alone fail.
    if (first || (result.own.pass() && !own.pass())) result.own = std::move(own);
  }
  if (steps.size() > 1) {
    result.constant =
        constant_output(outputs[0], outputs[1], steps[0].reference, steps[1].reference);
  }
  put_outputs(graph, node, outputs[0], run.device);
  compare_with_recorded(graph, node, run.device, options.oracles, result);
  return result;
}

}  // namespace

Reason NodeResult::unlike_recorded() const {
  for (const auto& [name, verdict] : recorded) {
    if (!verdict.pass) return fmt::format("{}: unlike what is recorded: {}", name, verdict.reason);
  }
  return {};
}

bool is_only_blind(const Verification& verification) {
  if (verification.fault || verification.pass()) return false;
  return std::all_of(
      verification.outputs.begin(), verification.outputs.end(),
      [](const auto& each) { return each.second.poison == 0 && each.second.worst_ratio <= 1; });
}

double NodeResult::grown() const {
  double worst = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [name, verdict] : chain) {
    const double error = std::isinf(verdict.snr_db) ? 0 : std::pow(10, -verdict.snr_db / 20);
    if (!(worst >= error)) worst = error;
  }
  return worst;
}

GraphRun verify_isolated(Runtime& runtime, const Graph& graph, const Tensors& inputs,
                         const Tensors& second, const GraphOptions& options) {
  const std::vector<Plan> plans = plans_of(runtime, graph, options, false);
  // To prepare a problem may measure the device, and bounds follow what that finds: all kernels are
  // built before the references.
  for (const Graph::Node& node : graph.nodes) {
    if (options.on_cpu.count(node.name) || options.planned_for) continue;
    options.progress(node.name);
    prepare_node(runtime, node, options);
  }
  GraphRun run{{}, inputs, second, inputs, {}};
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Graph::Node& node = graph.nodes[i];
    options.progress(node.name);
    run.nodes.push_back(run_isolated(runtime, graph, node, options, plans[i].variant, run));
  }
  return run;
}

namespace {

/// When it returns, the buffers that each tensor had of its own are gone.
GraphRun run_chained(Runtime& runtime, const Graph& graph, const Tensors& inputs,
                     const GraphOptions& options) {
  DeviceGraph device(runtime, graph, options);
  device.upload(inputs);
  options.progress("the chain on the device");
  device.poison(kIteration);
  const DeviceGraph::Time time = device.run();
  GraphRun run{{}, inputs, {}, device.download(), {}, true};
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Graph::Node& node = graph.nodes[i];
    options.progress(node.name);
    const std::string variant = device.variant(i);
    NodeResult result{node.name, variant, time.nodes[i]};
    compare_with_recorded(graph, node, run.device, options.oracles, result);
    result.own.fault = device.trespass(node);
    const Tensors outputs = outputs_of(node, run.device);
    if (options.oracles.references) {
      const Reference chain = reference_step(graph, node, runtime.device(), run.reference, variant);
      result.chain = compare_all(chain, outputs, {}, kIteration, &runtime.device()).outputs;
    }
    if (!result.on_cpu() && options.oracles.references) {
      const Reference fed = reference_of(node.problem, inputs_of(graph, node, run.device),
                                         reference_options(Check::hard, runtime.device(), variant));
      result.own = compare_all(fed, outputs, device.trespass(node), kIteration, &runtime.device());
    }
    run.nodes.push_back(std::move(result));
  }
  return run;
}

}  // namespace

GraphRun verify_chained(Runtime& runtime, const Graph& graph, const Tensors& inputs,
                        const GraphOptions& options) {
  GraphRun run = run_chained(runtime, graph, inputs, options);
  if (options.on_cpu.empty()) {
    options.progress("the graph as a whole");
    run.whole = run_pass(runtime, graph, inputs, run.device, options);
  }
  return run;
}

}  // namespace clam
