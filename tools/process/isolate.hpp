// SPDX-License-Identifier: MIT
// isolate.hpp - work that may crash or hang, in a process of its own.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "clam/op.hpp"

namespace clam {

/// How a process ended.
struct Fate {
  int code = 0;       ///< exit code, or 128 + the signal that ended it
  bool hung = false;  ///< it was ended, because its time was over
  std::chrono::milliseconds limit{};
  std::string out;     ///< what it printed on standard output, the first 16 MiB of it
  std::string errors;  ///< the last MiB of its standard error, where it is kept

  /// Empty where it ended by itself; else a sentence: the signal, or how long it was waited for.
  Reason misfortune() const;
  /// The JSON object that it printed; null where it printed none.
  nlohmann::json answer() const;
};

/// The path of a program as a shell finds it; empty where there is none.
std::string find_program(const std::string& name);
/// The words of a command: "tools/with-driver llvmpipe".
std::vector<std::string> words_of_command(const std::string& command);

/// The path of the running program.
std::string own_program();
/// What starts this program again: its path, behind the words of CLAM_EMULATOR where one runs it.
std::vector<std::string> own_command();

/// Of a process: what it does not have from this one.
struct Surroundings {
  std::string folder = {};    ///< it works there; empty: where this process does
  bool keeps_errors = false;  ///< else its standard error goes where this one's goes
  std::vector<std::string> environment = {};  ///< "NAME=VALUE"
};

/// Runs words[0] until it ends, or `limit` is over. Throws IoError where it cannot be started.
Fate run_isolated(const std::vector<std::string>& words, std::chrono::milliseconds limit,
                  const Surroundings& around = {});

}  // namespace clam
