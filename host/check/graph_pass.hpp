// SPDX-License-Identifier: MIT
// graph_pass.hpp - a graph as a model runs: all nodes one after another, tensors in shared buffers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "clam/runtime.hpp"
#include "graph.hpp"
#include "verify.hpp"

namespace clam {

/// Which tensors of nodes share a buffer, one after another. A buffer is free again after the last
/// node that reads what it holds. A tensor that no node reads keeps its own.
struct SharedBuffers {
  std::map<std::string, std::size_t> of;  ///< the buffer of each such tensor
  std::vector<std::int64_t> bytes;        ///< of each buffer

  std::int64_t total() const;
};
SharedBuffers share_buffers(const Graph& graph);

/// A graph on a device, prepared to run as a whole. Nothing in between can be looked at afterwards.
class GraphPass {
 public:
  struct Time {
    double ms = 0;       ///< of all launches, by their events
    double wall_ms = 0;  ///< from the first launch until the host knows that all are over
  };

  /// `planned_for` null: the runtime's own device. Throws Unsupported where it cannot run a node.
  GraphPass(Runtime& runtime, const Graph& graph, const PlanOptions& options = {},
            const DeviceInfo* planned_for = nullptr);
  void upload(const Tensors& inputs);  ///< and packs
  Time run();
  Tensors outputs();  ///< the tensors that no node reads
  /// Overwrites all that nodes made.
  void poison();

  std::int64_t launches() const;  ///< of a run
  const SharedBuffers& shared() const { return shared_; }

 private:
  struct Step {
    Executable executable;
    Bindings bindings;
  };

  const cl::Buffer& buffer_of(const std::string& tensor);

  Runtime* runtime_;
  const Graph* graph_;
  SharedBuffers shared_;
  std::map<std::string, GuardedBuffer> inputs_;
  std::vector<cl::Buffer> buffers_;
  std::vector<Step> steps_;
};

/// How a graph went as a whole.
struct PassReport {
  std::int64_t launches = 0;
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
