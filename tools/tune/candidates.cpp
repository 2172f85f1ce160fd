// SPDX-License-Identifier: MIT
#include "candidates.hpp"

#include <algorithm>

#include "clam/planner.hpp"
#include "clam/tuned.hpp"

namespace clam::tune {
namespace {

std::vector<Listed> listed(const Variant& variant, const Problem& problem,
                           const DeviceInfo& device) {
  const Candidate untiled{variant.name};
  if (const Reason reason = variant.refuses(problem, device)) return {{untiled, reason}};
  if (!variant.tilings) return {{untiled, {}}};
  std::vector<Listed> all;
  for (const Tiling& one : variant.tilings(problem, device, untiled.options())) {
    all.push_back({{variant.name, one.words, one.clocks.predicted}, one.refused});
    if (one.refused) continue;
    // A call has other launches too, which some plans know the clocks of.
    const double call = make_plan(problem, device, all.back().options()).clocks;
    if (call > 0) all.back().clocks = call;
  }
  return all;
}

std::pair<int, double> place(const Listed& one) {
  return {one.refused ? 2 : one.clocks == 0 ? 1 : 0, one.refused ? 0 : one.clocks};
}

}  // namespace

std::string Candidate::words() const { return tile.empty() ? variant : variant + " " + tile; }

PlanOptions Candidate::options() const {
  static const auto no_rows = std::make_shared<const Tuned>();
  return {variant, 0, tile, no_rows};
}

std::vector<Listed> list_candidates(const Problem& problem, const DeviceInfo& device) {
  const Plan own = make_plan(problem, device, Candidate{}.options());
  std::vector<Listed> all;
  for (const Variant& variant : op_of(problem).variants) {
    for (Listed& one : listed(variant, problem, device)) all.push_back(std::move(one));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Listed& a, const Listed& b) { return place(a) < place(b); });
  const auto model = std::find_if(all.begin(), all.end(), [&](const Listed& one) {
    return !one.refused && one.variant == own.variant &&
           to_text(make_plan(problem, device, one.options())) == to_text(own);
  });
  if (model != all.end()) std::rotate(all.begin(), model, model + 1);
  return all;
}

std::vector<Candidate> candidates(const Problem& problem, const DeviceInfo& device) {
  std::vector<Candidate> all;
  for (const Listed& one : list_candidates(problem, device)) {
    if (!one.refused) all.push_back(one);
  }
  return all;
}

}  // namespace clam::tune
