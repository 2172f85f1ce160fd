// SPDX-License-Identifier: MIT
// record.cpp - `clam record`: a case as a folder for a driver's authors.
#include "record.hpp"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "check/npy.hpp"
#include "clam/error.hpp"
#include "clam/planner.hpp"
#include "drivers.hpp"
#include "process/clean_end.hpp"
#include "process/isolate.hpp"
#include "process/scratch_folder.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"
#include "runtime/words.hpp"
#include "tokens/tokens.hpp"

namespace clam::cli {
namespace {

/// What the command line asks for, refused before a device opens where it cannot be.
void check_request(const RecordRequest& request) {
  const int sources =
      !request.run.words.empty() + !request.run.plan_file.empty() + !request.build_only.empty();
  throw_if(
      sources != 1,
      "record what? Give a problem, --plan FILE.json or --build-only FILE.cl, one of the three");
  if (request.target.empty()) throw BadArgument("record where? Give -o FOLDER");
  throw_if(!request.options.empty() && request.build_only.empty(),
           "--options goes with --build-only; a plan has its own");
  if (!request.build_only.empty()) {
    throw_if(!request.expect.empty() || !request.run.in.empty(),
             "--build-only runs nothing: --in and --expect do not go with it");
    return;
  }
  if (request.run.words.empty()) return;
  std::vector<std::string> assumed;  // told when it is run
  const Problem problem = requested_problem(request.run, assumed);
  refuse_large(problem.tensors());
}

/// Data sets to try until one goes wrong; an empty name: the inputs are given.
std::vector<std::string> sets_to_try(const RunRequest& run) {
  if (run.words.empty() || !run.in.empty() || !run.fill.empty()) return {run.fill};
  const Problem problem = Problem::parse(one_problem_line(run.words));
  return names_of(proof_of(problem).data_sets);
}

/// What is right: what --expect says, and for the rest what the reference says, if there is one.
void take_expectations(const RecordRequest& request, RunJob& job, const DeviceInfo& device,
                       Bundle& bundle) {
  const auto files = files_by_tensor("--expect", request.expect, job.tensors, Role::output);
  bool all_given = true;
  for (const TensorSpec& spec : job.tensors) {
    if (spec.role != Role::output) continue;
    const auto file = files.find(spec.name);
    all_given = all_given && file != files.end();
    if (file != files.end()) expect(spec, read_tensor(spec, file->second, job.assumed), bundle);
  }
  if (all_given || !job.problem) return;
  const bool made_up = request.run.in.empty() && !bundle.data_set.empty();
  const Check check = made_up ? find_data_set(*job.problem, bundle.data_set).check : Check::hard;
  const Reference reference = reference_of(*job.problem, job.inputs,
                                           reference_options(check, device, bundle.plan->variant));
  for (const auto& [name, expected] : reference) {
    if (files.count(name) == 0) expect(*bundle.plan->tensor(name), expected, bundle);
  }
}

/// The bundle of a job, before it is run. `plan`: as this device takes the problem, or as it came.
Bundle bundle_of(const RecordRequest& request, RunJob& job, const Plan& plan,
                 const DeviceInfo& device) {
  Bundle bundle;
  refuse_large(plan.tensors);
  const KernelFiles own = KernelFiles::from_environment();
  take_plan(plan, job.plan ? own.with_plan_dir(job.plan_dir) : own, bundle);
  if (job.problem) refuse_bad_inputs(*job.problem, job.inputs);
  take_inputs(job.inputs, bundle);
  bundle.data_set = request.run.fill;
  bundle.seed = request.run.seed;
  DeviceInfo facts = device;
  facts.native_exp2_ulp = plan.device.native_exp2_ulp;
  take_expectations(request, job, facts, bundle);
  return bundle;
}

Bundle bundle_of_file(const RecordRequest& request) {
  Bundle bundle;
  bundle.file = fs::path(request.build_only).filename().string();
  bundle.options = request.options;
  bundle.problem = "build of " + bundle.file;
  bundle.kernels[bundle.file] = read_file(request.build_only);
  throw_if(
      (" " + bundle.options).find(" -I") != std::string::npos,
      "--options: a bundle stands alone, so put the files that are included into {}, and leave "
      "out -I",
      bundle.file);
  return bundle;
}

/// What Arm's offline compiler says of the file, where it is installed.
void add_listing(const std::string& folder, const Bundle& bundle) {
  const std::string malioc = find_program("malioc");
  if (malioc.empty()) return;
  const Fate fate =
      run_isolated({malioc, "--opencl", bundle.file}, std::chrono::seconds(60), {folder});
  if (!fate.out.empty()) write_file(path_in(folder, "listing.txt"), anonymous(fate.out));
}

/// What the person should know of the kernels, which go into the bundle byte for byte.
void warn_of_kernels(Cli& cli, const Bundle& bundle) {
  const auto includes = [](const std::string& line) { return line.rfind("include", 0) == 0; };
  for (const auto& [file, text] : bundle.kernels) {
    const std::vector<std::string> lines = directives_of(text);
    if (std::any_of(lines.begin(), lines.end(), includes)) {
      cli.out.note(file + " includes another file, which is not in the bundle");
    }
    if (anonymous(text) != text) {
      cli.out.note(file + " names you or this machine, and is passed on byte for byte");
    }
  }
  for (const Build& build : builds_of(bundle)) {
    if (anonymous(build.options) != build.options) {
      cli.out.note("the options of " + build.file + " name you or this machine, and are passed on");
    }
  }
  if (bundle.plan && bundle.expected.empty()) {
    cli.out.note(
        "there is nothing to compare with (--expect NAME=good.npy): the bundle can show a "
        "crash, a hang or an error");
  }
}

/// About one of so many runs goes wrong, where the first that did was number `first`: three that do
/// say so, or what it takes to be sure that it is less often.
int how_often(const std::string& device, const std::string& folder, int limit_s, int first) {
  constexpr int kWrong = 3, kFewest = 10, kAgain = 3;
  const int most = std::max(kFewest, first + kAgain * first);
  int runs = first, wrong = 1;
  for (; wrong < kWrong && runs < most; ++runs) {
    wrong += !try_case(device, folder, limit_s).seen.right();
  }
  return std::min((runs + wrong - 1) / wrong, kMostRuns);
}

/// Writes the case, runs it until it goes wrong, at most so many times, and takes down what was
/// seen.
void run_into(const std::string& folder, const LocalDevice& device, int limit_s, int times,
              Bundle& bundle) {
  bundle.device = device.facts;
  bundle.limit_s = limit_s;
  bundle.seen = {};
  bundle.one_in = 1;
  write_case(folder, bundle);
  std::unique_ptr<ScratchFolder> kept;  // of the last run alone
  int runs = 0;
  for (; runs < times && bundle.seen.right(); ++runs) {
    kept = std::make_unique<ScratchFolder>();
    const CaseRun run = try_case(device.id(), folder, limit_s, {kept->path(), "", 0});
    if (run.cannot) throw Unsupported(*run.cannot);
    bundle.seen = run.seen;
  }
  if (bundle.seen.right() && !bundle.build_only()) fs::remove(kept->file("driver.log"));
  fs::copy(kept->path(), folder, fs::copy_options::recursive);
  if (bundle.seen.right() || times == 1) return;
  bundle.one_in = how_often(device.id(), folder, limit_s, runs);
}

Bundle run_until_wrong(Cli& cli, const RecordRequest& request, const LocalDevice& device,
                       StagedFolder& folder) {
  RecordRequest each = request;
  std::optional<Plan> plan;
  Bundle bundle;
  for (const std::string& set : sets_to_try(request.run)) {
    each.run.fill = set;
    cli.out.progress("data set " + set);
    RunJob job = make_job(each.run);
    if (!plan) {
      plan = job.plan ? *job.plan
                      : plan_in_child(device, *job.problem, request.run.options(), request.limit_s);
    }
    bundle = bundle_of(each, job, *plan, device.facts);
    for (const std::string& phrase : job.assumed) cli.out.note("assumed: " + phrase);
    folder.clear();
    run_into(folder.path(), device, request.limit_s, request.times, bundle);
    if (!bundle.seen.right()) break;
  }
  return bundle;
}

void print(Output& out, const RecordRequest& request, const Bundle& bundle) {
  const std::string set = bundle.data_set.empty() ? "" : ", data set " + bundle.data_set;
  out.line(fmt::format("device {} ({}, driver {})", bundle.device.name, bundle.device.platform,
                       bundle.device.driver_version));
  out.line(bundle.problem + set);
  const Proof proof = read_proof(request.target);
  if (bundle.seen.right()) {
    const bool many = request.times > 1;
    out.line(out.green("nothing is wrong here") +
             (many ? fmt::format(" ({} runs of each data set)", request.times) : ""));
  } else {
    const bool rare = bundle.one_in > 1;
    out.line(out.red(bundle.seen.text()) +
             (rare ? fmt::format(" (in about one of {} runs)", bundle.one_in) : ""));
  }
  if (request.proof || !proof.rows.empty()) {
    out.line(find_blame(bundle, proof, hash_of_files(bundle, request.target)));
  }
  out.line(
      fmt::format("recorded in {}; there: cc replay.c -lOpenCL -lm && ./a.out", request.target));
}

int run_record(Cli& cli, const RecordRequest& request) {
  if (request.plan_only) {
    return serve_plan(cli, Problem::parse(one_problem_line(request.run.words)),
                      request.run.options());
  }
  const CleanEnd clean_end;
  const Bundle bundle = record(cli, request);
  print(cli.out, request, bundle);
  json report{
      {"clam_record", 1},          {"bundle", request.target},    {"problem", bundle.problem},
      {"variant", bundle.variant}, {"data_set", bundle.data_set}, {"seen", to_json(bundle.seen)},
      {"one_in", bundle.one_in}};
  cli.out.json(report);
  return kFine;
}

/// A plan that is another device's goes in as a file, like that of any runtime.
void take_plan_of(const Failure& failure, const Problem& problem, const ScratchFolder& scratch,
                  RunRequest& run) {
  PlanOptions options = run.options();
  options.tuned = Tuned::from_environment();
  Plan plan = make_plan(problem, *failure.planned_for, options);
  plan.variant += ", planned for " + failure.planned_as;
  if (failure.inputs.empty() && run.fill.empty()) run.fill = proof_of(problem).data_sets[0].name;
  run.words.clear(), run.variant.clear(), run.tile.clear();
  run.plan_file = scratch.file("plan.json");
  write_file(run.plan_file, to_json(plan).dump());
}

RecordRequest request_of(const Failure& failure, const std::string& folder,
                         const ScratchFolder& scratch) {
  const RunRequest& run = failure.run;
  const Problem problem = Problem::parse(run.words[0]);
  const std::string what = fmt::format("{}\n{}\n{}\n{}", run.words[0], run.variant + run.tile,
                                       run.fill + failure.name, failure.planned_as);
  RecordRequest wanted;
  wanted.run = run;
  wanted.limit_s = failure.limit_s;
  wanted.force = true;
  wanted.target =
      fmt::format("{}/{}-{}", folder, problem.schema().name, hash_text(what).substr(0, 12));
  for (const auto& [name, tensor] : failure.inputs) {
    const std::string file = scratch.file(name + ".npy");
    write_npy(file, tensor);
    wanted.run.in.push_back(fmt::format("{}={}", name, file));
  }
  if (failure.planned_for) take_plan_of(failure, problem, scratch, wanted.run);
  return wanted;
}

/// What other boards made of the same files, in the bundle that is replaced.
void keep_proof(const std::string& replaced, const std::string& folder, const Bundle& bundle) {
  if (!fs::exists(fs::path(replaced) / "proof.json")) return;
  Proof kept;
  for (const ProofRow& row : read_proof(replaced).rows) {
    if (row.files == hash_of_files(bundle, folder)) kept.add(row);
  }
  if (!kept.rows.empty()) write_proof(folder, kept);
}

}  // namespace

std::string recording_date() {
  const char* fixed = std::getenv("SOURCE_DATE_EPOCH");
  const std::time_t now = fixed ? std::strtoll(fixed, nullptr, 10) : std::time(nullptr);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

Bundle record(Cli& cli, const RecordRequest& request) {
  check_request(request);
  check_commands("--prove-with", request.prove_with);
  if (request.proof) find_oclgrind();           // refuses a CLAM_OCLGRIND that names no program
  StagedFolder(request.target, request.force);  // refuses what cannot be written
  const LocalDevice device = chosen_device(cli);
  // A driver that ends the process when it opens leaves nothing.
  StagedFolder folder(request.target, request.force);
  cli.out.progress("recording on " + device.title());
  Bundle bundle;
  if (request.build_only.empty()) {
    bundle = run_until_wrong(cli, request, device, folder);
  } else {
    bundle = bundle_of_file(request);
    run_into(folder.path(), device, request.limit_s, request.times, bundle);
    add_listing(folder.path(), bundle);
  }
  warn_of_kernels(cli, bundle);
  bundle.recorded = recording_date();
  bundle.noted = request.note;
  keep_proof(request.target, folder.path(), bundle);
  if (request.proof) prove_elsewhere(cli, device, folder.path(), bundle, request.limit_s);
  finish_case(folder.path(), bundle, request.single_file);
  for (const std::string& command : request.prove_with) {
    prove_with(cli, command, folder.path(), bundle, request.limit_s);
  }
  folder.publish();
  return bundle;
}

Bundle record_bundle(Cli& cli, Bundle bundle, const LocalDevice& device, const std::string& target,
                     int limit_s) {
  StagedFolder folder(target, true);
  cli.out.progress("recording " + bundle.problem);
  run_into(folder.path(), device, limit_s, 1, bundle);
  bundle.recorded = recording_date();
  finish_case(folder.path(), bundle, false);
  folder.publish();
  return bundle;
}

void record_failure(Cli& cli, const std::string& folder, const Failure& failure) {
  try {
    const ScratchFolder scratch;
    const RecordRequest wanted = request_of(failure, folder, scratch);
    const Seen seen = record(cli, wanted).seen;
    cli.out.line(fmt::format("recorded in {}: {}", wanted.target, seen.text()));
  } catch (const Error& error) {
    cli.out.note(fmt::format("{} is not recorded: {}",
                             failure.name.empty() ? failure.run.words[0] : failure.name,
                             error.what()));
  }
}

void add_bundle_options(CLI::App* sub, BundleRequest& request) {
  sub->add_flag("--force", request.force, "replace a bundle that is there");
  sub->add_flag("--single-file", request.single_file,
                "put kernels and tensors into replay.c too, up to 64 KiB");
  sub->add_flag("--proof,!--no-proof", request.proof,
                "run the files of the bundle on every other device of this machine, and in "
                "Oclgrind if it is installed (default)");
}

void add_record(CLI::App& app, Cli& cli) {
  const auto [sub, request] = add_command<RecordRequest>(
      app, cli, "record", "write a case as a folder that others can run without clam", run_record);
  add_run_options(sub, request->run);
  add_repeatable(sub, "--in", request->run.in, "NAME=FILE.npy, an input; may be given many times");
  add_repeatable(sub, "--expect", request->expect,
                 "NAME=FILE.npy, the right output, bit for bit (default: the reference's)");
  sub->add_option("--build-only", request->build_only, "build this .cl file, and run nothing");
  sub->add_option("--options", request->options, "build options for --build-only");
  sub->add_option("-o,--output", request->target, "the folder to write");
  add_bundle_options(sub, *request);
  sub->add_option("--note", request->note,
                  "text for the README of the bundle: why it was recorded");
  sub->add_option("--times", request->times,
                  "for a rare fault: runs of each data set, until one fails, and then more to "
                  "learn how often (default 1)")
      ->check(CLI::Range(1, kMostRuns));
  add_limit(sub, request->limit_s, "seconds until a run counts as a hang (default 60)");
  add_repeatable(sub, "--prove-with", request->prove_with,
                 "also run the bundle through this command, such as \"tools/with-driver "
                 "llvmpipe\"; may be given many times");
  sub->add_flag("--plan-only", request->plan_only)->group("");
}

}  // namespace clam::cli
