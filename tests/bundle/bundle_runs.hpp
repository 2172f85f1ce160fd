// SPDX-License-Identifier: MIT
// bundle_runs.hpp - `clam record` and `clam replay` for tests, and a bundle made by hand.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>

#include "bundle/bundle.hpp"
#include "bundle/case.hpp"
#include "foreign_plan.hpp"
#include "run_clam.hpp"

namespace clam::test {

inline constexpr const char* kSoftmax = "softmax shape=3x5 dtype=f32";

/// A busy machine is no hang: the limit of a process is long where a test names none.
inline void add_limit(std::vector<std::string>& words) {
  if (std::find(words.begin(), words.end(), "--limit") != words.end()) return;
  words.insert(words.end(), {"--limit", "1000"});
}

/// Runs `clam record` into folder/case, on this device alone. `kernels`: a folder whose kernels
/// replace the built-in ones.
inline Finished record(const TemporaryFolder& folder, std::vector<std::string> words,
                       const TemporaryFolder* kernels = nullptr,
                       std::vector<std::string> environment = {}) {
  words.insert(words.begin(), {"record", "--no-proof"});
  words.insert(words.end(), {"-o", folder.file("case")});
  add_limit(words);
  if (kernels) {
    environment.insert(environment.end(),
                       {"CLAM_KERNEL_DIR=" + kernels->path(), "CLAM_CACHE_DIR=off"});
  }
  return run_clam(words, environment);
}

inline Finished replay(const TemporaryFolder& folder, std::vector<std::string> words = {},
                       const std::vector<std::string>& environment = {}) {
  words.insert(words.begin(), {"replay", folder.file("case")});
  add_limit(words);
  return run_clam(words, environment);
}

/// `clam replay` of it says so, and ends with this code.
inline void expect_replay(const TemporaryFolder& folder, const std::string& verdict, int code) {
  const Finished finished = replay(folder);
  EXPECT_EQ(finished.code, code) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out, "\n" + verdict)) << finished.out << finished.err;
}

inline nlohmann::json case_of(const TemporaryFolder& folder) {
  return nlohmann::json::parse(read_file(folder.file("case/case.json")));
}

/// Softmax whose rows do not sum to 1; `factor` says how far.
inline void break_softmax(const TemporaryFolder& kernels, const std::string& factor) {
  break_kernel(kernels, "softmax.cl", "1.0f / ", factor + "f / ");
}

/// The built-in kernel file takes the place of the bundle's.
inline void heal(const TemporaryFolder& folder, const std::string& file) {
  write_file(folder.file("case/" + file), KernelFiles().get(file).text);
}

inline Seen wrong_at(std::int64_t index, double value) {
  Seen seen;
  seen.outcome = Seen::Outcome::wrong;
  seen.reason = fmt::format("y[{}] is wrong", index);
  seen.first_wrong = {"y", index, value, 1};
  seen.worst_ratio = std::numeric_limits<double>::infinity();
  return seen;
}

/// A bundle of scale.cl on four elements, put together by hand.
inline Bundle scale_bundle() {
  Bundle bundle;
  bundle.plan = scale_plan(4, 0.5f);
  bundle.problem = "a \"foreign\" kernel?\?/";
  bundle.kernels["scale.cl"] = kScaleSource;
  HostTensor src(Dtype::f32, {4}), dst(Dtype::f32, {4});
  for (int i = 0; i < 4; ++i) src.set(i, 3 * i), dst.set(i, 1.5 * i);
  take_inputs({{"src", src}}, bundle);
  expect(bundle.plan->tensors[1], dst, bundle);
  bundle.device = generic_device();
  return bundle;
}

/// Written into folder/case.
inline void write(const TemporaryFolder& folder, const Bundle& bundle, bool single_file = false) {
  std::filesystem::create_directories(folder.file("case"));
  write_case(folder.file("case"), bundle);
  finish_case(folder.file("case"), bundle, single_file);
}

/// Every file of a folder, by name.
inline std::map<std::string, std::string> files_of(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files[entry.path().filename().string()] = read_file(entry.path().string());
  }
  return files;
}

}  // namespace clam::test
