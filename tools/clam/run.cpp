// SPDX-License-Identifier: MIT
// run.cpp - `clam run`: a problem, anybody's plan, or the graph of a workload as a whole, on
// tensors from .npy files.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>

#include "check/box_picture.hpp"
#include "check/device_graph.hpp"
#include "check/graph_run.hpp"
#include "check/npy.hpp"
#include "check/verify.hpp"
#include "clam/error.hpp"
#include "run_job.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"
#include "session.hpp"

namespace clam::cli {
namespace {

using Mark = PictureBox::Mark;

// ---- a picture of boxes ----

/// get_valid_counts does not look at coordinates: they are the first four elements in a row that
/// are neither class nor score.
int coord_start_beside(const Problem& p) {
  const int e = p.integer("e");
  for (int start = 0; start + 4 <= e; ++start) {
    const auto outside = [&](const char* field) {
      const int index = p.integer(field);
      return index < start || index >= start + 4;
    };
    if (outside("id_index") && outside("score_index")) return start;
  }
  throw BadArgument(
      fmt::format("--svg: rows of {} elements have no four coordinates beside class "
                  "and score",
                  e));
}

BoxFormat box_format(const Problem& p) {
  if (p.schema().name == "yolo_decode") return {};
  const bool is_nms = p.schema().name == "nms";
  return {p.integer("id_index"), p.integer("score_index"),
          is_nms ? p.integer("coord_start") : coord_start_beside(p)};
}

/// The count of the first batch item, within the rows that there are.
std::int64_t first_count(const HostTensor& counts, std::int64_t rows) {
  return std::clamp(static_cast<std::int64_t>(counts.get(0)), std::int64_t{0}, rows);
}

void add_rows(const BoxRows& rows, std::int64_t count, BoxPicture& picture) {
  for (std::int64_t row = 0; row < count; ++row) {
    if (rows.is_valid(row)) picture.boxes.push_back({rows.box(row), Mark::kept, row});
  }
}

/// So many elements from a place on.
std::string_view bits(const HostTensor& tensor, std::int64_t first, std::int64_t count) {
  const std::int64_t size = size_of(tensor.dtype());
  return {reinterpret_cast<const char*>(tensor.data() + first * size),
          static_cast<std::size_t>(count * size)};
}

/// Which rows of nms' data the device kept: by the rows of its output, which are copies, or by the
/// indices there.
std::vector<char> kept_rows(const RunJob& job, const Tensors& outputs, const BoxRows& data) {
  const bool by_index = job.problem->flag("return_indices");
  const HostTensor& own = job.inputs.at(by_index ? "indices" : "data");
  const HostTensor& out = outputs.at(by_index ? "box_indices" : "out");
  const std::int64_t width = by_index ? 1 : data.e();
  const std::int64_t rows = by_index ? first_count(outputs.at("box_count"), data.n()) : data.n();
  std::unordered_map<std::string_view, int> copies;
  for (std::int64_t row = 0; row < rows; ++row) ++copies[bits(out, row * width, width)];
  std::vector<char> kept;
  for (std::int64_t row = 0; row < data.n(); ++row) {
    int& left = copies[bits(own, row * width, width)];
    kept.push_back(left > 0);
    if (!by_index) --left;
  }
  return kept;
}

void add_nms(const RunJob& job, const Tensors& outputs, const BoxRows& data, BoxPicture& picture) {
  const Problem& p = *job.problem;
  const std::int64_t n = data.n();
  const std::vector<char> kept = kept_rows(job, outputs, data);
  const bool indices = p.flag("return_indices");
  const double least = static_cast<double>(p.number("score_min"));
  for (std::int64_t row = 0; row < first_count(job.inputs.at("count"), n); ++row) {
    const Box box = data.box(row);
    const bool is_kept = kept[static_cast<std::size_t>(row)];
    if (is_kept && indices) picture.boxes.push_back({box, Mark::kept, row});
    if (!is_kept && box.score > least) picture.boxes.push_back({box, Mark::suppressed, row});
  }
  if (!indices) add_rows(BoxRows("out", outputs.at("out"), data.format()), n, picture);
  if (p.integer("top_k") > 0 || p.integer("max_output_size") > 0) {
    picture.suppressed = "suppressed or past a limit";
  }
}

/// Throws BadArgument for a job whose op keeps no boxes, or whose rows have no place for four
/// coordinates.
void require_boxes(const RunJob& job) {
  const std::string op = job.problem ? job.problem->schema().name : "a foreign plan";
  throw_if(op != "get_valid_counts" && op != "nms" && op != "yolo_decode",
           "--svg draws boxes, of get_valid_counts, nms and yolo_decode; {} has none", op);
  box_format(*job.problem);
}

constexpr double kLeastScore = 0.25;  ///< of a decoded box that is drawn

/// The boxes of the first batch item. get_valid_counts: the valid rows. nms: the rows that the
/// device kept, and the other valid ones, suppressed; rows past the count are not drawn.
/// yolo_decode: those over a score.
BoxPicture run_picture(const RunJob& job, const Tensors& outputs) {
  const Problem& p = *job.problem;
  const bool is_decoded = p.schema().name == "yolo_decode";
  const BoxRows data("data", (is_decoded ? outputs : job.inputs).at("data"), box_format(p));
  BoxPicture picture;
  picture.title = p.text();
  picture.has_classes = data.format().id_index >= 0;
  if (data.batch() > 1) picture.notes.push_back(fmt::format("batch item 0 of {}", data.batch()));
  if (p.schema().name == "nms") {
    add_nms(job, outputs, data, picture);
  } else if (is_decoded) {
    picture.kept = fmt::format("with a score over {}", kLeastScore);
    for (std::int64_t row = 0; row < data.n(); ++row) {
      if (!(data.box(row).score > kLeastScore)) continue;
      picture.boxes.push_back({data.box(row), Mark::kept, row});
    }
  } else {
    picture.kept = "valid";
    const BoxRows out("out", outputs.at("out"), data.format());
    add_rows(out, first_count(outputs.at("count"), out.n()), picture);
  }
  return picture;
}

// ---- outputs ----

/// What is in an output, for people who gave no file for it; `iteration` of the poison in it.
struct Summary {
  double least = INFINITY, most = -INFINITY, sum = 0;
  std::int64_t finite = 0, not_finite = 0, unwritten = 0;

