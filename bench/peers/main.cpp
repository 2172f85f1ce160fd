// SPDX-License-Identifier: MIT
// main.cpp - clam-bench-peers: clam beside CLBlast and OpenBLAS, and the SSD tail beside another
// form, in turns, in one run.
#include <fmt/core.h>

#include <algorithm>

#include "libraries.hpp"
#include "options.hpp"
#include "process/clean_end.hpp"
#include "report.hpp"
#include "runtime/atomic_file.hpp"
#include "tail.hpp"

namespace clam::peers {
namespace {

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
