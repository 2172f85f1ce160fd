// SPDX-License-Identifier: MIT
// run_graph.hpp - `clam run --workload`: the graph of a workload as a whole, on a user's tensors.
#pragma once

#include "cli.hpp"
#include "run_job.hpp"

namespace clam::cli {

/// Returns an exit code. Throws BadArgument for whatever does not fit together.
int run_graph(Cli& cli, const RunRequest& request);

}  // namespace clam::cli
