// SPDX-License-Identifier: MIT
// run.cpp - `clam run`: a problem, or anybody's plan, on tensors from .npy files.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "check/npy.hpp"
#include "check/verify.hpp"
#include "clam/error.hpp"
#include "clam/planner.hpp"
#include "run_job.hpp"
#include "run_picture.hpp"
#include "runtime/atomic_file.hpp"
#include "session.hpp"

namespace clam::cli {
namespace {

using nlohmann::json;

constexpr int kIteration = 1;  // of the poison in the outputs

struct Outcome {
  Plan plan;
  std::vector<LaunchTime> times;
  Tensors outputs;
  Reason trespass;
  std::optional<Verification> check;
  bool good() const { return !trespass && (!check || check->pass()); }
};

/// What is in an output, for people who gave no file for it.
struct Summary {
  double least = INFINITY, most = -INFINITY, sum = 0;
  std::int64_t finite = 0, not_finite = 0, unwritten = 0;

  explicit Summary(const HostTensor& tensor) {
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      const double value = tensor.get(i);
      unwritten += tensor.bits(i) == poison_bits(tensor.dtype(), kIteration);
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

/// Nanoseconds of a launch; 0 when the driver's stamps are in no order.
std::uint64_t duration(const LaunchTime& time) {
  return time.ended > time.started ? time.ended - time.started : 0;
}

Outcome execute(Session& session, const RunRequest& request, const RunJob& job) {
  if (job.problem) refuse_bad_inputs(*job.problem, job.inputs);
  Runtime& runtime = session.runtime();
  const PlanOptions options{request.variant, 0};
  if (job.plan) runtime.set_plan_dir(job.plan_dir);
  session.build({job.plan ? *job.plan : make_plan(*job.problem, runtime.device(), options)});
  Trial trial = job.plan ? Trial(runtime, *job.plan) : Trial(runtime, *job.problem, options);
  trial.upload(job.inputs);
  Outcome outcome;
  outcome.times = trial.run(kIteration);
  outcome.outputs = trial.download();
  outcome.plan = trial.plan();
  outcome.trespass = trial.trespass();
  if (request.check) {
    const DataSet given{"given", Check::hard, "the tensors of this run", nullptr};
    outcome.check =
        judge(*job.problem, given, job.inputs, outcome.outputs, {}, runtime.device(), kIteration);
  }
  return outcome;
}

void print(Output& out, const Session& session, const RunJob& job, const Outcome& outcome) {
  double ns = 0;
  for (const LaunchTime& time : outcome.times) ns += static_cast<double>(duration(time));
  out.text(fmt::format("device {}\n{}\nvariant {}, {} {}, {:.3f} ms once, not warmed up\n",
                       session.title(), outcome.plan.problem, outcome.plan.variant,
                       outcome.times.size(), outcome.times.size() == 1 ? "launch" : "launches",
                       ns * 1e-6));
  for (const auto& [tensor, values] : outcome.outputs) {
    const auto file = job.out_files.find(tensor);
    out.text(fmt::format("{} {}[{}]: {}{}\n", tensor, name(values.dtype()),
                         to_string(values.shape()), Summary(values).text(),
                         file == job.out_files.end() ? "" : " -> " + file->second));
  }
  if (!outcome.check) return;
  for (const auto& [tensor, verdict] : outcome.check->outputs) {
    const std::string text = to_text(verdict);
    out.text(
        fmt::format("check of {}: {}", tensor, verdict.pass ? out.green(text) : out.red(text)));
  }
}

json output_json(const std::string& tensor, const HostTensor& values, const RunJob& job) {
  const Summary summary(values);
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
  report["clam_run"] = 1;
  report["plan"] = to_json(outcome.plan);
  report["assumed"] = job.assumed;
  report["launch_ns"] = json::array();
  for (const LaunchTime& time : outcome.times) report["launch_ns"].push_back(duration(time));
  report["outputs"] = json::array();
  for (const auto& [tensor, values] : outcome.outputs) {
    report["outputs"].push_back(output_json(tensor, values, job));
  }
  report["fault"] = outcome.trespass.value_or("");
  if (!outcome.check) return report;
  report["check"] = json::object();
  for (const auto& [tensor, verdict] : outcome.check->outputs) {
    report["check"][tensor] = to_json(verdict);
  }
  return report;
}

int run(Cli& cli, const RunRequest& request) {
  const RunJob job = make_job(request);
  for (const std::string& phrase : job.assumed) cli.out.note("assumed: " + phrase);
  for (const auto& [tensor, file] : job.out_files) require_writable(file);
  if (!request.svg.empty()) {
    require_boxes(job);
    require_writable(request.svg);
  }
  Session session(cli);
  const Outcome outcome = execute(session, request, job);
  for (const auto& [tensor, file] : job.out_files) write_npy(file, outcome.outputs.at(tensor));
  if (!request.svg.empty()) write_file(request.svg, to_svg(run_picture(job, outcome.outputs)));
  if (!cli.out.quiet()) print(cli.out, session, job, outcome);
  cli.out.json(report(session, job, outcome));
  if (outcome.trespass) cli.out.error(*outcome.trespass);
  if (outcome.check && !outcome.check->pass()) cli.out.error("check: " + outcome.check->reason());
  return outcome.good() ? kFine : kCheckFailed;
}

}  // namespace

void add_run(CLI::App& app, Cli& cli) {
  auto request = std::make_shared<RunRequest>();
  CLI::App* sub = app.add_subcommand("run", "run a problem, or a plan, on your own tensors");
  sub->add_option("problem", request->words,
                  "a problem line; without a dtype, that of the --in tensors is taken");
  sub->add_option("--plan", request->plan_file,
                  "run this plan (JSON) with the .cl files beside it");
  sub->add_option("--in", request->in, "NAME=FILE.npy, an input; may be given many times");
  sub->add_option("--out", request->out, "NAME=FILE.npy, an output to keep");
  sub->add_option("--fill", request->fill, "data set for the inputs that --in does not give");
  sub->add_option("--seed", request->seed, "seed of --fill (default 1)")
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--variant", request->variant, "run this variant, not the preferred one");
  sub->add_option("--svg", request->svg,
                  "draw the kept and the suppressed boxes of get_valid_counts or nms to this file");
  sub->add_flag("--check", request->check, "compare the outputs with the reference");
  sub->callback([&cli, request] { cli.command = [&cli, request] { return run(cli, *request); }; });
}

}  // namespace clam::cli
