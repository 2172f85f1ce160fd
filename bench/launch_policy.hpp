// SPDX-License-Identifier: MIT
// launch_policy.hpp - what a launch costs the host, by when the queue is flushed.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "clam/runtime.hpp"

namespace clam::bench {

/// Times of one policy.
struct FlushCost {
  int launches_a_flush = 0;        ///< of RuntimeOptions
  std::vector<double> samples_us;  ///< of a launch: a batch with its wait, divided by its launches

  double us() const;  ///< median
};

/// Batches of small launches, one policy after the other in turns: flushed at once, after 2, 4, 8
/// and 16 launches, and only when the host waits. On the queue of a Runtime, for about so many
/// seconds. Throws DeviceError where a batch did not run.
std::vector<FlushCost> measure_launches(const Runtime& like, double seconds);

/// The usual policy, unless another is faster by the test of `clam-bench --compare`: then the
/// fastest.
const FlushCost& best_of(const std::vector<FlushCost>& costs);

/// {"launches_a_flush": the best, "us": of the best, "costs": [{"launches_a_flush", "us"}]}
nlohmann::json to_json(const std::vector<FlushCost>& costs);

}  // namespace clam::bench
