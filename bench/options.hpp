// SPDX-License-Identifier: MIT
// options.hpp - the command line of clam-bench.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace clam::bench {

struct Options {
  std::vector<std::string> workloads, problems, dtypes, variants;
  std::vector<std::string> compare;  ///< two files of --json or more, or none
  std::string device, json;
  std::optional<double> seconds;  ///< of measured time a row
  std::uint64_t seed = 1;
  std::string only_peaks;  ///< the file where a process that measures them leaves the peaks
  std::string only_launches;  ///< the same of what a launch costs
  bool quick = false, pin = false, list = false, list_devices = false;
  std::optional<bool> isolate;  ///< each row in a process of its own; unset: as the device is
  int limit_s = 300;            ///< of such a process
  std::optional<double> launch_limit_s;  ///< see conditions.hpp; unset: as the device is
  std::string record_failures;      ///< folder for a bundle of each row that fails; empty: none
  std::string limits;               ///< given to such a process, in JSON: what it need not measure
  std::vector<std::string> google;  ///< --benchmark_* and --v, as given

  /// The value of a Google Benchmark flag given as --NAME=VALUE; nothing when absent.
  std::optional<std::string> google_flag(const std::string& name) const;
};

/// Returns the exit code when the program should end here (help, or a wrong command line).
std::optional<int> parse_options(int argc, char** argv, Options& options);

}  // namespace clam::bench
