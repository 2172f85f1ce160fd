// SPDX-License-Identifier: MIT
// measure.hpp - times rows in turns, and checks every timed buffer and every condition.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "clam/runtime.hpp"
#include "conditions.hpp"
#include "machine/board.hpp"
#include "result.hpp"
#include "rows.hpp"
#include "stopwatch.hpp"
#include "subject.hpp"

namespace clam::bench {

struct MeterOptions {
  double seconds = 0.5;      ///< of device time a row
  double group_seconds = 0;  ///< a group takes no more rows once making it ready took this; 0: any
  int rounds = 10;           ///< over which they are spread
  int fewest_rounds = 6;     ///< of a row that is slow for its time
  double warm_up_seconds = 0.5;
  std::uint64_t seed = 1;          ///< of the order of the rows in each round
  double launch_limit_s = 0;       ///< see conditions.hpp; 0: none
  double memory_bytes = 0;         ///< that rows measured in turns may hold together; 0: a default
  const Limits* limits = nullptr;  ///< may be filled in later
  /// Measures the limits again, as other programs may have made them low: called before condition 4
  /// gives a row up.
  std::function<void()> look_again = [] {};
  ClockWatch* clock = nullptr;
  std::function<Result(const Row&)> elsewhere;  ///< measures a row in another process; or empty
  int visits = 1;                               ///< of each row there
  /// Told what is being done.
  std::function<void(const std::string&)> progress = [](const std::string&) {};
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
  void visit_all();
  void watch_clock(Result& next);
  void run_rounds(std::vector<Entry*> entries);
  void run_round(Entry& entry);
  void summarise(Entry& entry);
  void settle(Entry& entry);
  void conclude(Entry& entry);
  void guard(Entry& entry, const std::function<void()>& step);
  void stop(Entry& entry, Outcome outcome, const std::string& reason);
  void fail(Entry& entry, const std::string& reason);
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
  std::unique_ptr<EmptyLaunches> empty_;  ///< made when condition 5 first needs it
  std::vector<int> given_;                ///< how often each row was asked for
  int passes_ = 0;                        ///< how often its group was measured; elsewhere all rows
  int poison_ = 0;                        ///< counts timed rounds: each has its own
  std::string first_error_;               ///< of the device
};

}  // namespace clam::bench
