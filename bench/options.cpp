// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <CLI/CLI.hpp>

namespace clam::bench {
namespace {

constexpr int kMostCompared = 100;
constexpr const char* kAbout =
    "Times problems on an OpenCL device by their events, and checks every timed buffer in full.\n"
    "Without --workload and --problem it runs all embedded workloads, or with --quick a fixed "
    "set.\n"
    "Rows are measured in turns.\n"
    "A row whose time cannot be true is INVALID, with the condition that does not hold.";

constexpr const char* kFooter =
    "Every --benchmark_* flag of Google Benchmark works too, such as\n"
    "  --benchmark_filter=REGEX  --benchmark_min_time=0.1 (is --time)  --benchmark_repetitions=5\n"
    "  --benchmark_format=json   --benchmark_list_tests=true\n"
    "A filter is matched against the row's name followed by /manual_time.\n"
    "Exit codes: 0 fine, 1 a row is INVALID or (--compare) slower, 2 bad usage or input, 3 the "
    "device\n"
    "or its driver failed. 77: nothing could run here.";

bool is_google(const std::string& word) {
  const bool is_time = word.substr(0, word.find('=')) == "--benchmark_min_time";
  return (word.rfind("--benchmark_", 0) == 0 && !is_time) || word.rfind("--v=", 0) == 0;
}

void add_list(CLI::App& app, const std::string& flag, std::vector<std::string>& values,
              const std::string& about, const std::string& type) {
  app.add_option(flag, values, about)->allow_extra_args(false)->type_name(type);
}

/// What is measured, and where.
void add_rows(CLI::App& app, Options& options) {
  add_list(app, "--workload", options.workloads, "a workload's name or file; repeatable", "W");
  add_list(app, "--problem", options.problems, "a problem line; repeatable", "LINE");
  app.add_option("--device", options.device, "P:D, or part of a device's or platform's name")
      ->type_name("D");
  app.add_option("--dtype", options.dtypes,
                 "these dtypes, not those of the problem lines, e.g. f32,f16")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("T,..");
  add_list(app, "--variant", options.variants,
           "only this variant, or 'all'; VARIANT:TILE takes that tile; repeatable", "V");
  app.add_flag("--list", options.list, "list the rows and end; needs no device");
  app.add_flag("--list-devices", options.list_devices, "list the devices and end");
}

void add_measuring(CLI::App& app, Options& options) {
  app.add_flag("--quick", options.quick,
               "measure briefly; without --workload and --problem, only the problems of "
               "bench/quick.txt (about a minute)");
  app.add_option("--time,--benchmark_min_time", options.seconds,
                 "seconds of device time per row (0.5; --quick: 0.05)")
      ->transform([](const std::string& text) {
        const bool has_unit = text.size() > 1 && text.back() == 's';
        return text.substr(0, text.size() - has_unit);
      })
      ->check(CLI::PositiveNumber)
      ->take_last()
      ->type_name("S");
  app.add_option("--seed", options.seed, "seed of the order in which rows take turns (1)")
      ->type_name("N");
  app.add_flag("--pin", options.pin,
               "hold the clocks of GPU, memory and CPU at their maximum while it measures; needs "
               "write access to the clock files");
  app.add_flag("--isolate,!--no-isolate", options.isolate,
               "measure each row in two processes of its own (--quick: one); a crash or a hang "
               "affects only that row (default on a Mali)");
  app.add_option("--limit", options.limit_s, "seconds for such a process (300)")
      ->check(CLI::Range(1, 86400))
      ->type_name("S");
  app.add_option("--launch-limit", options.launch_limit_s,
                 "limit in seconds. A problem with a launch over half of it is skipped; launches "
                 "submitted together take at most half of it. Default: the driver's limit on a "
                 "Mali, else 0: no limit")
      ->check(CLI::NonNegativeNumber)
      ->type_name("S");
}

/// What becomes of the rows.
void add_results(CLI::App& app, Options& options) {
  app.add_option("--json", options.json, "also write all results to a file")->type_name("FILE");
  app.add_option(
         "--compare", options.compare,
         "say which rows of B are faster or slower than in A (files of --json); with several B, "
         "only where all agree")
      ->expected(2, kMostCompared)
      ->type_name("A B...");
  app.add_option("--record-failures", options.record_failures,
                 "write a bundle of each row that fails into this folder, as `clam record` does")
      ->type_name("DIR");
}

/// What the processes of --isolate are told.
void add_processes(CLI::App& app, Options& options) {
  app.add_option("--limits", options.limits)->group("");
  app.add_option("--only-peaks", options.only_peaks)->group("");
  app.add_option("--only-launches", options.only_launches)->group("");
}

}  // namespace

std::optional<std::string> Options::google_flag(const std::string& name) const {
  std::optional<std::string> value;
  const std::string start = "--" + name;
  for (const std::string& word : google) {
    if (word == start) value = "true";
    if (word.rfind(start + "=", 0) == 0) value = word.substr(start.size() + 1);
  }
  return value;
}

std::optional<int> parse_options(int argc, char** argv, Options& options) {
  std::vector<std::string> own;  // last word first, as CLI11 takes it
  for (int i = argc - 1; i > 0; --i) {
    const std::string word = argv[i];
    if (is_google(word)) {
      options.google.insert(options.google.begin(), word);
    } else {
      own.push_back(word);
    }
  }
  CLI::App app(kAbout, "clam-bench");
  app.footer(kFooter);
  add_rows(app, options);
  add_measuring(app, options);
  add_results(app, options);
  add_processes(app, options);
  try {
    app.parse(own);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

}  // namespace clam::bench
