// SPDX-License-Identifier: MIT
// judge.cpp - `clam judge`: what is right in a bundle that was recorded without a reference.
#include "judge/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bundle/proof.hpp"
#include "check/graph.hpp"
#include "check/npy.hpp"
#include "clam/error.hpp"
#include "drivers.hpp"
#include "process/clean_end.hpp"
#include "run_job.hpp"
#include "runtime/refuse.hpp"

namespace clam::cli {
namespace {

constexpr BundleVerdict kRight{"right", kFine}, kWrong{"wrong", kCheckFailed},
    kDiffers{"differs", kCheckFailed}, kUndecided{"undecided", kCheckFailed},
    kCannot{"nobody to ask", kNothingRan}, kUnreadable{"unreadable", kBadUsage};

constexpr const char* kInterrupted = "interrupted; the bundle is as it was";

struct JudgeRequest {
  std::vector<std::string> folders, with, expect;
  std::string all;
  int limit_s = 60;
  bool here = true, simulator = true;
};

struct Row {
  std::string folder, reason, blame;
  BundleVerdict verdict = kUnreadable;
  Judged judged;
};

std::vector<Driver> drivers_for(const JudgeRequest& request) {
  std::vector<Driver> all;
  const auto add = [&](const std::vector<Driver>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  if (request.here) add(drivers_here());
  add(drivers_through(request.with));
  if (request.simulator) add(simulators());
  return all;
}

/// The outputs of --expect, dense; a file has the elements of an output in any shape.
Tensors reference_of(const JudgeRequest& request, const Bundle& bundle) {
  Tensors reference;
  if (request.expect.empty() || bundle.build_only()) return reference;
  const auto files =
      files_by_tensor("--expect", request.expect, bundle.plan->tensors, TensorSpec::Role::output);
  for (const auto& [name, file] : files) {
    const TensorSpec& spec = *bundle.plan->tensor(name);
    const HostTensor read = read_npy(file);
    throw_if(read.size() != count(spec.shape), "--expect {}={}: {} elements are needed, it has {}",
             name, file, count(spec.shape), read.size());
    reference[name] = reshaped(converted(read, held_as(spec.dtype)), spec.shape);
  }
  for (const auto& [name, recorded] : bundle.expected) {
    if (reference.count(name) > 0) continue;
    refuse("--expect: give output {} too, or nobody says what is right in it", name);
  }
  return reference;
}

/// Whether no driver but the recorded one has a result.
bool is_alone(const Judged& judged) {
  return std::none_of(judged.answers.begin(), judged.answers.end(), [](const Answer& answer) {
    return !answer.is_recorded && answer.has_outputs();
  });
}

BundleVerdict verdict_of(const Judged& judged) {
  if (!judged.judgement.decided) return is_alone(judged) ? kCannot : kUndecided;
  bool others = true;
  for (std::size_t i = 0; i < judged.answers.size(); ++i) {
    if (judged.answers[i].cannot || judged.judgement.seen[i].right()) continue;
    if (judged.answers[i].is_recorded) return kWrong;
    others = false;
  }
  return others ? kRight : kDiffers;
}

/// The bundle with its verdict takes the place of the one that was recorded.
std::string write_verdict(const std::string& given, const Bundle& bundle, const Judged& judged) {
  const std::string folder = fs::canonical(given).string();  // "." has no place beside it
  StagedFolder staged(folder, true);
  fs::copy(folder, staged.path(), fs::copy_options::recursive);
  const Bundle result = with_verdict(bundle, judged);
  for (const TensorSpec& spec : result.plan->tensors) {  // those of an earlier verdict
    for (const auto& [tensors, ending] : kTensorsRun) {
      fs::remove(path_in(staged.path(), spec.name + ending));
    }
  }
  const bool in_one = is_single_file(folder);
  write_case(staged.path(), result);
  const Proof proof = proof_of(result, judged, staged.path());
  write_proof(staged.path(), proof);
  finish_case(staged.path(), result, in_one);
  const std::string blame = find_blame(result, proof, hash_of_files(result, staged.path()));
  staged.publish();
  return blame;
}

Row judge_folder(Cli& cli, const JudgeRequest& request, const std::vector<Driver>& drivers,
                 const std::string& folder, const std::string& which) {
  Row row;
  row.folder = folder;
  try {
    const Bundle bundle = read_bundle(folder);
    const Tensors reference = reference_of(request, bundle);
    row.judged =
        put_before(drivers, bundle, folder, reference, request.limit_s, [&](const Driver& driver) {
          if (Interruption::came()) throw BadArgument(kInterrupted);
          cli.out.progress(which + folder + " on " + driver.name);
        });
    row.verdict = verdict_of(row.judged);
    row.reason = row.judged.judgement.basis;
    if (Interruption::came()) throw BadArgument(kInterrupted);
    if (row.judged.judgement.decided) row.blame = write_verdict(folder, bundle, row.judged);
  } catch (const BadArgument& error) {
    row.verdict = kUnreadable;
    row.reason = error.what();
  }
  return row;
}

/// "the recorded one", or the device.
std::string name_of(const Answer& answer) {
  const DeviceInfo& device = answer.device;
  const std::string name =
      device.platform.empty() ? device.name : device.name + " (" + device.platform + ")";
  return answer.is_recorded ? "where it was recorded, " + name : name;
}

/// Where nothing is decided, nobody is right: the first is what the others are held against.
std::string seen_text(const Row& row, std::size_t i) {
  const Seen& seen = row.judged.judgement.seen[i];
  if (row.judged.judgement.decided || (!seen.right() && !seen.first_wrong)) return seen.text();
  return seen.right() ? "a result" : "another result: " + seen.reason;
}

void print(Output& out, const Row& row) {
  const bool good = row.verdict == kRight;
  if (out.quiet() && good) return;
  const std::string word = fmt::format("{:<13}", row.verdict.word);
  const bool yellow = row.verdict == kUndecided || row.verdict == kCannot;
  const bool says_why = yellow || row.verdict == kUnreadable;
  out.line(fmt::format("{}  {}{}", out.marked(word, good, !yellow), row.folder,
                       says_why ? ": " + row.reason : ""));
  if (good) return;
  for (std::size_t i = 0; i < row.judged.answers.size(); ++i) {
    const Answer& answer = row.judged.answers[i];
    const std::string came = answer.cannot ? "cannot run: " + *answer.cannot : seen_text(row, i);
    out.line(fmt::format("  {}: {}", name_of(answer), came));
    if (!answer.report.empty()) out.line("    reports: " + answer.report[0]);
  }
  if (!row.blame.empty()) out.line("  " + row.blame);
}

json row_json(const Row& row) {
  json drivers = json::array();
  for (std::size_t i = 0; i < row.judged.answers.size(); ++i) {
    const Answer& answer = row.judged.answers[i];
    json driver{{"device", answer.device.name},
                {"platform", answer.device.platform},
                {"driver_version", answer.device.driver_version},
                {"recorded", answer.is_recorded},
                {"reports", answer.report},
                {"cannot", nullptr},
                {"seen", nullptr}};
    if (answer.cannot) driver["cannot"] = *answer.cannot;
    if (!answer.cannot) driver["seen"] = to_json(row.judged.judgement.seen[i]);
    drivers.push_back(driver);
  }
  return {{"bundle", row.folder},
          {"verdict", row.verdict.word},
          {"reason", row.reason},
          {"blame", row.blame},
          {"drivers", drivers}};
}

int run_judge(Cli& cli, const JudgeRequest& request) {
  const std::vector<std::string> folders = bundles_for("judge", request.folders, request.all);
  throw_if(!request.expect.empty() && folders.size() > 1,
           "--expect: give one bundle, since the outputs of others differ");
  check_commands("--with", request.with);
  const Interruption interruption;
  const std::vector<Driver> drivers = drivers_for(request);
  throw_if<Unsupported>(
      drivers.empty(),
      "there is no driver to ask: name one with --with \"tools/with-driver pocl\", or install "
      "Oclgrind");
  int code = kNothingRan, number = 0;
  json results = json::array();
  for (const std::string& folder : folders) {
    if (Interruption::came()) break;
    const std::string which = fmt::format("[{}/{}] ", ++number, folders.size());
    const Row row = judge_folder(cli, request, drivers, folder, which);
    print(cli.out, row);
    results.push_back(row_json(row));
    code = code_of_all(code, row.verdict.code);
  }
  cli.out.report("clam_judge", {{"results", results}});
  return code;
}

}  // namespace

void add_judge(CLI::App& app, Cli& cli) {
  const auto [sub, request] = add_command<JudgeRequest>(
      app, cli, "judge", "find the right results of bundles of `clam watch`, by other drivers",
      run_judge);
  sub->add_option("bundle", request->folders, "folders that clam watch wrote");
  sub->add_option("--all", request->all, "every bundle in this folder");
  add_repeatable(sub, "--with", request->with,
                 "a command that runs a program on another driver: \"tools/with-driver llvmpipe\"; "
                 "may be given many times");
  add_repeatable(sub, "--expect", request->expect,
                 "NAME=FILE.npy, a right output, which takes precedence over all drivers");
  add_limit(sub, request->limit_s, "seconds a run may take on a driver (default 60)");
  sub->add_flag("--here,!--no-here", request->here, "run on the devices of this machine (default)");
  sub->add_flag("--simulator,!--no-simulator", request->simulator,
                "run in Oclgrind, if it is installed (default)");
}

}  // namespace clam::cli
