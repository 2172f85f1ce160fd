// SPDX-License-Identifier: MIT
// verify.cpp - `clam verify`: problems, and the graphs of workloads, held against their references,
// one line each.
#include "check/verify.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "clam/gpu.hpp"
#include "process/clean_end.hpp"
#include "process/isolate.hpp"
#include "process/scratch_folder.hpp"
#include "record.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"
#include "verify_graph.hpp"

namespace clam::cli {
namespace {

std::vector<std::string> words_of(const Session& session, const VerifyRequest& request,
                                  const VerifyRow& row, const std::string& file) {
  std::vector<std::string> words = child_words(session.device_id(), {"verify", row.text}, file);
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--variant", row.variant);
  add("--tile", request.tile);
  add("--set", request.set == "all" ? "" : request.set);
  add("--gpu", request.gpu);
  add("--seed", std::to_string(request.seed));
  words.push_back("--no-isolate");
  return words;
}

Verification verification_of(const json& set) {
  Verification verification;
  verification.data_set = set.at("data_set").get<std::string>();
  for (const auto& [name, verdict] : set.at("outputs").items()) {
    verification.outputs[name] = verdict_from_json(verdict);
  }
  if (!set.at("fault").is_null()) verification.fault = set.at("fault").get<std::string>();
  return verification;
}

void end(VerifyRow& row, Status status, const std::string& reason) {
  row.status = status;
  row.reason = reason;
}

/// A row as its JSON in a report says it; the inverse of row_json. Throws BadArgument.
void take_result(const json& result, VerifyRow& row) {
  try {
    row.status = status_of(result.at("status").get<std::string>());
    row.reason = result.at("reason").get<std::string>();
    row.variant = result.at("variant").get<std::string>();
    for (const json& set : result.at("sets")) {
      row.sets.push_back(verification_of(set));
    }
  } catch (const json::exception& error) {
    throw BadArgument(std::string("this is no row of a report: ") + error.what());
  }
}

/// Runs the row in another process of this program, on the session's device. A crash, or no end
/// within the request's limit, is an error of this row alone.
void run_row_isolated(const Session& session, const VerifyRequest& request, VerifyRow& row) {
  const ScratchFolder folder;
  const std::string file = folder.file("row.json");  // what a kernel prints is not in it
  const Fate fate =
      run_isolated(words_of(session, request, row, file), std::chrono::seconds(request.limit_s));
  if (const Reason misfortune = fate.misfortune()) return end(row, Status::error, *misfortune);
  try {
    take_result(json::parse(read_file(file)).at("results").at(0), row);
  } catch (const std::exception& error) {  // what went wrong there has been said on stderr
    end(row, Status::error,
        fmt::format("its process ended with {} and gave no result ({})", fate.code, error.what()));
  }
}

/// The device that is planned for: the one here or, so that its kernels can be looked at without
/// it, a Mali.
DeviceInfo planned_for(const DeviceInfo& here, const VerifyRequest& request) {
  if (request.gpu.empty()) return here;
  DeviceInfo mali = gpu_device(gpu_named(request.gpu));
  mali.fp16 = mali.fp16 && here.fp16;
  mali.native_exp2_ulp = here.native_exp2_ulp;  // it is the one here that computes
  return mali;
}

Verification verify_set(Runtime& runtime, const VerifyRequest& request, const VerifyRow& row,
                        const DataSet& set) {
  if (request.gpu.empty()) {
    return verify(runtime, row.problem, set, request.seed, {row.variant, 0, request.tile});
  }
  const DeviceInfo device = planned_for(runtime.device(), request);
  return verify(runtime, runtime.plan(row.problem, device, {row.variant, 0, request.tile}), set,
                request.seed);
}

bool isolates(Session& session, const VerifyRequest& request) {
  return request.isolate.value_or(may_lose_context(session.runtime().device()));
}

void run_row(Session& session, const VerifyRequest& request, VerifyRow& row) {
  if (isolates(session, request)) return run_row_isolated(session, request, row);
  Runtime& runtime = session.runtime();
  try {
    for (const DataSet& set : proof_of(row.problem).data_sets) {
      if (request.set != "all" && set.name != request.set) continue;
      row.sets.push_back(verify_set(runtime, request, row, set));
      row.variant = row.sets.back().variant;
    }
    conclude(row);
  } catch (const Unsupported& error) {
    end(row, Status::skip, error.what());
  } catch (const DeviceError& error) {
    end(row, Status::error, error.what());
  }
}

std::vector<Plan> plans_of(const std::vector<VerifyRow>& rows, const VerifyRequest& request,
                           const Runtime& runtime, const DeviceInfo& device) {
  std::vector<Plan> plans;
  for (const VerifyRow& row : rows) {
    const PlanOptions options{row.variant, 0, request.tile, runtime.tuned()};
    if (auto plan = try_plan(row.problem, device, options)) plans.push_back(std::move(*plan));
  }
  return plans;
}

/// How many rows ended in each way.
struct Totals {
  int passed = 0, failed = 0, skipped = 0, not_run = 0, on_cpu = 0;
  bool device_failed = false;

