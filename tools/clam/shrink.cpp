// SPDX-License-Identifier: MIT
// shrink.cpp - `clam shrink`: a bundle made smaller while it still fails.
#include "bundle/shrink.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "case_child.hpp"
#include "error.hpp"
#include "process/scratch_folder.hpp"
#include "record.hpp"

namespace clam::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using nlohmann::json;

struct ShrinkRequest {
  std::string folder, target;
  int limit_s = 20, time_s = 300, times = 3;
  bool force = false, single_file = false;
  Clock::time_point start = Clock::now();
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// ---- does it fail here? ----

/// The failure as this device shows it.
struct Reproduction {
  int runs = 0, wrong = 0;  ///< wrong: in the way that is to be kept
  std::optional<Seen> seen, other;

  bool flaky() const { return wrong > 0 && wrong < runs; }
  /// Runs after which a case that fails as often has failed but for one time in twenty.
  int tries() const {
    constexpr double kMissed = 0.05;
    constexpr int kMost = 30;
    if (!flaky()) return 1;
    const double right = 1 - static_cast<double>(wrong) / runs;
    return std::clamp(static_cast<int>(std::ceil(std::log(kMissed) / std::log(right))), 2, kMost);
  }
};

/// Runs it a few times, and where it fails at times only, often enough to know how often. One that
/// takes long is run once.
Reproduction reproduce(const ShrinkRequest& request, const std::string& device,
                       const Bundle& recorded) {
  constexpr int kFlakyTimes = 10;
  Reproduction found;
  std::string fault = recorded.seen.right() ? "" : fault_of(recorded.seen);
  int times = request.times;
  for (; found.runs < times; ++found.runs) {
    if (found.wrong > 0 && seconds_since(request.start) > 0.1 * request.time_s) break;
    const CaseRun run = try_case(device, request.folder, request.limit_s);
    if (run.cannot) throw Unsupported(*run.cannot);
    if (fault.empty() && !run.seen.right()) fault = fault_of(run.seen);
    if (!run.seen.right() && fault_of(run.seen) != fault) found.other = run.seen;
    if (!run.seen.right() && fault_of(run.seen) == fault) {
      ++found.wrong;
      if (!found.seen) found.seen = run.seen;
    }
    if (found.wrong > 0 && found.wrong <= found.runs) times = std::max(times, kFlakyTimes);
  }
  return found;
}

/// What is said, and the exit code, where there is nothing to shrink; as `clam replay` has it.
int refuse(Cli& cli, const ShrinkRequest& request, const Bundle& recorded,
           const Reproduction& found) {
  const bool right = recorded.seen.right(), differs = found.other.has_value();
  const std::string verdict = differs ? "fails differently" : right ? "still right" : "fixed";
  std::string reason = "nothing is written";
  if (differs) {
    reason = fmt::format("{} (recorded: {}); record it here first, then shrink that",
                         found.other->text(), recorded.seen.text());
  } else if (!right) {
    reason = fmt::format("was {}; it does not fail here in {} runs, so nothing is written",
                         recorded.seen.text(), found.runs);
  }
  cli.out.line(fmt::format("{}  {}: {}", differs ? cli.out.red(verdict) : cli.out.green(verdict),
                           request.folder, reason));
  cli.out.json({{"clam_shrink", 1},
                {"version", CLAM_VERSION},
                {"from", request.folder},
                {"bundle", nullptr},
                {"verdict", verdict},
                {"reason", reason}});
  return differs ? kCheckFailed : kFine;
}

// ---- smaller cases ----

/// Runs smaller cases, each in a process of its own, until the time is over.
class Runner {
 public:
  Runner(const ShrinkRequest& request, std::string device, const Reproduction& found)
      : request_(&request),
        device_(std::move(device)),
        fault_(fault_of(*found.seen)),
        hangs_(found.seen->outcome == Seen::Outcome::hung),
        tries_(found.tries()) {}

  bool still_fails(Bundle& bundle) {
    for (int i = 0; i < tries_; ++i) {
      const double left = request_->time_s - seconds_since(request_->start);
      if (left <= 0) {
        time_over_ = true;
        return false;
      }
      // A hang must be waited for in full, or it is none.
      const int limit =
          hangs_ ? request_->limit_s
                 : std::min(request_->limit_s, std::max(1, static_cast<int>(std::ceil(left))));
      if (fails(bundle, limit)) return true;
    }
    return false;
  }

  /// Writes the smallest and runs it again, for its build log; where it happens to be right, what
  /// was seen in the search stays.
  void write(const std::string& folder, Bundle& bundle) {
    write_case(folder, bundle);
    for (int i = 0; i < tries_; ++i) {
      ++runs_;
      const CaseRun run = try_case(device_, folder, request_->limit_s, folder);
      if (run.cannot || fault_of(run.seen) != fault_) continue;
      bundle.seen = run.seen;
      break;
    }
    bundle.seen.reason = anonymous(bundle.seen.reason);
  }

  int runs() const { return runs_; }
  bool time_over() const { return time_over_; }
  double seconds() const { return seconds_since(request_->start); }

