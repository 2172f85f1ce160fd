// SPDX-License-Identifier: MIT
// shrinking.hpp - the smallest case so far, how it came to be, and what it must fail by.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "bundle/bundle.hpp"

namespace clam {

/// What of a failure must stay in a smaller case: the outcome, and of wrong results the tensor, of
/// a crash the signal and what the driver said last, of an error its code, of a build the first
/// error without its place in the file. Which element is wrong, and how far, may change.
std::string fault_of(const Seen& seen);

/// The smallest case so far, and how it came to be.
class Shrinking {
 public:
  /// Runs a case; where it fails as the first one does, `seen` becomes what came of it.
  using StillFails = std::function<bool(Bundle& bundle)>;
  using Tell = std::function<void(const std::string&)>;
  /// Whether the time is over.
  using Over = std::function<bool()>;
  /// `start` has seen the failure here. `tell` gets a line for each step.
  Shrinking(Bundle start, StillFails still_fails, Tell tell, Over over);

  const Bundle& smallest() const { return smallest_; }
  Seen::Outcome outcome() const { return smallest_.seen.outcome; }
  /// From then on nothing is taken. To be asked before a candidate is made: its inputs and its
  /// reference take time, too.
  bool over() const { return over_(); }
  bool still_fails(Bundle& bundle);
  /// Tries a case that is smaller in one respect. Where it still fails it is the smallest from then
  /// on, and `what` went `from` `to`.
  bool take(Bundle smaller, const std::string& what, const std::string& from,
            const std::string& to);
  /// What the person should know of it, said once: what cannot be made smaller, and why.
  void note(const std::string& line);
  /// "n 512 -> 37", a line for each thing that was made smaller.
  std::vector<std::string> steps() const;
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Step {
    std::string what, from, to;
  };
  Bundle smallest_;
  StillFails run_;
  Tell tell_;
  Over over_;
  std::set<std::string> failed_not_;  ///< fingerprints of what was tried in vain
  std::vector<Step> steps_;
  std::vector<std::string> notes_;
};

}  // namespace clam
