// SPDX-License-Identifier: MIT
// conditions.hpp - what must hold before a row's time is published. Seven conditions over plain
// data: each returns nothing where it holds, else one sentence that names it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "check/verify.hpp"
#include "clam/error.hpp"
#include "clam/op.hpp"
#include "clam/problem.hpp"
#include "clam/runtime.hpp"
#include "peaks.hpp"
#include "work.hpp"

namespace clam::bench {

/// A condition that does not hold.
class CheckFailed : public Error {
 public:
  using Error::Error;
};

/// Iterations that were enqueued together, and waited for once.
struct Batch {
  std::vector<LaunchTime> times;  ///< of all launches, in order
  std::int64_t iterations = 0;
  std::int64_t launches = 0;  ///< of one iteration
  double wall_ns = 0;         ///< from the first enqueue to the end of the wait
  double host_ns = 0;         ///< of that, the host's own work up to the last enqueue

  double events_ns() const;                   ///< sum over all launches
  std::vector<double> iterations_ns() const;  ///< for each iteration the sum over its launches
};

/// 1, events: every launch has taken some time, no more than the host waited for all of them, and
/// they did not all start at the same moment.
Reason events_are_times(const Batch& batch);

/// 2, written: no poison is left in an output, and nothing around a tensor was overwritten.
Reason all_is_written(const Verification& timed);

/// 3, right: the buffers that were timed agree with the reference, in full.
Reason result_is_right(const Verification& timed);

/// What a row claims to have done in an iteration.
struct Claim {
  double us = 0;  ///< median
  double flops = 0, bytes = 0;
  bool half = false;  ///< dtype f16
};
/// 4, peak: neither more arithmetic nor more memory traffic in a second than the device can do, by
/// 5 %, of what no kernel can do without (Op::least_flops, Op::least_bytes). Memory is asked of
/// what the last cache cannot hold; where no cache shows, all of it by the best rate. That is less
/// strict than it may seem: sizes are measured in steps of four, so a cache may hold nearly four
/// times what was seen to fit, and a row that moves no more than that is not asked at all.
Reason below_the_peaks(const Claim& claim, const Limits& limits);

/// Not a fault: a peak is not known that the claim would have to be held against.
bool lacks_a_peak(const Claim& claim, const Limits& limits);

/// 5, work: the events of batches fit their waits and cover them, and more iterations take longer;
/// see work.hpp, which judges it.
Span span_of(const Batch& batch);

/// 6, queue: as many launches ended as were enqueued, in an in-order queue with profiling.
Reason queue_is_kept(const Batch& batch, bool in_order, bool profiling);

/// 7, device: no error came before. `error`: the first one, or empty.
Reason device_is_sound(const std::string& error);
constexpr const char* kNotSound = "condition 7, device: ";  ///< how that reason begins

/// Not a fault: a launch takes less than 10 launch costs, so the time is rather the host's.
bool is_launch_bound(double us, std::int64_t launches, const Limits& limits);

/// Throws CheckFailed with the reason, if there is one.
void require(const Reason& reason);

// A limit is how long the device may be busy with what is submitted at once (clam/job_limit.hpp).
// Launches that are enqueued together may be submitted as one chain of jobs, so it is a chain that
// must stay below it. One launch is not cut into parts by global offsets: kernels ask for
// get_group_id, which does not count the offset.

/// Why the problem is not tried: the longest of its launches takes over half the limit, even as
/// fast as the device was measured to be. A limit of 0 is none.
Reason too_long_at_best(const Problem& problem, std::int64_t launches, const Limits& limits,
                        double limit_s);

/// Why it is not tried again: one launch took over half the limit.
Reason too_long(const std::vector<LaunchTime>& times, double limit_s);

/// How many launches may be in flight, at most `most`, where they take as long as these did: at the
/// longest half the limit together, for clocks may fall.
int launches_in_flight(const std::vector<LaunchTime>& times, double limit_s, int most);

}  // namespace clam::bench
