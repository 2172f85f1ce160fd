// SPDX-License-Identifier: MIT
// timing_bench_test.cpp - clam-bench on the driver that the tests run on, by the machine's own
// clock.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "command.hpp"
#include "runtime/atomic_file.hpp"
#include "test_device.hpp"
#include "timing.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

constexpr const char* kProduct = "dense m=33 n=20 k=48 dtype=f32 bias";
constexpr const char* kCounts = "get_valid_counts n=1000 dtype=f32 score_threshold=0.01";

Finished run_bench(std::vector<std::string> words,
                   const std::vector<std::string>& environment = {}) {
  words.insert(words.begin(), CLAM_BENCH_BINARY);
  return run_command(words, environment);
}

/// The part of the document that is clam's own.
json measured(const std::vector<std::string>& problems, std::vector<std::string> words,
              const std::vector<std::string>& environment = {}) {
  const TemporaryFolder folder;
  const std::string file = folder.file("out.json");
  for (const std::string& problem : problems) words.insert(words.end(), {"--problem", problem});
  words.insert(words.end(), {"--json", file});
  const Finished done = run_bench(words, environment);
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_EQ(done.out.find("no time here is true"), std::string::npos) << done.out;
  return json::parse(read_file(file)).at("clam");
}

TEST(timing_bench_device, honest_rows_are_fine_in_one_process_and_apart) {
  CLAM_NEEDS_QUIET();
  CLAM_NEEDS_DEVICE();
  for (const char* how : {"--no-isolate", "--isolate"}) {
    const json own = measured({kProduct, kCounts}, {how, "--time", "0.01"});
    EXPECT_GT(own.at("peaks").at("gflops_f32").get<double>(), 0);
    for (const json& row : own.at("rows")) {
      EXPECT_EQ(row.at("validity"), "OK") << row;
      EXPECT_GT(row.at("us").at("min").get<double>(), 0);
      EXPECT_GE(row.at("samples_us").size(), 6u);
      EXPECT_GT(row.at("floor_us").get<double>(), 0);
      EXPECT_LT(row.at("of_peak").get<double>(), 1.05);
    }
  }
}

TEST(timing_bench_device, honest_small_rows_stay_ok_however_often_they_are_measured) {
  CLAM_NEEDS_QUIET();
  CLAM_NEEDS_DEVICE();
  const std::vector<std::string> problems = {kProduct, kCounts, "softmax shape=7x9 dtype=f32",
                                             "unary op=exp shape=4099 dtype=f32",
                                             "conv2d c=8 h=16 w=16 k=8 r=1 dtype=f32 stride=2"};
  const json own = measured(problems, {"--time", "0.002", "--benchmark_repetitions=20"});
  ASSERT_EQ(own.at("rows").size(), problems.size());
  for (const json& row : own.at("rows")) EXPECT_EQ(row.at("validity"), "OK") << row;
}

TEST(timing_bench_broken, a_slow_pack_is_not_in_the_time_of_the_product) {
  CLAM_NEEDS_QUIET();
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string store = "*(__global W4*)(wp + at) = ";
  break_kernel(folder, "dense.cl", store,
               "for (int again = 0; again < 100000; ++again) *(volatile __global W4*)(wp + at) = ");
  const json row = measured({kProduct}, {"--time", "0.001"}, {"CLAM_KERNEL_DIR=" + folder.path()})
                       .at("rows")
                       .at(0);
  EXPECT_GT(row.at("pack").at("us").at("min").get<double>(),
            10 * row.at("us").at("min").get<double>())
      << row.dump(2);
}

/// How the rows of two runs compare, the second with other kernels.
Finished compared(const std::string& problem, const std::string& kernels, bool back = false) {
  const TemporaryFolder folder;
  const std::string before = folder.file("before.json"), after = folder.file("after.json");
  for (const std::string& file : {before, after}) {
    std::vector<std::string> environment;
    if (file == after) environment = {"CLAM_KERNEL_DIR=" + kernels};
    EXPECT_EQ(run_bench({"--time", "0.03", "--problem", problem, "--json", file}, environment).code,
              0);
  }
  return run_bench({"--compare", back ? after : before, back ? before : after});
}

TEST(timing_bench_broken, a_kernel_that_became_slow_is_told_from_one_that_did_not) {
  CLAM_NEEDS_QUIET();
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  break_kernel(folder, "get_valid_counts.cl", "indices[place] = row;",
               "for (int again = 0; again < 20000; ++again) "
               "((volatile __global int*)indices)[place] = row;");
  const Finished done = compared(kCounts, folder.path());
  EXPECT_EQ(done.code, 1) << done.out << done.err;
  EXPECT_NE(done.out.find(std::string("SLOW     ") + kCounts), std::string::npos) << done.out;
  const Finished back = compared(kCounts, folder.path(), true);
  EXPECT_EQ(back.code, 0) << back.out;
  EXPECT_NE(back.out.find(std::string("FAST     ") + kCounts), std::string::npos) << back.out;
  // What else the machine does may slow one run down once, and so tools/bench measures twice.
  int slow = 0;
  for (int i = 0; i < 3; ++i) {
    slow += compared("dense m=192 n=256 k=256 dtype=f32", folder.path()).code == 1;
  }
  EXPECT_LT(slow, 3);
}

}  // namespace
}  // namespace clam::test
