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

[[noreturn]] void refuse(const Graph& graph, const std::string& node, const std::string& reason) {
  throw Unsupported(fmt::format("{}: node '{}': {}", graph.name, node, reason));
}

/// A tensor that the device cannot hold, or all of a node's, or (`together`) all of the graph's.
void require_room(const Graph& graph, const std::vector<Plan>& plans, const DeviceInfo& device,
                  bool together) {
  std::int64_t all = 0;
  std::set<std::string> placed;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].variant.empty()) continue;  // on the CPU
    const Graph::Node& node = graph.nodes[i];
    std::int64_t own = 0;
    for (const BufferSpec& buffer : plans[i].buffers) own += buffer.bytes;
    all += own;
    for (const auto* side : {&node.inputs, &node.outputs}) {
      for (const auto& [op_name, name] : *side) {
        const std::string& held = together ? graph.held(name) : name;
        const std::int64_t bytes = graph.tensors.at(held).bytes();
        own += bytes;
        if (placed.insert(held).second) all += bytes;
        if (bytes <= device.max_alloc_bytes) continue;
        refuse(graph, node.name,
               fmt::format("its tensor '{}' has {} bytes, a buffer of the device at most {}", held,
                           bytes, device.max_alloc_bytes));
      }
    }
    const std::int64_t needed = together ? all : own;
    if (needed <= device.global_mem_bytes) continue;
    refuse(graph, node.name,
           fmt::format("{} bytes are needed{}, the device has {}", needed,
                       together ? " up to here" : "", device.global_mem_bytes));
  }
}

/// Of every node, before any runs; without a variant for those on the CPU.
std::vector<Plan> plans_of(const Runtime& runtime, const Graph& graph, const GraphOptions& options,
                           bool together) {
  const DeviceInfo& device = options.planned_for ? *options.planned_for : runtime.device();
  for (const std::string& node : options.on_cpu) graph.node(node);
  std::vector<Plan> plans;
  for (const Graph::Node& node : graph.nodes) {
    Plan& plan = plans.emplace_back();
    if (options.on_cpu.count(node.name)) continue;
    try {
      plan = runtime.plan(node.problem, device, {"", options.max_work_group});
    } catch (const Unsupported& error) {
      refuse(graph, node.name, error.what());
    }
  }
  require_room(graph, plans, device, together);
  return plans;
}

double milliseconds(const std::vector<LaunchTime>& times) {
  double ns = 0;
  for (const LaunchTime& time : times) ns += time.ns();
  return ns * 1e-6;
}

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

