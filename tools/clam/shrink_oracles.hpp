// SPDX-License-Identifier: MIT
// shrink_oracles.hpp - who says what is right in a smaller case of `clam shrink`: other drivers, or
// the reference in a process of its own.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "drivers.hpp"
#include "shrink/making.hpp"

namespace clam::cli {

/// The drivers that say what is right in a smaller case, where no reference does.
class Judges {
 public:
  Judges() = default;
  /// The drivers of these commands, other platforms than `platform` of this machine, and Oclgrind;
  /// of them those that run the whole case, in `folder`. None, where these do not find that the
  /// driver `here` is wrong; `why_none` says so then.
  Judges(const std::vector<std::string>& with, const std::string& platform, const Driver& here,
         const std::string& folder, int limit_s, const Bundle& whole);

  bool empty() const { return drivers_.empty(); }
  const std::string& why_none() const { return why_none_; }
  /// Whether somebody sees what is read outside of a buffer, or that nobody wrote.
  bool sees_reads() const;

  /// Whether all of them agree on the case in `folder` and the driver `here` gives something else.
  /// Then what is expected, and what was seen, are in the bundle. A case of which the simulator
  /// reports something is none, where the whole one has no report: it reads what nobody wrote, say.
  /// Nor is one with an infinite result where the whole one has none, or whose result is another
  /// without optimisation.
  bool find_wrong(const Driver& here, const std::string& folder, int limit_s, Bundle& bundle);

 private:
  std::vector<Driver> drivers_;  ///< the slow ones last
  bool is_steady(int limit_s, const Bundle& bundle, std::vector<Answer> answers) const;

  std::string why_none_;
  bool is_reported_ = true, is_infinite_ = true;  ///< of the whole case; until then anything may be
};

/// A reference may take minutes: as expect_here in another process of this program, which is ended
/// once no time is `left`.
Expecting expect_apart(std::function<std::chrono::milliseconds()> left);

/// What that process does with the question in `folder`.
int serve_reference(Cli& cli, const std::string& folder);

}  // namespace clam::cli
