// SPDX-License-Identifier: MIT
// main.cpp - clam-bench: times the problems of workloads by their events, and checks every timed
// buffer in full.
#include <benchmark/benchmark.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "atomic_file.hpp"
#include "clam.hpp"
#include "document.hpp"
#include "measure.hpp"
#include "options.hpp"
#include "reporter.hpp"
#include "rows.hpp"
#include "surroundings.hpp"
#include "table.hpp"

namespace clam::bench {
namespace {

constexpr double kQuickSeconds = 0.05;  // of measured time a row
constexpr auto kQuickLimit = std::chrono::seconds(45);

std::size_t count_programs(const Selection& selection, const DeviceInfo& device) {
  std::set<std::string> programs;
  for (const Row& row : selection.rows) {
    try {
      const Plan plan = make_plan(row.problem, device, {row.variant, 0});
      for (const auto* launches : {&plan.pack, &plan.launches}) {
        for (const Launch& launch : *launches) programs.insert(launch.file + " " + launch.options);
      }
    } catch (const Unsupported&) {
      continue;  // nothing to build
    }
  }
  return programs.size();
}

/// Says which program is being built: to a terminal always, else once building has taken long.
void show_builds(Runtime& runtime, const Selection& selection) {
  constexpr auto kLong = std::chrono::seconds(3);
  const auto start = std::chrono::steady_clock::now();
  const std::size_t count = count_programs(selection, runtime.device());
  const bool terminal = ::isatty(STDERR_FILENO);
  runtime.programs().on_build([=](const std::string& file, int built) {
    if (!terminal && std::chrono::steady_clock::now() - start < kLong) return;
    fmt::print(stderr, "building {}, program {} of {}\n", file, built + 1, count);
  });
}

void add_context(Runtime& runtime) {
  const DeviceInfo& device = runtime.device();
  const auto add = [](const std::string& key, const std::string& value) {
    benchmark::AddCustomContext(key, value);
  };
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
void register_rows(const Selection& selection, const Options& options, Meter* meter,
                   std::vector<Result>& results) {
  for (std::size_t i = 0; i < selection.rows.size(); ++i) {
    const Row& row = selection.rows[i];
    Result& result = results[i];
    auto* benchmark = benchmark::RegisterBenchmark(
        row.name.c_str(),
        [meter, &row, &result](benchmark::State& state) { meter->run(state, row, result); });
    benchmark->UseManualTime()->Unit(benchmark::kMicrosecond);
    if (options.quick && !options.google_flag("benchmark_min_time")) {
      benchmark->MinTime(kQuickSeconds);
    }
  }
}

bool initialise_google(const Options& options) {
  static char program[] = "clam-bench";  // Google Benchmark keeps the pointer
  std::vector<std::string> words = options.google;
  std::vector<char*> argv = {program};
  for (std::string& word : words) argv.push_back(word.data());
  int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  benchmark::Initialize(&argc, argv.data());
  return !benchmark::ReportUnrecognizedArguments(argc, argv.data());
}

/// Short rows want short peaks: a test's run, a look at one problem.
PeakOptions peak_options(const Options& options) {
  constexpr double kUsual = 3, kQuick = 1, kShortest = 0.3;
  PeakOptions how;
  how.seconds = options.quick ? kQuick : kUsual;
  const auto least = options.google_flag("benchmark_min_time");
  if (least && std::atof(least->c_str()) < kQuickSeconds) how.seconds = kShortest;
  if (::isatty(STDERR_FILENO)) {
    how.progress = [](const std::string& what) {
      fmt::print(stderr, "\r\x1b[K{}", what.empty() ? "" : "peaks: " + what);
    };
  }
  return how;
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

int measure_rows(const Options& options) {
  const DeviceEntry entry = select_device(options.device);
  const cl::Context context(entry.device);
  const cl::CommandQueue queue(context, entry.device, CL_QUEUE_PROFILING_ENABLE);
  Runtime runtime(context, queue);
  const Selection selection = select_rows(options, runtime.device());

  Deadline deadline;
  if (options.quick) deadline = std::chrono::steady_clock::now() + kQuickLimit;
  const Board board;
  Surroundings around;
  ClockWatch clock(board);
  Meter meter(runtime, deadline, clock);
  std::vector<Result> results(selection.rows.size());
  register_rows(selection, options, &meter, results);
  add_context(runtime);
  show_builds(runtime, selection);

  const std::string format = options.google_flag("benchmark_format").value_or("console");
  Table table(selection, results, runtime.device(), format == "console" ? stdout : stderr);
  Reporter reporter(selection, results, table, format);
  table.head(runtime.files().overrides());
  const bool any = !selection.rows.empty();  // else the foot says what is not built yet
  PeakOptions how = peak_options(options);
  if (any) {
    around.peaks = measure_peaks(runtime, how);
    table.peaks(around.peaks);
  }
  around.before = board.state();
  if (any && benchmark::RunSpecifiedBenchmarks(&reporter) == 0) return 2;
  around.after = board.state();
  how.seconds /= 2;
  if (any && !runtime.tainted()) {
    measure_again(runtime, how, around.peaks);
    table.peaks_again(around.peaks);
  }
  table.foot();
  std::fflush(stdout);
  if (!options.json.empty()) {
    write_file(options.json,
               make_document(reporter.json(), options, selection, results, around, runtime));
  }
  return exit_code(results);
}

int run(const Options& options) {
  // Wrong input is said before a device is asked for.
  const Selection selection = select_rows(options, generic_device());
  if (!options.json.empty()) require_writable(options.json);
  if (options.list) {
    fmt::print("{}", to_text(selection));
    return 0;
  }
  if (!initialise_google(options)) return 2;
  if (options.google_flag("benchmark_list_tests").value_or("false") == "false") {
    return measure_rows(options);
  }
  std::vector<Result> results(selection.rows.size());
  register_rows(selection, options, nullptr, results);
  return benchmark::RunSpecifiedBenchmarks() > 0 ? 0 : 2;
}

int guarded(const Options& options) {
  const auto fail = [](const std::string& what, int code) {
    std::fflush(stdout);
    fmt::print(stderr, "clam-bench: {}\n", what);
    return code;
  };
  try {
    return run(options);
  } catch (const NoDevice& error) {
    return fail(error.what(), 77);
  } catch (const DeviceError& error) {
    return fail(error.what(), 3);
  } catch (const cl::Error& error) {
    return fail(describe(error), 3);
  } catch (const std::exception& error) {
    return fail(error.what(), 2);
  }
}

}  // namespace
}  // namespace clam::bench

int main(int argc, char** argv) {
  clam::bench::Options options;
  if (const auto code = clam::bench::parse_options(argc, argv, options)) return *code;
  return clam::bench::guarded(options);
}
