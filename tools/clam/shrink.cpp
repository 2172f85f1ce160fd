// SPDX-License-Identifier: MIT
// shrink.cpp - `clam shrink`: a bundle made smaller while it still fails.
#include "shrink/shrink.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "check/clock.hpp"
#include "clam/error.hpp"
#include "process/clean_end.hpp"
#include "process/scratch_folder.hpp"
#include "record.hpp"
#include "runtime/refuse.hpp"
#include "shrink_oracles.hpp"

namespace clam::cli {
namespace {

struct ShrinkRequest : BundleRequest {
  std::string folder;
  int limit_s = 0, time_s = 300, times = 3;  ///< limit_s 0: none was given
  bool reference_only = false;
  std::vector<std::string> with;  ///< commands that run a program on another driver
  Clock::time_point start{};      ///< of the command

  int step_limit_s() const { return limit_s > 0 ? limit_s : 20; }
  double seconds() const { return seconds_since(start); }
};

// ---- does it fail here? ----

/// The failure as this device shows it.
struct Reproduction {
  int runs = 0, wrong = 0;  ///< wrong: in the way that is to be kept
  std::optional<Seen> seen, other;

  int one_in = 1;  ///< about one of so many runs fails; where there were few, as recorded

  bool flaky() const { return one_in > 1; }
  /// Runs after which a case that fails as often has failed but for one time in twenty.
  int tries() const {
    constexpr double kMissed = 0.05;
    if (!flaky()) return 1;
    const double right = 1 - 1.0 / one_in;
    return std::max(2, static_cast<int>(std::ceil(std::log(kMissed) / std::log(right))));
  }
};

/// How long a hang is waited for: as when it was recorded, or as --limit asks where that is longer,
/// since work that only takes longer is none.
int hang_limit_s(const ShrinkRequest& request, const Bundle& recorded) {
  constexpr int kOfRecord = 60;  // where a bundle does not say
  const bool is_known = recorded.seen.outcome == Seen::Outcome::hung && recorded.limit_s > 0;
  if (is_known) return std::max(request.limit_s, recorded.limit_s);
  return std::max(request.step_limit_s(), recorded.limit_s > 0 ? recorded.limit_s : kOfRecord);
}

/// Runs it a few times, and where it fails at times only, often enough to know how often. One that
/// takes long is run once.
Reproduction reproduce(const ShrinkRequest& request, const std::string& device,
                       const Bundle& recorded) {
  constexpr int kFlakyTimes = 10;
  throw_if(!recorded.judged, "{} is recorded, not judged: clam judge it first", request.folder);
  Reproduction found;
  std::string fault = recorded.seen.right() ? "" : fault_of(recorded.seen);
  int times = std::max(request.times, runs_of_proof(recorded));
  for (; found.runs < times; ++found.runs) {
    if (found.wrong > 0 && request.seconds() > 0.1 * request.time_s) break;
    if (found.runs > 0 && request.seconds() > request.time_s) break;
    const CaseRun run = try_case(device, request.folder, hang_limit_s(request, recorded));
    if (Interruption::came()) break;
    if (run.cannot) throw Unsupported(*run.cannot);
    if (fault.empty() && !run.seen.right()) fault = fault_of(run.seen);
    if (!run.seen.right() && fault_of(run.seen) != fault) found.other = run.seen;
    if (!run.seen.right() && fault_of(run.seen) == fault) {
      ++found.wrong;
      if (!found.seen) found.seen = run.seen;
    }
    if (found.wrong > 0 && found.wrong <= found.runs) times = std::max(times, kFlakyTimes);
  }
  if (found.wrong > 0) found.one_in = (found.runs + found.wrong - 1) / found.wrong;
  if (found.runs < runs_of_proof(recorded)) found.one_in = std::max(found.one_in, recorded.one_in);
  found.one_in = std::min(found.one_in, kMostRuns);
  return found;
}

// ---- smaller cases ----

/// Runs smaller cases, each in a process of its own, until the time is over.
class Runner {
 public:
  /// `judges`: where there are some, they say what is right in each case; else the case does.
  Runner(const ShrinkRequest& request, std::string device, const Reproduction& found,
         int hang_limit_s, Judges judges)
      : request_(&request),
        judges_(std::move(judges)),
        device_(std::move(device)),
        fault_(fault_of(*found.seen)),
        hangs_(found.seen->outcome == Seen::Outcome::hung),
        hang_limit_s_(hang_limit_s),
        tries_(found.tries()) {}

  bool still_fails(Bundle& bundle) {
    for (int i = 0; i < tries_ && !over(); ++i) {
      if (fails(bundle)) return true;
    }
    return false;
  }

  /// Whether the search is to end.
  bool over() {
    was_over_ = was_over_ || is_over();
    return was_over_;
  }

  /// Writes the smallest and runs it again, for its build log; where it happens to be right, what
  /// was seen in the search stays.
  void write(const std::string& folder, Bundle& bundle) {
    write_case(folder, bundle);
    for (int i = 0; i < tries_ && (i == 0 || !is_over()); ++i) {
      const ScratchFolder log;  // of a run that fails otherwise nothing is kept
      ++runs_;
      const int limit = hangs_ ? hang_limit_s_ : request_->step_limit_s();
      const CaseRun run = try_case(device_, folder, limit, {log.path(), "", 0});
      if (run.cannot || fault_of(run.seen) != fault_) continue;
      constexpr auto kReplacing =
          fs::copy_options::recursive | fs::copy_options::overwrite_existing;
      fs::copy(log.path(), folder, kReplacing);
      bundle.seen = run.seen;
      break;
    }
    bundle.seen.reason = anonymous(bundle.seen.reason);
  }

