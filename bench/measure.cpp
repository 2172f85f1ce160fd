// SPDX-License-Identifier: MIT
#include "measure.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "check/clock.hpp"
#include "clam/error.hpp"
#include "clam/tuned.hpp"
#include "process/other_load.hpp"

namespace clam::bench {
namespace {

constexpr std::int64_t kLargestBatch =
    8;                                 // iterations; twice as many are enqueued in turns with it
constexpr int kBatchesARound = 6;      // wished for
constexpr double kWallOverEvents = 3;  // a round ends though its events claim too little
constexpr std::size_t kClaimedLaunches = 16;  // shown of an INVALID row
constexpr double kMostMemory = double(std::int64_t{1} << 30);
/// Bytes of a row for each of its tensors: on the device once; on the host as the last image, and
/// as the expected one with its bounds in doubles.
constexpr double kHeld = 6;

void skip(const Reason& reason) {
  if (reason) throw Unsupported(*reason);
}

/// In one order for one seed: the standard's distributions differ from one library to the next.
template <typename T>
void shuffle(std::vector<T>& values, std::mt19937_64& random) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random() % i]);
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

void set_counters(benchmark::State& state, const Result& result) {
  if (result.flops > 0) state.counters["GFLOP/s"] = result.gflops();
  state.counters["GB/s"] = result.gb_per_s();
  state.counters["launches"] = double(result.launches);
  state.counters["err/bound"] = result.error_over_bound;
  state.counters["us"] = result.us.median;
  state.counters["us_min"] = result.us.min;
  state.counters["cv_iterations"] = result.us.cv;
  state.counters["pack_us"] = result.packing.us.median;
}

Claimed claimed_by(const Batch& batch) {
  const auto shown = std::min(batch.times.size(), kClaimedLaunches);
  return {{batch.times.begin(), batch.times.begin() + static_cast<std::ptrdiff_t>(shown)},
          batch.iterations * batch.launches,
          batch.wall_ns * 1e-3};
}

}  // namespace

/// A row of the group that is being measured.
struct Meter::Entry {
  Entry(std::size_t row, Result& result) : row(row), result(result) {}

  std::size_t row;
  Result& result;
  std::unique_ptr<Subject> subject;  ///< gone when the row is given up
  double once_ns = 0;                ///< wall time of one iteration
  std::int64_t batch = 1;            ///< iterations
  int in_flight = 1;                 ///< launches at most
  int rounds = 1;
  std::vector<std::vector<double>> of_round;  ///< us of the iterations
  std::size_t passed_rounds = 0;              ///< those of earlier passes
  std::vector<Span> spans;
  double host_us = 0;  ///< of this pass
  WorkFinding work;    ///< of condition 5, over all passes

  void plan_rounds(const MeterOptions& options) {
    const double wanted_ns = options.seconds * 1e9;
    const double most = double(std::max(options.rounds, options.fewest_rounds));
    const double slow = std::ceil(wanted_ns / (1.5 * once_ns));  // a round is a batch at least
    rounds = static_cast<int>(std::clamp(slow, double(options.fewest_rounds), most));
    const double fit = wanted_ns / rounds / (1.5 * kBatchesARound * once_ns);
    batch = static_cast<std::int64_t>(std::clamp(fit, 1.0, double(kLargestBatch)));
  }

  /// Batches of n and of 2n iterations by turns, for condition 5.
  std::int64_t next_batch() { return spans.size() % 2 == 0 ? batch : 2 * batch; }

  /// The rounds since the last pass.
  Pass take_pass() {
    Pass pass;
    for (; passed_rounds < of_round.size(); ++passed_rounds) {
      pass.iterations += static_cast<std::int64_t>(of_round[passed_rounds].size());
      pass.mean_us += sum(of_round[passed_rounds]);
    }
    pass.mean_us /= double(pass.iterations);
    pass.host_us = std::exchange(host_us, 0) / double(pass.iterations);
    return pass;
  }
};

