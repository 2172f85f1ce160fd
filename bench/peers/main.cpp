// SPDX-License-Identifier: MIT
// main.cpp - clam-bench-peers: clam beside CLBlast and OpenBLAS, and the SSD tail beside another
// form, in turns, in one run.
#include <fmt/core.h>
#include <fnmatch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "check/workload.hpp"
#include "clam/error.hpp"
#include "clam/op.hpp"
#include "libraries.hpp"
#include "process/clean_end.hpp"
#include "report.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"
#include "tail.hpp"

namespace clam::peers {
namespace {

constexpr double kLeastFlops = 1e6;  // below, a call is its launch and nothing else
constexpr int kMostTurns = 999;

constexpr const char* kAbout =
    "Times clam beside CLBlast, and on a CPU beside OpenBLAS, in turns in one run. The results of\n"
    "every turn are checked in full. Without --workload and --problem it takes the nodes of all\n"
    "embedded workloads from 1 MFLOP on, each without bias, mask, residual and activation. It "
    "also\n"
    "takes get_valid_counts and nms, beside another form of the same and their least time.";

constexpr const char* kFooter =
    "Exit codes: 0 fine, 1 a check failed, 2 bad usage or input, 3 device or driver error,\n"
    "77 nothing could run here.";

bool matches(const std::string& pattern, const std::string& workload, const std::string& node) {
  const auto fits = [&](const std::string& name) {
    return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  };
  return pattern.empty() || fits(node) || fits(workload + "/" + node);
}

/// Returns the exit code when the program should end here (help, or a wrong command line).
std::optional<int> parse_options(int argc, char** argv, Options& options) {
  CLI::App app(kAbout, "clam-bench-peers");
  app.footer(kFooter);
  app.add_option("--workload", options.workloads, "a workload's name or file; repeatable")
      ->allow_extra_args(false)
      ->type_name("W");
  app.add_option("--problem", options.problems, "a problem line of any size; repeatable")
      ->allow_extra_args(false)
      ->type_name("LINE");
  app.add_option("--node", options.node,
                 "only nodes whose name, or WORKLOAD/NAME, fits the pattern, e.g. 'dense*'")
      ->type_name("GLOB");
  app.add_option("--device", options.device, "P:D, or part of a device's or platform's name")
      ->type_name("D");
  app.add_option("--turns", options.turns, "turns of each side; the median counts (7)")
      ->check(CLI::Range(1, kMostTurns))
      ->type_name("N");
  options.forms = CLAM_FORMS;
  app.add_option("--forms", options.forms, "the folder of scan_form.cl (" CLAM_FORMS ")")
      ->check(CLI::ExistingDirectory)
      ->type_name("DIR");
  app.add_option("--json", options.json, "also write all results to a file")->type_name("FILE");
  app.add_flag("--list", options.list, "list the rows and end; needs no device");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

/// The nodes of at least 1 MFLOP, and those of the tail, of the workloads that are asked for, or
/// else of all, and the problems of the command line. A problem that stands there twice is one row;
/// one of the tail is a row for each of its data sets.
std::vector<Row> select_rows(const Options& options) {
  std::vector<Row> rows;
  std::set<std::string> seen;
  const auto add = [&](const std::string& workload, const std::string& node,
                       const Problem& problem) {
    if (!seen.insert(problem.text()).second) return;
    std::vector<std::string> sets = tail_sets(problem);
    if (sets.empty()) sets = {"zero_mean"};
    for (const std::string& set : sets) rows.push_back({workload, node, problem, set});
  };
  const bool all = options.workloads.empty() && options.problems.empty();
  for (const std::string& name : all ? workload_names() : options.workloads) {
    const Workload workload = read_workload(name);
    for (const Workload::Node& node : workload.nodes) {
      if (!node.problem || !matches(options.node, workload.name, node.name)) continue;
      const bool small = flops_of(*node.problem) < kLeastFlops;
      if (small && tail_sets(*node.problem).empty()) continue;
      add(workload.name, node.name, bare(*node.problem));
    }
  }
  for (const std::string& line : options.problems) add("", "", bare(Problem::parse(line)));
  throw_if(rows.empty(),
           "no node of at least 1 MFLOP, nor of the tail, fits {}: --list shows those that are",
           in_quotes(options.node));
  return rows;
}

Result measure(Runtime& runtime, const Row& row, const std::optional<OpenBlas>& openblas,
               int turns) {
  Task task(runtime, row.problem, row.set);
  Sides sides;
  sides.push_back(std::make_unique<PlanSide>("clam", task));
  sides.push_back(make_clblast(task));
  if (openblas) {
    if (auto side = make_openblas(task, *openblas)) sides.push_back(std::move(side));
  }
  const std::vector<double> us = take_turns(sides, turns);
  std::vector<Yardstick> libraries = {{"clblast", clblast_routine(row.problem), us[1]}};
  if (us.size() > 2) libraries.push_back({"openblas", "", us[2]});
  return {Outcome::fine, "", task.trial.plan().variant, us[0], libraries, flops_of(row.problem)};
}

/// Empty, or why there is nothing to compare with.
Reason lacks(const Problem& problem) {
  return tail_sets(problem).empty() ? clblast_lacks(problem) : Reason();
}

/// A row that fails does not end the run, unless the queue is lost.
Result guarded_measure(Runtime& runtime, const Row& row, const std::optional<OpenBlas>& openblas,
                       int turns) {
  if (const Reason reason = lacks(row.problem)) return {Outcome::no_peer, *reason};
  try {
    if (!tail_sets(row.problem).empty()) return measure_tail(runtime, row, turns);
    return measure(runtime, row, openblas, turns);
  } catch (const Unsupported& error) {
    return {Outcome::unsupported, error.what()};
  } catch (const DeviceError& error) {
    if (runtime.tainted()) throw;
    return {Outcome::device_error, error.what()};
  } catch (const Error& error) {
    return {Outcome::check_failed, error.what()};
  }
}

int exit_code(const std::vector<Result>& results) {
  const auto any = [&](Outcome outcome) {
    return std::any_of(results.begin(), results.end(),
                       [&](const Result& result) { return result.outcome == outcome; });
  };
  if (any(Outcome::device_error)) return 3;
  if (any(Outcome::check_failed)) return 1;
  return any(Outcome::fine) ? 0 : 77;
}

int measure_rows(const Options& options, const std::vector<Row>& rows) {
  const DeviceEntry entry = select_device(options.device);
  const cl::Context context(entry.device);
  Runtime runtime(context, cl::CommandQueue(context, entry.device, CL_QUEUE_PROFILING_ENABLE),
                  RuntimeOptions::from_environment());
  runtime.set_plan_dir(options.forms);
  std::optional<OpenBlas> openblas;
  if (runtime.device().type == "cpu") openblas = OpenBlas::load();
  const std::string about = openblas ? openblas->about : "";
  print_head(runtime, options, about);
  std::vector<Result> results;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    results.push_back(guarded_measure(runtime, rows[i], openblas, options.turns));
    print_row(rows[i], i > 0 ? &rows[i - 1] : nullptr, results.back());
  }
  print_foot(rows, results);
  if (!options.json.empty()) {
    write_file(options.json, make_document(runtime, options, about, rows, results));
  }
  return exit_code(results);
}

int run(const Options& options) {
  // Wrong input is said before a device is asked for.
  const std::vector<Row> rows = select_rows(options);
  if (!options.list) {
    if (!options.json.empty()) require_writable(options.json);
    return measure_rows(options, rows);
  }
  for (const Row& row : rows) {
    const Reason reason = lacks(row.problem);
    fmt::print("{:<40} {}{}\n", row.node.empty() ? "-" : row.workload + "/" + row.node,
               row.problem.text(), reason ? "  no peer: " + *reason : "");
  }
  return 0;
}

}  // namespace
}  // namespace clam::peers

int main(int argc, char** argv) {
  clam::peers::Options options;
  if (const auto code = clam::peers::parse_options(argc, argv, options)) return *code;
  try {
    return clam::peers::run(options);
  } catch (...) {
    return clam::exit_code_of_exception([](const std::string& what) {
      std::fflush(stdout);
      fmt::print(stderr, "clam-bench-peers: {}\n", what);
    });
  }
}
