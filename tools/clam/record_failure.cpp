// SPDX-License-Identifier: MIT
#include "record_failure.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "check/npy.hpp"
#include "clam/error.hpp"
#include "clam/kernels.hpp"
#include "clam/planner.hpp"
#include "process/scratch_folder.hpp"
#include "record.hpp"
#include "runtime/atomic_file.hpp"

namespace clam::cli {
namespace {

/// The data set of a row that failed; empty where none was seen to.
std::string failed_set(const VerifyRequest& request, const VerifyRow& row) {
  for (const Verification& each : row.sets) {
    if (!each.pass() && !is_only_blind(each)) return each.data_set;
  }
  return request.set == "all" ? "" : request.set;
}

/// A plan that is another device's goes in as a file, like that of any runtime.
void take_plan_of(const Failure& failure, const ScratchFolder& scratch, RecordRequest& wanted) {
  const Problem problem = Problem::parse(failure.problem);
  Plan plan = make_plan(problem, *failure.planned_for,
                        {failure.variant, 0, failure.tile, Tuned::from_environment()});
  plan.variant += ", planned for " + failure.planned_as;
  wanted.run.plan_file = scratch.file("plan.json");
  write_file(wanted.run.plan_file, to_json(plan).dump());
  if (failure.inputs.empty() && wanted.run.fill.empty()) {
    wanted.run.fill = proof_of(problem).data_sets.front().name;
  }
}

RecordRequest request_of(const Failure& failure, const std::string& folder,
                         const ScratchFolder& scratch) {
  RecordRequest wanted;
  wanted.run.fill = failure.data_set;
  wanted.run.seed = failure.seed;
  wanted.limit_s = failure.limit_s;
  wanted.force = true;
  for (const auto& [name, tensor] : failure.inputs) {
    const std::string file = scratch.file(name + ".npy");
    write_npy(file, tensor);
    wanted.run.in.push_back(fmt::format("{}={}", name, file));
  }
  if (failure.planned_for) {
    take_plan_of(failure, scratch, wanted);
  } else {
    wanted.run.words = {failure.problem};
    wanted.run.variant = failure.variant;
    wanted.run.tile = failure.tile;
  }
  const std::string what =
      fmt::format("{}\n{}\n{}\n{}", failure.problem, failure.variant + failure.tile,
                  failure.data_set + failure.name, failure.planned_as);
  wanted.target = fmt::format("{}/{}-{}", folder, Problem::parse(failure.problem).schema().name,
                              hash_text(what).substr(0, 12));
  return wanted;
}

}  // namespace

void record_failure(Cli& cli, const std::string& folder, const Failure& failure) {
  try {
    const ScratchFolder scratch;
    const RecordRequest wanted = request_of(failure, folder, scratch);
    const Seen seen = record(cli, wanted).seen;
    cli.out.line(fmt::format("recorded in {}: {}", wanted.target, seen.text()));
  } catch (const Error& error) {
    cli.out.note(fmt::format("{} is not recorded: {}",
                             failure.name.empty() ? failure.problem : failure.name, error.what()));
  }
}

void record_failures(Cli& cli, const VerifyRequest& request, const std::vector<VerifyRow>& rows,
                     const GraphCheck* graph, const DeviceInfo* planned_for) {
  Failure common;
  common.seed = request.seed;
  common.limit_s = request.limit_s;
  common.planned_for = planned_for;
  if (planned_for) common.planned_as = fmt::format("Mali-{}", gpu_named(request.gpu).model);
  for (const VerifyRow& row : rows) {
    if (row.status != Status::fail && row.status != Status::error) continue;
    Failure failure = common;
    failure.problem = row.text;
    failure.variant = row.variant;
    failure.tile = request.tile;
    failure.data_set = failed_set(request, row);
    record_failure(cli, request.record_failures, failure);
  }
  const GraphRun* run = graph ? graph->result() : nullptr;
  if (!run) return;
  for (const Graph::Node& node : graph->graph().nodes) {
    for (const NodeVerdict& verdict : graph->nodes()) {
      if (verdict.node != node.name || verdict.status != Status::fail) continue;
      Failure failure = common;
      failure.name = node.name;
      failure.problem = verdict.problem;
      failure.variant = verdict.result ? verdict.result->variant : "";
      failure.inputs =
          inputs_of(graph->graph(), node, run->chained ? run->device : run->reference);
      record_failure(cli, request.record_failures, failure);
    }
  }
}

}  // namespace clam::cli