Meter::Meter(Runtime& runtime, const Selection& selection, std::vector<Result>& results,
             MeterOptions options)
    : runtime_(runtime),
      selection_(selection),
      results_(results),
      options_(std::move(options)),
      wanted_(selection.rows.size(), true),
      asked_(selection.rows.size(), false),
      most_in_flight_(runtime.max_in_flight()),
      order_(options_.seed),
      given_(selection.rows.size(), 0) {
  if (!options_.make) {
    options_.make = [this](const Row& row) { return std::make_unique<Subject>(runtime_, row); };
  }
  if (options_.memory_bytes == 0) {
    options_.memory_bytes = std::min(kMostMemory, double(runtime_.device().global_mem_bytes) / 4);
  }
}

Meter::~Meter() { runtime_.bound_flight(most_in_flight_); }

Limits Meter::limits() const { return options_.limits ? *options_.limits : Limits{}; }

void Meter::stop(Entry& entry, Outcome outcome, const std::string& reason) {
  entry.result.outcome = outcome;
  entry.result.reason = reason;
  if (entry.subject && outcome == Outcome::check_failed) {
    entry.result.claimed = claimed_by(entry.subject->last());
  }
  entry.subject.reset();
}

/// One good round does not make up for a bad one: a row that fails is given up.
void Meter::guard(Entry& entry, const std::function<void()>& step) {
  try {
    require(device_is_sound(first_error_));
    step();
  } catch (const Unsupported& reason) {
    stop(entry, Outcome::skipped, reason.what());
  } catch (const CheckFailed& error) {
    stop(entry, first_error_.empty() ? Outcome::check_failed : Outcome::device_error, error.what());
  } catch (const BadArgument& error) {
    stop(entry, Outcome::bad_input, error.what());
  } catch (const cl::Error& error) {
    fail(entry, describe(error));
  } catch (const std::exception& error) {
    fail(entry, error.what());
  }
}

/// A row that cannot even be made ready, such as one whose buffers are too large, does not taint
/// those behind it.
void Meter::fail(Entry& entry, const std::string& reason) {
  const bool has_run = runtime_.tainted() || entry.subject;
  if (has_run && first_error_.empty()) {
    first_error_ = fmt::format("{}: {}", selection_.rows[entry.row].name, reason);
  }
  stop(entry, Outcome::device_error, reason);
}

void Meter::add_to_group(std::size_t row) {
  options_.progress(fmt::format("making ready: {}", selection_.rows[row].name));
  asked_[row] = true;
  given_[row] = 0;
  group_.push_back(std::make_unique<Entry>(row, results_[row]));
  Entry& entry = *group_.back();
  if (entry.result.was_run() && !entry.result.valid()) return;  // nothing makes up for that
  guard(entry, [&] {
    make_ready(entry);
    entry.once_ns = entry.subject->warm_up(options_.warm_up_seconds);
    entry.plan_rounds(options_);
  });
}

void Meter::make_ready(Entry& entry) {
  const Row& row = selection_.rows[entry.row];
  if (options_.launch_limit_s > 0) {
    const auto launches =
        runtime_.plan(row.problem, runtime_.device(), row.options()).launches.size();
    skip(too_long_at_best(row.problem, static_cast<std::int64_t>(launches), limits(),
                          options_.launch_limit_s));
    runtime_.bound_flight(1);
  }
  entry.subject = options_.make(row);
  const Subject& subject = *entry.subject;
  Result& result = entry.result;
  result.variant = subject.plan().variant;
  result.kernel_hash = kernels_hash(subject.plan(), runtime_.files());
  result.data_set = subject.data_set();
  result.launches = static_cast<std::int64_t>(subject.plan().launches.size());
  result.packing = subject.packing();
  result.flops = flops_of(row.problem);
  result.bytes = bytes_of(row.problem);
  bound_flight(entry);
}

/// One launch after the other at first, which says how long they take.
void Meter::bound_flight(Entry& entry) {
  entry.in_flight = most_in_flight_;
  if (options_.launch_limit_s > 0) {
    entry.subject->run(1);
    const std::vector<LaunchTime>& times = entry.subject->last().times;
    skip(too_long(times, options_.launch_limit_s));
    entry.in_flight = launches_in_flight(times, options_.launch_limit_s, most_in_flight_);
  }
  runtime_.bound_flight(entry.in_flight);
}

