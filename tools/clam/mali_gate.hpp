// SPDX-License-Identifier: MIT
// mali_gate.hpp - `clam mali --gate` and `--accept`: kernels held against a file of expectations.
#pragma once

#include <string>
#include <vector>

#include "cli.hpp"
#include "mali_report.hpp"

namespace clam::cli {

struct GateRequest {
  std::string expectations = "tests/mali/mali_expectations.txt";  ///< path of the file
  bool accept = false;  ///< write what the kernels are now, then judge
  std::string pattern;  ///< the kernels that the reports are limited to; empty: all
  bool has_gaps = false;  ///< the reports lack some of them, whose lines stay as they are
};

/// Throws BadArgument for a file that is not there, unless it is to be written, or cannot be read.
mali::Expectations read_expectations(const GateRequest& request);
/// Fills the reports' judgements, prints what is not as expected and the line "N passed, N failed,
/// N skipped"; gives the exit code.
int judge(Cli& cli, const GateRequest& request, mali::Expectations expectations,
          std::vector<MaliReport>& reports);

}  // namespace clam::cli
