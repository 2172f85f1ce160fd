// SPDX-License-Identifier: MIT
// probes_test.cpp - the specimens of faults in tests/tools/probes: what they do here is recorded,
// and that they are wrong in one place alone is proven.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "check/op_proof.hpp"
#include "check/verify.hpp"
#include "runtime/atomic_file.hpp"
#include "test_device.hpp"

namespace clam {
namespace {

const std::string kScanInPlace = CLAM_SOURCE_DIR "/tests/tools/probes/gvc-inplace-scan";

/// The plan of a specimen, with the kernel file of `folder`, on its problem's data.
Verification run_specimen(const std::string& specimen, const std::string& folder,
                          const std::string& set) {
  const auto runtime = test::fresh_runtime();
  runtime->set_plan_dir(folder);
  const Plan plan = plan_from_json(nlohmann::json::parse(read_file(specimen + "/plan.json")));
  const Problem problem = Problem::parse(plan.problem);
  const Op& op = op_of(problem);
  return verify(*runtime, plan, find_data_set(op, set), test::seed());
}

/// Wrong or right, it ends, and writes nowhere but in its tensors.
TEST(probes_device, the_scan_in_place_ends_and_says_what_it_gave) {
  CLAM_NEEDS_DEVICE();
  for (const char* set : {"mixed", "none", "every"}) {
    const Verification result = run_specimen(kScanInPlace, kScanInPlace, set);
    EXPECT_FALSE(result.fault) << set << ": " << *result.fault;
    const std::string verdict = result.pass() ? "right" : "wrong: " + result.reason();
    RecordProperty(set, verdict);
    fmt::print("gvc-inplace-scan, {}, on {}: {}\n", set, test::runtime().device().name, verdict);
  }
}

/// One work-item adds up instead: all else is as it was, and every driver gives the right bits.
TEST(probes_device, only_the_scan_in_place_is_wrong) {
  CLAM_NEEDS_DEVICE();
  const std::string step = "if (i >= step) sums[i] += sums[i - step];";
  std::string text = read_file(kScanInPlace + "/kernel.cl");
  ASSERT_NE(text.find(step), text.npos);
  text.replace(text.find(step), step.size(),
               "if (step * i == 1) for (uint j = 1; j < count; ++j) sums[j] += sums[j - 1];");
  const test::TemporaryFolder folder;
  write_file(folder.file("kernel.cl"), text);
  for (const char* set : {"mixed", "none", "every", "one", "few"}) {
    const Verification result = run_specimen(kScanInPlace, folder.path(), set);
    EXPECT_TRUE(result.pass()) << set << ": " << result.reason();
  }
}

}  // namespace
}  // namespace clam
