// SPDX-License-Identifier: MIT
#include "device_graph.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "clam/error.hpp"
#include "clock.hpp"
#include "launch_guard.hpp"

namespace clam {
namespace {

constexpr int kRuns = 5;
constexpr auto kEnough = std::chrono::seconds(2);

using Places = std::map<std::string, Place>;

[[noreturn]] void skip(const Graph& graph, const std::string& node, const std::string& reason) {
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
        skip(graph, node.name,
             fmt::format("its tensor '{}' has {} bytes, a buffer of the device at most {}", held,
                         bytes, device.max_alloc_bytes));
      }
    }
    const std::int64_t needed = together ? all : own;
    if (needed <= device.global_mem_bytes) continue;
    skip(graph, node.name,
         fmt::format("{} bytes are needed{}, the device has {}", needed,
                     together ? " up to here" : "", device.global_mem_bytes));
  }
}

/// The place of one tensor.
Place place_of(const Graph& graph, const std::string& name, std::int64_t alignment) {
  const Graph::Tensor& tensor = graph.tensors.at(name);
  const std::string& around = tensor.view_of.empty() ? tensor.whole : tensor.view_of;
  if (around.empty()) return {name, 0};
  Place there = place_of(graph, around, alignment);
  there.offset += tensor.first * size_of(tensor.dtype);
  return there.offset % alignment == 0 ? there : Place{name, 0};
}

/// The elements are in both places already, for these are one.
bool is_in_place(const Graph& graph, const Places& places, const Graph::Move& move) {
  const Place &from = places.at(move.from), &to = places.at(move.to);
  const std::int64_t size = size_of(graph.tensors.at(move.to).dtype);
  return from.held_by == to.held_by &&
         from.offset + move.from_first * size == to.offset + move.to_first * size;
}

/// The tensors with buffers that a node and its moves write and read.
struct Touched {
  std::set<std::string> written, read;
};

Touched touched_by(const Graph& graph, const Places& places, const Graph::Node& node) {
  Touched touched;
  for (const auto& [own, name] : node.outputs) touched.written.insert(places.at(name).held_by);
  for (const auto& [own, name] : node.inputs) touched.read.insert(places.at(name).held_by);
  for (const Graph::Move& move : node.moves) {
    if (is_in_place(graph, places, move)) continue;
    touched.read.insert(places.at(move.from).held_by);
    touched.written.insert(places.at(move.to).held_by);
  }
  return touched;
}

/// The last node that touches each tensor with a buffer, by its place in the order. What no node
/// reads, and outputs of the graph, have none.
std::map<std::string, std::size_t> last_uses(const Graph& graph, const Places& places) {
  std::map<std::string, std::size_t> last;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Touched touched = touched_by(graph, places, graph.nodes[i]);
    for (const std::string& name : touched.read) last[name] = i;
    for (const std::string& name : touched.written) {
      if (last.count(name) > 0) last[name] = i;
    }
  }
  for (const std::string& name : graph.outputs) last.erase(places.at(name).held_by);
  return last;
}

/// A part of a buffer, which may be a part itself.
cl::Buffer part_of(const cl::Buffer& buffer, std::int64_t offset, std::int64_t bytes) {
  cl::Buffer whole = buffer;
  std::size_t origin = offset;
  if (const cl_mem parent = buffer.getInfo<CL_MEM_ASSOCIATED_MEMOBJECT>()()) {
    whole = cl::Buffer(parent, true);
    origin += buffer.getInfo<CL_MEM_OFFSET>();
  }
  const cl_buffer_region region{origin, static_cast<std::size_t>(bytes)};
  return whole.createSubBuffer(CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region);
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

/// What has the bytes of the inputs that the plan's pack launches read.
std::set<std::string> packed_by(const Plan& plan, const Graph& graph, const Graph::Node& node) {
  std::set<std::string> packed;
  for (const Launch& launch : plan.pack) {
    for (const Arg& arg : launch.args) {
      const auto* buffer = std::get_if<BufferArg>(&arg);
      const auto input = buffer ? node.inputs.find(buffer->name) : node.inputs.end();
      if (input != node.inputs.end()) packed.insert(graph.holder(input->second));
    }
  }
  return packed;
}

}  // namespace

