// SPDX-License-Identifier: MIT
// event_times.hpp - device time from events, and whether it can be true.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <vector>

#include "error.hpp"
#include "runtime.hpp"

namespace clam::bench {

/// A time that cannot be true, or a timed buffer that is wrong.
class CheckFailed : public Error {
 public:
  using Error::Error;
};

/// Device time of every iteration in nanoseconds: the sum over its launches. `wall_ns` is how long
/// the host waited for all of them. Throws CheckFailed when a launch took no time, or more than
/// that.
inline std::vector<double> iteration_times(const std::vector<LaunchTime>& times,
                                           std::size_t launches, double wall_ns) {
  std::vector<double> iterations(times.size() / launches);
  for (std::size_t i = 0; i < iterations.size() * launches; ++i) {
    const double ns = static_cast<double>(times[i].ended) - static_cast<double>(times[i].started);
    if (ns <= 0 || ns > wall_ns) {
      throw CheckFailed(fmt::format(
          "an event says that a launch took {:.0f} ns, but the host waited {:.0f} ns for all: the "
          "driver's profiling cannot be believed",
          ns, wall_ns));
    }
    iterations[i / launches] += ns;
  }
  return iterations;
}

}  // namespace clam::bench