  Totals(const std::vector<VerifyRow>& rows, const std::optional<GraphCheck>& graph) {
    for (const VerifyRow& row : rows) add(row.status);
    if (!graph) return;
    for (const NodeVerdict& node : graph->nodes()) add(node.status);
  }
  void add(Status status) {
    passed += status == Status::pass;
    failed += is_bad(status);
    skipped += status == Status::skip;
    not_run += status == Status::waiting;
    on_cpu += status == Status::on_cpu;
    device_failed = device_failed || status == Status::error;
  }
  std::string text() const {
    return fmt::format("{} passed, {} failed, {} skipped{}{}", passed, failed, skipped,
                       not_run ? fmt::format(", {} not run", not_run) : "",
                       on_cpu ? fmt::format(", {} on the CPU", on_cpu) : "");
  }
  ExitCode code() const {
    if (device_failed) return kDeviceFailed;
    return failed ? kCheckFailed : passed ? kFine : kNothingRan;
  }
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Totals, passed, failed, skipped, not_run)

json report(Session& session, const VerifyRequest& request, const std::vector<VerifyRow>& rows,
            const std::optional<GraphCheck>& graph, const Totals& totals) {
  json report = session.json();
  if (!request.gpu.empty()) report["planned_for"] = gpu_named(request.gpu).key;
  report.update(json(totals));
  report["results"] = json::array();
  for (const VerifyRow& row : rows) report["results"].push_back(row_json(session, request, row));
  if (graph) report["graph"] = graph->json(session);
  return report;
}

void run_rows(Cli& cli, Session& session, const VerifyRequest& request,
              std::vector<VerifyRow>& rows) {
  if (rows.empty()) return;
  cli.out.text(fmt::format("{:<7} {:>8}  {:<12} {:<26} {}\n", "verdict", "of bound", "data set",
                           "variant", "problem"));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    cli.out.progress(fmt::format("[{}/{}] {}", i + 1, rows.size(), rows[i].text));
    run_row(session, request, rows[i]);
    print_row(cli.out, session, request, rows[i]);
    if (session.runtime().tainted()) break;  // nothing that follows could be trusted
  }
}

/// The data set of a row that failed; empty where none was seen to.
std::string failed_set(const VerifyRequest& request, const VerifyRow& row) {
  for (const Verification& each : row.sets) {
    if (!each.pass() && !is_only_blind(each)) return each.data_set;
  }
  return request.set == "all" ? "" : request.set;
}

/// Each row, and each node of the graph on what it was given, that failed. `planned_for`: where
/// --gpu named a Mali.
void record_failures(Cli& cli, const VerifyRequest& request, const std::vector<VerifyRow>& rows,
                     const GraphCheck* graph, const DeviceInfo* planned_for) {
  Failure common;
  common.run.seed = request.seed;
  common.limit_s = request.limit_s;
  common.planned_for = planned_for;
  if (planned_for) common.planned_as = fmt::format("Mali-{}", gpu_named(request.gpu).model);
  for (const VerifyRow& row : rows) {
    if (row.status != Status::fail && row.status != Status::error) continue;
    Failure failure = common;
    failure.run.words = {row.text};
    failure.run.variant = row.variant;
    failure.run.tile = request.tile;
    failure.run.fill = failed_set(request, row);
    record_failure(cli, request.record_failures, failure);
  }
  const GraphRun* run = graph ? graph->result() : nullptr;
  if (!run) return;
  for (const NodeVerdict& verdict : graph->nodes()) {
    if (verdict.status != Status::fail || !verdict.result) continue;  // nor all nodes together
    Failure failure = common;
    failure.name = verdict.node;
    failure.run.words = {verdict.problem};
    failure.run.variant = verdict.result->variant;
    failure.inputs = inputs_of(graph->graph(), graph->graph().node(verdict.node),
                               run->chained ? run->device : run->reference);
    record_failure(cli, request.record_failures, failure);
  }
}

/// `--set` names the data set, or with NAME=VALUE sets a parameter of the workload.
void take_sets(VerifyRequest& request) {
  for (const std::string& text : request.sets) {
    if (text.find('=') == text.npos) {
      request.set = text;
    } else {
      take_parameter(text, request);
    }
  }
  throw_if(!request.parameters.empty() && request.workload.empty(),
           "--set NAME=VALUE goes with --workload, whose parameter it sets");
}

int run_verify(Cli& cli, VerifyRequest& request) {
  take_sets(request);
  const CleanEnd clean_end;
  std::optional<GraphCheck> graph = GraphCheck::select(request);
  std::vector<VerifyRow> rows = select_rows(request, graph ? &graph->graph() : nullptr);
  if (!request.gpu.empty()) gpu_named(request.gpu);
  if (!request.record_failures.empty()) make_folder(request.record_failures);
  Session session(cli);
  const DeviceInfo device = planned_for(session.runtime().device(), request);
  const DeviceInfo* other = request.gpu.empty() ? nullptr : &device;
  rows = rows_on(device, request, rows);
  if (!isolates(session, request)) {
    session.build(plans_of(rows, request, session.runtime(), device));
  }
  if (request.all && request.dtype.empty() && !session.runtime().device().fp16) {
    cli.out.note("f16 is left out, because the device has no cl_khr_fp16");
  }
  const std::string planned =
      request.gpu.empty() ? "" : fmt::format(", plans of Mali-{}", gpu_named(request.gpu).model);
  cli.out.line(fmt::format("device {}{}", session.title(), planned));
  run_rows(cli, session, request, rows);
  if (graph && !session.runtime().tainted()) {
    graph->run(session, cli.out, other);
    graph->print(session, cli.out);
  }
  if (!request.record_failures.empty()) {
    record_failures(cli, request, rows, graph ? &*graph : nullptr, other);
  }
  const Totals totals(rows, graph);
  const std::string unsupported = graph ? graph->unsupported() : "";
  cli.out.line(totals.text() + (unsupported.empty() ? "" : "; " + unsupported));
  cli.out.report("clam_verify", report(session, request, rows, graph, totals));
  return totals.code();
}

}  // namespace

