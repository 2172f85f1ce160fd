// SPDX-License-Identifier: MIT
// bisect.cpp - `clam bisect`: which node of a workload's graph makes it wrong.
#include "check/bisect.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "check/workload.hpp"
#include "clam/error.hpp"
#include "process/clean_end.hpp"
#include "record.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"
#include "verify_graph.hpp"

namespace clam {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Culprit, node, problem, variant, reason, chained, runs, wrong,
                                   distinct, also)
}  // namespace clam

namespace clam::cli {
namespace {

struct BisectRequest : VerifyRequest {
  int runs = 20;
};

/// One run of the graph, and who is guilty.
struct Search {
  GraphCheck check;
  std::optional<Culprit> culprit;
  int code = kFine;
};

GraphCheck select(const BisectRequest& request, const std::string& mode) {
  if (request.workload.empty()) throw BadArgument("bisect what? Give --workload NAME");
  throw_if(!read_workload(request.workload, request.parameters).has_graph(),
           "bisect needs a graph, but no node of {} names its tensors; `clam verify --workload` "
           "compares each node alone with its reference",
           request.workload);
  VerifyRequest graph = request;
  graph.mode = mode;
  return *GraphCheck::select(graph);
}

/// Runs the graph, reports it, and looks at its culprit.
Search search(Cli& cli, Session& session, const BisectRequest& request, const std::string& mode) {
  Search search{select(request, mode), {}, kFine};
  search.check.run(session, cli.out, nullptr);
  search.check.print(session, cli.out);
  if (const GraphRun* run = search.check.result()) {
    search.culprit = find_culprit(session.runtime(), search.check.graph(), *run, request.runs);
  }
  for (const NodeVerdict& node : search.check.nodes()) {
    if (node.status == Status::skip) search.code = kNothingRan;
    if (node.status == Status::error) search.code = kDeviceFailed;
  }
  if (search.culprit) search.code = kCheckFailed;
  return search;
}

std::string next_command(const Session& session, const BisectRequest& request,
                         const Culprit& culprit) {
  VerifyRequest graph = request;
  graph.mode = "chained";
  graph.on_cpu = culprit.also;
  graph.on_cpu.insert(graph.on_cpu.begin(), culprit.node);
  return repeat_command(session, graph);
}

void print(Output& out, const Session& session, const BisectRequest& request,
           const Culprit& culprit) {
  out.text(fmt::format("\n{} alone, on right inputs, {} times: {} wrong, {}\n", culprit.node,
                       culprit.runs, culprit.wrong, counted(culprit.distinct, "different result")));
  for (const Attempt& each : culprit.attempts) {
    const bool wrong = each.outcome == Attempt::Outcome::wrong;
    const std::string word = fmt::format("{:<8}", name(each.outcome));
    out.text(fmt::format(
        "  {} {:<26} {} {:>8}  {}\n", name(each.dtype), each.variant, wrong ? out.red(word) : word,
        each.outcome == Attempt::Outcome::refused ? "-" : fmt::format("{:.3g}", each.worst_ratio),
        each.reason.substr(0, each.reason.find('\n'))));
  }
  out.line("\n" + out.red(culprit.sentence()));
  out.line("  " + culprit.reason);
  out.line("next: " + next_command(session, request, culprit));
}

json culprit_json(const Culprit& culprit) {
  json result = culprit;
  result["deterministic"] = culprit.deterministic();
  result["sentence"] = culprit.sentence();
  result["attempts"] = json::array();
  for (const Attempt& each : culprit.attempts) {
    result["attempts"].push_back({{"dtype", name(each.dtype)},
                                  {"variant", each.variant},
                                  {"outcome", name(each.outcome)},
                                  {"worst_ratio", each.worst_ratio},
                                  {"reason", each.reason}});
  }
  return result;
}

/// Each node alone; where all are right so, as a chain.
int run_bisect(Cli& cli, BisectRequest& request) {
  for (const std::string& text : request.sets) take_parameter(text, request);
  const CleanEnd clean_end;
  select(request, "isolated");  // refuses what does not fit together before a device opens
  if (!request.record_failures.empty()) make_folder(request.record_failures);
  Session session(cli);
  cli.out.line("device " + session.title());
  Search found = search(cli, session, request, "isolated");
  if (found.code == kFine) {
    cli.out.line("\nevery node is right on the references' inputs; now as a chain");
    found = search(cli, session, request, "chained");
  }
  json report = session.json();
  report["graph"] = found.check.json(session);
  report["culprit"] = nullptr;
  if (found.culprit) {
    const Culprit& culprit = *found.culprit;
    print(cli.out, session, request, culprit);
    report["culprit"] = culprit_json(culprit);
    report["next"] = next_command(session, request, culprit);
    if (!request.record_failures.empty()) {  // on the inputs that it had
      Failure failure{culprit.node, {}, culprit.inputs};
      failure.run.words = {culprit.problem};
      failure.run.variant = culprit.variant;
      record_failure(cli, request.record_failures, failure);
    }
  } else if (found.code == kFine) {
    cli.out.line(cli.out.green("no node is wrong") + ": each is right, alone and in the chain");
  }
  cli.out.report("clam_bisect", report);
  return found.code;
}

}  // namespace

void add_bisect(CLI::App& app, Cli& cli) {
  const auto [sub, request] = add_command<BisectRequest>(
      app, cli, "bisect", "find the first wrong node of a graph", run_bisect);
  add_graph_options(sub, *request);
  sub->add_option("--runs", request->runs, "how often the wrong node is run alone (default 20)")
      ->check(CLI::Range(1, 10000));
}

}  // namespace clam::cli
