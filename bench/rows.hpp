// SPDX-License-Identifier: MIT
// rows.hpp - which problems are timed, and under which nodes of which workloads they are shown.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "device.hpp"
#include "options.hpp"
#include "problem.hpp"
#include "workload.hpp"

namespace clam::bench {

/// Timed once, however many nodes show it.
struct Row {
  std::string name;  ///< the Problem's text, and "/variant" where that is not the default
  Problem problem;
  std::string variant;  ///< as asked for; empty: the default
};

/// A node of a workload, shown with the result of its row.
struct Line {
  std::size_t row;
  std::string node;       ///< empty for a problem of the command line
  std::size_t index = 0;  ///< of the node in its workload
};

struct Block {
  Workload workload;  ///< empty name: problems of the command line
  std::vector<Line> lines;

  const Workload::Node* node(const Line& line) const {
    return line.node.empty() ? nullptr : &workload.nodes[line.index];
  }
};

struct Selection {
  std::vector<Row> rows;
  std::vector<Block> blocks;
};

/// Throws BadArgument for an unknown workload, problem, dtype or variant.
Selection select_rows(const Options& options, const DeviceInfo& device);

/// What --list prints.
std::string to_text(const Selection& selection);

/// "conv2d 40, softmax 1": the nodes whose op is not built, by op; empty when there are none.
std::string not_yet(const Workload& workload);

}  // namespace clam::bench
