// SPDX-License-Identifier: MIT
// limits.hpp - what the conditions hold a row against: the device's peaks, in short.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "peaks.hpp"

namespace clam::bench {

/// What the device was measured to do in this run. 0: not measured; a condition that needs it is
/// not applied.
struct Limits {
  double gflops_f32 = 0, gflops_f16 = 0;
  double gb_per_s = 0;                ///< of memory, beyond the caches
  std::int64_t last_cache_bytes = 0;  ///< the largest size that was seen to fit; 0: none shows
  double launch_us = 0;               ///< host's time of a launch among many
  double round_trip_us = 0;           ///< of one launch and the wait for it
  double best_gb_per_s = 0;           ///< of memory, of any size
};

/// Of memory the best rate of all: a row that mostly reads may honestly beat a copy.
Limits limits_of(const Peaks& peaks);

/// The larger of each.
Limits larger_of(const Limits& a, const Limits& b);

nlohmann::json to_json(const Limits& limits);
/// The inverse. Throws nlohmann's exceptions for another value.
Limits limits_from_json(const nlohmann::json& json);

}  // namespace clam::bench
