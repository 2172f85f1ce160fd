// SPDX-License-Identifier: MIT
// main.cpp - clam-bench: times the problems of workloads by their events, and checks every timed
// buffer in full.
#include <benchmark/benchmark.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "check/clock.hpp"
#include "clam/clam.hpp"
#include "compare.hpp"
#include "document.hpp"
#include "launch_policy.hpp"
#include "machine/pinned_clocks.hpp"
#include "measure.hpp"
#include "options.hpp"
#include "process/clean_end.hpp"
#include "record_rows.hpp"
#include "reporter.hpp"
#include "rows.hpp"
#include "runtime/atomic_file.hpp"
#include "table.hpp"

namespace clam::bench {
namespace {

constexpr double kQuickSeconds = 0.05;  // of measured time a row
constexpr double kQuickWarmUp = 0.1;
constexpr int kQuickRounds = 6;
constexpr double kQuickGroup = 8;  // seconds until the first rows are measured

/// Those of the rows, and that of the empty launches that a short row is held against.
std::size_t count_programs(const Selection& selection, const Runtime& runtime) {
  std::set<std::string> programs;
  for (const Row& row : selection.rows) {
    try {
      const Plan plan = runtime.plan(row.problem, runtime.device(), row.options());
      for (const Launch* launch : launches_of(plan)) {
        programs.insert(launch->file + " " + launch->options);
      }
    } catch (const Unsupported&) {
      continue;  // nothing to build
    }
  }
  return programs.size() + 1;
}

/// Says which program is being built: to a terminal always, else at most every ten seconds.
void show_builds(Runtime& runtime, const Selection& selection) {
  constexpr auto kLong = std::chrono::seconds(10);
  const std::size_t count = count_programs(selection, runtime);
  const bool terminal = ::isatty(STDERR_FILENO);
  Clock::time_point told = Clock::now();
  runtime.programs().on_build([=](const std::string& file, int built) mutable {
    if (!terminal && Clock::now() - told < kLong) return;
    told = Clock::now();
    fmt::print(stderr, "{}building {}, program {} of {}{}", terminal ? "\r\033[K" : "", file,
               built + 1, count, terminal ? "" : "\n");
  });
}

void add_context(Runtime& runtime) {
  const DeviceInfo& device = runtime.device();
  const auto add = benchmark::AddCustomContext;
  add("clam_version", CLAM_VERSION);
  add("device", device.name);
  add("device_version", device.device_version);
  add("device_type", device.type);
  add("driver_version", device.driver_version);
  add("platform", device.platform);
  add("platform_version", device.platform_version);
  add("compute_units", std::to_string(device.compute_units));
  add("max_clock_mhz", std::to_string(device.max_clock_mhz));
  add("fp16", device.fp16 ? "yes" : "no");
  for (const std::string& file : embedded_files()) {
    const KernelSource source = runtime.files().get(file);
    add("kernel " + file, source.origin + " " + source.hash());
  }
}

/// One registered benchmark a row; `meter` is null when names are only listed.
void register_rows(const Selection& selection, Meter* meter) {
  for (std::size_t i = 0; i < selection.rows.size(); ++i) {
    benchmark::RegisterBenchmark(selection.rows[i].name.c_str(),
                                 [meter, i](benchmark::State& state) { meter->run(state, i); })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
}

void show_progress(const std::string& what) {
  fmt::print(stderr, "\r\033[K{}", what.substr(0, 78));
}

MeterOptions meter_options(const Options& options) {
  MeterOptions how;
  if (options.quick) {
    how.group_seconds = kQuickGroup;
    how.seconds = kQuickSeconds;
    how.rounds = kQuickRounds;
    how.warm_up_seconds = kQuickWarmUp;
  }
  how.seconds = options.seconds.value_or(how.seconds);
  how.seed = options.seed;
  if (::isatty(STDERR_FILENO)) how.progress = show_progress;
  return how;
}

/// The rows are measured in turns before Google Benchmark asks for any: its part is to choose among
/// them, to repeat, and to write its formats. So it need not search for a number of iterations.
bool initialise_google(const Options& options) {
  static char program[] = "clam-bench";  // Google Benchmark keeps the pointer
  std::vector<std::string> words = options.google;
  words.push_back("--benchmark_min_time=" CLAM_GOOGLE_MIN_TIME);
  std::vector<char*> argv = {program};
  for (std::string& word : words) argv.push_back(word.data());
  int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  benchmark::Initialize(&argc, argv.data());
  return !benchmark::ReportUnrecognizedArguments(argc, argv.data());
}

/// What a process of --isolate was told.
std::optional<Limits> limits_given(const Options& options) {
  if (options.limits.empty()) return std::nullopt;
  try {
    return limits_from_json(nlohmann::json::parse(options.limits));
  } catch (const nlohmann::json::exception&) {
    throw BadArgument("--limits is for clam-bench's own processes, which write it in JSON");
  }
}

/// Short rows want short peaks: a test's run, a look at one problem.
PeakOptions peak_options(const Options& options, const MeterOptions& rows) {
  constexpr double kUsual = 3, kQuick = 1, kShortest = 0.3;
  PeakOptions how;
  how.seconds = rows.seconds < kQuickSeconds ? kShortest : options.quick ? kQuick : kUsual;
  if (::isatty(STDERR_FILENO)) {
    how.progress = [](const std::string& what) {
      show_progress(what.empty() ? "" : "peaks: " + what);
    };
  }
  return how;
}

/// Lets Google Benchmark say by its own filter which rows it will ask for. Returns how many.
std::size_t choose(Meter& meter, const Options& options) {
  class Silent : public benchmark::BenchmarkReporter {
    bool ReportContext(const Context&) override { return true; }
    void ReportRuns(const std::vector<Run>&) override {}
  };
  Silent silent, file;
  meter.set_choosing(true);
  const bool out = options.google_flag("benchmark_out").has_value();
  const std::size_t chosen = benchmark::RunSpecifiedBenchmarks(&silent, out ? &file : nullptr);
  meter.set_choosing(false);
  return chosen;
}

int exit_code(const std::vector<Result>& results) {
  const auto any = [&](Outcome outcome) {
    return std::any_of(results.begin(), results.end(),
                       [&](const Result& result) { return result.outcome == outcome; });
  };
  if (any(Outcome::device_error)) return 3;
  if (any(Outcome::check_failed)) return 1;
  if (any(Outcome::bad_input)) return 2;
  return any(Outcome::fine) ? 0 : 77;
}

/// The device, with what runs on it.
struct Opened {
  explicit Opened(const std::string& device)
      : entry(select_device(device)),
        context(entry.device),
        runtime(context, cl::CommandQueue(context, entry.device, CL_QUEUE_PROFILING_ENABLE),
                RuntimeOptions::from_environment()) {}

  std::string id() const { return fmt::format("{}:{}", entry.platform, entry.index); }

  DeviceEntry entry;
  cl::Context context;
  Runtime runtime;
};

bool isolates(const Options& options, Runtime& runtime) {
  return options.isolate.value_or(may_lose_context(runtime.device()));
}

/// What measures the peaks, or some again, and keeps what is larger.
std::function<void(Peaks&)> peak_meter(const Options& options, const MeterOptions& rows,
                                       Opened& opened) {
  if (isolates(options, opened.runtime)) {
    return [&options, &opened, seconds = rows.seconds](Peaks& peaks) {
      peaks = larger_of(peaks, measure_peaks_isolated(options, seconds, opened.id()));
    };
  }
  return [&opened, how = peak_options(options, rows)](Peaks& peaks) {
    Runtime& runtime = opened.runtime;
    peaks = larger_of(peaks, peaks.rows.empty() ? measure_peaks(runtime, how)
                                                : measure_again(runtime, how, peaks));
  };
}

/// What is measured around the rows, and what their conditions take of it.
class Frame {
 public:
  /// `measure` measures the peaks, or some again and keeps what is larger. Where limits are given,
  /// nothing is measured unless a row seems to exceed them.
  Frame(Runtime& runtime, std::function<void(Peaks&)> measure, const std::optional<Limits>& given)
      : runtime_(runtime),
        measure_(std::move(measure)),
        given_(given.has_value()),
        limits_(given.value_or(Limits{})) {}

  /// Before the rows.
  void open(Table& table) {
    if (given_) return;
    for (const std::string& line : board_.unpinned()) {
      table.say(line +
                ": times may be longer than they need be; hold the clocks: tools/bench --pin");
    }
    measure_(around_.peaks);
    limits_ = limits_of(around_.peaks);
    table.peaks(around_.peaks);
    around_.before = board_.state();
  }

  /// After the last of them.
  void close(Table& table) {
    if (given_) return;
    around_.after = board_.state();
    if (runtime_.tainted()) return;
    look_again();
    table.peaks_again(around_.peaks);
  }

  void watch(MeterOptions& how) {
    how.clock = &clock_;
    how.limits = &limits_;
    how.look_again = [this] { look_again(); };
  }

  const Limits& limits() const { return limits_; }
  const Surroundings& around() const { return around_; }
  const Board& board() const { return board_; }

 private:
  void look_again() {
    measure_(around_.peaks);
    limits_ = larger_of(limits_, limits_of(around_.peaks));
  }

  Runtime& runtime_;
  std::function<void(Peaks&)> measure_;
  bool given_;
  Limits limits_;
  Surroundings around_;
  Board board_;
  ClockWatch clock_{board_};
};

/// Each row in processes of its own, under the limits that this one measures.
void isolate_rows(const Options& options, Opened& opened, const Frame& frame, MeterOptions& how) {
  how.visits = options.quick ? 1 : 2;
  how.elsewhere = [&, seconds = how.seconds / how.visits](const Row& row) {
    return measure_isolated(row, options, seconds, opened.id(), frame.limits());
  };
}

void say_order(Table& table, const MeterOptions& how) {
  table.say(how.elsewhere
                ? fmt::format("rows take turns: {} in processes of their own, in an order "
                              "shuffled by --seed {}",
                              how.visits == 1 ? "one visit" : "two visits", how.seed)
                : fmt::format("rows take turns: {} rounds, in an order shuffled by --seed {}",
                              how.rounds, how.seed));
}

/// The files of the command line.
void write_results(const Options& options, const Selection& selection,
                   const std::vector<Result>& results, const Reporter& reporter, const Frame& frame,
                   Opened& opened, Table& table) {
  if (!options.json.empty()) {
    write_file(options.json, make_document(reporter.json(), options, selection, results,
                                           frame.around(), opened.runtime));
  }
  if (!options.record_failures.empty()) {
    record_failures(options, selection, results, frame.limits(), opened.id(),
                    [&](const std::string& line) { table.say(line); });
  }
}

int measure_rows(const Options& options) {
  const CleanEnd clean_end;
  Opened opened(options.device);
  Runtime& runtime = opened.runtime;
  const Selection selection = select_rows(options, runtime.device(), runtime.tuned());
  std::vector<Result> results(selection.rows.size());
  MeterOptions how = meter_options(options);
  how.launch_limit_s = options.launch_limit_s.value_or(job_limit(runtime.device()).seconds);
  Frame frame(runtime, peak_meter(options, how, opened), limits_given(options));
  std::optional<PinnedClocks> pinned;
  if (options.pin) pinned.emplace(Machine(), frame.board().domains());
  frame.watch(how);
  if (isolates(options, runtime)) isolate_rows(options, opened, frame, how);
  Meter meter(runtime, selection, results, how);
  register_rows(selection, &meter);
  add_context(runtime);
  benchmark::AddCustomContext("seed of the order", std::to_string(how.seed));
  show_builds(runtime, selection);

  const std::string format = options.google_flag("benchmark_format").value_or("console");
  Table table(selection, results, runtime.device(), format == "console" ? stdout : stderr);
  Reporter reporter(selection, results, &table, format);
  Reporter file(selection, results, nullptr,
                options.google_flag("benchmark_out_format").value_or("json"));
  table.head(runtime.files().overrides());
  for (const std::string& note : runtime.tuned()->notes()) table.say(note);
  say_order(table, how);
  if (Clock::is_scripted()) {
    table.say("no time here is true: the OpenCL library brings a clock of its own, as for tests");
  }
  if (choose(meter, options) == 0) return 2;
  frame.open(table);
  const bool out = options.google_flag("benchmark_out").has_value();
  benchmark::RunSpecifiedBenchmarks(&reporter, out ? &file : nullptr);
  frame.close(table);
  table.foot();
  std::fflush(stdout);
  write_results(options, selection, results, reporter, frame, opened, table);
  return exit_code(results);
}

int list_devices() {
  select_device();  // throws what says how to get one
  for (const DeviceEntry& entry : clam::list_devices()) {
    fmt::print("{}:{} {}\n", entry.platform, entry.index, query_device(entry.device).name);
  }
  return 0;
}

/// What a process that measures no rows was told to.
int measure_only(const Options& options) {
  Opened opened(options.device);
  const MeterOptions rows = meter_options(options);
  if (!options.only_peaks.empty()) {
    const Peaks peaks = measure_peaks(opened.runtime, peak_options(options, rows));
    write_file(options.only_peaks, to_json(peaks).dump());
  } else {
    const auto costs = measure_launches(opened.runtime, rows.seconds);
    write_file(options.only_launches, to_json(costs).dump());
  }
  return 0;
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code none;
  return std::filesystem::equivalent(a, b, none);
}

int compare(const Options& options) {
  const std::vector<std::string>& files = options.compare;
  for (std::size_t i = 1; i < files.size(); ++i) {  // a run agrees with itself
    for (std::size_t j = 1; j < i; ++j) {
      if (!is_same_file(files[i], files[j])) continue;
      throw BadArgument(files[i] + " is compared twice: give each run once");
    }
  }
  for (const std::string& file : files) {
    if (!is_same_file(file, options.json)) continue;
    throw BadArgument(file + " is compared: let --json name another file");
  }
  if (!options.json.empty()) require_writable(options.json);
  const nlohmann::json comparison = compare_files(files);
  fmt::print("{}", comparison_text(comparison));
  std::fflush(stdout);
  if (!options.json.empty()) write_file(options.json, comparison.dump(2) + "\n");
  return comparison["regressed"] ? 1 : 0;
}

int run(const Options& options) {
  if (!options.compare.empty()) return compare(options);
  if (!options.only_peaks.empty() || !options.only_launches.empty()) return measure_only(options);
  if (options.list_devices) return list_devices();
  // Wrong input is said before a device is asked for.
  const Selection selection = select_rows(options, generic_device());
  limits_given(options);
  if (!options.json.empty()) require_writable(options.json);
  if (!options.record_failures.empty()) prepare_recording(options);
  if (options.list) {
    fmt::print("{}", to_text(selection));
    return 0;
  }
  if (!initialise_google(options)) return 2;
  if (options.google_flag("benchmark_list_tests").value_or("false") == "false") {
    return measure_rows(options);
  }
  register_rows(selection, nullptr);
  return benchmark::RunSpecifiedBenchmarks() > 0 ? 0 : 2;
}

}  // namespace
}  // namespace clam::bench

int main(int argc, char** argv) {
  clam::bench::Options options;
  if (const auto code = clam::bench::parse_options(argc, argv, options)) return *code;
  try {
    return clam::bench::run(options);
  } catch (...) {
    return clam::exit_code_of_exception([](const std::string& what) {
      std::fflush(stdout);
      fmt::print(stderr, "clam-bench: {}\n", what);
    });
  }
}
