// SPDX-License-Identifier: MIT
#include "shrink_oracles.hpp"

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

namespace clam {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ReferenceOptions, check, denormals, native_exp2_ulp, variant)
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

// ---- a reference apart ----

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
