// SPDX-License-Identifier: MIT
// peak.hpp - the least time that a device can take: a known Mali, or any that was measured.
#pragma once

#include <optional>
#include <vector>

#include "clam/device.hpp"
#include "clam/problem.hpp"

namespace clam {

/// What a device can do at most in a second. 0: not known.
struct Peak {
  double gflops_f32 = 0, gflops_f16 = 0;  ///< multiply-adds count as two
  double gb_per_s = 0;  ///< of the board that the GPU's row names; another's memory may be faster
};
/// Of a Mali that clam knows, at the clock and with the cores that it states. Nothing for any other
/// device, and where clock or cores cannot be true.
std::optional<Peak> peak(const DeviceInfo& device);

/// What was measured on a device, of whatever kind.
struct MeasuredPeak {
  double gflops_f32 = 0, gflops_f16 = 0;  ///< 0: not measured
  struct Rate {
    double bytes = 0;  ///< all that was touched, again and again
    double gb_per_s = 0;
  };
  std::vector<Rate> rates;

  /// For a problem that moves so many bytes: what fits a cache may move as fast as the cache did.
  Peak of(double bytes) const;
  /// The best rate among sizes of a quarter of `bytes` and more. Sizes are steps of four, so a
  /// cache may hold more than the last size that was seen to fit.
  double gb_per_s(double bytes) const;
};

/// The least time of a call: by its nominal operations, or by moving each tensor once. What is not
/// known of the peak bounds nothing: 0 where that is all.
double floor_ms(const Problem& problem, const Peak& peak);
/// The same by so many operations and bytes instead.
double floor_ms(const Problem& problem, const Peak& peak, double flops, double bytes);

}  // namespace clam