double Oracles::share(Dtype dtype) const {
  if (recorded_share > 0) return recorded_share;
  return dtype == Dtype::f16 ? 1e-2 : 1e-4;
}

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
      skip(graph, node.name, error.what());
    }
  }
  require_room(graph, plans, device, together);
  return plans;
}

Executable prepare_node(Runtime& runtime, const Graph::Node& node, const GraphOptions& options) {
  const PlanOptions own{"", options.max_work_group};
  if (!options.planned_for) return runtime.prepare(node.problem, own);
  return runtime.prepare(runtime.plan(node.problem, *options.planned_for, own));
}

std::int64_t SharedBuffers::total() const {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

std::map<std::string, Place> places(const Graph& graph, std::int64_t alignment) {
  Places places;
  for (const auto& [name, tensor] : graph.tensors) places[name] = place_of(graph, name, alignment);
  return places;
}

SharedBuffers share_buffers(const Graph& graph, const std::map<std::string, Place>& places) {
  const std::map<std::string, std::size_t> last = last_uses(graph, places);
  SharedBuffers shared;
  std::vector<std::size_t> free;
  const auto take = [&](const std::string& name) {
    if (shared.of.count(name)) return;
    const std::int64_t bytes = graph.tensors.at(name).bytes();
    const auto found = best_fit(free, shared.bytes, bytes);
    std::size_t buffer = shared.bytes.size();
    if (found == free.end()) {
      shared.bytes.push_back(bytes);
    } else {
      buffer = *found;
      free.erase(found);
      shared.bytes[buffer] = std::max(shared.bytes[buffer], bytes);
    }
    shared.of[name] = buffer;
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Touched touched = touched_by(graph, places, graph.nodes[i]);
    // What it writes first: a node never writes over what it reads.
    for (const std::string& name : touched.written) take(name);
    for (const auto& [name, user] : last) {
      if (user == i && !graph.is_of_input(name)) free.push_back(shared.of.at(name));
    }
  }
  return shared;
}

DeviceGraph::DeviceGraph(Runtime& runtime, const Graph& graph, GraphOptions options, Memory memory)
    : runtime_(&runtime), graph_(&graph), options_(std::move(options)) {
  if (memory == Memory::shared) {
    places_ = places(graph, runtime.device().mem_base_addr_align);
    shared_ = share_buffers(graph, places_);
    for (const std::int64_t bytes : shared_.bytes) {
      buffers_.emplace_back(runtime.context(), CL_MEM_READ_WRITE, bytes);
    }
  } else {
    plans_of(runtime, graph, options_, true);
    for (const auto& [name, tensor] : graph.tensors) places_[name] = {graph.held(name), 0};
  }
  for (const Graph::Node& node : graph.nodes) steps_.push_back(step_of(node));
}

DeviceGraph::Step DeviceGraph::step_of(const Graph::Node& node) {
  Step step;
  for (const auto* side : {&node.inputs, &node.outputs}) {
    for (const auto& [own, name] : *side) step.bindings[own] = buffer_of(name);
  }
  step.copies = copies_of(node.moves);
  if (options_.on_cpu.count(node.name)) return step;
  step.executable = prepare_node(*runtime_, node, options_);
  require_short_launches(*runtime_, step.executable.plan());
  step.packed = packed_by(step.executable.plan(), *graph_, node);
  step.packs_in_each_run =
      std::any_of(step.packed.begin(), step.packed.end(),
                  [&](const std::string& name) { return !graph_->tensors.at(name).is_input(); });
  return step;
}

cl::Buffer DeviceGraph::buffer_of(const std::string& tensor) {
  const Place& place = places_.at(tensor);
  const cl::Buffer& whole = whole_buffer(place.held_by);
  if (place.offset == 0) return whole;
  return part_of(whole, place.offset, graph_->tensors.at(tensor).bytes());
}

const cl::Buffer& DeviceGraph::whole_buffer(const std::string& name) {
  const auto shared = shared_.of.find(name);
  if (shared != shared_.of.end()) return buffers_[shared->second];
  const Graph::Tensor& tensor = graph_->tensors.at(name);
  // What is an input, or a view of one, is uploaded.
  const auto role = graph_->is_of_input(name) ? TensorSpec::Role::input : TensorSpec::Role::output;
  const TensorSpec spec{name, role, tensor.dtype, tensor.shape, {}, 0};
  return guarded_.try_emplace(name, *runtime_, spec).first->second.buffer();
}

std::vector<DeviceGraph::Copy> DeviceGraph::copies_of(const std::vector<Graph::Move>& moves) {
  std::vector<Copy> copies;
  for (const Graph::Move& move : moves) {
    if (is_in_place(*graph_, places_, move)) continue;
    copies.push_back({move, buffer_of(move.from), buffer_of(move.to),
                      size_of(graph_->tensors.at(move.to).dtype)});
  }
  return copies;
}

void DeviceGraph::copy(const std::vector<Copy>& copies) {
  for (const auto& [move, from, to, size] : copies) {
    runtime_->queue().enqueueCopyBuffer(from, to, move.from_first * size, move.to_first * size,
                                        move.count * size);
  }
}

void DeviceGraph::upload(const Tensors& inputs) {
  for (auto& [name, buffer] : guarded_) {
    if (buffer.spec().role == TensorSpec::Role::input) buffer.upload(inputs.at(name));
  }
  for (Step& step : steps_) {
    if (!step.packs_in_each_run) runtime_->pack(step.executable, step.bindings);
  }
}

void DeviceGraph::poison(int iteration) {
  for (auto& [name, buffer] : guarded_) {
    if (buffer.spec().role == TensorSpec::Role::output) buffer.poison(iteration);
  }
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    // Not a number, as a half and as a float. Written, as Oclgrind takes what a fill leaves for
    // memory that nobody wrote, even behind the kernel that did.
    const std::vector<std::uint8_t> ones(shared_.bytes[i], 0xFF);
    runtime_->queue().enqueueWriteBuffer(buffers_[i], CL_TRUE, 0, ones.size(), ones.data());
  }
}