/// A node's kernels for the options' device.
Executable prepare_node(Runtime& runtime, const Graph::Node& node, const GraphOptions& options) {
  return prepared(runtime, node.problem, {"", options.max_work_group}, options.planned_for);
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
    const double ms = milliseconds(trial.run(kIteration));
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

double Oracles::share(Dtype dtype) const {
  if (recorded_share > 0) return recorded_share;
  return dtype == Dtype::f16 ? 1e-2 : 1e-4;
}

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

DeviceGraph::DeviceGraph(Runtime& runtime, const Graph& graph, GraphOptions options)
    : runtime_(&runtime), graph_(&graph), options_(std::move(options)) {
  plans_of(runtime, graph, options_, true);
  for (const Graph::Node& node : graph.nodes) {
    Executable& executable = executables_.emplace_back();
    if (options_.on_cpu.count(node.name)) continue;
    executable = prepare_node(runtime, node, options_);
    require_short_launches(runtime, executable.plan());
  }
  // What is an input, or a view of one, is uploaded.
  const auto place = [&](const std::string& name) {
    if (buffers_.count(name)) return;
    const Graph::Tensor& tensor = graph.tensors.at(name);
    const auto role = graph.is_of_input(name) ? TensorSpec::Role::input : TensorSpec::Role::output;
    buffers_.emplace(name, GuardedBuffer(runtime, {name, role, tensor.dtype, tensor.shape, {}, 0}));
  };
  for (const Graph::Node& node : graph.nodes) {
    for (const auto* side : {&node.inputs, &node.outputs}) {
      for (const auto& [own, name] : *side) place(graph.held(name));
    }
    for (const Graph::Move& move : node.moves) place(move.to);
  }
}

void DeviceGraph::upload(const Tensors& inputs) {
  for (auto& [name, buffer] : buffers_) {
    if (buffer.spec().role == TensorSpec::Role::input) buffer.upload(inputs.at(name));
  }
}

void DeviceGraph::run_on_cpu(const Graph::Node& node) {
  Tensors tensors;
  for (const auto& [own, name] : node.inputs) {
    const std::string& held = graph_->held(name);
    if (tensors.count(held) == 0) tensors.emplace(held, buffers_.at(held).download());
  }
  const Reference reference = reference_of(node.problem, inputs_of(*graph_, node, tensors),
                                           reference_options(Check::hard, runtime_->device(), ""));
  for (const auto& [name, tensor] : laid_out(*graph_, node, rounded(node, reference))) {
    buffers_.at(name).upload(tensor);
  }
}

std::vector<double> DeviceGraph::run(int iteration) {
  for (auto& [name, buffer] : buffers_) {
    if (buffer.spec().role == TensorSpec::Role::output) buffer.poison(iteration);
  }
  for (std::size_t i = 0; i < executables_.size(); ++i) {
    const Graph::Node& node = graph_->nodes[i];
    if (options_.on_cpu.count(node.name)) {
      run_on_cpu(node);
    } else {
      const Bindings tensors = bindings_of(
          node, [&](const std::string& name) { return buffers_.at(graph_->held(name)).buffer(); });
      if (!executables_[i].plan().pack.empty()) runtime_->pack(executables_[i], tensors);
      runtime_->enqueue(executables_[i], tensors);
    }
    for (const Graph::Move& move : node.moves) {
      const Copy copy{move, buffers_.at(move.from).buffer(), buffers_.at(move.to).buffer(),
                      size_of(graph_->tensors.at(move.to).dtype)};
      copy.enqueue(*runtime_);
    }
  }
  const std::vector<LaunchTime> times = runtime_->finish();
  require_not_ended(runtime_->device(), "the graph", times);
  std::vector<double> ms;
  auto next = times.begin();
  for (const Executable& executable : executables_) {
    const auto end = next + executable.plan().launches.size();
    ms.push_back(milliseconds({next, end}));
    next = end;
  }
  return ms;
}

Tensors DeviceGraph::download() {
  Tensors tensors;
  for (auto& [name, buffer] : buffers_) tensors.emplace(name, buffer.download());
  return tensors;
}

HostTensor DeviceGraph::download(const std::string& tensor) {
  return buffers_.at(graph_->held(tensor)).download();
}

Reason DeviceGraph::trespass(const Graph::Node& node) const {
  std::vector<std::string> names;
  for (const auto& [own, name] : node.outputs) names.push_back(name);
  for (const auto& [own, name] : node.inputs) {
    if (graph_->is_of_input(name)) names.push_back(graph_->held(name));
  }
  for (const std::string& name : names) {
    if (const Reason reason = buffers_.at(name).trespass()) return reason;
  }
  return {};
}

std::string DeviceGraph::variant(std::size_t node) const {
  return executables_.at(node).plan().variant;
}

namespace {

/// When it returns, the buffers that each tensor had of its own are gone.
GraphRun run_chained(Runtime& runtime, const Graph& graph, const Tensors& inputs,
                     const GraphOptions& options) {
  DeviceGraph device(runtime, graph, options);
  device.upload(inputs);
  options.progress("the chain on the device");
  const std::vector<double> ms = device.run(kIteration);
  GraphRun run{{}, inputs, {}, device.download(), {}, true};
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Graph::Node& node = graph.nodes[i];
    options.progress(node.name);
    const std::string variant = device.variant(i);
    NodeResult result{node.name, variant, ms[i]};
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

/// What goes wrong with the whole is said of the whole; the nodes have their verdicts already.
PassReport try_pass(Runtime& runtime, const Graph& graph, const Tensors& inputs,
                    const Tensors& expected, const GraphOptions& options) {
  PassReport failed;
  try {
    return run_pass(runtime, graph, inputs, expected, {"", options.max_work_group},
                    options.planned_for);
  } catch (const Error& error) {
    failed.differs = fmt::format("the graph as a whole: {}", error.what());
  } catch (const cl::Error& error) {
    failed.differs = fmt::format("the graph as a whole: {}", describe(error));
  }
  return failed;
}

}  // namespace

GraphRun verify_chained(Runtime& runtime, const Graph& graph, const Tensors& inputs,
                        const GraphOptions& options) {
  GraphRun run = run_chained(runtime, graph, inputs, options);
  if (options.on_cpu.empty()) {
    options.progress("the graph as a whole");
    run.whole = try_pass(runtime, graph, inputs, run.device, options);
  }
  return run;
}

}  // namespace clam
