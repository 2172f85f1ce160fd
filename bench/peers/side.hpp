// SPDX-License-Identifier: MIT
// side.hpp - one way through a problem: called in turns with the others, timed, checked.
#pragma once

#include <memory>
#include <vector>

#include "bench/statistics.hpp"
#include "check/op_proof.hpp"
#include "check/verify.hpp"
#include "clam/clam.hpp"

namespace clam::peers {

/// A plan on the device with its inputs, and the result that it must reach.
struct Subject {
  Subject(Runtime& runtime, const Plan& plan, Tensors inputs, Reference reference);

  Runtime& runtime;
  Trial trial;
  Tensors inputs;
  Reference reference;

 protected:
  Subject(Runtime& runtime, Trial trial) : runtime(runtime), trial(std::move(trial)) {}
};

/// A Problem by clam's plan, on one of its data sets.
struct Task : Subject {
  Task(Runtime& runtime, const Problem& problem, const std::string& set);

  Problem problem;
  std::string output;  ///< the first that is compared; products have no other
  Reference plain;     ///< with the bounds of a plain sum, where clam's variant has its own
};

class Side {
 public:
  /// Borrows the reference.
  Side(std::string name, const Reference& reference)
      : name_(std::move(name)), reference_(reference) {}
  virtual ~Side() = default;

  /// Wall time of `calls` calls, waited for.
  double seconds(int calls);
  /// Times a turn and checks what it left in full. Throws Error with the side's name and what is
  /// wrong.
  void take_turn(int turn, int calls);
  double median_us() const { return bench::median(us_); }

 protected:
  virtual void call() = 0;
  virtual void wait() = 0;
  virtual void poison(int turn) = 0;
  virtual Tensors outputs() = 0;
  virtual Reason trespass() const = 0;

 private:
  std::string name_;
  const Reference& reference_;
  std::vector<double> us_;
};

/// A plan, clam's or another's.
class PlanSide : public Side {
 public:
  PlanSide(std::string name, Subject& subject)
      : Side(std::move(name), subject.reference), subject_(subject) {}

 private:
  void call() override { subject_.trial.enqueue(); }
  void wait() override { subject_.runtime.finish(); }
  void poison(int turn) override { subject_.trial.poison(turn); }
  Tensors outputs() override { return subject_.trial.download(); }
  Reason trespass() const override { return subject_.trial.trespass(); }

  Subject& subject_;
};

using Sides = std::vector<std::unique_ptr<Side>>;

/// A B A B, so that a change of clock or load meets all alike; each for the same time a turn.
/// Returns the median of each in microseconds.
std::vector<double> take_turns(const Sides& sides, int turns);

}  // namespace clam::peers