void DeviceGraph::write(const std::string& input, const void* values) {
  const Place& place = places_.at(input);
  runtime_->queue().enqueueWriteBuffer(whole_buffer(place.held_by), CL_TRUE, place.offset,
                                       graph_->tensors.at(input).bytes(), values);
  for (const Graph::Move& move : graph_->moves) {
    if (move.from == input) copy(copies_of({move}));
  }
  for (Step& step : steps_) {
    if (step.packed.count(input)) runtime_->pack(step.executable, step.bindings);
  }
}

void DeviceGraph::run_on_cpu(const Graph::Node& node) {
  Tensors tensors = download();
  reference_step(*graph_, node, runtime_->device(), tensors);
  for (const auto& [own, name] : node.outputs) guarded_.at(name).upload(tensors.at(name));
}

DeviceGraph::Time DeviceGraph::run() {
  const Clock::time_point start = Clock::now();
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    if (step.packs_in_each_run) runtime_->pack(step.executable, step.bindings);
    if (options_.on_cpu.count(graph_->nodes[i].name)) {
      run_on_cpu(graph_->nodes[i]);
    } else {
      runtime_->enqueue(step.executable, step.bindings);
    }
    copy(step.copies);
  }
  const std::vector<LaunchTime> times = runtime_->finish();
  Time time;
  time.wall_ms = 1e3 * seconds_since(start);
  require_not_ended(runtime_->device(), "the graph", times);
  auto next = times.begin();
  for (const Step& step : steps_) {
    double ns = 0;
    std::size_t left = step.executable.plan().launches.size();
    for (; left > 0 && next != times.end(); --left, ++next) ns += next->ns();
    time.nodes.push_back(1e-6 * ns);
    time.ms += 1e-6 * ns;
  }
  return time;
}

