// SPDX-License-Identifier: MIT
#include "shrink_judges.hpp"

#include <algorithm>
#include <cmath>
#include <future>

namespace clam::cli {
namespace {

constexpr int kNudgesOfJudges = 1;

/// Whether all that is right is a number where it was before: what nobody wrote often is none.
bool is_finite(const Judgement& judgement) {
  for (const auto& [name, tensor] : judgement.expected) {
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

Judges::Judges(const std::vector<std::string>& with, const std::string& platform,
               const Bundle& whole, bool is_reported)
    : drivers_(drivers_through(with)), is_reported_(is_reported) {
  Judgement judged;
  judged.expected = whole.expected;
  is_infinite_ = !is_finite(judged);
  for (const auto& more : {drivers_here(platform), simulators()}) {
    drivers_.insert(drivers_.end(), more.begin(), more.end());
  }
}

bool Judges::has_simulator() const {
  return !drivers_.empty() && !drivers_.back().simulator.empty();
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
  if (!is_finite(judgement) && !is_infinite_) return false;
  if (!is_steady(folder, limit_s, bundle, answers)) return false;
  bundle.expected = judgement.expected;
  bundle.bounds = judgement.bounds;
  bundle.seen = judgement.seen[0];
  return true;
}

bool Judges::is_steady(const std::string& folder, int limit_s, const Bundle& bundle,
                       std::vector<Answer> answers) const {
  const Driver& judge_of_all = drivers_.front();
  if (!judge_of_all.simulator.empty()) return true;
  Bundle plain = bundle;
  ask_for_no_optimisation(plain);
  write_case(folder, plain);
  answers[0] = ask(judge_of_all, folder, plain, limit_s, 0);
  return answers[0].has_outputs() && judge(bundle, answers, answers[1].runs[0]).seen[0].right();
}

}  // namespace clam::cli
