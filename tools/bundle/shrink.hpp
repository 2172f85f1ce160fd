// SPDX-License-Identifier: MIT
// shrink.hpp - a case made smaller while it still fails: the search, and what can be left out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bundle.hpp"
#include "op.hpp"

namespace clam {

// ---- the search ----
// What is asked may answer no to everything once its time is over: a search then ends soon, with
// the smallest that it found.

/// The smallest of `least` to `value` for which it holds, by bisection; it holds for `value`. Where
/// it holds for some between only, one that is next to a value for which it does not.
std::int64_t smallest(std::int64_t least, std::int64_t value,
                      const std::function<bool(std::int64_t)>& holds);

/// Some of a number of parts, in order.
using Parts = std::vector<std::size_t>;
/// Those of `count` parts that are needed for it to hold, by delta debugging: no single one of them
/// can go. It holds for all.
Parts needed(std::size_t count, const std::function<bool(const Parts&)>& holds);

// ---- the same fault ----

/// What of a failure must stay in a smaller case: the outcome, and of wrong results the tensor, of
/// a crash the signal and what the driver said last, of an error its code, of a build the first
/// error without its place in the file. Which element is wrong, and how far, may change.
std::string fault_of(const Seen& seen);

// ---- a case ----

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
  /// What came to be another with what was taken.
  void changed(const std::string& what, const std::string& from, const std::string& to);
  /// What the person should know of it, said once: what cannot be made smaller, and why.
  void note(const std::string& line);
  /// "n 512 -> 37", a line for each thing that was made smaller.
  std::vector<std::string> steps() const;
  const std::vector<std::string>& notes() const { return notes_; }
  int taken() const { return taken_; }

 private:
  struct Step {
    std::string what, from, to;
  };
  void keep(const std::string& what, const std::string& from, const std::string& to);
  Bundle smallest_;
  StillFails run_;
  Tell tell_;
  Over over_;
  std::set<std::string> failed_not_;  ///< fingerprints of what was tried in vain
  std::vector<Step> steps_;
  std::vector<std::string> notes_;
  int taken_ = 0;
};

/// Everything below, over again until nothing gets smaller.
void shrink(Shrinking& shrinking);

/// A plan that the compiler fails on becomes a build of the one file that it fails on.
bool shrink_to_build(Shrinking& shrinking);
/// Launches that the failure does not need.
bool shrink_launches(Shrinking& shrinking);
/// Build options that it does not need. Where kernels run, only those that change nothing of what
/// they compute.
bool shrink_options(Shrinking& shrinking);
/// Whether results may be held to the same bounds without this word of the options. A definition
/// may go only where the text is surely the same for the compiler without it: of a name that
/// stands nowhere, or of the value that the file gives the name itself where it has none.
bool changes_nothing(const std::string& word, const std::string& options, const std::string& text);
/// Build options and groups that are others now, as they are with other extents, as steps.
void tell_changes(Shrinking& shrinking, const Bundle& before);
/// The file of a build: kernels, then blocks, then lines.
bool shrink_text(Shrinking& shrinking);

// ---- a case of a problem of clam's ----

/// How such a case was made, so that it can be made again in another size and with other inputs.
struct Making {
  explicit Making(Problem problem) : problem(std::move(problem)) {}

  Problem problem;
  std::string variant, data_set;
  std::uint64_t seed = 1;
  int max_work_group = 0;
  DeviceInfo device;    ///< that it was planned for
  DeviceInfo recorded;  ///< that it was run on, as the reference must know it
  /// By kernel file: build options after the plan's own.
  std::map<std::string, std::string> more_options;
  /// Inputs that are one value throughout, as bits; and those that are as they were given. The
  /// others are of the data set.
  std::map<std::string, std::uint32_t> constants;
  std::map<std::string, HostTensor> given;

  /// Whether only cases are taken whose files are built with the same options.
  bool keeps_options = false;

  /// Whether the case made again has the same builds as `like`.
  bool same_builds(const Bundle& like) const;
  /// Whether the variant takes the problem, with the kernel files of `like`.
  bool has_plan(const Bundle& like) const;
  /// Throws BadArgument for inputs that the problem gives no result for.
  Tensors inputs() const;
  /// `like` made again. Throws BadArgument and Unsupported where there is no such case.
  Bundle bundle(const Bundle& like) const;
  /// `like` with other inputs alone, and what is then expected of the outputs that it looks at.
  Bundle with_inputs(const Bundle& like) const;
};

/// Nothing, and why in `why_not`, where the case is none of a problem, or its plan or what is
/// expected are not what this clam makes of it.
std::optional<Making> making_of(const Bundle& bundle, std::string& why_not);

/// As Shrinking::take, of a case made again: `making` becomes `smaller` where it still fails. A
/// problem that has no such case does not fail.
bool take(Shrinking& shrinking, Making& making, const Making& smaller, const std::string& what,
          const std::string& from, const std::string& to);

/// Extents, and words of the problem that are not needed.
bool shrink_problem(Shrinking& shrinking, Making& making);
/// Inputs to one value throughout: 0, 1, or one that they have.
bool shrink_data(Shrinking& shrinking, Making& making);
/// Inputs that cannot be that, to zeros but for the elements that are needed.
bool shrink_elements(Shrinking& shrinking, Making& making);
/// Inputs of a plan of others, to zeros, where nothing is compared.
bool shrink_foreign_data(Shrinking& shrinking);

}  // namespace clam
