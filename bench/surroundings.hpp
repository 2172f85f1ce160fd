// SPDX-License-Identifier: MIT
// surroundings.hpp - what was measured around the rows: the device's peaks, the board's state.
#pragma once

#include <algorithm>

#include "board.hpp"
#include "conditions.hpp"
#include "fewest_work.hpp"
#include "peaks.hpp"

namespace clam::bench {

struct Surroundings {
  Peaks peaks;
  BoardState before, after;
};

/// What the conditions take of the peaks. Of memory the best rate of all: a row that mostly reads
/// may honestly beat a copy.
inline Limits limits_of(const Peaks& peaks) {
  Limits limits;
  limits.gflops_f32 = peaks.gflops_f32.value_or(0);
  limits.gflops_f16 = peaks.gflops_f16.value_or(0);
  limits.gb_per_s = std::max({peaks.gb_per_s_copy.value_or(0), peaks.gb_per_s_read.value_or(0),
                              peaks.gb_per_s_write.value_or(0)});
  limits.best_gb_per_s = peaks.measured().gb_per_s(0);
  limits.last_cache_bytes = peaks.last_cache_bytes.value_or(0);
  limits.launch_us = peaks.launch_us.value_or(0);
  limits.round_trip_us = peaks.round_trip_us.value_or(0);
  return limits;
}

/// The least time of a call by the measured peaks: by the arithmetic that no kernel can do without,
/// or by moving once what it must. Nothing where the peaks bound nothing.
inline std::optional<double> floor_us(const Problem& problem, const MeasuredPeak& peak) {
  const double bytes = fewest_bytes(problem);
  const double us = 1e3 * floor_ms(problem, peak.of(bytes), fewest_flops(problem), bytes);
  return us > 0 ? std::optional(us) : std::nullopt;
}

}  // namespace clam::bench
