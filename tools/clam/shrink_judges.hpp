// SPDX-License-Identifier: MIT
// shrink_judges.hpp - the drivers that say what is right in a smaller case, where no reference
// does.
#pragma once

#include <string>
#include <vector>

#include "drivers.hpp"

namespace clam::cli {

class Judges {
 public:
  Judges() = default;
  /// The drivers of these commands, other platforms than `platform` of this machine, and Oclgrind.
  /// `whole`: the case that gets smaller; `is_reported`: that simulator reports something of it,
  /// too.
  Judges(const std::vector<std::string>& with, const std::string& platform, const Bundle& whole,
         bool is_reported);

  bool empty() const { return drivers_.empty(); }
  bool has_simulator() const;

  /// Whether all of them agree on the case in `folder` and the driver `here` gives something else.
  /// Then what is expected, and what was seen, are in the bundle. A case of which the simulator
  /// reports something is none, where the whole one has no report: it reads what nobody wrote, say.
  /// Nor is one with an infinite result where the whole one has none, or whose result is another
  /// without optimisation.
  bool find_wrong(const Driver& here, const std::string& folder, int limit_s, Bundle& bundle);

 private:
  std::vector<Driver> drivers_;  ///< the slow ones last
  bool is_steady(const std::string& folder, int limit_s, const Bundle& bundle,
                 std::vector<Answer> answers) const;

  bool is_reported_ = false, is_infinite_ = false;
};

}  // namespace clam::cli
