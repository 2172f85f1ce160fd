// SPDX-License-Identifier: MIT
#include "result.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "clam/error.hpp"
#include "runtime/words.hpp"

namespace clam::bench {

constexpr Words<6> kOutcomeWords{"not run",      "fine",      "skipped",
                                 "check failed", "bad input", "device error"};

const char* name(Outcome outcome) { return word_of(kOutcomeWords, outcome); }

Outcome parse_outcome(const std::string& text) {
  if (const auto outcome = find_word<Outcome>(kOutcomeWords, text)) return *outcome;
  throw BadArgument(fmt::format("'{}' is no outcome of a row", text));
}

void summarise(const std::vector<double>& all_us, Result& result) {
  Result::Times& us = result.us;
  us.median = median(all_us);
  us.mean = std::accumulate(all_us.begin(), all_us.end(), 0.0) / double(all_us.size());
  us.min = *std::min_element(all_us.begin(), all_us.end());
  us.cv = variation(all_us);
  // Iterations of one round share the machine's state: they are not so many independent samples.
  constexpr std::size_t kRoundsOfAnInterval = 6;  // fewer cannot give 95 %
  const Interval interval =
      median_interval(result.rounds_us.size() >= kRoundsOfAnInterval ? result.rounds_us : all_us);
  us.low = std::min(interval.low, us.median);
  us.high = std::max(interval.high, us.median);
}

void join(Result& result, const Result& next) {
  const double least = std::min(result.us.min, next.us.min);
  std::vector<double> samples = result.samples_us;
  samples.insert(samples.end(), next.samples_us.begin(), next.samples_us.end());
  result.rounds_us.insert(result.rounds_us.end(), next.rounds_us.begin(), next.rounds_us.end());
  result.passes.insert(result.passes.end(), next.passes.begin(), next.passes.end());
  result.iterations += next.iterations;
  summarise(samples, result);
  result.us.min = least;  // it may not be among the samples
  result.samples_us = thin_out(samples, kMostSamples);
  for (const std::string& mark : next.marks) {
    if (std::find(result.marks.begin(), result.marks.end(), mark) == result.marks.end()) {
      result.marks.push_back(mark);
    }
  }
  const Packing::Times &pack = result.packing.us, &next_pack = next.packing.us;
  result.packing.us = {std::min(pack.median, next_pack.median), std::min(pack.min, next_pack.min)};
  result.other_load = std::max(result.other_load, next.other_load);
  result.error_over_bound = std::max(result.error_over_bound, next.error_over_bound);
}

void fold(std::vector<Pass>& passes, std::size_t first) {
  if (passes.size() <= first + 1) return;
  Pass all;
  for (std::size_t i = first; i < passes.size(); ++i) {
    const auto weight = static_cast<double>(passes[i].iterations);
    all.iterations += passes[i].iterations;
    all.mean_us += passes[i].mean_us * weight;
    all.host_us += passes[i].host_us * weight;
  }
  all.mean_us /= double(all.iterations);
  all.host_us /= double(all.iterations);
  passes.resize(first);
  passes.push_back(all);
}

}  // namespace clam::bench
