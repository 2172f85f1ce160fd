// SPDX-License-Identifier: MIT
// smoke_test.cpp - what all ops have in common: every kernel once, on the smallest problems that
// launch it, and every case with every data set.
#include <set>

#include "check/manifest.hpp"
#include "clam/planner.hpp"
#include "op_device.hpp"

namespace clam {
namespace {

/// A problem and the variant of its op that launches kernels which none before it launched.
struct Smoke {
  Problem problem;
  std::string variant;
};

/// Of an op's small cases as few as launch each kernel that they launch at all.
std::vector<Smoke> smallest(const Op& op, const std::string& dtype, const DeviceInfo& device,
                            std::set<std::string>& seen) {
  std::vector<Smoke> chosen;
  for (const Problem& problem : problems_of(proof_of(op).small_cases, dtype)) {
    for (const Variant& variant : op.variants) {
      if (variant.refuses(problem, device)) continue;
      const Plan plan = make_plan(problem, device, {variant.name, 0});
      if (test::launches_new_kernel(plan, seen)) chosen.push_back({problem, variant.name});
    }
  }
  return chosen;
}

TEST(smoke, has_every_kernel) {
  std::set<std::string> chosen, all;
  for (const std::string& file : embedded_files()) {
    for (const KernelTags& kernel : read_tags(KernelFiles().get(file)).kernels) {
      all.insert(kernel.name);
    }
  }
  for (const Op* op : all_ops()) {
    for (const char* dtype : {"f32", "f16"}) smallest(*op, dtype, generic_device(), chosen);
  }
  EXPECT_EQ(chosen, all);
}

std::string name_of_op(const testing::TestParamInfo<const Op*>& info) { return info.param->name; }

class smoke_device : public test::OpDevice, public testing::WithParamInterface<const Op*> {
 protected:
  static void expect_every_kernel_right(const std::string& dtype) {
    std::set<std::string> seen;
    const DeviceInfo& device = test::runtime().device();
    const std::vector<Smoke> problems = smallest(*GetParam(), dtype, device, seen);
    ASSERT_FALSE(problems.empty());
    for (const Smoke& smoke : problems) {
      for (const DataSet& set : proof_of(*GetParam()).data_sets) {
        const Verification result =
            verify(test::runtime(), smoke.problem, set, test::seed(), {smoke.variant});
        EXPECT_TRUE(result.pass()) << smoke.problem.text() << " " << smoke.variant << " "
                                   << set.name << ": " << result.reason();
      }
    }
  }
};

TEST_P(smoke_device, every_kernel_is_right_in_f32) { expect_every_kernel_right("f32"); }

TEST_P(smoke_device, every_kernel_is_right_in_f16) {
  CLAM_NEEDS_F16();
  expect_every_kernel_right("f16");
}

INSTANTIATE_TEST_SUITE_P(ops, smoke_device, testing::ValuesIn(all_ops()), name_of_op);

class cases_device : public test::OpDevice, public testing::WithParamInterface<const Op*> {
 protected:
  static void expect_cases_right(const std::string& dtype) {
    for (const Problem& problem :
         test::of_this_run(problems_of(proof_of(*GetParam()).cases, dtype))) {
      expect_all_sets_pass(problem);
    }
  }
};

TEST_P(cases_device, every_case_passes_every_set_in_f32) { expect_cases_right("f32"); }

TEST_P(cases_device, every_case_passes_every_set_in_f16) {
  CLAM_NEEDS_F16();
  expect_cases_right("f16");
}

INSTANTIATE_TEST_SUITE_P(ops, cases_device, testing::ValuesIn(all_ops()), name_of_op);

}  // namespace
}  // namespace clam
