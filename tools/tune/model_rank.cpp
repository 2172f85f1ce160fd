// SPDX-License-Identifier: MIT
#include "model_rank.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/statistics.hpp"

namespace clam::tune {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ModelRank::OfOp, op, candidates, problems, rank_correlation)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ModelRank::Worst, problem, candidate, clocks, us, factor)

namespace {

/// Ranks from 1; equal values share the mean of theirs.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<double> ranks;
  for (const double value : values) {
    double below = 0, equal = 0;
    for (const double other : values) below += other < value, equal += other == value;
    ranks.push_back(below + (equal + 1) / 2);
  }
  return ranks;
}

/// Pearson's correlation of the ranks. 0 where all values of a side are alike.
double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks_of(a), y = ranks_of(b);
  const double mean = (static_cast<double>(x.size()) + 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

}  // namespace

std::vector<RankedTime> ranked_times(const std::string& problem,
                                     const std::vector<Candidate>& candidates,
                                     const std::vector<Record>& records) {
  std::vector<RankedTime> times;
  double best_us = 0;
  for (const Record& record : records) {
    if (record.us <= 0) continue;
    const double us = best_us > 0 ? best_us * record.ratio : record.us;
    if (best_us == 0 || record.faster) best_us = us;
    for (const Candidate& candidate : candidates) {
      if (!record.is(candidate) || candidate.clocks <= 0) continue;
      times.push_back(
          {problem.substr(0, problem.find(' ')), problem, candidate.words(), candidate.clocks, us});
    }
  }
  return times;
}

ModelRank rank_model(const std::vector<RankedTime>& times) {
  constexpr std::size_t kFewest = 3, kWorst = 5;
  std::map<std::string, std::vector<RankedTime>> by_problem;
  for (const RankedTime& time : times) by_problem[time.problem].push_back(time);
  std::map<std::string, ModelRank::OfOp> by_op;
  ModelRank rank;
  for (const auto& [problem, of_it] : by_problem) {
    std::vector<double> clocks, us, factors;
    for (const RankedTime& time : of_it) {
      clocks.push_back(time.clocks);
      us.push_back(time.us);
      factors.push_back(time.us / time.clocks);
    }
    for (std::size_t i = 0; i < of_it.size(); ++i) {
      rank.worst.push_back({of_it[i], factors[i] / bench::median(factors)});
    }
    if (of_it.size() < kFewest) continue;
    ModelRank::OfOp& op = by_op[of_it.front().op];
    op.op = of_it.front().op;
    op.candidates += static_cast<int>(of_it.size());
    ++op.problems;
    op.rank_correlation += correlation(clocks, us);
  }
  for (auto& [name, op] : by_op) {
    op.rank_correlation /= op.problems;
    rank.ops.push_back(op);
  }
  std::stable_sort(rank.worst.begin(), rank.worst.end(), [](const auto& a, const auto& b) {
    return std::abs(std::log(a.factor)) > std::abs(std::log(b.factor));
  });
  rank.worst.resize(std::min(rank.worst.size(), kWorst));
  return rank;
}

std::string to_text(const ModelRank& rank) {
  std::string text =
      "\nrank correlation of predicted clocks and times, a problem with three times or more\n";
  for (const ModelRank::OfOp& op : rank.ops) {
    text += fmt::format("{:>6.2f}  {} ({} candidates of {} problems)\n", op.rank_correlation, op.op,
                        op.candidates, op.problems);
  }
  if (rank.ops.empty()) text += "     -  no problem has three\n";
  if (!rank.worst.empty())
    text += "time over prediction, as a factor of the median of the problem: the farthest\n";
  for (const ModelRank::Worst& worst : rank.worst) {
    text += fmt::format("{:>6.2f}  {}: {}\n", worst.factor, worst.problem, worst.candidate);
  }
  return text;
}

nlohmann::json to_json(const ModelRank& rank) { return {{"ops", rank.ops}, {"worst", rank.worst}}; }

}  // namespace clam::tune
