// SPDX-License-Identifier: MIT
// measuring.hpp - a candidate verified and timed, by clam and clam-bench in processes of their own.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "search.hpp"

namespace clam::tune {

struct MeasuringOptions {
  std::string device;           ///< "P:D"
  int limit_s = 60;             ///< of a process
  std::int64_t memory_mb = 0;   ///< of a process's address space; 0: no limit
  double seconds = 0.1;         ///< of device time a row
  std::string record_failures;  ///< folder for a bundle of each candidate that fails; empty: none
};

/// What a launch costs by when the queue is flushed, in the form of bench/launch_policy.hpp: of a
/// process of its own. Throws DeviceError where nothing came of it.
nlohmann::json measure_launches(const MeasuringOptions& options);
/// Of that: "us a launch, when the queue is flushed after so many: 1: 2.48, ..., taken: 8"
std::string launches_text(const nlohmann::json& costs);

/// Measures candidates of one problem. A crash, a hang or an error is the fate of the candidate.
class Measuring {
 public:
  Measuring(Problem problem, DeviceInfo device, MeasuringOptions options);

  /// The problem and its edges are verified on every data set, which a wrong one does not survive.
  /// Then it is timed beside its rival, in turns, in one process of clam-bench.
  Trial operator()(const Candidate& candidate, const Candidate* rival);

  /// What the last run of clam-bench wrote, both rows of it.
  const nlohmann::json& document() const { return document_; }
  /// The least time that the device's measured peaks allow; 0: not known.
  double floor_us() const { return floor_us_; }

 private:
  Trial verify(const Candidate& candidate) const;
  Trial time(const Candidate& candidate, const Candidate* rival);
  void measure_limits();
  std::vector<std::string> bench_words() const;

  Problem problem_;
  DeviceInfo device_;
  MeasuringOptions options_;
  nlohmann::json document_, limits_;
  double floor_us_ = 0;
};

}  // namespace clam::tune
