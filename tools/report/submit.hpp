// SPDX-License-Identifier: MIT
// submit.hpp - a results file that may be given to strangers.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace clam {

struct Submission {
  nlohmann::json document;  ///< a results file, which every command reads
  std::vector<std::string>
      left_out;  ///< "context.host_name"; places of a list as one: "rows[].reason"
};

/// Keeps what clam knows the meaning of: device, driver, clocks, peaks, rows and hashes of kernels.
/// A number is kept under its known key alone, and a text only if it can be nothing else than what
/// stands there as a rule. So no name, serial number, home or address is kept, whatever wrote it
/// there. Throws BadArgument for what is no results file.
Submission without_identity(const nlohmann::json& document);

}  // namespace clam
