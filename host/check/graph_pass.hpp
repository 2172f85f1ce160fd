// SPDX-License-Identifier: MIT
// graph_pass.hpp - a graph as a model runs: all nodes one after another, tensors in shared buffers.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "clam/runtime.hpp"
#include "graph.hpp"
#include "verify.hpp"

namespace clam {

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

/// A problem that is ready to run, planned for another device or, where that is null, the own one.
Executable prepared(Runtime& runtime, const Problem& problem, const PlanOptions& options,
                    const DeviceInfo* planned_for);
/// The buffers of a node by the names of its op; `buffer_of` takes those of the graph.
Bindings bindings_of(const Graph::Node& node,
                     const std::function<cl::Buffer(const std::string&)>& buffer_of);

/// A move between two buffers, in the order of the queue.
struct Copy {
  Graph::Move move;
  cl::Buffer from, to;
  int element_size;

  void enqueue(Runtime& runtime) const;
};

/// A graph on a device, prepared to run as a whole. Nothing in between can be looked at afterwards.
class GraphPass {
 public:
  struct Time {
    double ms = 0;       ///< of all launches, by their events
    double wall_ms = 0;  ///< from the first launch until the host knows that all are over
  };

  /// Throws Unsupported where it cannot run a node.
  GraphPass(Runtime& runtime, const Graph& graph, const PlanOptions& options = {},
            const DeviceInfo* planned_for = nullptr);
  void upload(const Tensors& inputs);  ///< and packs
  /// Other values for one input. What was uploaded for the others stays.
  void write(const std::string& input, const void* values);
  Time run();
  Tensors outputs();  ///< Graph::outputs
  void read(const std::string& output, void* values);
  /// Overwrites all that nodes made.
  void poison();

  std::int64_t launches() const;  ///< of a run
  std::int64_t copies() const;    ///< of a run: moves of tensors that do not lie where they should
  const SharedBuffers& shared() const { return shared_; }

 private:
  struct Step {
    Executable executable;
    Bindings bindings;
    std::vector<Copy> copies;        ///< behind it
    std::set<std::string> packed;    ///< what has the bytes that it packs
    bool packs_in_each_run = false;  ///< a node makes some of them
  };

  cl::Buffer buffer_of(const std::string& tensor);
  const cl::Buffer& whole_buffer(const std::string& held_by);
  std::vector<Copy> copies_of(const std::vector<Graph::Move>& moves);

  Runtime* runtime_;
  const Graph* graph_;
  std::map<std::string, Place> places_;
  SharedBuffers shared_;
  std::map<std::string, GuardedBuffer> inputs_;
  std::vector<cl::Buffer> buffers_;
  std::vector<Step> steps_;
};

/// How a graph went as a whole.
struct PassReport {
  std::int64_t launches = 0, copies = 0;
  GraphPass::Time best;  ///< of a few runs
  std::int64_t shared_bytes = 0, apart_bytes = 0;
  std::size_t buffers = 0, tensors = 0;  ///< that nodes make
  Reason differs;                        ///< empty, or the output that is not what it should be

  bool pass() const { return !differs; }
};
/// Runs the graph a few times on `inputs`; its outputs must have the bits of `expected`, which may
/// hold other tensors too.
PassReport run_pass(Runtime& runtime, const Graph& graph, const Tensors& inputs,
                    const Tensors& expected, const PlanOptions& options = {},
                    const DeviceInfo* planned_for = nullptr);

}  // namespace clam