 private:
  bool fails(Bundle& bundle, int limit_s) {
    const ScratchFolder folder, log;
    try {
      write_case(folder.path(), bundle);
      ++runs_;
      const CaseRun run = try_case(device_, folder.path(), limit_s, log.path());
      if (run.cannot || run.seen.right() || fault_of(run.seen) != fault_) return false;
      bundle.seen = run.seen;
      return true;
    } catch (const BadArgument&) {  // no case: too large, or a launch that its kernel refuses
      return false;
    }
  }

  const ShrinkRequest* request_;
  std::string device_, fault_;
  bool hangs_ = false, time_over_ = false;
  int tries_ = 1, runs_ = 0;
};

Shrunk shrunk_of(const Bundle& from, const Shrinking& shrinking, bool complete) {
  Shrunk shrunk{from.problem, shrinking.steps(), shrinking.notes(), complete};
  if (!from.shrunk) return shrunk;
  shrunk.from = from.shrunk->from;
  shrunk.steps.insert(shrunk.steps.begin(), from.shrunk->steps.begin(), from.shrunk->steps.end());
  return shrunk;
}

void print(Output& out, const ShrinkRequest& request, const Bundle& small, const Runner& runner) {
  const bool smaller = !small.shrunk->steps.empty();
  const char* nothing =
      runner.time_over() ? "nothing was made smaller yet: " : "nothing could be made smaller: ";
  out.line((smaller ? "smallest: " : nothing) + small.problem);
  out.line(out.red(small.seen.text()));
  for (const std::string& note : small.shrunk->notes) out.line("note: " + note);
  if (runner.time_over()) {
    out.line(
        fmt::format("the time of {} s was over, so this is the smallest so far; --time "
                    "gives it more",
                    request.time_s));
  }
  out.line(
      fmt::format("{} runs in {:.0f} s; written to {}; there: cc replay.c -lOpenCL -lm && "
                  "./a.out",
                  runner.runs(), runner.seconds(), request.target));
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
          {"seconds", runner.seconds()},
          {"seen", to_json(small.seen)}};
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

void check_target(const ShrinkRequest& request) {
  std::error_code error;
  if (fs::equivalent(request.folder, request.target, error)) {
    throw BadArgument(
        fmt::format("{} itself is never changed: give another folder with -o", request.folder));
  }
}

void search(Cli& cli, Shrinking& shrinking, Runner& runner, const Bundle& from, Bundle& small) {
  shrink(shrinking);
  small = shrinking.smallest();
  small.shrunk = shrunk_of(from, shrinking, !runner.time_over());
  cli.out.progress("writing the smallest");
}

int run_shrink(Cli& cli, ShrinkRequest request) {
  const Bundle from = read_bundle(request.folder);
  if (request.target.empty()) request.target = without_slash(request.folder) + "-small";
  check_target(request);
  StagedFolder folder(request.target, request.force);
  const DeviceEntry entry = select_device(cli.device);
  const DeviceInfo facts = query_device(entry.device);
  cli.out.line("device " + device_title(entry, facts));
  cli.out.progress("does it fail here?");
  const Reproduction found = reproduce(request, device_id(entry), from);
  if (found.wrong == 0) return refuse(cli, request, from, found);
  cli.out.line(fmt::format("{}: {}", from.problem, found.seen->text()));
  if (found.flaky()) {
    cli.out.line(fmt::format("it fails in {} of {} runs: each step is tried up to {} times",
                             found.wrong, found.runs, found.tries()));
  }
  Bundle small = from;
  small.seen = *found.seen;
  Runner runner(request, device_id(entry), found);
  Shrinking shrinking(
      small, [&](Bundle& bundle) { return runner.still_fails(bundle); },
      [&](const std::string& step) {
        if (!cli.out.quiet()) cli.out.line("  " + step);
      });
  search(cli, shrinking, runner, from, small);
  small.device = facts;
  runner.write(folder.path(), small);
  small.recorded = recording_date();
  finish_case(folder.path(), small, {request.single_file, false});
  folder.publish();
  print(cli.out, request, small, runner);
  cli.out.json(report_of(request, from, small, found, runner));
  return kFine;
}

}  // namespace

void add_shrink(CLI::App& app, Cli& cli) {
  auto request = std::make_shared<ShrinkRequest>();
  CLI::App* sub =
      app.add_subcommand("shrink", "a bundle of `clam record` made smaller while it still fails");
  sub->add_option("bundle", request->folder, "a folder that clam record wrote; it stays as it is")
      ->required();
  sub->add_option("-o,--output", request->target, "the folder to write (default: BUNDLE-small)");
  sub->add_flag("--force", request->force, "replace a bundle that is there");
  sub->add_flag("--single-file", request->single_file,
                "put kernels and tensors into replay.c too, up to 64 KiB");
  sub->add_option("--limit", request->limit_s, "seconds until a step counts as a hang (default 20)")
      ->check(CLI::Range(1, 86400));
  sub->add_option("--time", request->time_s,
                  "seconds in all; then the smallest so far is written (default 300)")
      ->check(CLI::Range(1, 864000));
  sub->add_option("--times", request->times,
                  "runs until it counts as one that does not fail here (default 3)")
      ->check(CLI::Range(1, 10000));
  sub->callback(
      [&cli, request] { cli.command = [&cli, request] { return run_shrink(cli, *request); }; });
}

}  // namespace clam::cli
