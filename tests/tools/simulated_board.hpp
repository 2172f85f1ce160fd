// SPDX-License-Identifier: MIT
// simulated_board.hpp - a board for searches: each candidate has a time, by a factor off its
// prediction, and samples have noise.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tune/search.hpp"

namespace clam::test {

class SimulatedBoard {
 public:
  /// Times are within a factor of 1.5 of the predictions, as the seed draws them.
  explicit SimulatedBoard(const std::vector<tune::Candidate>& candidates, std::uint64_t seed = 1)
      : seed_(seed) {
    double slowest = 1;
    for (const tune::Candidate& one : candidates) slowest = std::max(slowest, one.clocks);
    std::mt19937_64 random(seed);
    for (const tune::Candidate& one : candidates) {
      const double clocks = one.clocks > 0 ? one.clocks : 5 * slowest;
      us[one.words()] =
          clocks / 1000 * std::pow(1.5, std::uniform_real_distribution<double>(-1, 1)(random));
    }
  }

  tune::Trial operator()(const tune::Candidate& candidate, const tune::Candidate* rival) {
    asked.push_back(candidate.words());
    tune::Trial trial;
    auto& fates = coming[candidate.words()];
    if (!fates.empty()) {
      trial.fate = fates.front(), trial.why = "as planned";
      fates.erase(fates.begin());
    }
    std::tie(trial.samples_us, trial.rounds_us) = times(candidate, rival);
    if (rival) {
      std::tie(trial.rival_samples_us, trial.rival_rounds_us) = times(*rival, &candidate);
    }
    clock *= drift;
    return trial;
  }

  /// The least time of those that are not bad.
  double least_us() const {
    double least = us.begin()->second;
    for (const auto& [words, time] : us) least = std::min(least, time);
    return least;
  }

  std::map<std::string, double> us;
  std::map<std::string, std::vector<tune::Fate>> coming;  ///< of its next trials; then fine
  std::vector<std::string> asked;
  double noise = 0.015, clock = 1;
  double drift = 1;  ///< of all times, from a trial to the next

 private:
  /// The noise of a candidate is the same whenever it is measured beside that one.
  std::pair<std::vector<double>, std::vector<double>> times(const tune::Candidate& of,
                                                            const tune::Candidate* beside) const {
    const std::string both = of.words() + (beside ? " beside " + beside->words() : "");
    std::seed_seq seeds{std::size_t{seed_}, std::hash<std::string>()(both)};
    std::mt19937 random(seeds);
    std::normal_distribution<double> normal(0, noise);
    std::pair<std::vector<double>, std::vector<double>> times;
    for (int round = 0; round < 6; ++round) {
      std::vector<double> samples;
      for (int i = 0; i < 4; ++i)
        samples.push_back(us.at(of.words()) * clock * (1 + normal(random)));
      times.first.insert(times.first.end(), samples.begin(), samples.end());
      std::sort(samples.begin(), samples.end());
      times.second.push_back((samples[1] + samples[2]) / 2);
    }
    return times;
  }

  std::uint64_t seed_;
};

/// Eight with predictions from 100 us on, each some tenths more, and one without.
inline std::vector<tune::Candidate> some_candidates() {
  std::vector<tune::Candidate> all;
  for (int i = 0; i < 8; ++i) {
    all.push_back({"dense_packed", "M0=" + std::to_string(i), 1e5 * (1 + 0.1 * i)});
  }
  all.push_back({"dense_plain", "", 0});
  return all;
}

}  // namespace clam::test