Tensors DeviceGraph::download() {
  Tensors tensors;
  if (!buffers_.empty()) {
    for (const std::string& name : graph_->outputs) tensors.emplace(name, download(name));
    return tensors;
  }
  for (auto& [name, buffer] : guarded_) tensors.emplace(name, buffer.download());
  return tensors;
}

HostTensor DeviceGraph::download(const std::string& tensor) {
  const auto guarded = guarded_.find(graph_->held(tensor));
  if (guarded != guarded_.end()) return guarded->second.download();
  HostTensor values(graph_->tensors.at(tensor).dtype, graph_->tensors.at(tensor).shape);
  read(tensor, values.data());
  return values;
}

void DeviceGraph::read(const std::string& tensor, void* values) {
  const Place& place = places_.at(tensor);
  runtime_->queue().enqueueReadBuffer(whole_buffer(place.held_by), CL_TRUE, place.offset,
                                      graph_->tensors.at(tensor).bytes(), values);
}

Reason DeviceGraph::trespass(const Graph::Node& node) const {
  for (const auto* side : {&node.outputs, &node.inputs}) {
    for (const auto& [own, name] : *side) {
      if (side == &node.inputs && !graph_->is_of_input(name)) continue;
      if (const Reason reason = guarded_.at(graph_->held(name)).trespass()) return reason;
    }
  }
  return {};
}

std::string DeviceGraph::variant(std::size_t node) const {
  return steps_.at(node).executable.plan().variant;
}

std::int64_t DeviceGraph::launches() const {
  std::int64_t launches = 0;
  for (const Step& step : steps_) launches += step.executable.plan().launches.size();
  return launches;
}

std::int64_t DeviceGraph::copies() const {
  std::int64_t copies = 0;
  for (const Step& step : steps_) copies += step.copies.size();
  return copies;
}

namespace {

/// The output that is not as expected, as a sentence; or nothing.
Reason difference(const Graph& graph, const Tensors& outputs, const Tensors& expected) {
  for (const auto& [name, tensor] : outputs) {
    if (tensor == reshaped(expected.at(graph.held(name)), tensor.shape())) continue;
    return fmt::format(
        "the graph as a whole, its tensors in shared buffers, makes '{}' in other bits than with "
        "each tensor in its own buffer",
        name);
  }
  return {};
}

}  // namespace

PassReport run_pass(Runtime& runtime, const Graph& graph, const Tensors& inputs,
                    const Tensors& expected, const GraphOptions& options) {
  PassReport report;
  try {
    DeviceGraph device(runtime, graph, options, DeviceGraph::Memory::shared);
    const SharedBuffers& shared = device.shared();
    report.launches = device.launches();
    report.copies = device.copies();
    report.shared_bytes = shared.total();
    report.buffers = shared.bytes.size();
    report.tensors = shared.of.size();
    for (const auto& [name, buffer] : shared.of) {
      report.apart_bytes += graph.tensors.at(name).bytes();
    }
    device.upload(inputs);
    const Clock::time_point start = Clock::now();
    for (int i = 0; i == 0 || (i < kRuns && Clock::now() - start < kEnough); ++i) {
      device.poison();
      const DeviceGraph::Time time = device.run();
      if (i == 0 || time.wall_ms < report.best.wall_ms) report.best = time;
      if (!report.differs) report.differs = difference(graph, device.download(), expected);
    }
  } catch (const Error& error) {
    report.differs = fmt::format("the graph as a whole: {}", error.what());
  } catch (const cl::Error& error) {
    report.differs = fmt::format("the graph as a whole: {}", describe(error));
  }
  return report;
}

}  // namespace clam
