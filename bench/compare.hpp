// SPDX-License-Identifier: MIT
// compare.hpp - two runs side by side: which rows have become faster or slower, beyond noise.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "statistics.hpp"

namespace clam::bench {

enum class Change { same, fast, slow, unsure, failed };

/// "SAME", "FAST", "SLOW", "UNSURE", "INVALID"
const char* name(Change change);

/// What a file says of a row's times.
struct Timing {
  std::vector<double> samples_us;
  std::vector<double> rounds_us;  ///< medians of the rounds; empty where the file has none
  double median_us = 0, min_us = 0;
  double other_load = 0;  ///< 0..1 of the processors, where the device is one of them

  static Timing of(const std::vector<double>& samples_us, const std::vector<double>& rounds_us);
};

struct Judgement {
  Change change = Change::unsure;
  Ratio ratio;      ///< b / a: over 1 is slower
  double p = 1;     ///< of the rank test
  std::string why;  ///< of UNSURE and INVALID
};

/// SLOW or FAST needs all of these: the rank test on the samples (p < 1 %), an effect over 3 %, an
/// interval of the ratio without 1, and a best time that has changed too, for other load delays
/// many iterations, but never all; on a CPU, more of a change than other programs explain that ran
/// beside one of the runs. SAME needs an interval within 3 % of 1. All else is UNSURE. The
/// interval is that of the rounds' medians where there are four or more: iterations of one round
/// share the machine's state.
Judgement judge_change(const Timing& a, const Timing& b);

/// A, and one or more runs to compare with it, as the document of --json: of several what all of
/// them agree on. "regressed" says whether a row is slower, or INVALID where it was OK. Rows are
/// those in both, as in B; then INVALID ones of other runs. Throws BadArgument when one of the
/// files is none of --json that is read here, when a part of it is damaged, and when there is
/// nothing to compare.
nlohmann::json compare_files(const std::vector<std::string>& files);

/// The same as a table.
std::string comparison_text(const nlohmann::json& comparison);

}  // namespace clam::bench
