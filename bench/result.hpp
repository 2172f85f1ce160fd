// SPDX-License-Identifier: MIT
// result.hpp - what is known about a row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "check/verify.hpp"
#include "clam/runtime.hpp"
#include "statistics.hpp"
#include "subject.hpp"

namespace clam::bench {

enum class Outcome { not_run, fine, skipped, check_failed, bad_input, device_error };
/// "fine", "check failed", ...
const char* name(Outcome outcome);
/// The inverse. Throws BadArgument.
Outcome parse_outcome(const std::string& text);

/// One repetition of Google Benchmark.
struct Pass {
  std::int64_t iterations = 0;
  double mean_us = 0, host_us = 0;  ///< of one iteration
};

/// What the driver's events say of a row that is INVALID: to be looked at, not to be believed.
struct Claimed {
  std::vector<LaunchTime> times;  ///< of the last batch's first launches
  std::int64_t launches = 0;      ///< of that batch
  double wall_us = 0;             ///< that the host waited for it
};

/// What is known about a row after its last pass.
struct Result {
  /// Of the iterations, in us.
  struct Times {
    double median = 0, mean = 0, min = 0;
    double cv = 0;             ///< deviation / mean
    double low = 0, high = 0;  ///< 95 % interval of the median
  };

  Outcome outcome = Outcome::not_run;
  std::string reason;              ///< one sentence unless fine
  std::vector<std::string> marks;  ///< "launch-bound": worth knowing, and no fault
  std::string variant;
  std::string kernel_hash;  ///< of the files that its launches come from, joined by +
  std::string data_set;
  std::int64_t launches = 0;    ///< of one iteration
  std::int64_t iterations = 0;  ///< of all passes
  Times us;
  bool isolated = false;           ///< measured in processes of its own
  std::vector<double> samples_us;  ///< of iterations, evenly over all rounds, in their order
  std::vector<double> rounds_us;   ///< the median of each round
  std::vector<Pass> passes;
  double flops = 0, bytes = 0;       ///< of one iteration, nominal
  Claimed claimed;                   ///< of an INVALID row
  Packing packing;                   ///< in none of the times above
  std::optional<double> other_load;  ///< 0..1 of the processors, while the row's group was measured
  double error_over_bound = 0;       ///< worst of all rounds
  Verification verification;
  double clock_moved = 0;         ///< worst of all rounds, see ClockWatch
  std::optional<double> gpu_mhz;  ///< after the last round

  double gflops() const { return us.median > 0 ? flops / us.median * 1e-3 : 0; }
  double gb_per_s() const { return us.median > 0 ? bytes / us.median * 1e-3 : 0; }
  /// Of what was run: all conditions hold.
  bool valid() const { return outcome == Outcome::fine; }
  bool was_run() const { return outcome != Outcome::not_run && outcome != Outcome::skipped; }
};

/// Share of the processors that other programs may take before a CPU's row is marked.
constexpr double kMuchLoad = 0.1;
constexpr const char* kOtherLoad = "others took";

/// The mark of a row that condition 5 cannot tell from launches and waits, as noisy as these were;
/// its batches were made as large as the time of a row allows.
constexpr const char* kTooShort = "too short to judge";

constexpr std::size_t kMostSamples = 200;  ///< kept of a row

/// The numbers of a row from all its iterations, of which `samples_us` and `rounds_us` are there.
void summarise(const std::vector<double>& all_us, Result& result);
/// Adds what a second measurement of the same row says. Both are valid.
void join(Result& result, const Result& next);
/// The passes from `first` on become one.
void fold(std::vector<Pass>& passes, std::size_t first);

}  // namespace clam::bench
