// SPDX-License-Identifier: MIT
// verify.hpp - runs a Problem on a device between guard bands and compares it with its reference.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "clam/op.hpp"
#include "clam/runtime.hpp"
#include "compare.hpp"
#include "guarded_buffer.hpp"

namespace clam {

/// A prepared Problem with its tensors on the device. Throws Unsupported where a launch would take
/// so long that the driver ends it (launch_guard.hpp).
class Trial {
 public:
  Trial(Runtime& runtime, Executable executable);
  Trial(Runtime& runtime, const Problem& problem, const PlanOptions& options = {})
      : Trial(runtime, runtime.prepare(problem, options)) {}
  Trial(Runtime& runtime, const Plan& plan) : Trial(runtime, runtime.prepare(plan)) {}
  /// And packs. An output of these names holds the tensor before each run, in place of poison.
  void upload(const Tensors& inputs);
  /// Runs the pack launches. Returns their times.
  std::vector<LaunchTime> pack() { return runtime_->pack(executable_, bindings_); }
  void poison(int iteration = 0);
  void enqueue() { runtime_->enqueue(executable_, bindings_); }
  /// poison, enqueue, finish. Returns the launches' times. Throws Unsupported where one took so
  /// long that the driver has ended it: such a result is not judged.
  std::vector<LaunchTime> run(int iteration = 0);
  Tensors download();       ///< outputs by name
  Reason trespass() const;  ///< after download: names the tensor and the byte
  const Plan& plan() const { return executable_.plan(); }
  const Bindings& bindings() const { return bindings_; }

 private:
  Runtime* runtime_;
  Executable executable_;
  std::map<std::string, GuardedBuffer> buffers_;
  Tensors before_;  ///< by output
  Bindings bindings_;
};

/// The verdict over all outputs of one problem with one data set.
struct Verification {
  std::string problem, variant, data_set;
  std::map<std::string, Verdict> outputs;
  Reason fault;  ///< memory around a tensor or an input overwritten, or an output missing
  bool pass() const { return reason().empty(); }
  std::string reason() const;  ///< empty, or "y: ..." of the first output that fails
  double worst_ratio() const;
};

/// Compares every output of the reference with what was downloaded. A missing output is a fault.
/// With the device, an output that was not written says whether the driver may have ended its
/// launch.
Verification compare_all(const Reference& reference, const Tensors& outputs, Reason trespass,
                         int iteration, const DeviceInfo* device = nullptr);
/// Runs, and compares every element with the reference, for the check of the data set.
Verification verify(Runtime& runtime, Trial trial, const DataSet& set, std::uint64_t seed);
/// The same for a problem, which it prepares.
inline Verification verify(Runtime& runtime, const Problem& problem, const DataSet& set,
                           std::uint64_t seed, const PlanOptions& options = {}) {
  return verify(runtime, Trial(runtime, problem, options), set, seed);
}
/// The same for a plan, also one for another device.
inline Verification verify(Runtime& runtime, const Plan& plan, const DataSet& set,
                           std::uint64_t seed) {
  return verify(runtime, Trial(runtime, plan), set, seed);
}

}  // namespace clam
