// SPDX-License-Identifier: MIT
// graph_run.hpp - a graph on a device: each node alone on the references' inputs, or chained.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph.hpp"
#include "graph_pass.hpp"
#include "verify.hpp"

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
  std::set<std::string> on_cpu;             ///< nodes whose outputs are the reference's
  Oracles oracles = {};
  int max_work_group = 0;                   ///< PlanOptions::max_work_group of every node
  const DeviceInfo* planned_for = nullptr;  ///< null: the runtime's own device
  /// Called before each step that may take seconds, with what it is.
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

/// It fails only because its bounds are so wide that zeros would pass.
bool is_only_blind(const Verification& verification);

/// The result of a node.
struct NodeResult {
  std::string node, variant = {};  ///< no variant: on the CPU
  double ms = 0;                   ///< of its launches, by their events; 0 on the CPU

  /// Each output compared, under its bound, with the reference of the inputs that the node had.
  Verification own = {};
  /// Chained: each output compared with the references' own chain, in which no device took part.
  /// There is no bound for that, so these only say how errors grow.
  std::map<std::string, Verdict> chain = {};
  /// Each output that is recorded, compared with that.
  std::map<std::string, Verdict> recorded = {};
  Reason constant = {};  ///< isolated: two inputs, one output

  bool on_cpu() const { return variant.empty(); }
  /// The first output that is not what is recorded; else empty.
  Reason unlike_recorded() const;
  /// By the reference, or by the guards alone where no reference was asked.
  bool own_passes() const { return own.outputs.empty() ? !own.fault : own.pass(); }
  bool pass() const { return on_cpu() || (own_passes() && !constant && !unlike_recorded()); }
  /// The largest rms error of the outputs, over the rms of the references' chain. It is not a
  /// number if nothing of the chain is compared.
  double grown() const;
};

/// A prepared graph on the device. Every tensor has a buffer of its own between guard bands, so
/// that all of them can be checked afterwards. What the device cannot hold or run is refused before
/// any launch: Unsupported with the node's name and the numbers.
class DeviceGraph {
 public:
  DeviceGraph(Runtime& runtime, const Graph& graph, GraphOptions options = {});
  void upload(const Tensors& inputs);
  /// Poisons what the nodes write, and runs them one after another. Only a node on the CPU, and one
  /// that packs its weights, waits for earlier nodes. Returns the milliseconds of each node.
  std::vector<double> run(int iteration = 0);
  Tensors download();  ///< every tensor but views
  HostTensor download(const std::string& tensor);
  /// After download: around what the node makes, or in what it reads of the graph's inputs; names
  /// the tensor and the byte.
  Reason trespass(const Graph::Node& node) const;
  std::string variant(std::size_t node) const;  ///< empty: on the CPU

 private:
  void run_on_cpu(const Graph::Node& node);

  Runtime* runtime_;
  const Graph* graph_;
  GraphOptions options_;
  std::vector<Executable> executables_;  ///< of every node; on the CPU: nothing is launched
  std::map<std::string, GuardedBuffer> buffers_;
};

/// What a run of a graph left, for the report and for files.
struct GraphRun {
  std::vector<NodeResult> nodes;    ///< in the graph's order
  Tensors reference;                ///< the references' own chain; isolated: the nodes' inputs
  Tensors second;                   ///< isolated: that of the second inputs, if there are any
  Tensors device;                   ///< inputs, and what the device made
  std::optional<PassReport> whole;  ///< chained, and no node on the CPU
  bool chained = false;
};

/// Each node gets the reference's inputs. Then once more those made from `second`: an output that
/// stays the same where the references' two are further apart than their bounds is constant.
GraphRun verify_isolated(Runtime& runtime, const Graph& graph, const Tensors& inputs,
                         const Tensors& second, const GraphOptions& options = {});
/// Each node gets what the device made before. Then the graph as a whole, in shared buffers.
GraphRun verify_chained(Runtime& runtime, const Graph& graph, const Tensors& inputs,
                        const GraphOptions& options = {});

}  // namespace clam
