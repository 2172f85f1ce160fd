// SPDX-License-Identifier: MIT
// signalled.hpp - what a program leaves where a signal ends it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "command.hpp"
#include "test_device.hpp"

namespace clam::test {

/// Runs `command`, words for a shell, in a folder, and sends the signal once it has a temporary
/// folder; its exit code, or 99 where it never had one. What it leaves is in the folder, and in its
/// folder tmp.
inline int code_when_signalled(const TemporaryFolder& folder, const std::string& command,
                               const char* signal, const std::vector<std::string>& environment) {
  std::filesystem::create_directories(folder.file("tmp"));
  std::vector<std::string> own = environment;
  own.push_back("TMPDIR=" + folder.file("tmp"));
  // A shell has its jobs ignore SIGINT.
  const std::string script =
      "cd " + folder.path() + " && { env --default-signal=INT " + command +
      " & for i in $(seq 36000); do [ -z \"$(ls tmp)\" ] || break; sleep 0.1; kill -0 $! || break; "
      "done; [ -n \"$(ls tmp)\" ] || { kill -KILL $!; exit 99; }; sleep 0.5; kill -" +
      signal + " $!; wait $!; }";
  return run_command({"/bin/sh", "-c", script}, own).code;
}

}  // namespace clam::test
