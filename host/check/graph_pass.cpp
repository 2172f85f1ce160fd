// SPDX-License-Identifier: MIT
#include "graph_pass.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "clam/error.hpp"
#include "clam/planner.hpp"
#include "clock.hpp"
#include "launch_guard.hpp"

namespace clam {
namespace {

constexpr int kRuns = 5;
constexpr auto kEnough = std::chrono::seconds(2);

/// The last node that reads each tensor or a view of it, by its place in the order.
std::map<std::string, std::size_t> last_readers(const Graph& graph) {
  std::map<std::string, std::size_t> last;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const auto& [own, name] : graph.nodes[i].inputs) last[graph.holder(name)] = i;
  }
  return last;
}

/// The smallest of the free buffers that is large enough, else the largest of them, else none.
std::vector<std::size_t>::iterator best_fit(std::vector<std::size_t>& free,
                                            const std::vector<std::int64_t>& sizes,
                                            std::int64_t bytes) {
  const auto worse = [&](std::size_t a, std::size_t b) {
    const bool a_fits = sizes[a] >= bytes, b_fits = sizes[b] >= bytes;
    if (a_fits != b_fits) return b_fits;
    return a_fits ? sizes[a] > sizes[b] : sizes[a] < sizes[b];
  };
  return std::max_element(free.begin(), free.end(), worse);
}

/// Gives out buffers, node by node.
class Sharing {
 public:
  void take(const std::string& tensor, std::int64_t bytes) {
    const auto found = best_fit(free_, shared_.bytes, bytes);
    std::size_t buffer = shared_.bytes.size();
    if (found == free_.end()) {
      shared_.bytes.push_back(bytes);
    } else {
      buffer = *found;
      free_.erase(found);
      shared_.bytes[buffer] = std::max(shared_.bytes[buffer], bytes);
    }
    shared_.of[tensor] = buffer;
  }
  void give_back(const std::string& tensor) { free_.push_back(shared_.of.at(tensor)); }
  SharedBuffers result() && { return std::move(shared_); }

 private:
  SharedBuffers shared_;
  std::vector<std::size_t> free_;
};

}  // namespace

std::int64_t SharedBuffers::total() const {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

SharedBuffers share_buffers(const Graph& graph) {
  const std::map<std::string, std::size_t> last = last_readers(graph);
  Sharing sharing;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    // Outputs first: a node never writes over what it reads.
    for (const auto& [own, name] : graph.nodes[i].outputs) {
      sharing.take(name, graph.tensors.at(name).bytes());
    }
    for (const auto& [name, reader] : last) {
      if (reader == i && !graph.tensors.at(name).is_input()) sharing.give_back(name);
    }
  }
  return std::move(sharing).result();
}

GraphPass::GraphPass(Runtime& runtime, const Graph& graph, const PlanOptions& options,
                     const DeviceInfo* planned_for)
    : runtime_(&runtime), graph_(&graph), shared_(share_buffers(graph)) {
  for (const std::int64_t bytes : shared_.bytes) {
    buffers_.emplace_back(runtime.context(), CL_MEM_READ_WRITE, static_cast<std::size_t>(bytes));
  }
  for (const Graph::Node& node : graph.nodes) {
    Step step{planned_for ? runtime.prepare(make_plan(node.problem, *planned_for, options))
                          : runtime.prepare(node.problem, options),
              {}};
    require_short_launches(runtime, step.executable.plan());
    for (const auto* side : {&node.inputs, &node.outputs}) {
      for (const auto& [own, name] : *side) step.bindings[own] = buffer_of(graph.holder(name));
    }
    steps_.push_back(std::move(step));
  }
}

const cl::Buffer& GraphPass::buffer_of(const std::string& tensor) {
  const auto made = shared_.of.find(tensor);
  if (made != shared_.of.end()) return buffers_[made->second];
  const Graph::Tensor& input = graph_->tensors.at(tensor);
  const TensorSpec spec{tensor, TensorSpec::Role::input, input.dtype, input.shape, {}, 0};
  return inputs_.try_emplace(tensor, *runtime_, spec).first->second.buffer();
}

void GraphPass::upload(const Tensors& inputs) {
  for (auto& [name, buffer] : inputs_) buffer.upload(inputs.at(name));
  for (Step& step : steps_) runtime_->pack(step.executable, step.bindings);
}

void GraphPass::poison() {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    // Not a number, as a half and as a float. Written, as Oclgrind takes what a fill leaves for
    // memory that nobody wrote, even behind the kernel that did.
    const std::vector<std::uint8_t> ones(static_cast<std::size_t>(shared_.bytes[i]), 0xFF);
    runtime_->queue().enqueueWriteBuffer(buffers_[i], CL_TRUE, 0, ones.size(), ones.data());
  }
}

GraphPass::Time GraphPass::run() {
  const Clock::time_point start = Clock::now();
  for (Step& step : steps_) runtime_->enqueue(step.executable, step.bindings);
  const std::vector<LaunchTime> times = runtime_->finish();
  Time time;
  time.wall_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  for (const LaunchTime& each : times) time.ms += 1e-6 * each.ns();
  return time;
}

Tensors GraphPass::outputs() {
  const std::map<std::string, std::size_t> last = last_readers(*graph_);
  Tensors tensors;
  for (const auto& [name, buffer] : shared_.of) {
    if (last.count(name)) continue;
    const Graph::Tensor& tensor = graph_->tensors.at(name);
    HostTensor values(tensor.dtype, tensor.shape);
    runtime_->queue().enqueueReadBuffer(buffers_[buffer], CL_TRUE, 0, values.bytes(),
                                        values.data());
    tensors.emplace(name, std::move(values));
  }
  return tensors;
}

std::int64_t GraphPass::launches() const {
  std::size_t launches = 0;
  for (const Step& step : steps_) launches += step.executable.plan().launches.size();
  return static_cast<std::int64_t>(launches);
}

PassReport run_pass(Runtime& runtime, const Graph& graph, const Tensors& inputs,
                    const Tensors& expected, const PlanOptions& options,
                    const DeviceInfo* planned_for) {
  GraphPass pass(runtime, graph, options, planned_for);
  pass.upload(inputs);
  PassReport report;
  report.launches = pass.launches();
  report.shared_bytes = pass.shared().total();
  report.buffers = pass.shared().bytes.size();
  report.tensors = pass.shared().of.size();
  for (const auto& [name, buffer] : pass.shared().of) {
    report.apart_bytes += graph.tensors.at(name).bytes();
  }
  report.best.wall_ms = std::numeric_limits<double>::infinity();
  const Clock::time_point start = Clock::now();
  for (int i = 0; i == 0 || (i < kRuns && Clock::now() - start < kEnough); ++i) {
    pass.poison();
    const GraphPass::Time time = pass.run();
    if (time.wall_ms < report.best.wall_ms) report.best = time;
    for (const auto& [name, tensor] : pass.outputs()) {
      if (tensor == expected.at(name) || report.differs) continue;
      report.differs = fmt::format(
          "the graph as a whole, its tensors in shared buffers, makes '{}' in other bits than with "
          "each tensor in its own buffer",
          name);
    }
  }
  return report;
}

}  // namespace clam
