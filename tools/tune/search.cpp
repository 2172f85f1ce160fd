// SPDX-License-Identifier: MIT
#include "search.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/compare.hpp"

namespace clam::tune {
namespace {

double clocks_or_last(const Candidate& one) {
  return one.clocks > 0 ? one.clocks : std::numeric_limits<double>::infinity();
}

bool is_faster(const Candidate& a, const Candidate& b) {
  return clocks_or_last(a) < clocks_or_last(b);
}

// ---- what a trial says ----

/// A time of zero would be the fastest.
bool has_times(const Trial& trial) {
  for (const auto* times :
       {&trial.samples_us, &trial.rounds_us, &trial.rival_samples_us, &trial.rival_rounds_us}) {
    for (const double us : *times) {
      if (!std::isfinite(us) || us <= 0) return false;
    }
  }
  return !trial.samples_us.empty();
}

void take(const Trial& trial, bool has_rival, Record& record) {
  ++record.tries;
  record.running.clear();
  record.fate = trial.fate;
  record.why = trial.why;
  if (trial.fate != Fate::fine) return;
  if (!has_times(trial)) {
    record.fate = Fate::refused, record.why = "no times came of it";
    return;
  }
  const bench::Timing own = bench::Timing::of(trial.samples_us, trial.rounds_us);
  record.us = trial.us > 0 ? trial.us : own.median_us;
  if (!has_rival) return;
  const bench::Judgement judgement =
      bench::judge_change(bench::Timing::of(trial.rival_samples_us, trial.rival_rounds_us), own);
  record.ratio = judgement.ratio.value;
  record.faster = judgement.change == bench::Change::fast;
}

// ---- the way through the candidates ----

/// What is known after one more of the records, in their order.
void follow(const Record& record, const Candidate& model, Found& found) {
  if (!record.is_done()) return;
  if (is_bad(record.fate) && ++found.bad == 1) found.why = record.words() + ": " + record.why;
  found.unsteady += record.fate == Fate::unsteady;
  if (record.fate != Fate::fine) return;
  if (record.is(model)) found.untuned_us = record.us;
  const bool is_first = found.best.variant.empty();
  if (!is_first && !record.faster) return;
  if (!is_first) found.share *= record.ratio;
  found.best = record;
  found.us = record.us;
}

/// What earlier searches found out. Times that were compared with those of a candidate that is no
/// more say nothing.
Found known(const std::vector<Candidate>& candidates, State& state) {
  const auto is_gone = [&](const Record& record) {
    return !is_bad(record.fate) &&
           std::none_of(candidates.begin(), candidates.end(),
                        [&](const Candidate& one) { return one.is(record); });
  };
  const auto& records = state.records();
  if (std::any_of(records.begin(), records.end(), is_gone)) state.measure_anew();
  Found found;
  for (const Record& record : records) follow(record, candidates.front(), found);
  return found;
}

Trial measured(Record& record, const Candidate* rival, const Measure& measure, State& state) {
  state.save_running(record, true);
  try {
    return measure(record, rival);
  } catch (...) {
    state.save_running(record, false);
    throw;
  }
}

}  // namespace

std::string to_text(const Found& found) {
  std::string text = fmt::format("{} of {}: ", found.done, found.of);
  if (found.best.variant.empty()) {
    text += "none is right yet";
  } else {
    text += fmt::format("best {} {:.2f} us", found.best.words(), found.us);
    if (found.untuned_us > 0) {
      text += found.share == 1 ? ", the untuned plan"
                               : fmt::format(", {:.2f} of the untuned plan", found.share);
    }
  }
  if (found.bad > 0) text += fmt::format("; {} bad", found.bad);
  if (found.unsteady > 0) text += fmt::format("; {} unsteady", found.unsteady);
  return text;
}

std::vector<Candidate> to_measure(const std::vector<Candidate>& candidates,
                                  const SearchOptions& options) {
  constexpr double kSlowest = 2;
  if (candidates.empty()) return {};
  std::vector<Candidate> wanted = candidates;
  std::stable_sort(wanted.begin() + 1, wanted.end(), is_faster);
  if (options.all) return wanted;
  const double least = std::min_element(wanted.begin(), wanted.end(), is_faster)->clocks;
  const auto is_slow = [&](const Candidate& one) { return one.clocks > kSlowest * least; };
  wanted.erase(std::remove_if(wanted.begin() + 1, wanted.end(), is_slow), wanted.end());
  const auto most = static_cast<std::size_t>(std::max(options.most, 1));
  while (wanted.size() > most) {
    const auto unpredicted = std::find_if(wanted.begin() + 1, wanted.end(),
                                          [](const Candidate& one) { return one.clocks <= 0; });
    wanted.erase(unpredicted > wanted.begin() + 1 ? unpredicted - 1 : wanted.end() - 1);
  }
  return wanted;
}

Found search(const std::vector<Candidate>& candidates, const Measure& measure, State& state,
             const SearchOptions& options) {
  if (candidates.empty()) return {};
  const std::vector<Candidate> wanted = to_measure(candidates, options);
  Found found = known(candidates, state);
  found.of = static_cast<int>(wanted.size());
  for (const Candidate& candidate : wanted) {
    Record record = state.record_of(candidate);
    const bool is_known = record.is_done();
    while (!record.is_done()) {
      found.stopped = options.stop && options.stop();
      if (found.stopped) return found;
      const Candidate* rival = found.best.variant.empty() ? nullptr : &found.best;
      try {
        take(measured(record, rival, measure, state), rival != nullptr, record);
      } catch (const NotMeasured& reason) {
        found.stopped = true, found.why = reason.what();
        return found;
      }
      state.save(record);
    }
    if (!is_known) follow(record, candidates.front(), found);
    ++found.done;
    if (options.progress) options.progress(found);
  }
  return found;
}

}  // namespace clam::tune