  Summary(const HostTensor& tensor, int iteration) {
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      const double value = tensor.get(i);
      unwritten += tensor.bits(i) == poison_bits(tensor.dtype(), iteration);
      if (!std::isfinite(value)) {
        ++not_finite;
        continue;
      }
      ++finite;
      sum += value;
      least = std::min(least, value);
      most = std::max(most, value);
    }
  }
  double mean() const { return sum / static_cast<double>(finite); }
  std::string text() const {
    std::string text = finite
                           ? fmt::format("min {:.6g}, mean {:.6g}, max {:.6g}", least, mean(), most)
                           : "no finite element";
    if (not_finite) text += fmt::format(", {} NaN or inf", not_finite);
    if (unwritten) text += fmt::format(", {} never written", unwritten);
    return text;
  }
};

/// "y f32[2x3]: min 0, mean 1, max 2 -> y.npy": an output, and the file that it goes into.
std::string output_text(const std::string& name, const HostTensor& values, int iteration,
                        const std::map<std::string, std::string>& out_files) {
  const auto file = out_files.find(name);
  return fmt::format("{} {}: {}{}\n", name, type_text(values.dtype(), values.shape()),
                     Summary(values, iteration).text(),
                     file == out_files.end() ? "" : " -> " + file->second);
}

// ---- a problem or a plan ----

constexpr int kIteration = 1;  // of the poison in the outputs

struct Outcome {
  Plan plan;
  std::vector<LaunchTime> times;
  Tensors outputs;
  Reason trespass;
  std::optional<Verification> check;
  bool good() const { return !trespass && (!check || check->pass()); }
};

/// Nanoseconds of a launch; 0 when the driver's stamps are in no order.
std::uint64_t duration(const LaunchTime& time) {
  return time.ended > time.started ? time.ended - time.started : 0;
}

Outcome execute(Session& session, const RunRequest& request, const RunJob& job) {
  if (job.problem) refuse_bad_inputs(*job.problem, job.inputs);
  Runtime& runtime = session.runtime();
  const PlanOptions options = request.options();
  if (job.plan) runtime.set_plan_dir(job.plan_dir);
  session.build({job.plan ? *job.plan : runtime.plan(*job.problem, runtime.device(), options)});
  Trial trial = job.plan ? Trial(runtime, *job.plan) : Trial(runtime, *job.problem, options);
  trial.upload(job.inputs);
  Outcome outcome;
  outcome.times = trial.run(kIteration);
  outcome.outputs = trial.download();
  outcome.plan = trial.plan();
  outcome.trespass = trial.trespass();
  if (request.check) {
    const std::string& variant = outcome.plan.variant;
    const Reference reference = reference_of(
        *job.problem, job.inputs, reference_options(Check::hard, runtime.device(), variant));
    outcome.check = compare_all(reference, outcome.outputs, {}, kIteration, &runtime.device());
    outcome.check->problem = job.problem->text();
    outcome.check->variant = variant;
  }
  return outcome;
}

void print(Output& out, const Session& session, const RunJob& job, const Outcome& outcome) {
  double ns = 0;
  for (const LaunchTime& time : outcome.times) ns += static_cast<double>(duration(time));
  out.text(fmt::format("device {}\n{}\nvariant {}, {}, {:.3f} ms once, not warmed up\n",
                       session.title(), outcome.plan.problem, outcome.plan.variant,
                       counted(outcome.times.size(), "launch", "es"), ns * 1e-6));
  for (const auto& [tensor, values] : outcome.outputs) {
    out.text(output_text(tensor, values, kIteration, job.out_files));
  }
  if (!outcome.check) return;
  for (const auto& [tensor, verdict] : outcome.check->outputs) {
    const std::string text = to_text(verdict);
    out.text(
        fmt::format("check of {}: {}", tensor, verdict.pass ? out.green(text) : out.red(text)));
  }
}

json output_json(const std::string& tensor, const HostTensor& values, const RunJob& job) {
  const Summary summary(values, kIteration);
  const auto file = job.out_files.find(tensor);
  return {{"name", tensor},
          {"dtype", name(values.dtype())},
          {"shape", values.shape()},
          {"file", file == job.out_files.end() ? "" : file->second},
          {"min", summary.least},
          {"mean", summary.mean()},
          {"max", summary.most},
          {"not_finite", summary.not_finite},
          {"unwritten", summary.unwritten}};
}

json report(Session& session, const RunJob& job, const Outcome& outcome) {
  json report = session.json();
  report["plan"] = to_json(outcome.plan);
  report["assumed"] = job.assumed;
  report["launch_ns"] = json::array();
  for (const LaunchTime& time : outcome.times) report["launch_ns"].push_back(duration(time));
  report["outputs"] = json::array();
  for (const auto& [tensor, values] : outcome.outputs) {
    report["outputs"].push_back(output_json(tensor, values, job));
  }
  report["fault"] = outcome.trespass.value_or("");
  if (outcome.check) report["check"] = outcome.check->outputs;
  return report;
}

// ---- a graph ----

/// A graph, its inputs, and which outputs go into files.
struct GraphJob {
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
    refuse("{} does not go with --workload; `clam verify --workload` checks its nodes", option);
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
std::vector<std::string> input_names(const GraphJob& job) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : job.graph.tensors) {
    const std::vector<std::string>& own = job.workload.model.inputs;
    const bool known = own.empty() || std::find(own.begin(), own.end(), name) != own.end();
    if (tensor.is_input() && known) names.push_back(name);
  }
  return names;
}

