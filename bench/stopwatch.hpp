// SPDX-License-Identifier: MIT
// stopwatch.hpp - times kernels of peaks.cl by their events, and believes no time that stands
// beside missing work or against the host's clock.
#pragma once

#include <cstdint>
#include <vector>

#include "check/clock.hpp"
#include "clam/error.hpp"
#include "clam/runtime.hpp"

namespace clam::bench {

/// A time that cannot be true, or work that was not done.
class Refused : public Error {
 public:
  using Error::Error;
};

/// peaks.cl, as it is embedded.
KernelSource peaks_source();

/// Nanoseconds on the host's clock.
double nanoseconds_since(Clock::time_point start);

/// Waits in the ways that no known driver hangs on (see Runtime), and checks the status.
void wait_for(const cl::Event& event, const cl::CommandQueue& queue);

/// A kernel with its arguments, all but those of a single launch.
struct Work {
  cl::Kernel kernel;
  cl_uint marks = 0;  ///< index of the argument; the next is the token
  std::size_t items = 0, group = 0;
  std::int64_t mark = 0;  ///< what the first item of a group adds to its mark
};

class Stopwatch {
 public:
  explicit Stopwatch(Runtime& runtime) : runtime_(runtime) {}

  /// What a launch and the wait for it take the host beside the work.
  void allow(double round_trip_ns) { slack_ns_ = 3 * round_trip_ns; }
  /// The least time of a pass, of several launches in `seconds`. Throws Refused.
  double best_ns(Work& work, double seconds);
  /// Time of first launches, in which a driver may finish building.
  double building_ns() const { return building_ns_; }

 private:
  struct Run {
    double ns;
    bool fair;  ///< the host did not wait much longer than the event says
  };
  Run launch(Work& work, std::size_t passes);
  void check_marks(const Work& work, std::size_t passes);

  Runtime& runtime_;
  cl::Buffer marks_;
  std::vector<cl_int> seen_;
  cl_int token_ = 1;
  double slack_ns_ = 3e5, building_ns_ = 0;
};

/// What launches and waits cost the host at this moment, without any work.
class EmptyLaunches {
 public:
  explicit EmptyLaunches(Runtime& runtime);
  /// Enqueues so many launches of an empty kernel as the Runtime does, with as many in flight, and
  /// waits for them. Returns the wall time in us. Throws DeviceError.
  double run(std::int64_t launches);

 private:
  Runtime& runtime_;
  cl::Kernel kernel_;
  cl::Buffer marks_;
};

}  // namespace clam::bench
