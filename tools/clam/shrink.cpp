// SPDX-License-Identifier: MIT
// shrink.cpp - `clam shrink`: a bundle made smaller while it still fails.
#include "shrink/shrink.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "case_child.hpp"
#include "clam/error.hpp"
#include "process/clean_end.hpp"
#include "prove.hpp"
#include "record.hpp"
#include "shrink_run.hpp"

namespace clam::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// What is said, and the exit code, where there is nothing to shrink; as `clam replay` has it.
int refuse(Cli& cli, const ShrinkRequest& request, const Bundle& recorded,
           const Reproduction& found) {
  const bool right = recorded.seen.right(), differs = found.other.has_value();
  const bool too_few = !right && found.runs < runs_of_proof(recorded);
  const std::string verdict = differs   ? "fails differently"
                              : right   ? "still right"
                              : too_few ? "not known"
                                        : "fixed";
  const bool bad = differs || too_few;
  std::string reason = "nothing is written";
  if (differs) {
    reason = fmt::format("{} (recorded: {}); record it here first, then shrink that",
                         found.other->text(), recorded.seen.text());
  } else if (!right) {
    reason = fmt::format("was {}; it does not fail here in {} runs, so nothing is written",
                         recorded.seen.text(), found.runs);
  }
  if (too_few && !differs) {
    reason += fmt::format("; that takes {} runs, and --time was over", runs_of_proof(recorded));
  }
  cli.out.line(fmt::format("{}  {}: {}", bad ? cli.out.red(verdict) : cli.out.green(verdict),
                           request.folder, reason));
  cli.out.json({{"clam_shrink", 1},
                {"version", CLAM_VERSION},
                {"from", request.folder},
                {"bundle", nullptr},
                {"verdict", verdict},
                {"reason", reason}});
  return bad ? kCheckFailed : kFine;
}

Shrunk shrunk_of(const Bundle& from, const Shrinking& shrinking, bool complete) {
  Shrunk shrunk{from.problem, shrinking.steps(), shrinking.notes(), complete};
  if (!from.shrunk) return shrunk;
  shrunk.from = from.shrunk->from;
  shrunk.steps.insert(shrunk.steps.begin(), from.shrunk->steps.begin(), from.shrunk->steps.end());
  std::vector<std::string> notes = from.shrunk->notes;
  for (const std::string& note : shrunk.notes) {
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  }
  shrunk.notes = notes;
  return shrunk;
}

void print(Output& out, const ShrinkRequest& request, const Bundle& small, const Runner& runner) {
  const bool smaller = !small.shrunk->steps.empty();
  const char* nothing =
      runner.was_over() ? "nothing was made smaller yet: " : "nothing could be made smaller: ";
  out.line((smaller ? "smallest: " : nothing) + small.problem);
  out.line(out.red(small.seen.text()));
  for (const std::string& note : small.shrunk->notes) out.line("note: " + note);
  if (runner.was_over() && Interruption::came()) {
    out.line("interrupted, so this is the smallest so far");
  } else if (runner.was_over()) {
    out.line(
        fmt::format("the time of {} s was over, so this is the smallest so far; --time "
                    "gives it more",
                    request.time_s));
  }
  if (const Proof proof = read_proof(request.target); !proof.rows.empty()) {
    out.line(find_blame(small, proof, hash_of_files(small, request.target)));
  }
  out.line(
      fmt::format("{} run{} in {:.0f} s; written to {}; there: cc replay.c -lOpenCL -lm && "
                  "./a.out",
                  runner.runs(), runner.runs() == 1 ? "" : "s", request.seconds(), request.target));
}

