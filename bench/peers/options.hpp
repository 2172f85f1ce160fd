// SPDX-License-Identifier: MIT
// options.hpp - the command line of clam-bench-peers, and the problems that it names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "clam/problem.hpp"

namespace clam::peers {

struct Options {
  std::vector<std::string> workloads, problems;
  std::string node, device, json;
  std::string forms;  ///< the folder of the kernels of other forms
  int turns = 7;
  bool list = false;
};

/// Returns the exit code when the program should end here (help, or a wrong command line).
std::optional<int> parse_options(int argc, char** argv, Options& options);

struct Row {
  std::string workload, node;  ///< empty: the problem was given as a line
  Problem problem;             ///< bare()
  std::string set;             ///< the data that it is timed on
};

/// The nodes of at least 1 MFLOP, and those of the tail, of the workloads that are asked for, or
/// else of all, and the problems of the command line. A problem that stands there twice is one row;
/// one of the tail is a row for each of its data sets.
std::vector<Row> select_rows(const Options& options);

}  // namespace clam::peers
