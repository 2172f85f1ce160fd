// SPDX-License-Identifier: MIT
// other_load.hpp - how much of the processors other programs took meanwhile.
#pragma once

#include <optional>
#include <string>

namespace clam {

/// Of all processors together, since the machine started; in ticks of any length.
struct ProcessorTime {
  double busy = 0, all = 0;
};

/// Of the text of /proc/stat. Busy is whatever is not idle: what a hypervisor gave to others, too.
std::optional<ProcessorTime> parse_processor_time(const std::string& stat);

/// Measures from its construction on.
class OtherLoad {
 public:
  OtherLoad();
  /// 0..1 of all processors; nothing where the system does not say, or too little time went by.
  std::optional<double> share() const;

 private:
  std::optional<ProcessorTime> start_;
  double own_start_;
};

}  // namespace clam
