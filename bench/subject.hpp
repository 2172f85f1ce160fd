// SPDX-License-Identifier: MIT
// subject.hpp - a row's problem on the device, with the result it must have.
#pragma once

#include <string>
#include <vector>

#include "check/clock.hpp"
#include "check/op_proof.hpp"
#include "check/verify.hpp"
#include "clam/runtime.hpp"
#include "conditions.hpp"
#include "rows.hpp"

namespace clam::bench {

/// Packing of constant inputs: once for a model, so apart from the times of a row.
struct Packing {
  /// Of all runs of the pack launches.
  struct Times {
    double median = 0, min = 0;
  };
  std::int64_t launches = 0;  ///< 0: the plan packs nothing
  std::int64_t bytes = 0;     ///< of the packed buffers
  Times us = {};
};

/// What a Meter asks of the device goes through the virtual functions: tests override them to play
/// a device that lies.
class Subject {
 public:
  Subject(Runtime& runtime, const Row& row);
  /// The row's problem by a Trial of any plan.
  Subject(Runtime& runtime, const Row& row, Trial trial);
  virtual ~Subject() = default;

  virtual void poison(int group) { trial_.poison(group); }
  virtual void enqueue() { trial_.enqueue(); }
  virtual std::vector<LaunchTime> finish() { return runtime_.finish(); }
  /// Holds what is on the device against the reference, in full.
  virtual Verification check(int group);

  /// Enqueues so many iterations and waits for them. Throws CheckFailed by conditions 1 and 6.
  Batch run(std::int64_t iterations);
  /// What the last run gave, one that was refused too.
  const Batch& last() const { return last_; }
  /// Runs single iterations until their wall times are stable, or so many seconds are over. Returns
  /// the median of the last of them in nanoseconds.
  double warm_up(double seconds);

  const Plan& plan() const { return trial_.plan(); }
  const std::string& data_set() const { return set_.name; }
  const Packing& packing() const { return packing_; }

 protected:
  Trial& trial() { return trial_; }

 private:
  Runtime& runtime_;
  const DataSet& set_;
  Trial trial_;
  Reference reference_;
  Packing packing_;
  Batch last_;
};

}  // namespace clam::bench
