// SPDX-License-Identifier: MIT
// record_failure.hpp - what verify and bisect found wrong, as a bundle each.
#pragma once

#include <string>

#include "cli.hpp"
#include "verify_graph.hpp"

namespace clam::cli {

/// One problem that came out wrong.
struct Failure {
  std::string name;     ///< of the node, or empty: it stands alone
  std::string problem;  ///< its line
  std::string variant, tile = {};
  std::string data_set;  ///< empty: all are tried, or `inputs` are given
  Tensors inputs;        ///< what a node had; empty: those of the data set
  std::uint64_t seed = 1;
  int limit_s = 60;
  /// The plan of this device is recorded and run here; null: that of the one here.
  const DeviceInfo* planned_for = nullptr;
  std::string planned_as = {};  ///< "Mali-G610"
};

/// Writes it as a folder in `folder`, named after what it is. What cannot be is a note.
void record_failure(Cli& cli, const std::string& folder, const Failure& failure);

/// Each row, and each node of the graph on what it was given, that failed. `planned_for`: where
/// --gpu named a Mali.
void record_failures(Cli& cli, const VerifyRequest& request, const std::vector<VerifyRow>& rows,
                     const GraphCheck* graph, const DeviceInfo* planned_for);

}  // namespace clam::cli
