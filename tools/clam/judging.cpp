// SPDX-License-Identifier: MIT
#include "judging.hpp"

#include "clam/error.hpp"
#include "prove.hpp"

namespace clam::cli {
namespace {

constexpr int kNudges = 3;

/// What the driver gave where it was recorded; of a bundle that nobody has judged yet, that is what
/// it has as expected.
Tensors given_in(const Bundle& bundle) {
  Tensors outputs;
  const auto& held = !bundle.given.empty() ? bundle.given : bundle.expected;
  if (bundle.given.empty() && bundle.judged) return outputs;
  for (const TensorSpec& spec : bundle.plan->tensors) {
    const auto found = held.find(spec.name);
    if (found != held.end()) outputs[spec.name] = from_buffer(spec, found->second);
  }
  return outputs;
}

bool ended_badly(const Seen& seen) { return !seen.right() && seen.outcome != Seen::Outcome::wrong; }

}  // namespace

Judged put_before(const std::vector<Driver>& drivers, const Bundle& bundle,
                  const std::string& folder, const Tensors& reference, int limit_s,
                  const OnDriver& on_driver) {
  if (bundle.build_only()) throw BadArgument(folder + ": it builds a file and runs nothing");
  Judged judged;
  const Tensors given = given_in(bundle);
  judged.has_recorded = !given.empty() || ended_badly(bundle.seen);
  if (judged.has_recorded) {
    Answer recorded;
    recorded.device = bundle.device;
    if (ended_badly(bundle.seen)) recorded.seen = bundle.seen;
    if (!given.empty()) recorded.runs = {given};
    judged.answers.push_back(recorded);
  }
  ask_more(drivers, bundle, folder, reference, limit_s, judged, on_driver);
  return judged;
}

void ask_more(const std::vector<Driver>& drivers, const Bundle& bundle, const std::string& folder,
              const Tensors& reference, int limit_s, Judged& judged, const OnDriver& on_driver) {
  for (const Driver& driver : drivers) {
    if (on_driver) on_driver(driver);
    judged.answers.push_back(ask(driver, folder, bundle, limit_s, kNudges));
  }
  judged.judgement = judge(bundle, judged.answers, reference);
}

Bundle with_verdict(const Bundle& bundle, const Judged& judged) {
  Bundle result = bundle;
  if (result.given.empty() && !result.judged) result.given = result.expected;
  result.expected = judged.judgement.expected;
  result.bounds = judged.judgement.bounds;
  result.judged = true;
  result.noted = judged.judgement.basis;
  if (judged.has_recorded) result.seen = judged.judgement.seen[0];
  return result;
}

Proof proof_of(const Bundle& bundle, const Judged& judged, const std::string& folder) {
  Proof proof;
  for (std::size_t i = judged.has_recorded ? 1 : 0; i < judged.answers.size(); ++i) {
    const Answer& answer = judged.answers[i];
    ProofRow row = row_of(answer.device, folder, bundle);
    row.seen = judged.judgement.seen[i];
    row.cannot = answer.cannot;
    row.is_simulator = answer.is_simulator;
    row.report = answer.report;
    proof.add(row);
  }
  return proof;
}

}  // namespace clam::cli
