// SPDX-License-Identifier: MIT
#include "shrink_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>

#include "check/npy.hpp"
#include "check/op_proof.hpp"
#include "clam/error.hpp"
#include "process/process.hpp"
#include "process/scratch_folder.hpp"
#include "runtime/atomic_file.hpp"
#include "shrink/fault.hpp"

namespace clam {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ReferenceOptions, check, denormals, native_exp2_ulp)
}  // namespace clam

namespace clam::cli {
namespace {

// ---- judges ----

constexpr int kNudgesOfJudges = 1;

/// Whether all that is right is a number where it was before: what nobody wrote often is none.
bool is_finite(const Tensors& expected) {
  for (const auto& [name, tensor] : expected) {
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      if (!std::isfinite(tensor.get(i))) return false;
    }
  }
  return true;
}

/// The case, built without optimisation: what OpenCL leaves open is then often another.
void ask_for_no_optimisation(Bundle& bundle) {
  for (Launch* launch : launches_of(*bundle.plan)) {
    launch->options += launch->options.empty() ? "-cl-opt-disable" : " -cl-opt-disable";
  }
}

// ---- a reference apart ----

constexpr const char* kQuestion = "question.json";

void ask(const std::string& folder, const Problem& problem, const Tensors& inputs,
         const ReferenceOptions& options, const Bundle& bundle) {
  const json question{
      {"problem", problem.text()}, {"options", options}, {"plan", to_json(*bundle.plan)}};
  write_file(path_in(folder, kQuestion), question.dump());
  for (const auto& [name, tensor] : inputs) write_npy(path_in(folder, name + ".npy"), tensor);
}

/// What it printed, once it has ended; whether it did before the search was over.
bool await_end(Process& process, const std::function<bool()>& over, std::string& said) {
  constexpr std::chrono::milliseconds kPause(50);
  for (std::string line;;) {
    process.wait_for_output(kPause);
    const Process::Read read = process.read_line(line, std::chrono::milliseconds(0));
    if (read == Process::Read::end) return true;
    if (over()) return false;
    if (read == Process::Read::line) said += line + "\n";
  }
}

void take_answer(const std::string& folder, Bundle& bundle) {
  bundle.expected.clear();
  bundle.bounds.clear();
  for (const TensorSpec& spec : bundle.plan->tensors) {
    const std::string expected = path_in(folder, spec.name + ".expected.npy"),
                      bound = path_in(folder, spec.name + ".bound.npy");
    if (fs::exists(expected)) bundle.expected[spec.name] = read_npy(expected);
    if (fs::exists(bound)) bundle.bounds[spec.name] = read_npy(bound);
  }
}

Bundle answer(const std::string& folder) {
  const json question = json::parse(read_file(path_in(folder, kQuestion)));
  const Problem problem = Problem::parse(question.at("problem").get<std::string>());
  Tensors inputs;
  for (const TensorSpec& spec : problem.tensors()) {
    if (spec.role == Role::input) inputs[spec.name] = read_npy(path_in(folder, spec.name + ".npy"));
  }
  Bundle bundle;
  bundle.plan = plan_from_json(question.at("plan"));
  expect_here(problem, inputs, question.at("options").get<ReferenceOptions>(), bundle);
  return bundle;
}

}  // namespace

// ---- does it fail here? ----

int Reproduction::tries() const {
  constexpr double kMissed = 0.05;
  if (!flaky()) return 1;
  const double right = 1 - 1.0 / one_in;
  return std::max(2, static_cast<int>(std::ceil(std::log(kMissed) / std::log(right))));
}

int hang_limit_s(const ShrinkRequest& request, const Bundle& recorded) {
  constexpr int kOfRecord = 60;  // where a bundle does not say
  const bool is_known = recorded.seen.outcome == Seen::Outcome::hung && recorded.limit_s > 0;
  if (is_known) return std::max(request.limit_s, recorded.limit_s);
  return std::max(request.step_limit_s(), recorded.limit_s > 0 ? recorded.limit_s : kOfRecord);
}