/// The row and those after it, as many as fit.
void Meter::begin_group(std::size_t first) {
  group_.clear();  // its buffers go before new ones come
  passes_ = 0;
  const Clock::time_point start = Clock::now();
  double bytes = 0;
  for (std::size_t row = first; row < selection_.rows.size(); ++row) {
    if (row != first && (!wanted_[row] || asked_[row])) continue;
    bytes += kHeld * bytes_of(selection_.rows[row].problem);
    const double most_s = options_.group_seconds;
    const bool late = most_s > 0 && seconds_since(start) > most_s;
    if (row != first && (bytes > options_.memory_bytes || late)) break;
    add_to_group(row);
  }
}

void Meter::run_round(Entry& entry) {
  Subject& subject = *entry.subject;
  runtime_.bound_flight(entry.in_flight);
  subject.run(1);  // caches and clock after another row
  subject.poison(++poison_);
  if (options_.clock) options_.clock->before();
  const double wanted_us = options_.seconds * 1e6 / entry.rounds;
  const Clock::time_point start = Clock::now();
  std::vector<double> times_us;
  do {
    const Batch batch = subject.run(entry.next_batch());
    for (const double ns : batch.iterations_ns()) times_us.push_back(ns * 1e-3);
    entry.spans.push_back(span_of(batch));
    entry.host_us += batch.host_ns * 1e-3;
  } while (sum(times_us) < wanted_us && seconds_since(start) * 1e6 < kWallOverEvents * wanted_us);
  Result& result = entry.result;
  if (options_.clock) {
    result.clock_moved = std::max(result.clock_moved, options_.clock->moved());
    result.gpu_mhz = options_.clock->last();
  }
  result.verification = subject.check(poison_);
  result.error_over_bound = std::max(result.error_over_bound, result.verification.worst_ratio());
  require(all_is_written(result.verification));
  require(result_is_right(result.verification));
  entry.of_round.push_back(std::move(times_us));
}

void Meter::run_rounds(std::vector<Entry*> entries) {
  int rounds = 0;
  for (const Entry* entry : entries) rounds = std::max(rounds, entry->rounds);
  for (int round = 0; round < rounds; ++round) {
    options_.progress(fmt::format("round {} of {}, rows: {}", round + 1, rounds, entries.size()));
    shuffle(entries, order_);
    for (Entry* entry : entries) {
      if (!entry->subject || round >= entry->rounds) continue;
      guard(*entry, [&] { run_round(*entry); });
    }
  }
}

void Meter::summarise(Entry& entry) {
  Result& result = entry.result;
  std::vector<double> all_us;
  result.rounds_us.clear();
  result.samples_us.clear();
  const std::size_t share = std::max<std::size_t>(1, kMostSamples / entry.of_round.size());
  for (const std::vector<double>& round : entry.of_round) {
    all_us.insert(all_us.end(), round.begin(), round.end());
    result.rounds_us.push_back(median(round));
    for (const double us : thin_out(round, share)) result.samples_us.push_back(us);
  }
  result.samples_us = thin_out(result.samples_us, kMostSamples);
  result.iterations = static_cast<std::int64_t>(all_us.size());
  bench::summarise(all_us, result);
  result.passes.push_back(entry.take_pass());
}

Claim Meter::claim_of(const Entry& entry) const {
  const Problem& problem = selection_.rows[entry.row].problem;
  return {entry.result.us.median, least_flops_of(problem), least_bytes_of(problem),
          problem.dtype() == Dtype::f16};
}

/// Other load explains slow batches of a device that is a CPU; then the best one decides.
double Meter::share_that_must_agree(const Result& result) const {
  constexpr double kThird = 1.0 / 3;
  const bool busy =
      runtime_.device().type == "cpu" && !(result.other_load && *result.other_load <= kMuchLoad);
  return busy ? 0 : kThird;
}

std::vector<std::string> Meter::marks_of(const Entry& entry) const {
  const Result& result = entry.result;
  std::vector<std::string> marks;
  if (const auto moved = clock_mark(result.clock_moved)) marks.push_back(*moved);
  if (entry.work.finding == Finding::too_short) marks.push_back(kTooShort);
  if (is_launch_bound(result.us.median, result.launches, limits())) marks.push_back("launch-bound");
  if (options_.limits && lacks_a_peak(claim_of(entry), limits())) {
    marks.push_back("no peak to compare with, as none is known");
  }
  if (runtime_.device().type == "cpu" && result.other_load.value_or(0) > kMuchLoad) {
    marks.push_back(
        fmt::format("{} {:.0f} % of the processors", kOtherLoad, 100 * *result.other_load));
  }
  return marks;
}

