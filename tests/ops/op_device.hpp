// SPDX-License-Identifier: MIT
// op_device.hpp - what the tests of an op's kernels have in common: runs between guard bands, in
// every variant, held against the reference.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "check/graph_run.hpp"
#include "record_failure.hpp"
#include "test_device.hpp"

namespace clam::test {

/// A kernel made worse on purpose, and the problem, variant and data set that must notice.
struct KernelFault {
  const char *what, *from, *to, *line, *variant, *set;
};

/// The inputs of one data set, and what is expected of them on the device.
struct Sample {
  std::string set;
  Check check;
  Tensors inputs;
  Reference reference;
};

/// A suite of tests with a device. `using softmax_device = test::OpDevice;` makes an op's own tests
/// a part of the suite that every_op_device_test.cpp gives each op.
class OpDevice : public testing::Test {
 public:
  /// f32, and f16 where the device has it; f16 alone where an earlier driver has seen f32.
  static std::vector<std::string> dtypes() {
    if (!runtime().device().fp16) return {"f32"};
    if (runs_again()) return {"f16"};
    return {"f32", "f16"};
  }

  /// Whether the tests have run on another driver before (tools/test says so).
  static bool runs_again() { return std::getenv("CLAM_TEST_AGAIN") != nullptr; }

  static Problem parse(const std::string& line, const std::string& dtype = "f32") {
    return Problem::parse(line + " dtype=" + dtype);
  }

  static Reference expected(const Problem& problem, const Tensors& inputs, Check check) {
    return reference_of(problem, inputs, reference_options(check, runtime().device()));
  }

  /// The reference of what this trial computes, or the one at hand where it is the same.
  static Reference expected_of(const Trial& trial, const Tensors& inputs, Check check,
                               const Reference& at_hand) {
    const Problem problem = Problem::parse(trial.plan().problem);
    const std::string& variant = trial.plan().variant;
    if (!has_own_bound(problem, variant)) return at_hand;
    return reference_of(problem, inputs, reference_options(check, runtime().device(), variant));
  }

  static Sample sample_of(const Problem& problem, const DataSet& set, std::uint64_t seed) {
    Tensors inputs = make_inputs(problem, set, seed);
    Reference reference = expected(problem, inputs, set.check);
    return {set.name, set.check, std::move(inputs), std::move(reference)};
  }

  /// One of each data set.
  static std::vector<Sample> samples_of(const Problem& problem) {
    std::vector<Sample> samples;
    for (const DataSet& set : proof_of(problem).data_sets) {
      samples.push_back(sample_of(problem, set, seed()));
    }
    return samples;
  }

  /// Runs between poison and guard bands; a trespass is a failure.
  static Tensors run(Trial& trial, const Tensors& inputs) {
    trial.upload(inputs);
    trial.run(1);
    Tensors outputs = trial.download();
    EXPECT_FALSE(trial.trespass()) << *trial.trespass();
    return outputs;
  }

  static Tensors expect_pass(Trial& trial, const Tensors& inputs, const Reference& reference) {
    Tensors outputs = run(trial, inputs);
    const Verification result = compare_all(reference, outputs, {}, 1);
    EXPECT_TRUE(result.pass()) << result.reason();
    if (!result.pass()) record_failure(trial.plan(), inputs, reference);
    return outputs;
  }
  static Tensors expect_pass(Trial& trial, const Sample& sample) {
    SCOPED_TRACE(sample.set);
    return expect_pass(trial, sample.inputs,
                       expected_of(trial, sample.inputs, sample.check, sample.reference));
  }

  /// Calls body(trial) for each variant that supports the problem; `max_work_group` 0: the default.
  template <typename Body>
  static void for_each_variant(const Problem& problem, int max_work_group, const Body& body) {
    for (const Variant& variant : op_of(problem).variants) {
      if (variant.refuses(problem, runtime().device())) continue;
      SCOPED_TRACE(fmt::format("{} {} {}", problem.text(), variant.name, max_work_group));
      Trial trial(runtime(), problem, {variant.name, max_work_group});
      body(trial);
    }
  }

  /// Every variant, every data set.
  static void expect_all_sets_pass(const Problem& problem) {
    const std::vector<Sample> samples = samples_of(problem);
    for_each_variant(problem, 0, [&](Trial& trial) {
      for (const Sample& sample : samples) expect_pass(trial, sample);
    });
  }

  /// Inputs of the test's own, which may hold NaN, infinities and denormals; every variant.
  static void expect_like_reference(const Problem& problem, const Tensors& inputs,
                                    Check check = Check::hard) {
    const Reference reference = expected(problem, inputs, check);
    for_each_variant(problem, 0, [&](Trial& trial) {
      const Reference own = expected_of(trial, inputs, check, reference);
      if (!has_own_bound(problem, trial.plan().variant)) {
        expect_pass(trial, inputs, own);
        return;
      }
      // Near numbers that are none its bounds may be infinite.
      const Verification result = compare_all(own, run(trial, inputs), {}, 1);
      EXPECT_TRUE(result.pass() || is_only_blind(result)) << result.reason();
    });
  }

  static void expect_caught(const std::string& file, const KernelFault& fault) {
    SCOPED_TRACE(fmt::format("{}: {} {}", fault.what, fault.line, fault.variant));
    const TemporaryFolder folder;
    break_kernel(folder, file, fault.from, fault.to);
    const auto broken = runtime_with_kernels(folder);
    const Problem problem = parse(fault.line);
    const Verification result =
        verify(*broken, problem, find_data_set(problem, fault.set), seed(), {fault.variant});
    EXPECT_FALSE(result.pass());
    EXPECT_EQ(result.variant, fault.variant);
  }

 protected:
  void SetUp() override { CLAM_NEEDS_DEVICE(); }
};

/// The tensor of a plan on which an output may lie, element on element; else null.
inline const TensorSpec* place_of(const Plan& plan, const TensorSpec& output) {
  const TensorSpec* place = output.may_be.empty() ? nullptr : plan.tensor(output.may_be);
  const bool is_alike = place && place->shape == output.shape && place->strides == output.strides &&
                        place->offset == output.offset;
  return is_alike ? place : nullptr;
}

inline HostTensor read_back(const cl::Buffer& buffer, const TensorSpec& spec) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(spec.bytes()));
  runtime().queue().enqueueReadBuffer(buffer, CL_TRUE, 0, bytes.size(), bytes.data());
  HostTensor tensor(spec.dtype, spec.shape);
  const auto size = static_cast<std::size_t>(size_of(spec.dtype));
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    std::memcpy(tensor.data() + static_cast<std::size_t>(i) * size,
                bytes.data() + static_cast<std::size_t>(spec.position(i)) * size, size);
  }
  return tensor;
}

/// An output on the input that it may overwrite.
inline void expect_pass_in_place(Trial& trial, const Sample& sample) {
  const Reference reference =
      OpDevice::expected_of(trial, sample.inputs, sample.check, sample.reference);
  for (const TensorSpec& output : trial.plan().tensors) {
    const TensorSpec* place = place_of(trial.plan(), output);
    if (!place) continue;
    trial.upload(sample.inputs);
    Executable executable = runtime().prepare(trial.plan());
    Bindings bindings = trial.bindings();
    bindings[output.name] = bindings[place->name];
    runtime().pack(executable, bindings);
    runtime().enqueue(executable, bindings);
    runtime().finish();
    const Verdict verdict =
        compare(read_back(bindings[place->name], output), reference.at(output.name));
    EXPECT_TRUE(verdict.pass) << output.name << " on " << place->name << ": " << verdict.reason;
  }
}

}  // namespace clam::test