json report_of(const ShrinkRequest& request, const Bundle& from, const Bundle& small,
               const Reproduction& found, const Runner& runner) {
  return {{"clam_shrink", 1},
          {"version", CLAM_VERSION},
          {"from", request.folder},
          {"bundle", request.target},
          {"verdict", from.seen.right() ? "fails now" : "still fails"},
          {"problem", {{"from", from.problem}, {"to", small.problem}}},
          {"steps", small.shrunk->steps},
          {"notes", small.shrunk->notes},
          {"complete", small.shrunk->complete},
          {"reproduced", {{"runs", found.runs}, {"wrong", found.wrong}}},
          {"tries_a_step", found.tries()},
          {"runs", runner.runs()},
          {"seconds", request.seconds()},
          {"interrupted", Interruption::came()},
          {"seen", to_json(small.seen)}};
}

// ---- where it goes ----

/// Beside the bundle, also where that is the folder that one is in.
std::string target_of(const std::string& folder) {
  const fs::path path = without_slash(folder);
  const bool has_name = path.filename() != "." && path.filename() != ".." && path != "/";
  return (has_name ? path : fs::canonical(path)).string() + "-small";
}

/// Whether a path, of folders that need not be there yet, is `folder` or lies in it.
bool lies_in(const std::string& path, const std::string& folder) {
  const fs::path inner = fs::weakly_canonical(fs::absolute(without_slash(path)));
  const fs::path outer = fs::weakly_canonical(fs::absolute(without_slash(folder)));
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

void check_target(const ShrinkRequest& request) {
  const std::string &folder = request.folder, &target = request.target;
  const bool inside = lies_in(target, folder), around = lies_in(folder, target);
  if (inside && around) {
    throw BadArgument(
        fmt::format("{} itself is never changed: give another folder with -o", folder));
  }
  if (inside || around) {
    throw BadArgument(
        fmt::format("{} lies in {}, and a bundle is never changed: give a folder elsewhere with -o",
                    inside ? target : folder, inside ? folder : target));
  }
}

// ---- what belongs to it ----

/// Whether replay.c holds all, as that of the bundle did or as is asked for; else a note says why.
bool single_file(const ShrinkRequest& request, const std::string& folder, Bundle& small) {
  if (!request.single_file && !is_single_file(request.folder)) return false;
  try {
    replay_source(small, folder, true);
    return true;
  } catch (const BadArgument& error) {
    small.shrunk->notes.push_back(
        fmt::format("the tensors in replay.c are left out: {}", error.what()));
    return false;
  }
}

/// The same files on every other driver; not what was interrupted there.
void prove(Cli& cli, const ShrinkRequest& request, const DeviceEntry& entry,
           const std::string& folder, const Bundle& small) {
  if (!request.proof || Interruption::came()) return;
  prove_elsewhere(cli, entry, folder, small, small.limit_s, Interruption::came);
  if (Interruption::came()) fs::remove(fs::path(folder) / "proof.json");
}

/// Those that say what is right, where a wrong result is of no problem of clam's.
Judges judges_for(const ShrinkRequest& request, const DeviceEntry& entry, const DeviceInfo& facts,
                  const Bundle& small) {
  if (!small.seen.first_wrong || problem_of(small)) return {};
  return {request.with,   facts.platform,         {"", device_id(entry)},
          request.folder, request.step_limit_s(), small};
}

void search(Cli& cli, Shrinking& shrinking, Runner& runner, const Judges& judges,
            const Bundle& from, Bundle& small) {
  const Oracle oracle = judges.empty()        ? Oracle::reference
                        : judges.sees_reads() ? Oracle::checked_drivers
                                              : Oracle::drivers;
  if (!judges.why_none().empty() && judges.empty()) shrinking.note(judges.why_none());
  shrink(shrinking, oracle, expect_apart([&] { return runner.over(); }));
  small = shrinking.smallest();
  small.shrunk = shrunk_of(from, shrinking, !runner.was_over());
  cli.out.progress("writing the smallest");
}

int run_shrink(Cli& cli, ShrinkRequest request) {
  request.start = Clock::now();
  if (request.reference_only) return serve_reference(cli, request.folder);
  const Bundle from = read_bundle(request.folder);
  if (request.target.empty()) request.target = target_of(request.folder);
  check_target(request);
  const Interruption interruption;
  StagedFolder folder(request.target, request.force);
  const DeviceEntry entry = select_device(cli.device);
  const DeviceInfo facts = query_device(entry.device);
  cli.out.line("device " + device_title(entry, facts));
  cli.out.progress("does it fail here?");
  const Reproduction found = reproduce(request, device_id(entry), from);
  if (found.wrong == 0 && Interruption::came()) {
    throw BadArgument("interrupted before it failed here, so nothing is written");
  }
  if (found.wrong == 0) return refuse(cli, request, from, found);
  cli.out.line(fmt::format("{}: {}", from.problem, found.seen->text()));
  if (found.flaky()) {
    cli.out.line(fmt::format("it fails in {} of {} runs: each step is tried up to {} times",
                             found.wrong, found.runs, found.tries()));
  }
  Bundle small = from;
  small.seen = *found.seen;
  small.limit_s = hang_limit_s(request, from);
  small.one_in = found.one_in;
  if (small.seen.outcome == Seen::Outcome::hung && small.limit_s > request.step_limit_s()) {
    cli.out.line(fmt::format("each step gets {} s, as when it was recorded, or it may be no hang",
                             small.limit_s));
  }
  check_commands("--with", request.with);
  const Judges judges = judges_for(request, entry, facts, small);
  if (!judges.empty()) small.given.clear();  // it is of this size
  Runner runner(request, device_id(entry), found, small.limit_s, judges);
  Shrinking shrinking(
      small, [&](Bundle& bundle) { return runner.still_fails(bundle); },
      [&](const std::string& step) {
        if (!cli.out.quiet()) cli.out.line("  " + step);
      },
      [&] { return runner.over(); });
  search(cli, shrinking, runner, judges, from, small);
  small.device = facts;
  runner.write(folder.path(), small);
  small.recorded = recording_date();
  prove(cli, request, entry, folder.path(), small);
  const bool in_one = single_file(request, folder.path(), small);
  finish_case(folder.path(), small, in_one);
  for (const std::string& command : request.with) {
    if (request.proof && !Interruption::came()) {
      prove_with(cli, command, folder.path(), small, small.limit_s);
    }
  }
  folder.publish();
  print(cli.out, request, small, runner);
  cli.out.json(report_of(request, from, small, found, runner));
  return kFine;
}

}  // namespace

