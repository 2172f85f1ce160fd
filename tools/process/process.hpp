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
  /// Where its standard error goes: with its output, to that of this process, or to errors().
  enum class Errors { with_output, own, kept };
  static constexpr std::size_t kMostLine = std::size_t{16} << 20, kMostErrors = 1 << 20;

  /// Starts words[0] with nothing to read. `environment`: "NAME=VALUE" texts on top of this
  /// process's. It dies with the thread that started it. Throws IoError when it cannot be started.
  /// It works in `folder`, or where this process does.
  Process(const std::vector<std::string>& words, const std::vector<std::string>& environment,
          Errors errors = Errors::with_output, const std::string& folder = "");
  /// Ends it, if it still runs.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// The next line, without its end, or as much of it as kMostLine; `end` when there is no more;
  /// `nothing` when none came within `patience`.
  Read read_line(std::string& line, std::chrono::milliseconds patience);
  /// The exit code, or 128 + the signal that ended it. It is given five seconds, then ended; one
  /// that does not end for five more is given up, as if it had been.
  int wait();
  void kill();
  /// Of what it has said on its standard error until now, the last kMostErrors bytes.
  std::string errors();

 private:
  bool take_line(std::string& line);
  bool await_output(std::chrono::milliseconds patience);
  void take_errors();

  pid_t child_ = -1;
  int stream_ = -1, errors_stream_ = -1;
  std::string pending_;  ///< read and not yet given out, from taken_ on; no line ends before seen_
  std::size_t taken_ = 0, seen_ = 0;
  std::string errors_;
};

}  // namespace clam
