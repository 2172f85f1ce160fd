// SPDX-License-Identifier: MIT
#include "shrink_oracles.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <nlohmann/json.hpp>

#include "check/op_proof.hpp"
#include "process/isolate.hpp"
#include "process/scratch_folder.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"

namespace clam {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ReferenceOptions, check, denormals, native_exp2_ulp, variant)
}  // namespace clam

namespace clam::cli {
namespace {

constexpr int kNudgesOfJudges = 1;
constexpr const char* kQuestion = "question.json";  // beside the case, to the reference

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

Expecting expect_apart(std::function<std::chrono::milliseconds()> left) {
  return [left = std::move(left)](const Problem& problem, const Tensors& /*inputs*/,
                                  const ReferenceOptions& options, Bundle& bundle) {
    const ScratchFolder folder;
    bundle.expected.clear();
    bundle.bounds.clear();
    write_case(folder.path(), bundle);
    write_file(folder.file(kQuestion),
               json{{"problem", problem.text()}, {"options", options}}.dump());
    const Fate fate =
        run_isolated(child_words("", {"shrink", folder.path(), "--reference-only"}), left());
    throw_if<Unsupported>(left() <= std::chrono::milliseconds(0),
                          "its reference takes longer than there is time");
    const json answer = fate.answer();
    throw_if<Unsupported>(answer.is_null(), "its reference gave nothing, and ended with {}",
                          fate.code);
    for (const char* refusal : {"error", "cannot"}) {
      if (answer.contains(refusal)) throw BadArgument(answer.at(refusal).get<std::string>());
    }
    read_tensors(folder.path(), bundle);
  };
}

int serve_reference(Cli& cli, const std::string& folder) {
  return serve(cli, [&] {
    const json question = json::parse(read_file(path_in(folder, kQuestion)));
    Bundle bundle = read_bundle(folder);
    expect_here(Problem::parse(question.at("problem").get<std::string>()), dense_inputs(bundle),
                question.at("options").get<ReferenceOptions>(), bundle);
    write_tensors(folder, bundle);
    return json::object();
  });
}

}  // namespace clam::cli
