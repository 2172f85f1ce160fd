// SPDX-License-Identifier: MIT
// peak.hpp - the least time that a known Mali can take.
#pragma once

#include <optional>

#include "device.hpp"
#include "problem.hpp"

namespace clam {

/// What a device can do at most in a second.
struct Peak {
  double gflops_f32 = 0, gflops_f16 = 0;  ///< multiply-adds count as two
  double gb_per_s = 0;  ///< of the board that the GPU's row names; another's memory may be faster
};
/// Of a Mali that clam knows, at the clock and with the cores that it states. Nothing for any other
/// device, and where clock or cores cannot be true.
std::optional<Peak> peak(const DeviceInfo& device);
/// The least time of a call: by its nominal operations, or by moving each tensor once.
double floor_ms(const Problem& problem, const Peak& peak);

}  // namespace clam
