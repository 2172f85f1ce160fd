// SPDX-License-Identifier: MIT
// pinned_clocks.hpp - clocks that stand at their top for a while.
#pragma once

#include <sys/types.h>

#include <vector>

#include "board.hpp"

namespace clam {

class PinnedClocks {
 public:
  /// Sets every domain that is not pinned. A process of its own waits for the end of this one,
  /// whatever ends it, and puts back what was there. Throws IoError that names what to type where a
  /// file cannot be written: most boards let root alone write it.
  PinnedClocks(const Machine& machine, const std::vector<ClockDomain>& domains);
  /// Returns when all is put back.
  ~PinnedClocks();
  PinnedClocks(const PinnedClocks&) = delete;
  PinnedClocks& operator=(const PinnedClocks&) = delete;

 private:
  void start_guard(const Machine& machine, const std::vector<Setting>& before);
  void end();

  pid_t guard_ = -1;
  int open_ = -1;  ///< the guard waits until nobody has it open
};

}  // namespace clam
