// SPDX-License-Identifier: MIT
// shrink_run.hpp - the runs of `clam shrink`: does the case fail here, and does a smaller one,
// until the time is over.
#pragma once

#include <optional>
#include <string>

#include "bundle/bundle.hpp"
#include "check/clock.hpp"
#include "drivers.hpp"
#include "process/clean_end.hpp"
#include "shrink/making.hpp"

namespace clam::cli {

struct ShrinkRequest {
  std::string folder, target;
  int limit_s = 0, time_s = 300, times = 3;  ///< limit_s 0: none was given
  bool force = false, single_file = false, proof = true, reference_only = false;
  std::vector<std::string> with;  ///< commands that run a program on another driver
  Clock::time_point start{};      ///< of the command

  int step_limit_s() const { return limit_s > 0 ? limit_s : 20; }
  double seconds() const { return seconds_since(start); }
};

/// The failure as this device shows it.
struct Reproduction {
  int runs = 0, wrong = 0;  ///< wrong: in the way that is to be kept
  std::optional<Seen> seen, other;

  int one_in = 1;  ///< about one of so many runs fails; where there were few, as recorded

  bool flaky() const { return one_in > 1; }
  /// Runs after which a case that fails as often has failed but for one time in twenty.
  int tries() const;
};

/// How long a hang is waited for: as when it was recorded, or as --limit asks where that is longer,
/// since work that only takes longer is none.
int hang_limit_s(const ShrinkRequest& request, const Bundle& recorded);

/// Runs it a few times, and where it fails at times only, often enough to know how often. One that
/// takes long is run once.
Reproduction reproduce(const ShrinkRequest& request, const std::string& device,
                       const Bundle& recorded);

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

/// Runs smaller cases, each in a process of its own, until the time is over.
class Runner {
 public:
  /// `judges`: where there are some, they say what is right in each case; else the case does.
  Runner(const ShrinkRequest& request, std::string device, const Reproduction& found,
         int hang_limit_s, Judges judges);

  bool still_fails(Bundle& bundle);
  /// Whether the search is to end.
  bool over();
  /// Writes the smallest and runs it again, for its build log; where it happens to be right, what
  /// was seen in the search stays.
  void write(const std::string& folder, Bundle& bundle);

  int runs() const { return runs_; }
  /// Whether it ended before it was done.
  bool was_over() const { return was_over_; }

 private:
  double left_s() const { return request_->time_s - request_->seconds(); }
  bool is_over() const { return Interruption::came() || left_s() <= 0; }
  int limit_s() const;
  bool fails(Bundle& bundle);
  bool is_wrong(const std::string& folder, Bundle& bundle);

  const ShrinkRequest* request_;
  Judges judges_;
  std::string device_, fault_;
  bool hangs_ = false, was_over_ = false;
  int hang_limit_s_, tries_ = 1, runs_ = 0;
};

/// A reference may take minutes: as expect_here in another process of this program, which is ended
/// once `over` holds.
Expecting expect_apart(std::function<bool()> over);

/// What that process does with the question in `folder`.
int serve_reference(Cli& cli, const std::string& folder);

}  // namespace clam::cli
