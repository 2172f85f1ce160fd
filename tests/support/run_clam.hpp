// SPDX-License-Identifier: MIT
// run_clam.hpp - runs the program `clam` for the tests of the suite `cli`.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command.hpp"
#include "contains.hpp"
#include "runtime/atomic_file.hpp"
#include "test_device.hpp"

namespace clam::test {

/// Runs clam with its own kernels and rows. The program cache is that of the tests, unless `environment`
/// names one.
inline Finished run_clam(std::vector<std::string> words,
                         std::vector<std::string> environment = {}) {
  words.insert(words.begin(), CLAM_BINARY);
  environment.insert(environment.begin(), {"CLAM_KERNEL_DIR=", "CLAM_TUNED_DIR="});
  return run_command(words, environment);
}

/// Runs a shell command in which $CLAM is the program.
inline Finished run_shell(const std::string& command, std::vector<std::string> environment = {}) {
  environment.insert(environment.begin(), "CLAM=" CLAM_BINARY);
  return run_command({"/bin/sh", "-c", command}, environment);
}

/// The program refused with this exit code and one line on stderr, "clam: ...", that holds `words`.
inline void expect_refusal(const Finished& finished, int code, const std::string& words) {
  EXPECT_EQ(finished.code, code) << finished.err;
  EXPECT_EQ(finished.out, "");
  EXPECT_EQ(finished.err.substr(0, 6), "clam: ");
  EXPECT_TRUE(contains(finished.err, words)) << finished.err << "lacks: " << words;
  EXPECT_EQ(finished.err.find('\n') + 1, finished.err.size()) << "more than one line:\n"
                                                              << finished.err;
}

/// The JSON that the program printed; a failure, and null, when it is none.
inline nlohmann::json parse_out(const Finished& finished) {
  const nlohmann::json json = nlohmann::json::parse(finished.out, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << "no JSON on standard output:\n"
                                    << finished.out << finished.err;
  return json.is_discarded() ? nlohmann::json() : json;
}

/// A problem that every device runs at once, with its only input.
inline constexpr const char* kCounts = "get_valid_counts n=5 dtype=f32 score_threshold=0.5";
inline HostTensor counts_data() {
  HostTensor data(Dtype::f32, {1, 5, 6});
  const float scores[] = {0.9f, 0.5f, 0.6f, 0.1f, 0.7f};  // rows 0, 2 and 4 are over 0.5
  for (std::int64_t i = 0; i < data.size(); ++i)
    data.set(i, i % 6 == 1 ? scores[i / 6] : double(i));
  return data;
}

}  // namespace clam::test