Reproduction reproduce(const ShrinkRequest& request, const std::string& device,
                       const Bundle& recorded) {
  constexpr int kFlakyTimes = 10;
  if (!recorded.judged) {
    throw BadArgument(request.folder + " is recorded, not judged: clam judge it first");
  }
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

// ---- judges ----

Judges::Judges(const std::vector<std::string>& with, const std::string& platform,
               const Driver& here, const std::string& folder, int limit_s, const Bundle& whole) {
  std::vector<Driver> drivers = drivers_through(with);
  for (const auto& more : {drivers_here(platform), simulators()}) {
    drivers.insert(drivers.end(), more.begin(), more.end());
  }
  why_none_ = "no other driver says what is right: name one with --with \"tools/with-driver pocl\"";
  bool is_reported = false;
  for (const Driver& driver : drivers) {
    const Answer answer = ask(driver, folder, whole, limit_s, 0);
    is_reported = is_reported || !answer.report.empty();
    if (answer.has_outputs()) {
      drivers_.push_back(driver);
    } else {
      why_none_ = fmt::format("{} says nothing of what is right: {}", driver.name,
                              answer.cannot ? *answer.cannot : answer.seen.text());
    }
  }
  Bundle judged = whole;
  if (drivers_.empty()) return;
  if (!find_wrong(here, folder, limit_s, judged)) {
    why_none_ = fmt::format("{} does not find this result wrong", drivers_.front().name);
    drivers_.clear();
    return;
  }
  is_reported_ = is_reported;
  is_infinite_ = !is_finite(judged.expected);
}

bool Judges::sees_reads() const {
  return !drivers_.empty() && !drivers_.back().simulator.empty() && !is_reported_;
}

bool Judges::find_wrong(const Driver& here, const std::string& folder, int limit_s,
                        Bundle& bundle) {
  // Both at once: most of the time goes into building, for each driver on a processor of its own.
  auto first = std::async(std::launch::async, [&] {
    return ask(drivers_.front(), folder, bundle, limit_s, kNudgesOfJudges);
  });
  std::vector<Answer> answers{ask(here, folder, bundle, limit_s, 0)};
  answers.push_back(first.get());
  if (!answers[0].has_outputs()) return false;
  Judgement judgement;
  for (std::size_t i = 0; i < drivers_.size(); ++i) {
    if (i > 0) answers.push_back(ask(drivers_[i], folder, bundle, limit_s, kNudgesOfJudges));
    const Answer& answer = answers.back();
    if (!answer.has_outputs() || (!answer.report.empty() && !is_reported_)) return false;
    // By the first judge; the others must agree with it. The cheapest "no" comes first.
    judgement = judge(bundle, answers, answers[1].runs[0]);
    const auto agrees = [](const Seen& seen) { return seen.right(); };
    if (judgement.seen[0].right()) return false;
    if (!std::all_of(judgement.seen.begin() + 1, judgement.seen.end(), agrees)) return false;
  }
  if (!is_infinite_ && !is_finite(judgement.expected)) return false;
  if (!is_steady(limit_s, bundle, answers)) return false;
  bundle.expected = judgement.expected;
  bundle.bounds = judgement.bounds;
  bundle.seen = judgement.seen[0];
  return true;
}

bool Judges::is_steady(int limit_s, const Bundle& bundle, std::vector<Answer> answers) const {
  const Driver& judge_of_all = drivers_.front();
  if (!judge_of_all.simulator.empty()) return true;
  Bundle plain = bundle;
  ask_for_no_optimisation(plain);
  const ScratchFolder folder;
  write_case(folder.path(), plain);
  answers[0] = ask(judge_of_all, folder.path(), plain, limit_s, 0);
  return answers[0].has_outputs() && judge(bundle, answers, answers[1].runs[0]).seen[0].right();
}

// ---- smaller cases ----

Runner::Runner(const ShrinkRequest& request, std::string device, const Reproduction& found,
               int hang_limit_s, Judges judges)
    : request_(&request),
      judges_(std::move(judges)),
      device_(std::move(device)),
      fault_(fault_of(*found.seen)),
      hangs_(found.seen->outcome == Seen::Outcome::hung),
      hang_limit_s_(hang_limit_s),
      tries_(found.tries()) {}

bool Runner::over() {
  was_over_ = was_over_ || is_over();
  return was_over_;
}

/// A hang must be waited for in full, or it is none.
int Runner::limit_s() const {
  if (hangs_) return hang_limit_s_;
  return std::min(request_->step_limit_s(), std::max(1, static_cast<int>(std::ceil(left_s()))));
}

bool Runner::still_fails(Bundle& bundle) {
  for (int i = 0; i < tries_ && !over(); ++i) {
    if (fails(bundle)) return true;
  }
  return false;
}

/// Whether it was seen to fail, and how: that is in the bundle then.
bool Runner::is_wrong(const std::string& folder, Bundle& bundle) {
  if (!judges_.empty()) return judges_.find_wrong({"", device_}, folder, limit_s(), bundle);
  const ScratchFolder log;
  const CaseRun run = try_case(device_, folder, limit_s(), {log.path(), "", 0});
  if (run.cannot || run.seen.right()) return false;
  bundle.seen = run.seen;
  return true;
}

bool Runner::fails(Bundle& bundle) {
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

void Runner::write(const std::string& folder, Bundle& bundle) {
  write_case(folder, bundle);
  for (int i = 0; i < tries_ && (i == 0 || !is_over()); ++i) {
    const ScratchFolder log;  // of a run that fails otherwise nothing is kept
    ++runs_;
    const int limit = hangs_ ? hang_limit_s_ : request_->step_limit_s();
    const CaseRun run = try_case(device_, folder, limit, {log.path(), "", 0});
    if (run.cannot || fault_of(run.seen) != fault_) continue;
    constexpr auto kReplacing = fs::copy_options::recursive | fs::copy_options::overwrite_existing;
    fs::copy(log.path(), folder, kReplacing);
    bundle.seen = run.seen;
    break;
  }
  bundle.seen.reason = anonymous(bundle.seen.reason);
}

Expecting expect_apart(std::function<bool()> over) {
  return [over = std::move(over)](const Problem& problem, const Tensors& inputs,
                                  const ReferenceOptions& options, Bundle& bundle) {
    const ScratchFolder folder;
    ask(folder.path(), problem, inputs, options, bundle);
    Process process(child_words("", {"shrink", folder.path(), "--reference-only"}), {},
                    Process::Errors::own);
    std::string said;
    if (!await_end(process, over, said)) {
      throw Unsupported("its reference takes longer than there is time");
    }
    const int code = process.wait();
    const json answered = json::parse(said, nullptr, false);
    if (!answered.is_object()) {
      throw Unsupported("its reference gave nothing, and ended with " + std::to_string(code));
    }
    if (answered.contains("refused")) {
      throw BadArgument(answered.at("refused").get<std::string>());
    }
    take_answer(folder.path(), bundle);
  };
}

int serve_reference(Cli& cli, const std::string& folder) {
  try {
    write_tensors(folder, answer(folder));
    cli.out.json(json::object());
  } catch (const std::exception& error) {
    cli.out.json({{"refused", error.what()}});
  }
  return kFine;
}

}  // namespace clam::cli
