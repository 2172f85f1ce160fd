// SPDX-License-Identifier: MIT
// tune.cpp - `clam tune`: measures the ways to compute a problem on this device, and keeps the
// fastest for plans to come.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "case_child.hpp"
#include "check/clock.hpp"
#include "check/workload.hpp"
#include "clam/error.hpp"
#include "clam/planner.hpp"
#include "clam/program_cache.hpp"
#include "clam/tuned.hpp"
#include "cli.hpp"
#include "process/clean_end.hpp"
#include "record.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"
#include "tune/measuring.hpp"
#include "tune/model_rank.hpp"

namespace clam::cli {
namespace {

struct TuneRequest {
  std::vector<std::string> words;
  std::string workload, target, state, exported;
  double budget_s = 600;
  bool all = false, again = false, compare_model = false;
  tune::MeasuringOptions measuring;
};

/// What came of one problem.
struct Tuning {
  Problem problem;
  tune::Found found = {};
  std::vector<tune::RankedTime> times = {};  ///< of candidates with a prediction
  std::string why_not = {};                  ///< it cannot be tuned
};

std::vector<Problem> problems_of(const TuneRequest& request) {
  throw_if(request.words.empty() == request.workload.empty(),
           "tune what? Give a problem or --workload W, one of the two");
  if (!request.workload.empty()) return read_workload(request.workload).problems();
  std::vector<Problem> problems;
  for (const std::string& line : problem_lines(request.words)) {
    problems.push_back(Problem::parse(line));
  }
  return problems;
}

/// Hash of the kernels of all candidates: where one file changes, times of before say nothing.
std::string kernels_of(const Problem& problem, const DeviceInfo& device,
                       const std::vector<tune::Candidate>& candidates, const KernelFiles& files) {
  std::set<std::string> hashes;
  for (const tune::Candidate& each : candidates) {
    hashes.insert(kernels_hash(make_plan(problem, device, each.options()), files));
  }
  return hash_text(fmt::format("{}\n", fmt::join(hashes, "\n")));
}

std::string default_state_folder() {
  const std::string programs = ProgramCache::default_dir();
  throw_if(programs.empty(),
           "the cache is off, so the search can be kept nowhere: name a folder by --state");
  return (fs::path(programs).parent_path() / "tune").string();
}

// A row replaces one with the same key, unless nothing was measured anew.
auto key_of(const TunedRow& row) {
  return std::tie(row.problem, row.driver, row.driver_version, row.cores);
}
auto key_of(const TunedFlush& row) { return std::tie(row.driver, row.driver_version); }
auto result_of(const TunedRow& row) { return std::tie(row.us, row.kernels, row.variant, row.tile); }
auto result_of(const TunedFlush& row) { return std::tie(row.us, row.launches_a_flush); }

/// "tuned/g610.json": the table of a GPU.
std::string table_file(const std::string& gpu, const std::string& folder) {
  std::string name;
  for (const char c : gpu) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '-';
  return (fs::path(folder) / (name + ".json")).string();
}

/// Without the rows that no plan can take.
TunedTable read_table(const std::string& path) {
  if (!fs::exists(path)) return {};
  std::vector<std::string> left_out;
  try {
    return tuned_from_json(json::parse(read_file(path), nullptr, false), &left_out);
  } catch (const BadArgument& reason) {
    throw BadArgument(fmt::format("{}: {}; move it away", path, reason.what()));
  }
}

/// Puts the row into the table of its GPU, in place of one of the same problem and driver.
template <typename Row>
void keep(const Row& row, std::vector<Row> TunedTable::*list, const std::string& folder) {
  const std::string path = table_file(row.gpu, folder);
  TunedTable table = read_table(path);
  std::vector<Row>& rows = table.*list;
  const auto is_old = [&](const Row& known) { return key_of(known) == key_of(row); };
  const auto known = std::find_if(rows.begin(), rows.end(), is_old);
  // Else its share of the peak would be lost.
  if (known != rows.end() && result_of(*known) == result_of(row)) return;
  rows.erase(std::remove_if(rows.begin(), rows.end(), is_old), rows.end());
  rows.push_back(row);
  make_folder(folder);
  write_file(path, to_json(table).dump(1) + "\n");
}

std::string today() { return recording_date().substr(0, 10); }

class Tuner {
 public:
  Tuner(Cli& cli, const TuneRequest& request)
      : cli_(cli),
        request_(request),
        here_(chosen_device(cli)),
        end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(request.budget_s))) {
    request_.measuring.device = here_.id();
    make_folder(request_.target);
    make_folder(request_.state);
    if (!request_.exported.empty()) make_folder((fs::path(request_.exported) / "rows").string());
    lock_ = tune::locked((fs::path(request_.state) / "device").string());
  }

  std::string title() const { return here_.title(); }
  bool is_over() const { return Interruption::came() || Clock::now() > end_; }