void add_shrink(CLI::App& app, Cli& cli) {
  const auto [sub, request] = add_command<ShrinkRequest>(
      app, cli, "shrink", "make a bundle of `clam record` smaller while it still fails",
      run_shrink);
  sub->add_option("bundle", request->folder, "a folder that clam record wrote; it stays as it is")
      ->required();
  sub->add_option("-o,--output", request->target, "the folder to write (default: BUNDLE-small)");
  sub->add_flag("--force", request->force, "replace a bundle that is there");
  sub->add_flag("--single-file", request->single_file,
                "put kernels and tensors into replay.c too, up to 64 KiB");
  sub->add_option("--limit", request->limit_s,
                  "seconds until a step counts as a hang (default 20). For a hang: at least the "
                  "limit of its recording, which is then the default")
      ->check(CLI::Range(1, 86400));
  sub->add_option("--time", request->time_s,
                  "seconds to search (default 300); then, or after Ctrl-C, the smallest bundle so "
                  "far is written")
      ->check(CLI::Range(1, 864000));
  sub->add_option("--times", request->times,
                  "runs without a failure until a step counts as right (default 3; more for a rare "
                  "fault)")
      ->check(CLI::Range(1, 10000));
  add_repeatable(sub, "--with", request->with,
                 "for a kernel that is not clam's: a command that runs a program on another "
                 "driver, to find what is right (\"tools/with-driver pocl\")");
  sub->add_flag("--proof,!--no-proof", request->proof,
                "run the smallest bundle on every other device of this machine, and in Oclgrind if "
                "it is installed (default)");
  sub->add_flag("--reference-only", request->reference_only)->group("");
}

}  // namespace clam::cli
