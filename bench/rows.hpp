// SPDX-License-Identifier: MIT
// rows.hpp - which problems are timed, and under which nodes of which workloads they are shown.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "check/workload.hpp"
#include "clam/device.hpp"
#include "clam/plan.hpp"
#include "clam/problem.hpp"
#include "options.hpp"

namespace clam::bench {

/// Timed once, however many nodes show it.
struct Row {
  std::string name;  ///< the Problem's text, and "/variant:tile" where that is not the default
  Problem problem;
  std::string variant;    ///< as asked for; empty: the default
  std::string tile = {};  ///< the same: words of a Tiling

  PlanOptions options() const { return {variant, 0, tile}; }
  /// As --variant takes it: "dense_packed:M0=4,N0=8".
  std::string way() const { return tile.empty() ? variant : variant + ":" + tile; }
};

/// A node of a workload, shown with the result of its row.
struct Line {
  std::size_t row;
  std::optional<std::size_t> node;  ///< of its workload; nothing for a problem of the command line
};

struct Block {
  Workload workload;  ///< empty name: problems of the command line
  std::vector<Line> lines;

  const Workload::Node* node(const Line& line) const {
    return line.node ? &workload.nodes[*line.node] : nullptr;
  }
};

struct Selection {
  std::vector<Row> rows;
  std::vector<Block> blocks;
  bool once = false;  ///< each row is one line of one table, whatever nodes it has
};

/// "softmax (in attention)": a node's name, and the node whose kernel does its work too.
std::string title(const Workload::Node& node);

/// "dense_2 x74 (lightglue-192)": the nodes that are this row, and the calls of each that has
/// several. Workloads with the same nodes share them. Empty for a problem of the command line.
std::string nodes_of(const Selection& selection, std::size_t row);

/// The rows that the command line asks for: all workloads, where it names none, or with --quick
/// those of quick.txt. Throws BadArgument for an unknown workload, problem, dtype or variant.
/// `tuned` as in PlanOptions.
Selection select_rows(const Options& options, const DeviceInfo& device,
                      std::shared_ptr<const Tuned> tuned = nullptr);

/// What --list prints.
std::string to_text(const Selection& selection);

}  // namespace clam::bench
