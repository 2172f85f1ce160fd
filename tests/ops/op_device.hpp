// SPDX-License-Identifier: MIT
// op_device.hpp - what the tests of an op's kernels have in common: runs between guard bands, in
// every variant, held against the reference.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "record_failure.hpp"
#include "test_device.hpp"

namespace clam::test {

/// A kernel made worse on purpose, and the problem, variant and data set that must notice.
struct KernelFault {
  const char *what, *from, *to, *line, *variant, *set;
};

/// Derive a suite of an op from it: `class softmax_device : public test::OpDevice {};`
class OpDevice : public testing::Test {
 protected:
  void SetUp() override { CLAM_NEEDS_DEVICE(); }

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

  /// Runs between poison and guard bands; a trespass is a failure.
  static Tensors run(Trial& trial, const Tensors& inputs) {
    trial.upload(inputs);
    trial.run(1);
    Tensors outputs = trial.download();
    EXPECT_FALSE(trial.trespass()) << *trial.trespass();
    return outputs;
  }

  static void expect_pass(Trial& trial, const Tensors& inputs, const Reference& reference) {
    const Verification result = compare_all(reference, run(trial, inputs), {}, 1);
    EXPECT_TRUE(result.pass()) << result.reason();
    if (!result.pass()) record_failure(trial.plan(), inputs, reference);
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
  static void expect_all_sets_pass(const Problem& problem, int max_work_group = 0) {
    std::vector<std::pair<Tensors, Reference>> sets;
    for (const DataSet& set : proof_of(problem).data_sets) {
      Tensors inputs = make_inputs(problem, set, seed());
      Reference reference = expected(problem, inputs, set.check);
      sets.emplace_back(std::move(inputs), std::move(reference));
    }
    for_each_variant(problem, max_work_group, [&](Trial& trial) {
      for (const auto& [inputs, reference] : sets) expect_pass(trial, inputs, reference);
    });
  }

  /// Inputs of the test's own, which may hold NaN, infinities and denormals; every variant.
  static void expect_like_reference(const Problem& problem, const Tensors& inputs,
                                    Check check = Check::hard) {
    const Reference reference = expected(problem, inputs, check);
    for_each_variant(problem, 0, [&](Trial& trial) { expect_pass(trial, inputs, reference); });
  }

  /// In groups of up to 16, 64 and 256 items a variant gives the same bits, and they pass.
  static void expect_same_bits_in_every_group(const Problem& problem, const DataSet& set) {
    const Tensors inputs = make_inputs(problem, set, seed());
    const Reference reference = expected(problem, inputs, set.check);
    for (const Variant& variant : op_of(problem).variants) {
      if (variant.refuses(problem, runtime().device())) continue;
      Tensors first;
      for (const int limit : {16, 64, 256}) {
        SCOPED_TRACE(fmt::format("{} {} {}", problem.text(), variant.name, limit));
        Trial trial(runtime(), problem, {variant.name, limit});
        const Tensors outputs = run(trial, inputs);
        const Verification result = compare_all(reference, outputs, {}, 1);
        EXPECT_TRUE(result.pass()) << result.reason();
        if (first.empty()) first = outputs;
        for (const auto& [name, tensor] : outputs) EXPECT_TRUE(tensor == first.at(name)) << name;
      }
    }
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
};

}  // namespace clam::test
