// SPDX-License-Identifier: MIT
#include "shrink_judges.hpp"

#include <algorithm>

namespace clam::cli {
namespace {

constexpr int kNudgesOfJudges = 1;

}  // namespace

Judges::Judges(const std::vector<std::string>& with, const std::string& platform, bool is_reported)
    : drivers_(drivers_through(with)), is_reported_(is_reported) {
  for (const auto& more : {drivers_here(platform), simulators()}) {
    drivers_.insert(drivers_.end(), more.begin(), more.end());
  }
}

bool Judges::has_simulator() const {
  return !drivers_.empty() && !drivers_.back().simulator.empty();
}

bool Judges::find_wrong(const Driver& here, const std::string& folder, int limit_s,
                        Bundle& bundle) {
  std::vector<Answer> answers{ask(here, folder, bundle, limit_s, 0)};
  if (!answers[0].has_outputs()) return false;
  Judgement judgement;
  for (const Driver& driver : drivers_) {
    answers.push_back(ask(driver, folder, bundle, limit_s, kNudgesOfJudges));
    const Answer& answer = answers.back();
    if (!answer.has_outputs() || (!answer.report.empty() && !is_reported_)) return false;
    // By the first judge; the others must agree with it. The cheapest "no" comes first.
    judgement = judge(bundle, answers, answers[1].runs[0]);
    const auto agrees = [](const Seen& seen) { return seen.right(); };
    if (judgement.seen[0].right()) return false;
    if (!std::all_of(judgement.seen.begin() + 1, judgement.seen.end(), agrees)) return false;
  }
  bundle.expected = judgement.expected;
  bundle.bounds = judgement.bounds;
  bundle.seen = judgement.seen[0];
  return true;
}

}  // namespace clam::cli
