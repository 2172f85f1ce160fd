// SPDX-License-Identifier: MIT
// model_rank.hpp - how well predicted clocks order the candidates that were measured.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "state.hpp"

namespace clam::tune {

/// A candidate that has both.
struct RankedTime {
  std::string op, problem, candidate;
  double clocks = 0, us = 0;
};

/// Of the candidates of a problem, those with a prediction and a time. Times are by the ratios to
/// the best before, as if all were of the first run: the clock may have moved between two.
std::vector<RankedTime> ranked_times(const std::string& problem,
                                     const std::vector<Candidate>& candidates,
                                     const std::vector<Record>& records);

struct ModelRank {
  struct OfOp {
    std::string op;
    int candidates = 0, problems = 0;
    double rank_correlation = 0;  ///< mean over the problems with three times or more
  };
  std::vector<OfOp> ops;
  /// Those whose time over the prediction is farthest from the median of their problem.
  struct Worst : RankedTime {
    double factor = 1;
  };
  std::vector<Worst> worst;  ///< five at most, the worst first
};

/// By problem, Spearman's rank correlation of clocks and times, ties as means of their ranks.
ModelRank rank_model(const std::vector<RankedTime>& times);

std::string to_text(const ModelRank& rank);
nlohmann::json to_json(const ModelRank& rank);

}  // namespace clam::tune
