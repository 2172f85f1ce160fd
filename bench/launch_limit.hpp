// SPDX-License-Identifier: MIT
// launch_limit.hpp - how long the device may be busy with what is submitted at once: the drivers of
// job-manager boards end what takes about 5 s. Launches that are enqueued together may be submitted
// as one chain of jobs, so it is a chain that must stay below the limit. One launch is not cut into
// parts by global offsets: kernels ask for get_group_id, which does not count the offset.
#pragma once

#include "clam/problem.hpp"
#include "clam/runtime.hpp"
#include "conditions.hpp"

namespace clam::bench {

/// The default, of a Mali.
constexpr double kLaunchLimit = 5;  // seconds

/// Why the problem is not tried: the longest of its launches takes longer, even as fast as the
/// device was measured to be. A limit of 0 is none.
Reason too_long_at_best(const Problem& problem, std::int64_t launches, const Limits& limits,
                        double limit_s);

/// Why it is not tried again: one launch took longer.
Reason too_long(const std::vector<LaunchTime>& times, double limit_s);

/// How many launches may be in flight, at most `most`, where they take as long as these did: at the
/// longest half the limit together, for clocks may fall.
int launches_in_flight(const std::vector<LaunchTime>& times, double limit_s, int most);

}  // namespace clam::bench
