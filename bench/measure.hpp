// SPDX-License-Identifier: MIT
// measure.hpp - times one row and checks the buffers that were timed.
#pragma once

#include <benchmark/benchmark.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "board.hpp"
#include "rows.hpp"
#include "runtime.hpp"
#include "verify.hpp"

namespace clam::bench {

enum class Outcome { not_run, fine, skipped, check_failed, bad_input, device_error };

/// Packing of constant inputs: once for a model, so apart from the times of a row.
struct Packing {
  std::int64_t launches = 0;  ///< 0: the plan packs nothing
  std::int64_t bytes = 0;     ///< of the packed buffers
  double us = 0, us_min = 0;  ///< median and minimum of all runs of the pack launches
};

/// What is known about a row after its last timed group.
struct Result {
  Outcome outcome = Outcome::not_run;
  std::string reason;  ///< one sentence unless fine
  std::string variant;
  std::string data_set;
  std::int64_t launches = 0;          ///< of one iteration
  std::int64_t iterations = 0;        ///< of the last group
  double us = 0, us_min = 0, cv = 0;  ///< median, minimum, deviation/mean of the iterations
  double flops = 0, bytes = 0;        ///< of one iteration, nominal
  Packing packing;                    ///< in none of the times above
  double error_over_bound = 0;        ///< worst of all groups
  Verification verification;
  double clock_moved = 0;  ///< worst of all groups, see ClockWatch

  double gflops() const { return us > 0 ? flops / us * 1e-3 : 0; }
  double gb_per_s() const { return us > 0 ? bytes / us * 1e-3 : 0; }
};

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

/// Runs rows one after another on one Runtime; keeps the buffers and the reference of the last.
class Meter {
 public:
  /// Rows that start after the deadline are skipped.
  Meter(Runtime& runtime, Deadline deadline, ClockWatch& clock);
  ~Meter();

  /// The body of a benchmark: may be called several times for a row.
  void run(benchmark::State& state, const Row& row, Result& result);

 private:
  struct Subject;
  void measure(benchmark::State& state, const Row& row, Result& result);

  Runtime& runtime_;
  Deadline deadline_;
  ClockWatch& clock_;
  std::unique_ptr<Subject> subject_;
  int group_ = 0;  ///< counts timed groups: each has its own poison
};

}  // namespace clam::bench
