// SPDX-License-Identifier: MIT
// measure.hpp - times rows in turns, and checks every timed buffer and every condition.
#pragma once

#include <benchmark/benchmark.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "board.hpp"
#include "conditions.hpp"
#include "rows.hpp"
#include "runtime.hpp"
#include "statistics.hpp"
#include "subject.hpp"
#include "verify.hpp"

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
  Outcome outcome = Outcome::not_run;
  std::string reason;              ///< one sentence unless fine
  std::vector<std::string> marks;  ///< "launch-bound": worth knowing, and no fault
  std::string variant;
  std::string kernel_hash;  ///< of the files that its launches come from, joined by +
  std::string data_set;
  std::int64_t launches = 0;          ///< of one iteration
  std::int64_t iterations = 0;        ///< of all passes
  double us = 0, us_min = 0, cv = 0;  ///< median, minimum, deviation/mean of the iterations
  double us_mean = 0;
  bool isolated = false;           ///< measured in processes of its own
  Interval interval;               ///< 95 % of the median, in us
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

  double gflops() const { return us > 0 ? flops / us * 1e-3 : 0; }
  double gb_per_s() const { return us > 0 ? bytes / us * 1e-3 : 0; }
  /// Of what was run: all conditions hold.
  bool valid() const { return outcome == Outcome::fine; }
  bool was_run() const { return outcome != Outcome::not_run && outcome != Outcome::skipped; }
};

/// Share of the processors that other programs may take before a CPU's row is marked.
constexpr double kMuchLoad = 0.1;
constexpr const char* kOtherLoad = "others took";

/// Adds what a second measurement of the same row says. Both are valid.
void join(Result& result, const Result& next);

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

struct MeterOptions {
  Deadline deadline;      ///< rows that have not begun by then are skipped
  double seconds = 0.5;   ///< of device time a row
  int rounds = 10;        ///< over which they are spread
  int fewest_rounds = 6;  ///< of a row that is slow for its time
  double warm_up_seconds = 0.5;
  std::uint64_t seed = 1;          ///< of the order of the rows in each round
  double launch_limit_s = 0;       ///< see launch_limit.hpp; 0: none
  std::int64_t memory_bytes = 0;   ///< that rows measured in turns may hold together; 0: a default
  const Limits* limits = nullptr;  ///< may be filled in later
  /// Measures the limits again, as other programs may have made them low: called before condition 4
  /// gives a row up.
  std::function<void()> look_again = [] {};
  ClockWatch* clock = nullptr;
  std::function<Result(const Row&)> elsewhere;  ///< measures a row in another process; or empty
  int visits = 1;                               ///< of each row there
  std::function<void(const std::string&)> progress = {};     ///< told what is being done
  std::function<std::unique_ptr<Subject>(const Row&)> make;  ///< for tests; else a plain Subject
};

/// The rows are measured in groups that fit into memory together. Each row gets its time in several
/// rounds over all rows of its group, in a new order each round, so that a slow second of the
/// machine does not hit one row alone. Google Benchmark then asks for row after row and is given
/// what was measured.
class Meter {
 public:
  /// `results` runs beside `selection.rows`.
  Meter(Runtime& runtime, const Selection& selection, std::vector<Result>& results,
        MeterOptions options);
  ~Meter();

  /// The body of a benchmark. While `choosing` it only learns that the row is wanted; until it has
  /// been choosing all rows are.
  void run(benchmark::State& state, std::size_t row);
  void set_choosing(bool choosing);
  /// Measures the row, and its group with it, once more than it was asked for so far.
  void measure(std::size_t row);

 private:
  struct Entry;
  void begin_group(std::size_t first);
  void add_to_group(std::size_t row);
  void make_ready(Entry& entry);
  void bound_flight(Entry& entry);
  void measure_group();
  void measure_elsewhere(std::size_t row);
  void visit_all();
  void visit(std::size_t row);
  void watch_clock(Result& next);
  void run_rounds(std::vector<Entry*> entries);
  void run_round(Entry& entry);
  void summarise(Entry& entry);
  void conclude(Entry& entry);
  void guard(Entry& entry, const std::function<void()>& step);
  void stop(Entry& entry, Outcome outcome, const std::string& reason);
  void fail(Entry& entry, const std::string& reason);
  void tell(const std::string& what) const;
  Entry* entry_of(std::size_t row);
  Limits limits() const;
  Claim claim_of(const Entry& entry) const;
  double share_that_must_agree(const Result& result) const;
  std::vector<std::string> marks_of(const Entry& entry) const;

  Runtime& runtime_;
  const Selection& selection_;
  std::vector<Result>& results_;
  MeterOptions options_;
  std::vector<char> wanted_, asked_;
  bool choosing_ = false;
  int most_in_flight_;  ///< of the Runtime as it came
  std::mt19937_64 order_;
  std::vector<std::unique_ptr<Entry>> group_;
  std::vector<int> given_;   ///< elsewhere: how often each row was asked for
  int passes_ = 0;           ///< and how often all were measured
  int poison_ = 0;           ///< counts timed rounds: each has its own
  std::string first_error_;  ///< of the device
};

}  // namespace clam::bench
