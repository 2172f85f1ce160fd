// SPDX-License-Identifier: MIT
// recorder.hpp - which launches are written, and how: a folder each, which `clam watch` reads
// (tools/watch/recorded.cpp).
#pragma once

#include <regex.h>

#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "launch.hpp"

namespace watch {

/// What CLAM_WATCH asks for, JSON.
struct Request {
  std::string folder, kernel;  ///< kernel: a regular expression of names
  std::int64_t launch = 0;  ///< this one alone, from 1; 0: the first of each that is distinct
  std::int64_t limit = 0;   ///< bytes in the folder
  /// The process that checks each launch and removes its folder; the program waits for that. 0:
  /// nobody.
  std::int64_t checker = 0;
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Request, folder, kernel, launch, limit, checker)

class Recorder {
 public:
  explicit Recorder(const Request& request);
  /// nullptr where CLAM_WATCH asks for nothing.
  static std::unique_ptr<Recorder> from_environment();
  /// The number of this launch, from 1, if it is one to be written; else 0. By one thread at a
  /// time.
  std::int64_t number_if_wanted(const Kernel& kernel, const Launch& launch);
  /// Calls `run`, and writes what was in memory before and after, and who called. A launch that
  /// cannot be recorded is run, and a note says why. `is_held`: the program has events that it ends
  /// itself, so that waiting for what goes before might never end.
  cl_int record(cl_command_queue queue, const Kernel& kernel, const Launch& launch,
                std::int64_t number, const nlohmann::json& callers, bool is_held,
                cl_uint wait_count, const cl_event* wait_list, const std::function<cl_int()>& run);

 private:
  /// What was in memory before goes into the folder. Throws where it cannot.
  Memory write_before(const std::string& folder, cl_command_queue queue, const Kernel& kernel,
                      const Launch& launch, const nlohmann::json& callers);
  void await_check(const std::string& folder) const;
  void note(const Kernel& kernel, const std::string& why);

  Request request_;
  regex_t kernel_{};
  std::int64_t number_ = 0;  ///< of the last launch of a kernel that is asked for
  std::set<std::string> seen_;

  std::mutex recording_;  ///< one launch after the other
  std::int64_t written_ = 0;
  std::set<std::string> noted_;
};

}  // namespace watch
