// SPDX-License-Identifier: MIT
// command.hpp - runs a program of the build and keeps what it printed.
#pragma once

#include <string>
#include <vector>

namespace clam::test {

struct Finished {
  int code = -1;  ///< exit code; 128 + signal when it was killed
  std::string out, err;
};

/// No shell in between: words reach the program as they are. `environment`: "NAME=VALUE" texts on
/// top of this process's.
Finished run_command(const std::vector<std::string>& words,
                     const std::vector<std::string>& environment = {});

}  // namespace clam::test
