// SPDX-License-Identifier: MIT
// empty_launches.hpp - what launches and waits cost the host at this moment, without any work.
#pragma once

#include <cstdint>

#include "stopwatch.hpp"

namespace clam::bench {

class EmptyLaunches {
 public:
  explicit EmptyLaunches(Runtime& runtime);
  /// Enqueues so many launches of an empty kernel as the Runtime does, with as many in flight, and
  /// waits for them. Returns the wall time in us. Throws DeviceError.
  double run(std::int64_t launches);

 private:
  Runtime& runtime_;
  Stopwatch watch_;
  cl::Kernel kernel_;
  cl::Buffer marks_;
};

}  // namespace clam::bench