/// What stands in for a node that is not supported was made from other inputs.
void refuse_stale(const GraphJob& job) {
  if (job.workload.model.unsupported() == 0) return;
  throw BadArgument(fmt::format("--in: {}, and they are those of the recorded input alone",
                                job.workload.model.unsupported_text()));
}

GraphJob make_graph_job(const RunRequest& request) {
  refuse_options(request);
  if (!request.dtype.empty()) parse_dtype(request.dtype);
  GraphJob job;
  job.workload = read_workload(request.workload);
  throw_if(!job.workload.has_graph(),
           "no node of {} names its tensors, so there is no graph to run", request.workload);
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
struct GraphResult {
  Tensors outputs;
  DeviceGraph::Time time;
  std::int64_t launches = 0;
  std::map<std::string, Verdict> recorded;  ///< outputs beside what is recorded for them

  bool good() const {
    return std::all_of(recorded.begin(), recorded.end(),
                       [](const auto& each) { return each.second.pass; });
  }
};

GraphResult execute(Session& session, const GraphJob& job) {
  DeviceGraph pass(session.runtime(), job.graph, {}, DeviceGraph::Memory::shared);
  pass.upload(job.inputs);
  pass.poison();
  GraphResult result;
  result.time = pass.run();
  result.launches = pass.launches();
  result.outputs = pass.download();
  for (const auto& [name, values] : result.outputs) {
    const Graph::Tensor& tensor = job.graph.tensors.at(name);
    if (!job.as_recorded || !tensor.recorded.exists()) continue;
    const Dtype dtype = tensor.dtype == Dtype::i32 ? Dtype::i32 : Dtype::f32;
    result.recorded[name] = compare_recorded(values, load(tensor.recorded, dtype, tensor.shape),
                                             Oracles{}.share(tensor.dtype));
  }
  return result;
}

void print(Output& out, const Session& session, const GraphJob& job, const GraphResult& result) {
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

json report(Session& session, const GraphJob& job, const GraphResult& result) {
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

/// Of a workload, on a user's tensors. Throws BadArgument for whatever does not fit together.
int run_graph(Cli& cli, const RunRequest& request) {
  const GraphJob job = make_graph_job(request);
  for (const std::string& phrase : job.assumed) cli.out.note("assumed: " + phrase);
  for (const auto& [tensor, file] : job.out_files) require_writable(file);
  Session session(cli);
  const GraphResult result = execute(session, job);
  for (const auto& [tensor, file] : job.out_files) write_npy(file, result.outputs.at(tensor));
  if (!cli.out.quiet()) print(cli.out, session, job, result);
  cli.out.report("clam_run", report(session, job, result));
  return result.good() ? kFine : kCheckFailed;
}

// ---- the command ----

int run(Cli& cli, const RunRequest& request) {
  if (!request.workload.empty()) return run_graph(cli, request);
  const RunJob job = make_job(request);
  for (const std::string& phrase : job.assumed) cli.out.note("assumed: " + phrase);
  for (const auto& [tensor, file] : job.out_files) require_writable(file);
  if (!request.svg.empty()) {
    require_boxes(job);
    require_writable(request.svg);
  }
  std::optional<PictureFile> behind;
  if (!request.picture.empty()) {
    throw_if(request.svg.empty(), "--picture is drawn by --svg FILE, which is missing");
    behind = read_picture(request.picture);
  }
  Session session(cli);
  const Outcome outcome = execute(session, request, job);
  for (const auto& [tensor, file] : job.out_files) write_npy(file, outcome.outputs.at(tensor));
  if (!request.svg.empty()) {
    BoxPicture picture = run_picture(job, outcome.outputs);
    picture.behind = std::move(behind);
    write_file(request.svg, to_svg(picture));
  }
  if (!cli.out.quiet()) print(cli.out, session, job, outcome);
  cli.out.report("clam_run", report(session, job, outcome));
  if (outcome.trespass) cli.out.error(*outcome.trespass);
  if (outcome.check && !outcome.check->pass()) cli.out.error("check: " + outcome.check->reason());
  return outcome.good() ? kFine : kCheckFailed;
}

}  // namespace

void add_run(CLI::App& app, Cli& cli) {
  const auto [sub, request] = add_command<RunRequest>(
      app, cli, "run", "run a problem, a plan or a model on your own tensors", run);
  add_run_options(sub, *request);
  sub->add_option("--workload", request->workload,
                  "run the graph of this workload: a name, a file or a folder");
  sub->add_option("--dtype", request->dtype, "run the workload in this dtype");
  sub->add_option("--in", request->in, "NAME=FILE.npy, an input; may be given many times");
  sub->add_option("--out", request->out, "NAME=FILE.npy, an output to keep");
  sub->add_option("--svg", request->svg,
                  "draw the boxes of get_valid_counts, nms or yolo_decode to this file");
  sub->add_option("--picture", request->picture,
                  "with --svg: draw this PNG or JPEG, of the model's input size, behind the boxes");
  sub->add_flag("--check", request->check, "compare the outputs with the reference");
}

}  // namespace clam::cli