void add_verify(CLI::App& app, Cli& cli) {
  const auto [sub, request] = add_command<VerifyRequest>(
      app, cli, "verify", "compare problems with their references", run_verify);
  sub->add_option("problem", request->words, "problem lines, each in quotes");
  sub->add_flag("--all", request->all,
                "verify every case of every op, in every dtype of the device");
  add_graph_options(sub, *request);
  sub->add_option("--mode", request->mode,
                  "for a graph: isolated gives each node the reference's inputs, chained what the "
                  "device computed before");
  add_repeatable(sub, "--on-cpu", request->on_cpu, "nodes of the graph that the reference computes")
      ->delimiter(',');
  sub->add_option("--oracle", request->oracle,
                  "compare with references, or recorded: the tensors that are recorded in the "
                  "workload's folder (default: both, if there are both)");
  sub->add_option("--recorded-rms", request->recorded_share,
                  "allowed rms error against a recorded tensor, as a share of the tensor's rms "
                  "(default 1e-4; f16: 1e-2)")
      ->check(CLI::PositiveNumber);
  sub->add_option("--dump", request->dump, "write the tensors of the graph to this folder");
  sub->add_option("--variant", request->variant,
                  "variant to run, or all (default: the preferred one)");
  sub->add_option("--tile", request->tile,
                  "use this tile of the variant: M0=4,N0=8 (`clam list --tiles` prints them)");
  sub->add_option("--gpu", request->gpu,
                  "run the plan for this Mali, such as g610, on the device of this machine");
  sub->add_flag("--isolate,!--no-isolate", request->isolate,
                "run each problem in a process of its own (default on a Mali); a crash or a hang "
                "then costs one row. A graph runs in one process");
  add_limit(sub, request->limit_s, "seconds for such a process (default 300)");
}

}  // namespace clam::cli
