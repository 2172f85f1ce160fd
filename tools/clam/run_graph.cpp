// SPDX-License-Identifier: MIT
// run_graph.cpp - `clam run --workload`: the graph of a workload as a whole.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "check/graph_pass.hpp"
#include "check/graph_run.hpp"
#include "check/npy.hpp"
#include "clam/error.hpp"
#include "run_job.hpp"
#include "runtime/atomic_file.hpp"
#include "session.hpp"

namespace clam::cli {
namespace {

/// A graph, its inputs, and which outputs go into files.
struct Job {
  Workload workload;
  Graph graph;
  Tensors inputs;
  std::map<std::string, std::string> out_files;
  std::vector<std::string> assumed;
  bool as_recorded = true;  ///< every input is what the recorded tensors were made from
};

void refuse_options(const RunRequest& request) {
  const std::pair<const char*, bool> options[] = {
      {"a problem", !request.words.empty()},   {"--plan", !request.plan_file.empty()},
      {"--variant", !request.variant.empty()}, {"--tile", !request.tile.empty()},
      {"--fill", !request.fill.empty()},       {"--svg", !request.svg.empty()},
      {"--picture", !request.picture.empty()}, {"--check", request.check}};
  for (const auto& [option, given] : options) {
    if (!given) continue;
    throw BadArgument(fmt::format(
        "{} does not go with --workload; `clam verify --workload` checks its nodes", option));
  }
}

/// Tensors of the graph as files name them; numbers of a float dtype are given as f32.
std::vector<TensorSpec> specs_of(const Graph& graph, const std::vector<std::string>& names,
                                 Role role) {
  std::vector<TensorSpec> specs;
  for (const std::string& name : names) {
    const Graph::Tensor& tensor = graph.tensors.at(name);
    const Dtype dtype = tensor.dtype == Dtype::f16 ? Dtype::f32 : tensor.dtype;
    specs.push_back({name, role, dtype, tensor.shape, {}, 0});
  }
  return specs;
}

/// Of a model that was imported its own; else every tensor that no node makes.
std::vector<std::string> input_names(const Job& job) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : job.graph.tensors) {
    const std::vector<std::string>& own = job.workload.model.inputs;
    const bool known = own.empty() || std::find(own.begin(), own.end(), name) != own.end();
    if (tensor.is_input() && known) names.push_back(name);
  }
  return names;
}

HostTensor converted(const HostTensor& from, Dtype dtype) {
  HostTensor to(dtype, from.shape());
  for (std::int64_t i = 0; i < to.size(); ++i) to.set(i, from.get(i));
  return to;
}

/// What stands in for a node that is not supported was made from other inputs.
void refuse_stale(const Job& job) {
  if (job.workload.model.unsupported() == 0) return;
  throw BadArgument(fmt::format("--in: {}, and they are those of the recorded input alone",
                                job.workload.model.unsupported_text()));
}

Job make_graph_job(const RunRequest& request) {
  refuse_options(request);
  if (!request.dtype.empty()) parse_dtype(request.dtype);
  Job job;
  job.workload = read_workload(request.workload);
  if (!job.workload.has_graph()) {
    throw BadArgument(fmt::format("no node of {} names its tensors, so there is no graph to run",
                                  request.workload));
  }
  job.graph = make_graph(job.workload, request.dtype);
  const std::vector<TensorSpec> inputs = specs_of(job.graph, input_names(job), Role::input);
  const auto files = files_by_tensor("--in", request.in, inputs, Role::input);
  job.out_files = files_by_tensor(
      "--out", request.out, specs_of(job.graph, job.graph.outputs, Role::output), Role::output);
  if (!files.empty()) refuse_stale(job);
  job.as_recorded = files.empty();
  Tensors given;
  for (const TensorSpec& spec : inputs) {
    const auto file = files.find(spec.name);
    if (file == files.end()) continue;
    given[spec.name] = converted(read_tensor(spec, file->second, job.assumed),
                                 job.graph.tensors.at(spec.name).dtype);
  }
  job.inputs = graph_inputs(job.graph, request.seed, "", given);
  return job;
}

/// A run of the whole.
struct Result {
  Tensors outputs;
  GraphPass::Time time;
  std::int64_t launches = 0;
  std::map<std::string, Verdict> recorded;  ///< outputs beside what is recorded for them

  bool good() const {
    return std::all_of(recorded.begin(), recorded.end(),
                       [](const auto& each) { return each.second.pass; });
  }
};

Result execute(Session& session, const Job& job) {
  GraphPass pass(session.runtime(), job.graph);
  pass.upload(job.inputs);
  pass.poison();
  Result result;
  result.time = pass.run();
  result.launches = pass.launches();
  result.outputs = pass.outputs();
  for (const auto& [name, values] : result.outputs) {
    const Graph::Tensor& tensor = job.graph.tensors.at(name);
    if (!job.as_recorded || !tensor.recorded.exists()) continue;
    const Dtype dtype = tensor.dtype == Dtype::i32 ? Dtype::i32 : Dtype::f32;
    result.recorded[name] = compare_recorded(values, load(tensor.recorded, dtype, tensor.shape),
                                             Oracles{}.share(tensor.dtype));
  }
  return result;
}

void print(Output& out, const Session& session, const Job& job, const Result& result) {
  out.text(fmt::format(
      "device {}\n{}\n{} launches, {:.3f} ms by events, {:.3f} ms until the host "
      "knows, once, not warmed up\n",
      session.title(), job.workload.title, result.launches, result.time.ms, result.time.wall_ms));
  for (const auto& [name, values] : result.outputs) {
    out.text(output_text(name, values, 0, job.out_files));
    const auto verdict = result.recorded.find(name);
    if (verdict == result.recorded.end()) continue;
    const std::string text = "  beside what is recorded: " + to_text(verdict->second);
    out.text(verdict->second.pass ? out.green(text) : out.red(text));
  }
  const std::string unsupported = job.workload.model.unsupported_text();
  if (!unsupported.empty()) out.text(unsupported + "\n");
}

json report(Session& session, const Job& job, const Result& result) {
  json report = session.json();
  report["workload"] = job.workload.name;
  report["assumed"] = job.assumed;
  report["launches"] = result.launches;
  report["ms"] = result.time.ms;
  report["wall_ms"] = result.time.wall_ms;
  report["unsupported"] = job.workload.model.unsupported_text();
  report["outputs"] = json::array();
  for (const auto& [name, values] : result.outputs) {
    report["outputs"].push_back({{"name", name},
                                 {"dtype", clam::name(values.dtype())},
                                 {"shape", values.shape()},
                                 {"summary", Summary(values, 0).text()}});
  }
  report["recorded"] = result.recorded;
  return report;
}

}  // namespace

int run_graph(Cli& cli, const RunRequest& request) {
  const Job job = make_graph_job(request);
  for (const std::string& phrase : job.assumed) cli.out.note("assumed: " + phrase);
  for (const auto& [tensor, file] : job.out_files) require_writable(file);
  Session session(cli);
  const Result result = execute(session, job);
  for (const auto& [tensor, file] : job.out_files) write_npy(file, result.outputs.at(tensor));
  if (!cli.out.quiet()) print(cli.out, session, job, result);
  cli.out.report("clam_run", report(session, job, result));
  return result.good() ? kFine : kCheckFailed;
}

}  // namespace clam::cli
