// SPDX-License-Identifier: MIT
// graph_run.hpp - a graph on a device: each node alone on the references' inputs, or chained.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "device_graph.hpp"
#include "verify.hpp"

namespace clam {

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
