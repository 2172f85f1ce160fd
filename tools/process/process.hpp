// SPDX-License-Identifier: MIT
// process.hpp - a program run beside this one, its output read line by line.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace clam {

class Process {
 public:
  enum class Read { line, end, nothing };
  /// Where its standard error goes: with its output, or to that of this process.
  enum class Errors { with_output, own };

  /// Starts words[0] with nothing to read. `environment`: "NAME=VALUE" texts on top of this
  /// process's. It dies with the thread that started it. Throws IoError when it cannot be started.
  /// It works in `folder`, or where this process does. `errors_file`: gets its standard error.
  Process(const std::vector<std::string>& words, const std::vector<std::string>& environment,
          Errors errors = Errors::with_output, const std::string& folder = "",
          const std::string& errors_file = "");
  /// Ends it, if it still runs.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// The next line, without its end; `end` when there is no more; `nothing` when none came within
  /// `patience`.
  Read read_line(std::string& line, std::chrono::milliseconds patience);
  /// The exit code, or 128 + the signal that ended it. It is given five seconds, then ended; one
  /// that does not end for five more is given up, as if it had been.
  int wait();
  void kill();

 private:
  bool take_line(std::string& line);

  pid_t child_ = -1;
  int stream_ = -1;
  std::string pending_;  ///< read and not yet given out, from taken_ on
  std::size_t taken_ = 0;
};

}  // namespace clam