/// Condition 5, with larger batches where those of the rounds leave it open.
void Meter::settle(Entry& entry) {
  Batches batches;
  batches.smaller = entry.batch;
  batches.seconds = options_.seconds;
  batches.run = [&](std::int64_t iterations) { return span_of(entry.subject->run(iterations)); };
  batches.run_empty = [&](std::int64_t launches) {
    if (!empty_) empty_ = std::make_unique<EmptyLaunches>(runtime_);
    return empty_->run(launches);
  };
  entry.work = settle_work(entry.spans, batches, limits(), share_that_must_agree(entry.result));
}

/// What needs all rounds of a row: conditions 4 and 5, the marks and the numbers.
void Meter::conclude(Entry& entry) {
  runtime_.bound_flight(entry.in_flight);
  settle(entry);
  summarise(entry);
  if (below_the_peaks(claim_of(entry), limits())) options_.look_again();
  require(below_the_peaks(claim_of(entry), limits()));
  if (entry.work.finding == Finding::wrong) throw CheckFailed(entry.work.reason);
  entry.result.marks = marks_of(entry);
  entry.result.outcome = Outcome::fine;
}

void Meter::measure_group() {
  std::vector<Entry*> entries;
  for (const auto& entry : group_) {
    if (entry->subject) entries.push_back(entry.get());
  }
  const OtherLoad load;
  run_rounds(entries);
  const std::optional<double> share = load.share();
  for (Entry* entry : entries) {
    entry->result.other_load = share;
    if (entry->subject) guard(*entry, [&] { conclude(*entry); });
  }
  options_.progress("");
}

/// Rows take turns here too: each is visited a few times, in a new order each time.
void Meter::visit_all() {
  std::vector<std::size_t> rows, passes;
  for (std::size_t row = 0; row < selection_.rows.size(); ++row) {
    if (wanted_[row]) rows.push_back(row);
    passes.push_back(results_[row].passes.size());
  }
  for (int visit = 0; visit < options_.visits; ++visit) {
    shuffle(rows, order_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Result& result = results_[rows[i]];
      options_.progress(fmt::format("visit {} of {}, row {} of {}: {}", visit + 1, options_.visits,
                                    i + 1, rows.size(), selection_.rows[rows[i]].name));
      if (result.was_run() && !result.valid()) continue;  // nothing makes up for that
      Result next = options_.elsewhere(selection_.rows[rows[i]]);
      if (next.valid()) watch_clock(next);
      if (result.valid() && next.valid()) {
        join(result, next);
      } else {
        result = std::move(next);
      }
    }
  }
  for (const std::size_t row : rows) fold(results_[row].passes, passes[row]);
  options_.progress("");
}

/// The other process saw the clock of its own row alone; here it is held against the first row's.
void Meter::watch_clock(Result& next) {
  if (!options_.clock) return;
  const auto mark = clock_mark(options_.clock->moved_to(next.gpu_mhz));
  const bool known = std::any_of(next.marks.begin(), next.marks.end(), [](const std::string& each) {
    return each.rfind(kClockMoved, 0) == 0;
  });
  if (mark && !known) next.marks.insert(next.marks.begin(), *mark);
}

void Meter::measure(std::size_t row) {
  const auto is_row = [&](const auto& entry) { return entry->row == row; };
  const bool ready = std::any_of(group_.begin(), group_.end(), is_row);
  if (!options_.elsewhere && !ready) begin_group(row);
  if (given_[row]++ < passes_) return;
  ++passes_;
  if (options_.elsewhere) return visit_all();
  measure_group();
}

void Meter::set_choosing(bool choosing) {
  choosing_ = choosing;
  if (choosing) wanted_.assign(wanted_.size(), false);
}

void Meter::run(benchmark::State& state, std::size_t row) {
  if (choosing_) {
    wanted_[row] = true;
    state.SkipWithError("not measured yet");
    return;
  }
  measure(row);
  const Result& result = results_[row];
  if (!result.valid()) {
    state.SkipWithError(result.reason.c_str());
    return;
  }
  while (state.KeepRunningBatch(state.max_iterations)) {
    state.SetIterationTime(result.passes.back().mean_us * 1e-6 * double(state.max_iterations));
  }
  set_counters(state, result);
}

}  // namespace clam::bench
