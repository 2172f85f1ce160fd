// SPDX-License-Identifier: MIT
// surroundings.hpp - what was measured around the rows: the device's peaks, the board's state.
#pragma once

#include <optional>

#include "machine/board.hpp"
#include "peaks.hpp"

namespace clam::bench {

struct Surroundings {
  Peaks peaks;
  BoardState before, after;
};

/// The least time of a call by the measured peaks: by the arithmetic that no kernel can do without,
/// or by moving once what it must. Nothing where the peaks bound nothing.
inline std::optional<double> floor_us(const Problem& problem, const MeasuredPeak& peak) {
  const double bytes = least_bytes_of(problem);
  const double us = 1e3 * floor_ms(problem, peak.of(bytes), least_flops_of(problem), bytes);
  return us > 0 ? std::optional(us) : std::nullopt;
}

}  // namespace clam::bench
