// SPDX-License-Identifier: MIT
// cli.hpp - what the subcommands share: global options, and one function each to register.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "clam/gpu.hpp"
#include "clam/plan.hpp"
#include "clam/problem.hpp"
#include "output.hpp"

namespace clam::cli {

namespace fs = std::filesystem;
using Role = TensorSpec::Role;

enum ExitCode { kFine = 0, kCheckFailed = 1, kBadUsage = 2, kDeviceFailed = 3, kNothingRan = 77 };

/// The exit code of a command that did several things, of those of each: it is bad as the worst,
/// and fine where one ran.
inline int code_of_all(int code, int of_one) {
  return code == kNothingRan || (of_one != kNothingRan && of_one > code) ? of_one : code;
}

struct Cli {
  Output out;
  std::string device;            ///< --device: "P:D", part of a name, or empty
  std::function<int()> command;  ///< set by the subcommand that the command line names
};

/// Adds a subcommand.
using AddCommand = void(CLI::App& app, Cli& cli);
AddCommand add_info, add_doctor, add_list, add_plan, add_lift, add_manifest, add_verify, add_run,
    add_mali, add_diagnose, add_bisect, add_probe, add_report, add_record, add_replay, add_shrink,
    add_watch, add_judge, add_tune, add_cache;

/// The subcommand, and the request that its options fill: `run` gets it, once the command line is
/// read.
template <typename Request, typename Run>
std::pair<CLI::App*, Request*> add_command(CLI::App& app, Cli& cli, const char* name,
                                           const char* about, Run run) {
  CLI::App* sub = app.add_subcommand(name, about);
  const auto request = std::make_shared<Request>();
  sub->callback(
      [&cli, request, run] { cli.command = [&cli, request, run] { return run(cli, *request); }; });
  return {sub, request.get()};
}

/// An option that may be given many times, with one value each time.
inline CLI::Option* add_repeatable(CLI::App* sub, const char* name,
                                   std::vector<std::string>& values, const char* about) {
  return sub->add_option(name, values, about)->allow_extra_args(false);
}

/// --limit, in seconds.
inline void add_limit(CLI::App* sub, int& seconds, const char* about) {
  sub->add_option("--limit", seconds, about)->check(CLI::Range(1, 86400));
}
/// --seed, of data.
inline void add_seed(CLI::App* sub, std::uint64_t& seed) {
  sub->add_option("--seed", seed, "seed of the data (default 1)")->check(CLI::NonNegativeNumber);
}

/// Problem lines from command-line words. A line may come whole, in quotes, or as words of its own:
/// a word that is no op's name belongs to the line before it.
std::vector<std::string> problem_lines(const std::vector<std::string>& words);
/// The same, for commands that take one problem. Throws BadArgument unless there is exactly one.
std::string one_problem_line(const std::vector<std::string>& words);
/// Whether one of the words is dtype=, after any white space.
bool names_dtype(const std::string& line);
/// The problem of a line, in `dtype` whatever the line says; as it says where `dtype` is empty.
Problem parse_as(const std::string& line, const std::string& dtype);
/// Where built programs are kept, how many and how large; in one line, and for --json.
std::string cache_text();
nlohmann::json cache_json();
/// What is planned: a problem, and the device by --gpu or --generic, else the one here.
struct PlanRequest {
  std::vector<std::string> words;
  PlanOptions options;
  std::optional<std::string> gpu;
  bool generic = false;
};
/// Without any device, a generic one.
DeviceInfo planned_for(Cli& cli, const PlanRequest& request);
void add_plan_options(CLI::App* sub, PlanRequest& request);
/// Throws BadArgument and Unsupported. `why`: gets the reasons.
Plan make_plan(Cli& cli, const PlanRequest& request, std::string* why = nullptr);
/// Nothing where no variant fits; why, whoever runs the problem is told.
std::optional<Plan> try_plan(const Problem& problem, const DeviceInfo& device,
                             const PlanOptions& options);
/// As find_gpu, with the nearest key for a misspelt one.
const Gpu& gpu_named(const std::string& key);

}  // namespace clam::cli
