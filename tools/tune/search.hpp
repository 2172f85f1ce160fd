// SPDX-License-Identifier: MIT
// search.hpp - the fastest of the candidates, by measuring few of them. No OpenCL is here: what
// measures is a function.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "clam/error.hpp"
#include "state.hpp"

namespace clam::tune {

/// What became of measuring a candidate, and of the best so far beside it in the same run.
struct Trial {
  Fate fate = Fate::fine;  ///< unsteady: the clock moved, so it is measured again
  std::string why = {};    ///< of another fate
  std::vector<double> samples_us = {}, rounds_us = {}, rival_samples_us = {}, rival_rounds_us = {};
  double us = 0;  ///< median; 0: that of the samples
};

/// Thrown by a Measure where what came of a candidate is no fault of its own: the search is
/// stopped, and the next one tries it again.
class NotMeasured : public Error {
 public:
  using Error::Error;
};

/// `rival`: the best so far; null as long as there is none.
using Measure = std::function<Trial(const Candidate& candidate, const Candidate* rival)>;

struct Found {
  int done = 0, of = 0, bad = 0;
  int unsteady = 0;       ///< whose clock moved each time
  std::string why;        ///< the first one is bad, or nothing could be measured
  Candidate best;         ///< its variant is empty as long as there is none
  double us = 0;          ///< of the best, when it was measured
  double untuned_us = 0;  ///< of the model's own choice; 0: not measured, or bad
  double share = 1;       ///< time of the best over that of the model's choice, from runs with both
  bool stopped = false;   ///< by `stop`, with candidates left
};
/// "3 of 17: best dense_packed M0=4,N0=8 41.23 us, 0.83 of the untuned plan; 1 bad"
std::string to_text(const Found& found);

struct SearchOptions {
  bool all = false;                               ///< all are measured, whatever is predicted
  int most = 20;                                  ///< else so many at most
  std::function<bool()> stop;                     ///< asked before each trial
  std::function<void(const Found&)> progress;     ///< called after each candidate
};

/// Those that a search measures, in order: the first as it comes, then by prediction. Without
/// `all`, none is predicted to take over twice the least, and of many those predicted to be slowest
/// are left out. Those without a prediction come last.
std::vector<Candidate> to_measure(const std::vector<Candidate>& candidates,
                                  const SearchOptions& options = {});

/// Measures candidates one after another, each beside the best so far. One that is faster by the
/// rank test of `clam-bench --compare` is the new best. What the state has is not measured again.
/// The first candidate is the model's own choice. Exceptions of `measure` end it; so does `stop`,
/// and a search with the same state then goes on.
Found search(const std::vector<Candidate>& candidates, const Measure& measure, State& state,
             const SearchOptions& options = {});

}  // namespace clam::tune
