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
  bool once = false, changed = false;  ///< once_plans, leave_out_unchanged

  /// Some kernels are not compiled. Their lines stay as they are.
  bool has_gaps() const { return once || changed; }
};

/// Throws BadArgument for a file that is not there, unless it is to be written, or cannot be read.
mali::Expectations read_expectations(const GateRequest& request);
/// Fills the reports' judgements, prints what is not as expected and the line "N passed, N failed,
/// N skipped"; gives the exit code. `pattern`: of the kernels in the reports; empty: all.
int judge(Cli& cli, const GateRequest& request, const std::string& pattern,
          mali::Expectations expectations, std::vector<MaliReport>& reports);

}  // namespace clam::cli
