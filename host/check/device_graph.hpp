// SPDX-License-Identifier: MIT
// device_graph.hpp - a graph on a device: its nodes one after another, each tensor in a buffer of
// its own, or as a model runs, in shared ones.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "clam/runtime.hpp"
#include "graph.hpp"
#include "guarded_buffer.hpp"

namespace clam {

/// What results are held against: references with computed bounds, and what another program has
/// recorded (Graph::Tensor::recorded).
struct Oracles {
  bool references = true, recorded = false;
  /// The rms error that is allowed against what is recorded, as a share of its rms; 0: by dtype.
  double recorded_share = 0;

  double share(Dtype dtype) const;
};

struct GraphOptions {
  std::set<std::string> on_cpu;  ///< nodes whose outputs are the reference's
  Oracles oracles = {};
  int max_work_group = 0;                   ///< PlanOptions::max_work_group of every node
  const DeviceInfo* planned_for = nullptr;  ///< null: the runtime's own device
  /// Called before each step that may take seconds, with what it is.
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

/// The plans of all nodes, without a variant for those on the CPU. What the device cannot run, or
/// has no room for, is refused: Unsupported with the node's name and the numbers. It has room where
/// it holds the tensors of each node or, `together`, of all.
std::vector<Plan> plans_of(const Runtime& runtime, const Graph& graph, const GraphOptions& options,
                           bool together);
/// A node's kernels for the options' device.
Executable prepare_node(Runtime& runtime, const Graph::Node& node, const GraphOptions& options);

/// Where the bytes of a tensor begin: in one that has a buffer.
struct Place {
  std::string held_by;  ///< itself, the whole that it is a part of, or what it is a view of
  std::int64_t offset = 0;
};
/// Of every tensor. Parts lie in their whole, and views in what they are of, where offsets are
/// multiples of `alignment` bytes; elsewhere a tensor is held by itself, and moved.
std::map<std::string, Place> places(const Graph& graph, std::int64_t alignment);

/// Which tensors of nodes share a buffer, one after another. A buffer is free again after the last
/// node that reads what it holds. An output of the graph keeps its own.
struct SharedBuffers {
  std::map<std::string, std::size_t> of;  ///< the buffer of each such tensor
  std::vector<std::int64_t> bytes;        ///< of each buffer

  std::int64_t total() const;
};
SharedBuffers share_buffers(const Graph& graph, const std::map<std::string, Place>& places);

/// A prepared graph on the device.
class DeviceGraph {
 public:
  enum class Memory {
    apart,   ///< every tensor between guard bands, so that all can be checked afterwards
    shared,  ///< by share_buffers: nothing in between can be looked at, nor a node run on the CPU
  };
  struct Time {
    std::vector<double> nodes;  ///< milliseconds of the launches of each, by their events
    double ms = 0;              ///< of all nodes
    double wall_ms = 0;         ///< from the first launch until the host knows that all are over
  };

  /// Throws Unsupported where it cannot run a node or, apart, has no room.
  DeviceGraph(Runtime& runtime, const Graph& graph, GraphOptions options = {},
              Memory memory = Memory::apart);
  void upload(const Tensors& inputs);  ///< and packs
  /// Other values for one input. What was uploaded for the others stays.
  void write(const std::string& input, const void* values);
  /// Overwrites all that nodes make.
  void poison(int iteration = 0);
  /// Runs the nodes one after another. Only a node on the CPU, and one that packs what a node
  /// makes, waits for earlier ones.
  Time run();
  Tensors download();  ///< every tensor but views; in shared buffers: Graph::outputs
  HostTensor download(const std::string& tensor);
  void read(const std::string& tensor, void* values);
  /// After download: around what the node makes, or in what it reads of the graph's inputs; names
  /// the tensor and the byte. Of tensors that are apart.
  Reason trespass(const Graph::Node& node) const;

  std::string variant(std::size_t node) const;  ///< empty: on the CPU
  std::int64_t launches() const;                ///< of a run
  /// Of a run: moves of tensors that do not lie where they should.
  std::int64_t copies() const;
  const SharedBuffers& shared() const { return shared_; }

 private:
  /// A move between two buffers.
  struct Copy {
    Graph::Move move;
    cl::Buffer from, to;
    std::int64_t element_size;
  };
  struct Step {
    Executable executable;  ///< on the CPU: nothing is launched
    Bindings bindings;
    std::vector<Copy> copies;        ///< behind it
    std::set<std::string> packed;    ///< what has the bytes that it packs
    bool packs_in_each_run = false;  ///< a node makes some of them
  };

  Step step_of(const Graph::Node& node);
  void run_on_cpu(const Graph::Node& node);
  void copy(const std::vector<Copy>& copies);
  cl::Buffer buffer_of(const std::string& tensor);
  const cl::Buffer& whole_buffer(const std::string& held_by);
  std::vector<Copy> copies_of(const std::vector<Graph::Move>& moves);

  Runtime* runtime_;
  const Graph* graph_;
  GraphOptions options_;
  std::map<std::string, Place> places_;
  SharedBuffers shared_;                          ///< none where all are apart
  std::vector<cl::Buffer> buffers_;               ///< of shared_
  std::map<std::string, GuardedBuffer> guarded_;  ///< all others
  std::vector<Step> steps_;
};

/// How a graph went as a whole.
struct PassReport {
  std::int64_t launches = 0, copies = 0;
  DeviceGraph::Time best;  ///< of a few runs
  std::int64_t shared_bytes = 0, apart_bytes = 0;
  std::size_t buffers = 0, tensors = 0;  ///< that nodes make
  Reason differs;  ///< empty, the output that is not what it should be, or why it does not run

  bool pass() const { return !differs; }
};
/// Runs the graph a few times on `inputs`, in shared buffers; its outputs must have the bits of
/// `expected`, which may hold other tensors too.
PassReport run_pass(Runtime& runtime, const Graph& graph, const Tensors& inputs,
                    const Tensors& expected, const GraphOptions& options = {});

}  // namespace clam
