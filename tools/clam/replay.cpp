// SPDX-License-Identifier: MIT
// replay.cpp - `clam replay`: bundles run again, as after an update of the driver.
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "clam/error.hpp"
#include "drivers.hpp"
#include "process/clean_end.hpp"

namespace clam::cli {
namespace {

constexpr BundleVerdict kFixed{"fixed", kFine}, kStillRight{"still right", kFine},
    kStillFails{"still fails", kCheckFailed}, kFailsDifferently{"fails differently", kCheckFailed},
    kFailsNow{"fails now", kCheckFailed}, kCannot{"cannot run here", kNothingRan},
    kUnreadable{"unreadable", kBadUsage};

struct ReplayRequest {
  std::vector<std::string> folders;
  std::string all;
  int times = 0, limit_s = 60;  ///< times: 0: as often as the fault takes
  bool add_proof = false;
  bool here = false;  ///< the process that runs one: see try_case
  CaseWishes wishes;  ///< of that process
};

struct Row {
  std::string folder, problem, reason;
  std::string proof;       ///< the verdict, where this run was added to it
  std::string not_proved;  ///< why it could not be written down
  BundleVerdict verdict = kCannot;
  Seen recorded, seen;                       ///< seen: of the first run that went wrong, if any did
  int runs = 0, wrong = 0, first_wrong = 0;  ///< first_wrong: from 1
};

/// The device that bundles are run on; none: why not.
struct Here {
  std::optional<LocalDevice> device;
  std::string none;
};

BundleVerdict verdict_of(const Row& row, bool same) {
  if (row.recorded.right()) return row.wrong ? kFailsNow : kStillRight;
  if (row.wrong == 0) return kFixed;
  return same ? kStillFails : kFailsDifferently;
}

/// Where a run of several is.
using OnRun = std::function<void(int run, int runs)>;

void run_row(const ReplayRequest& request, const std::string& device, const Bundle& bundle,
             const OnRun& on_run, Row& row) {
  const int needed = runs_of_proof(bundle);
  const int times = request.times == 0  ? needed
                    : request.add_proof ? std::max(request.times, needed)
                                        : request.times;
  bool same = false;
  for (int i = 0; i < times; ++i) {
    on_run(i + 1, times);
    const CaseRun run = try_case(device, row.folder, request.limit_s);
    if (run.cannot) {
      row.reason = *run.cannot;
      return;
    }
    ++row.runs;
    if (run.seen.right()) continue;
    if (row.wrong == 0) row.first_wrong = row.runs;
    const bool is_same = same_failure(run.seen, row.recorded);
    if (row.wrong++ == 0 || (is_same && !same)) row.seen = run.seen;
    same = same || is_same;
  }
  row.verdict = verdict_of(row, same);
  row.reason = row.wrong ? row.seen.text() : "";
  if (row.verdict == kFailsDifferently) {
    row.reason += fmt::format(" (recorded: {})", row.recorded.text());
  }
  if (row.verdict == kFixed) row.reason = "was " + row.recorded.text();
  if (times > 1) {
    row.reason +=
        fmt::format("{}{} of {} runs wrong", row.reason.empty() ? "" : "; ", row.wrong, row.runs);
  }
}

/// What came of it here, or that it cannot run here, becomes a row of the bundle's proof.
void add_proof(const ReplayRequest& request, const LocalDevice& here, const Bundle& bundle,
               Row& row) {
  ProofRow proved = row_of(here.facts, row.folder, bundle);
  if (is_simulator(here.facts)) {  // once more, for its report
    proved = prove_on(here, row.folder, bundle, request.limit_s);
  } else if (row.runs == 0) {
    proved.cannot = row.reason;
  } else {
    proved.seen = row.seen;
    proved.runs = row.first_wrong > 0 ? row.first_wrong : row.runs;
  }
  Proof proof = read_proof(row.folder);
  proof.add(proved);
  row.proof = find_blame(bundle, proof, proved.files);
  write_proof(row.folder, proof);
  write_readme(row.folder, bundle);
}

Row replay(const ReplayRequest& request, const std::string& folder, const Here& here,
           const OnRun& on_run) {
  Row row;
  row.folder = folder;
  try {
    const Bundle bundle = read_bundle(folder);
    row.problem = bundle.problem;
    row.recorded = bundle.seen;
    row.reason = here.none;
    if (here.device) run_row(request, here.device->id(), bundle, on_run, row);
    if (here.device && request.add_proof) {
      try {
        add_proof(request, *here.device, bundle, row);
      } catch (const IoError& error) {
        row.not_proved = error.what();
      }
    }
  } catch (const BadArgument& error) {
    row.verdict = kUnreadable;
    row.reason = error.what();
  }
  return row;
}

void print(Output& out, const Row& row) {
  const bool is_good = row.verdict.code == kFine;
  if (out.quiet() && is_good && row.not_proved.empty()) return;
  const std::string verdict = fmt::format("{:<17}", row.verdict.word);
  out.line(fmt::format("{}  {}{}{}", out.marked(verdict, is_good, !(row.verdict == kCannot)),
                       row.folder, row.reason.empty() ? "" : ": ", row.reason));
  if (!row.proof.empty()) out.line("  " + row.proof);
  if (!row.not_proved.empty()) out.note("this is not in its proof: " + row.not_proved);
}

void to_json(json& written, const Row& row) {
  written = {{"bundle", row.folder},
             {"problem", row.problem},
             {"verdict", row.verdict.word},
             {"reason", row.reason},
             {"runs", row.runs},
             {"wrong", row.wrong},
             {"recorded", clam::to_json(row.recorded)},
             {"seen", nullptr}};
  if (row.not_proved.empty() && !row.proof.empty()) written["proof"] = row.proof;
  if (row.runs > 0) written["seen"] = clam::to_json(row.seen);
}

int run_replay(Cli& cli, const ReplayRequest& request) {
  if (request.here) return serve_case(cli, request.folders.at(0), request.wishes);
  const CleanEnd clean_end;
  const std::vector<std::string> folders = bundles_for("replay", request.folders, request.all);
  Here here;
  json report{{"results", json::array()}};
  try {
    here.device = chosen_device(cli);
    report["device"] = to_json(here.device->facts);
    cli.out.line("device " + here.device->title());
  } catch (const NoDevice& error) {
    here.none = error.what();
  }
  int code = kNothingRan, number = 0;
  for (const std::string& folder : folders) {
    const std::string which = fmt::format("[{}/{}] ", ++number, folders.size());
    cli.out.progress(which + folder);
    const Row row = replay(request, folder, here, [&](int run, int runs) {
      if (runs > 1) cli.out.progress(fmt::format("{}run {} of {}, {}", which, run, runs, folder));
    });
    print(cli.out, row);
    report["results"].push_back(row);
    code = code_of_all(code, row.verdict.code);
  }
  cli.out.report("clam_replay", report);
  return code;
}

}  // namespace

void add_replay(CLI::App& app, Cli& cli) {
  const auto [sub, request] = add_command<ReplayRequest>(
      app, cli, "replay", "run bundles of `clam record` again: fixed or not?", run_replay);
  sub->add_option("bundle", request->folders, "folders that clam record wrote");
  sub->add_option("--all", request->all, "every bundle in this folder");
  sub->add_option("--times", request->times,
                  "how often each bundle is run (default 1; for a rare fault as often as it takes "
                  "to see it)")
      ->check(CLI::Range(1, 100000));
  add_limit(sub, request->limit_s, "seconds until a run counts as a hang (default 60)");
  sub->add_flag("--add-proof", request->add_proof,
                "add the outcome on this device to the README of the bundle");
  sub->add_flag("--here", request->here)->group("");
  sub->add_option("--keep", request->wishes.keep)->group("");
  sub->add_option("--outputs", request->wishes.outputs)->group("");
  sub->add_option("--nudges", request->wishes.nudges)->group("");
}

}  // namespace clam::cli
