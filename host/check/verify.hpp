// SPDX-License-Identifier: MIT
// verify.hpp - runs a Problem on a device between guard bands and compares it with its reference.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "clam/op.hpp"
#include "clam/runtime.hpp"
#include "compare.hpp"

namespace clam {

/// A tensor on the device between two guard bands. The bands, and gaps between strided rows, hold a
/// pattern (NaN for floats). So a read outside changes the result, and a write outside is seen.
class GuardedBuffer {
 public:
  GuardedBuffer(Runtime& runtime, const TensorSpec& spec);
  /// Writes the tensor's elements; everything else becomes the pattern. Batch items of an input may
  /// share places. Throws BadArgument if elements that share a place differ.
  void upload(const HostTensor& tensor);
  /// Fills the elements with poison_bits(dtype, iteration), everything else with the pattern.
  void poison(int iteration);
  HostTensor download();
  /// Which byte outside the tensor was overwritten, as of the last download; else empty.
  Reason trespass() const;
  const cl::Buffer& buffer() const { return window_; }
  const TensorSpec& spec() const { return spec_; }

 private:
  std::vector<std::uint8_t> image(const HostTensor& tensor) const;
  void refuse_shared_places(const HostTensor& tensor) const;
  Runtime* runtime_;
  TensorSpec spec_;
  std::int64_t guard_;
  cl::Buffer whole_, window_;
  std::vector<std::uint8_t> expected_, seen_;
};

/// A prepared Problem with its tensors on the device.
class Trial {
 public:
  Trial(Runtime& runtime, const Problem& problem, const PlanOptions& options = {});
  Trial(Runtime& runtime, const Plan& plan);
  void upload(const Tensors& inputs);  ///< and packs
  /// Runs the pack launches. Returns their times.
  std::vector<LaunchTime> pack();
  void poison(int iteration = 0);
  void enqueue();
  /// poison, enqueue, finish. Returns the launches' times.
  std::vector<LaunchTime> run(int iteration = 0);
  Tensors download();       ///< outputs by name
  Reason trespass() const;  ///< after download: names the tensor and the byte
  const Plan& plan() const { return executable_.plan(); }
  const Bindings& bindings() const { return bindings_; }

 private:
  void allocate();
  Runtime* runtime_;
  Executable executable_;
  std::map<std::string, GuardedBuffer> buffers_;
  Bindings bindings_;
};

/// The verdict over all outputs of one problem with one data set.
struct Verification {
  std::string problem, variant, data_set;
  std::map<std::string, Verdict> outputs;
  Reason fault;  ///< memory around a tensor or an input overwritten, or an output missing
  bool pass() const;
  std::string reason() const;  ///< empty, or "y: ..." of the first output that fails
  double worst_ratio() const;
};

/// Compares every output of the reference with what was downloaded. A missing output is a fault.
Verification compare_all(const Reference& reference, const Tensors& outputs, Reason trespass,
                         int iteration);
/// The same. The reference is computed from the inputs, for the check of the data set.
Verification judge(const Problem& problem, const std::string& variant, const DataSet& set,
                   const Tensors& inputs, const Tensors& outputs, Reason trespass,
                   const DeviceInfo& device, int iteration = 0);
/// Prepares, runs and compares every element.
Verification verify(Runtime& runtime, const Problem& problem, const DataSet& set,
                    std::uint64_t seed, const PlanOptions& options = {});
/// The same for a plan, also one for another device.
Verification verify(Runtime& runtime, const Plan& plan, const DataSet& set, std::uint64_t seed);

}  // namespace clam
