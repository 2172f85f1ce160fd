// SPDX-License-Identifier: MIT
// surroundings.hpp - what was measured around the rows: the device's peaks, the board's state.
#pragma once

#include <algorithm>

#include "board.hpp"
#include "conditions.hpp"
#include "peaks.hpp"

namespace clam::bench {

struct Surroundings {
  Peaks peaks;
  BoardState before, after;
};

/// What the conditions take of the peaks. Of memory the best rate of all: a row that mostly reads
/// may honestly beat a copy.
inline Limits limits_of(const Peaks& peaks) {
  return {peaks.gflops_f32.value_or(0),
          peaks.gflops_f16.value_or(0),
          std::max({peaks.gb_per_s_copy.value_or(0), peaks.gb_per_s_read.value_or(0),
                    peaks.gb_per_s_write.value_or(0)}),
          peaks.last_cache_bytes.value_or(0),
          peaks.launch_us.value_or(0),
          peaks.round_trip_us.value_or(0)};
}

/// The least time of a call by the measured peaks; nothing where they bound nothing.
inline std::optional<double> floor_us(const Problem& problem, const MeasuredPeak& peak) {
  const double us = 1e3 * floor_ms(problem, peak.of(problem));
  return us > 0 ? std::optional(us) : std::nullopt;
}

}  // namespace clam::bench
