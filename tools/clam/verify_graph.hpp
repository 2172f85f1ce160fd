// SPDX-License-Identifier: MIT
// verify_graph.hpp - the graph of a workload in a `clam verify` report, one line a node.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "check/graph_run.hpp"
#include "check/peak.hpp"
#include "verify_rows.hpp"

namespace clam::cli {

/// A line of the report.
struct NodeVerdict {
  std::string node, problem;
  Status status = Status::waiting;
  std::string reason;
  const NodeResult* result = nullptr;  ///< of a node that has run
};

/// `clam verify` of the graph in the request's mode, with all that bears on it.
std::string repeat_command(const Session& session, const VerifyRequest& request);

/// The graph that the command line names, and how it went.
class GraphCheck {
 public:
  /// Nothing when the nodes are to be checked each alone: there is no graph, or a data set or a
  /// variant is named. Makes the graph's inputs. Needs no device, so whatever does not fit together
  /// is refused before one opens.
  static std::optional<GraphCheck> select(const VerifyRequest& request);

  const Graph& graph() const { return graph_; }
  const std::string& unsupported() const { return unsupported_; }
  /// After run: what it left; null when the device could not run it.
  const GraphRun* result() const { return refused_ == Status::waiting ? &run_ : nullptr; }
  /// `planned_for` null: the device itself. What it cannot run becomes the verdict of every node.
  void run(Session& session, Output& out, const DeviceInfo* planned_for);
  std::vector<NodeVerdict> nodes() const;
  void print(const Session& session, Output& out) const;
  nlohmann::json json(const Session& session) const;

 private:
  std::string details(const Session& session, const NodeVerdict& node) const;
  std::string isolated() const;
  std::string header() const;
  std::string line(const Output& out, const NodeVerdict& node) const;
  std::string percent_of_peak(const std::string& node, double ms) const;
  double growth(const std::string& node) const;
  void dump() const;

  VerifyRequest request_;
  Graph graph_;
  Oracles oracles_;
  std::string unsupported_;  ///< ImportedModel::unsupported_text
  Tensors inputs_, second_;
  GraphRun run_;
  std::optional<Peak> peak_;          ///< of the device that ran it
  Status refused_ = Status::waiting;  ///< skip or error, of all nodes
  std::string reason_;
};

}  // namespace clam::cli