  /// Of the time to search; 0 once it is to end.
  std::chrono::milliseconds left() {
    return std::chrono::milliseconds(over() ? 0 : static_cast<std::int64_t>(1000 * left_s()));
  }
  int runs() const { return runs_; }
  /// Whether it ended before it was done.
  bool was_over() const { return was_over_; }

 private:
  double left_s() const { return request_->time_s - request_->seconds(); }
  bool is_over() const { return Interruption::came() || left_s() <= 0; }

  /// A hang must be waited for in full, or it is none.
  int limit_s() const {
    if (hangs_) return hang_limit_s_;
    return std::min(request_->step_limit_s(), std::max(1, static_cast<int>(std::ceil(left_s()))));
  }

  bool fails(Bundle& bundle) {
    const ScratchFolder folder;
    try {
      // Of the larger case; they need not have the size of this one.
      if (!judges_.empty()) bundle.expected.clear(), bundle.bounds.clear();
      write_case(folder.path(), bundle);
      ++runs_;
      return is_wrong(folder.path(), bundle) && !Interruption::came() &&
             fault_of(bundle.seen) == fault_;
    } catch (const BadArgument&) {  // no case: too large, or a launch that its kernel refuses
      return false;
    }
  }

  /// Whether it was seen to fail, and how: that is in the bundle then.
  bool is_wrong(const std::string& folder, Bundle& bundle) {
    if (!judges_.empty()) return judges_.find_wrong({"", device_}, folder, limit_s(), bundle);
    const ScratchFolder log;
    const CaseRun run = try_case(device_, folder, limit_s(), {log.path(), "", 0});
    if (run.cannot || run.seen.right()) return false;
    bundle.seen = run.seen;
    return true;
  }

  const ShrinkRequest* request_;
  Judges judges_;
  std::string device_, fault_;
  bool hangs_ = false, was_over_ = false;
  int hang_limit_s_, tries_ = 1, runs_ = 0;
};

// ---- what is said ----

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
  cli.out.report(
      "clam_shrink",
      {{"from", request.folder}, {"bundle", nullptr}, {"verdict", verdict}, {"reason", reason}});
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
      fmt::format("{} in {:.0f} s; written to {}; there: cc replay.c -lOpenCL -lm && "
                  "./a.out",
                  counted(runner.runs(), "run"), request.seconds(), request.target));
}

json report_of(const ShrinkRequest& request, const Bundle& from, const Bundle& small,
               const Reproduction& found, const Runner& runner) {
  return {{"from", request.folder},
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
  throw_if(inside && around, "{} itself is never changed: give another folder with -o", folder);
  throw_if(inside || around,
           "{} lies in {}, and a bundle is never changed: give a folder elsewhere with -o",
           inside ? target : folder, inside ? folder : target);
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
void prove(Cli& cli, const ShrinkRequest& request, const LocalDevice& device,
           const std::string& folder, const Bundle& small) {
  if (!request.proof || Interruption::came()) return;
  prove_elsewhere(cli, device, folder, small, small.limit_s);
  if (Interruption::came()) fs::remove(fs::path(folder) / "proof.json");
}

/// Those that say what is right, where a wrong result is of no problem of clam's.
Judges judges_for(const ShrinkRequest& request, const LocalDevice& device, const Bundle& small) {
  if (!small.seen.first_wrong || problem_of(small)) return {};
  return {request.with,   device.facts.platform,  {"", device.id()},
          request.folder, request.step_limit_s(), small};
}

void search(Cli& cli, Shrinking& shrinking, Runner& runner, const Judges& judges,
            const Bundle& from, Bundle& small) {
  const Oracle oracle = judges.empty()        ? Oracle::reference
                        : judges.sees_reads() ? Oracle::checked_drivers
                                              : Oracle::drivers;
  if (!judges.why_none().empty() && judges.empty()) shrinking.note(judges.why_none());
  shrink(shrinking, oracle, expect_apart([&] { return runner.left(); }));
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
  const LocalDevice device = chosen_device(cli);
  cli.out.line("device " + device.title());
  cli.out.progress("does it fail here?");
  const Reproduction found = reproduce(request, device.id(), from);
  throw_if(found.wrong == 0 && Interruption::came(),
           "interrupted before it failed here, so nothing is written");
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
  const Judges judges = judges_for(request, device, small);
  if (!judges.empty()) small.given.clear();  // it is of this size
  Runner runner(request, device.id(), found, small.limit_s, judges);
  Shrinking shrinking(
      small, [&](Bundle& bundle) { return runner.still_fails(bundle); },
      [&](const std::string& step) {
        if (!cli.out.quiet()) cli.out.line("  " + step);
      },
      [&] { return runner.over(); });
  search(cli, shrinking, runner, judges, from, small);
  small.device = device.facts;
  runner.write(folder.path(), small);
  small.recorded = recording_date();
  prove(cli, request, device, folder.path(), small);
  const bool in_one = single_file(request, folder.path(), small);
  finish_case(folder.path(), small, in_one);
  for (const std::string& command : request.with) {
    if (request.proof && !Interruption::came()) {
      prove_with(cli, command, folder.path(), small, small.limit_s);
    }
  }
  folder.publish();
  print(cli.out, request, small, runner);
  cli.out.report("clam_shrink", report_of(request, from, small, found, runner));
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
  add_bundle_options(sub, *request);
  add_limit(sub, request->limit_s,
            "seconds until a step counts as a hang (default 20). For a hang: at least the limit of "
            "its recording, which is then the default");
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
  sub->add_flag("--reference-only", request->reference_only)->group("");
}

}  // namespace clam::cli
