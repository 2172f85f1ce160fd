// SPDX-License-Identifier: MIT
// side.hpp - one library's way through a problem: called in turns with the others, timed, checked.
#pragma once

#include <vector>

#include "clam.hpp"

namespace clam::peers {

/// A Problem with its inputs on the device, and the result that every side must reach.
struct Task {
  Task(Runtime& runtime, const Problem& problem);

  Runtime& runtime;
  Problem problem;
  const DataSet& set;
  Tensors inputs;
  Reference reference;
  Trial trial;               ///< clam's
  const std::string output;  ///< the tensor that is compared
};

class Side {
 public:
  Side(Task& task, std::string name) : task_(task), name_(std::move(name)) {}
  virtual ~Side() = default;

  /// Wall time of `calls` calls, waited for.
  double seconds(int calls);
  /// Times a turn and checks what it left in full. Throws Error with the side's name and what is
  /// wrong.
  void take_turn(int turn, int calls);
  double median_us() const;
  const std::string& name() const { return name_; }

 protected:
  virtual void call() = 0;
  virtual void wait() = 0;
  virtual void poison(int turn) = 0;
  virtual HostTensor output() = 0;
  virtual Reason trespass() const = 0;
  Task& task_;

 private:
  std::string name_;
  std::vector<double> us_;
};

class ClamSide : public Side {
 public:
  explicit ClamSide(Task& task) : Side(task, "clam") {}

 private:
  void call() override { task_.trial.enqueue(); }
  void wait() override { task_.runtime.finish(); }
  void poison(int turn) override { task_.trial.poison(turn); }
  HostTensor output() override { return task_.trial.download().at(task_.output); }
  Reason trespass() const override { return task_.trial.trespass(); }
};

}  // namespace clam::peers
