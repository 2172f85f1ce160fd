// SPDX-License-Identifier: MIT
// test_device.hpp - the device that the `*_device` suites run on, opened once.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "clam/clam.hpp"

namespace clam::test {

/// Empty when there is a device, else why not.
const std::string& no_device_reason();

/// The shared Runtime on the device of CLAM_DEVICE, else the best one. Call after
/// CLAM_NEEDS_DEVICE().
Runtime& runtime();

/// Another Runtime on the same context, with a queue of its own.
std::unique_ptr<Runtime> fresh_runtime(RuntimeOptions options = RuntimeOptions::from_environment());

/// The seed of random tests: CLAM_TEST_SEED, else fixed. Printed once, by main.
std::uint64_t seed();

/// The indices from 0 to count - 1 that this run holds: one of each five that follow one another,
/// which the seed draws, on a second driver (CLAM_TEST_AGAIN) one of fifteen, and with
/// CLAM_TEST_WEEKLY all of them.
std::vector<std::size_t> indices_of_this_run(std::size_t count);

/// Of the cases of an op, or of other things that a slow test goes through, those of these indices.
template <typename T>
std::vector<T> of_this_run(const std::vector<T>& all) {
  std::vector<T> chosen;
  for (const std::size_t i : indices_of_this_run(all.size())) chosen.push_back(all[i]);
  return chosen;
}

/// How many random problems of `all` this run draws: a fifth, and with CLAM_TEST_WEEKLY all.
int random_problems_of_this_run(int all);

/// Whether tests/weekly runs: then nothing is left out.
bool is_weekly();

/// Throws std::logic_error when no embedded kernel has this text.
void expect_in_a_kernel(const std::string& text);

/// What a fault replaces.
template <typename Fault>
auto text_of(const Fault& fault) -> decltype(fault.from) {
  return fault.from;
}
template <typename Fault>
auto text_of(const Fault& fault) -> decltype(fault.fault.from) {
  return fault.fault.from;
}

/// Of an op's faults, those that this run plants: of each variant one, which the seed draws (the
/// same one unless CLAM_TEST_SEED is set), with CLAM_TEST_FULL a quarter, and in tests/weekly all
/// of them. variant_of(fault) is the variant whose kernel has it. The text of every fault must be
/// there.
template <typename Fault, std::size_t n, typename VariantOf>
std::vector<Fault> faults_of_this_run(const Fault (&all)[n], const VariantOf& variant_of) {
  for (const Fault& fault : all) expect_in_a_kernel(text_of(fault));
  if (is_weekly()) return {all, all + n};
  std::map<std::string, std::vector<Fault>> by_variant;
  for (const Fault& fault : all) by_variant[variant_of(fault)].push_back(fault);
  std::vector<Fault> chosen;
  for (const auto& [variant, faults] : by_variant) {
    const std::size_t size = faults.size(), wanted = std::getenv("CLAM_TEST_FULL") ? 4 : size;
    const std::size_t step = std::min(wanted, size);
    for (std::size_t i = seed() % step; i < size; i += step) chosen.push_back(faults[i]);
  }
  return chosen;
}

template <typename Fault, std::size_t n>
std::vector<Fault> faults_of_this_run(const Fault (&all)[n]) {
  return faults_of_this_run(all, [](const Fault& fault) { return fault.variant; });
}

/// Whether the plan launches a kernel that `seen` lacks; afterwards it has them all. `where` tells
/// kernels apart that are seen in several places.
bool launches_new_kernel(const Plan& plan, std::set<std::string>& seen,
                         const std::string& where = "");

/// A folder that is removed with everything in it at the end of the scope.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// Puts the embedded kernel `file` into `folder` with `from` replaced by `to`, everywhere. Throws
/// std::logic_error when `from` is not in it, so a fault can never be silently absent.
void break_kernel(const TemporaryFolder& folder, const std::string& file, const std::string& from,
                  const std::string& to);

/// A Runtime that takes its kernels from `folder`, without a disk cache.
std::unique_ptr<Runtime> runtime_with_kernels(const TemporaryFolder& folder);

}  // namespace clam::test

#define CLAM_NEEDS_DEVICE()                           \
  if (!::clam::test::no_device_reason().empty()) {    \
    GTEST_SKIP() << ::clam::test::no_device_reason(); \
  }                                                   \
  static_assert(true, "")

#define CLAM_NEEDS_F16()                                                            \
  CLAM_NEEDS_DEVICE();                                                              \
  if (!::clam::test::runtime().device().fp16) {                                     \
    GTEST_SKIP() << ::clam::test::runtime().device().name << " has no cl_khr_fp16"; \
  }                                                                                 \
  static_assert(true, "")