  Tuning tune(const Problem& problem, const std::string& which) {
    Tuning tuning{problem};
    try {
      search(which, tuning);
    } catch (const Unsupported& reason) {
      tuning.why_not = reason.what();
    } catch (const tune::NotMeasured& reason) {
      cli_.out.note(fmt::format("{} is not exported: {}", problem.text(), reason.what()));
    }
    return tuning;
  }

  /// When the queue is flushed, for plans to come. Once for a driver, unless it is asked for again.
  json tune_launches() {
    TunedFlush row = tuned_flush(here_.facts, 0, 0);
    for (const TunedFlush& known : read_table(table_file(row.gpu, request_.target)).launches) {
      if (key_of(known) != key_of(row) || request_.again) continue;
      if (!request_.exported.empty()) keep(known, &TunedTable::launches, exported_tables());
      return nullptr;
    }
    try {
      const json costs = tune::measure_launches(request_.measuring);
      row.launches_a_flush = costs.at("launches_a_flush");
      row.us = costs.at("us");
      row.date = today();
      keep(row, &TunedTable::launches, request_.target);
      if (!request_.exported.empty()) keep(row, &TunedTable::launches, exported_tables());
      cli_.out.line(tune::launches_text(costs));
      return costs;
    } catch (const DeviceError& error) {
      cli_.out.note(fmt::format("launches were not measured: {}", error.what()));
      return nullptr;
    }
  }

 private:
  void search(const std::string& which, Tuning& tuning) {
    const Problem& problem = tuning.problem;
    const std::vector<tune::Candidate> candidates = tune::candidates(problem, here_.facts);
    const tune::StateKey key{here_.facts.name, here_.facts.driver_version,
                             kernels_of(problem, here_.facts, candidates, files_), problem.text()};
    tune::State state((fs::path(request_.state) / tune::state_file_name(key)).string(), key);
    if (!state.note().empty()) cli_.out.note(state.note());
    if (request_.again) state.measure_anew(true);
    tune::Measuring measuring(problem, here_.facts, request_.measuring);
    tune::SearchOptions options;
    options.all = request_.all;
    options.stop = [this] { return is_over(); };
    options.progress = [&](const tune::Found& found) {
      cli_.out.notice(fmt::format("{}{}: {}{}", which, problem.text(), to_text(found), left()));
    };
    tuning.found = tune::search(candidates, std::ref(measuring), state, options);
    tuning.times = tune::ranked_times(problem.text(), candidates, state.records());
    if (tuning.found.best.variant.empty()) return;
    keep(row_of(tuning, measuring), &TunedTable::rows, request_.target);
    if (request_.exported.empty()) return;
    if (is_over()) throw tune::NotMeasured("the time is over; the same command does it");
    export_row(tuning, candidates.front(), key, measuring);
  }

  TunedRow row_of(const Tuning& tuning, const tune::Measuring& measuring) const {
    const tune::Candidate& best = tuning.found.best;
    TunedRow row =
        tuned_row(make_plan(tuning.problem, here_.facts, best.options()), best.tile, files_);
    row.us = tuning.found.us;
    row.share = measuring.floor_us() / row.us;
    row.date = today();
    return row;
  }

  /// The row as it lies in the tree, and a results file with the tuned and the untuned plan.
  void export_row(const Tuning& tuning, const tune::Candidate& untuned, const tune::StateKey& key,
                  tune::Measuring& measuring) const {
    const tune::Candidate& best = tuning.found.best;
    const tune::Trial both = measuring(best, best.is(untuned) ? nullptr : &untuned);
    if (both.fate != tune::Fate::fine) throw tune::NotMeasured(both.why);
    const fs::path rows = fs::path(request_.exported) / "rows";
    write_file((rows / tune::state_file_name(key)).string(), measuring.document().dump(1) + "\n");
    keep(row_of(tuning, measuring), &TunedTable::rows, exported_tables());
  }

  std::string exported_tables() const {
    return (fs::path(request_.exported) / "kernels" / "tuned").string();
  }

  std::string left() const {
    const double s = std::chrono::duration<double>(end_ - Clock::now()).count();
    return s > 0 ? fmt::format("; {:.0f} s left", s) : "; the time is over";
  }

  Cli& cli_;
  TuneRequest request_;
  LocalDevice here_;
  KernelFiles files_ = KernelFiles::from_environment();
  Clock::time_point end_;
  std::shared_ptr<void> lock_;  ///< one search at a time: others would disturb its times
};

/// Why there is no fastest one.
std::string why_none(const Tuning& tuning) {
  const tune::Found& found = tuning.found;
  if (!tuning.why_not.empty()) return tuning.why_not;
  if (!found.stopped) {
    return found.bad > 0 ? "no candidate is right: " + found.why : "the clock moved in each run";
  }
  return "nothing was measured: " + (found.why.empty() ? "the time was over" : found.why);
}

void print(Output& out, const Tuning& tuning) {
  const tune::Found& found = tuning.found;
  if (found.best.variant.empty()) {
    out.line(fmt::format("{:>9} {:>6}  {}: {}", "-", "-", tuning.problem.text(), why_none(tuning)));
    return;
  }
  const bool has_share = found.untuned_us > 0;
  out.line(fmt::format("{:>9.1f} {:>6}  {}: {}{}{}", found.us,
                       has_share ? fmt::format("{:.2f}", found.share) : "-", tuning.problem.text(),
                       found.best.words(), found.bad > 0 ? fmt::format("; {} bad", found.bad) : "",
                       found.stopped ? "; not all were measured" : ""));
}

