// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <fmt/core.h>
#include <fnmatch.h>

#include <CLI/CLI.hpp>
#include <set>

#include "check/workload.hpp"
#include "clam/error.hpp"
#include "clam/op.hpp"
#include "libraries.hpp"
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

}  // namespace

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
  if (rows.empty()) {
    throw BadArgument(fmt::format(
        "no node of at least 1 MFLOP, nor of the tail, fits {}: --list shows those that are",
        in_quotes(options.node)));
  }
  return rows;
}

}  // namespace clam::peers