void to_json(json& row, const Tuning& tuning) {
  const tune::Found& found = tuning.found;
  row = {{"problem", tuning.problem.text()},
         {"measured", found.done},
         {"of", found.of},
         {"bad", found.bad},
         {"unsteady", found.unsteady},
         {"stopped", found.stopped}};
  if (found.best.variant.empty()) {
    row["why_not"] = why_none(tuning);
    return;
  }
  row.update({{"variant", found.best.variant}, {"tile", found.best.tile}, {"us", found.us}});
  if (found.untuned_us > 0) {
    row.update({{"untuned_us", found.untuned_us}, {"share_of_untuned", found.share}});
  }
}

int run_tune(Cli& cli, TuneRequest request) {
  const std::vector<Problem> problems = problems_of(request);
  const char* own = std::getenv("CLAM_TUNED_DIR");
  if (request.target.empty()) request.target = own && *own ? own : "tuned";
  if (request.state.empty()) request.state = default_state_folder();
  const Interruption interruption;
  Tuner tuner(cli, request);
  cli.out.line("device " + tuner.title());
  const json launches = tuner.tune_launches();
  cli.out.line(fmt::format("{:>9} {:>6}  {}", "us", "ratio",
                           "problem: the fastest, with its time over that of the untuned plan"));
  std::vector<Tuning> tunings;
  for (const Problem& problem : problems) {
    if (tuner.is_over() && !tunings.empty()) break;
    const std::string which = fmt::format("[{}/{}] ", tunings.size() + 1, problems.size());
    tunings.push_back(tuner.tune(problem, which));
    print(cli.out, tunings.back());
  }
  json report{{"results", tunings}};
  if (!launches.is_null()) report["launches"] = launches;
  std::vector<tune::RankedTime> times;
  int best = 0;
  for (const Tuning& tuning : tunings) {
    times.insert(times.end(), tuning.times.begin(), tuning.times.end());
    best += !tuning.found.best.variant.empty();
  }
  if (request.compare_model) {
    const tune::ModelRank rank = tune::rank_model(times);
    report["model"] = to_json(rank);
    cli.out.text(to_text(rank));
  }
  if (best > 0) {
    cli.out.line(fmt::format("{} of {} problems tuned, in {}; plans take it with CLAM_TUNED_DIR={}",
                             best, problems.size(), request.target, request.target));
  }
  cli.out.report("clam_tune", report);
  return best > 0 ? kFine : kNothingRan;
}

}  // namespace

void add_tune(CLI::App& app, Cli& cli) {
  const auto [sub, request] = add_command<TuneRequest>(
      app, cli, "tune", "find the fastest way to compute problems on this device", run_tune);
  sub->add_option("problem", request->words, "problem lines");
  sub->add_option("--workload", request->workload, "all problems of a workload: its name or file");
  sub->add_option("-o,--output", request->target,
                  "folder of the tables that plans take (default: CLAM_TUNED_DIR, else tuned)");
  sub->add_option(
         "--budget", request->budget_s,
         "time for all problems, such as 90s (default 10m); a measurement that has begun is "
         "finished")
      ->transform(
          CLI::AsNumberWithUnit(std::map<std::string, double>{{"s", 1}, {"m", 60}, {"h", 3600}},
                                CLI::AsNumberWithUnit::UNIT_OPTIONAL))
      ->check(CLI::Range(1e-3, 1e9))
      ->type_name("TIME");
  sub->add_flag("--all", request->all,
                "also measure candidates that are predicted to take over twice the best time");
  sub->add_flag(
      "--again", request->again,
      "measure again what an earlier search has measured; what crashed or was wrong stays "
      "excluded");
  sub->add_flag("--compare-model", request->compare_model,
                "say how well predictions and times agree, by op, and the five worst");
  sub->add_option("--time", request->measuring.seconds,
                  "seconds of device time per candidate (default 0.1)")
      ->check(CLI::PositiveNumber);
  sub->add_option("--limit", request->measuring.limit_s,
                  "seconds for a process that measures or verifies (default 60)")
      ->check(CLI::Range(1, 86400));
  sub->add_option("--memory", request->measuring.memory_mb,
                  "megabytes of address space for such a process (default: no limit)")
      ->check(CLI::NonNegativeNumber);
  sub->add_option(
      "--record-failures", request->measuring.record_failures,
      "write a bundle of each candidate that fails into this folder, as `clam record` does");
  sub->add_option("--export", request->exported,
                  "write what a pull request needs into this folder: kernels/tuned/GPU.json, and "
                  "rows/ with the tuned and the untuned plan timed in one run");
  sub->add_option("--state", request->state,
                  "folder that keeps what was measured (default: tune in the cache)");
}

}  // namespace clam::cli
