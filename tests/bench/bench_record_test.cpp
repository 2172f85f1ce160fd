// SPDX-License-Identifier: MIT
// clam-bench --record-failures: a row that fails becomes a bundle that says why it was refused. On
// the scripted device: the rows that are right are so however busy the machine is.
#include <gtest/gtest.h>

#include <filesystem>

#include "bench/record_rows.hpp"
#include "run_clam.hpp"
#include "scripted.hpp"

namespace clam::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kSoftmax = "softmax shape=7x9 dtype=f32";
constexpr const char* kExp = "unary op=exp shape=99 dtype=f32";

/// The bundles that clam-bench left, by the op's name; with its exit code and what it said.
struct Recorded {
  Finished finished;
  TemporaryFolder folder;
  std::vector<std::string> bundles;

  Recorded(std::vector<std::string> words, const std::vector<std::string>& more,
           const json& script = json::object()) {
    std::vector<std::string> environment = scripted::on(script);
    environment.insert(environment.end(), more.begin(), more.end());
    words.insert(words.begin(), {CLAM_BENCH_BINARY, "--problem", kSoftmax, "--problem", kExp,
                                 "--time", "0.001", "--record-failures", folder.path()});
    finished = run_command(words, environment);
    for (const auto& entry : fs::directory_iterator(folder.path())) {
      bundles.push_back(entry.path().string());
    }
  }
  json seen(std::size_t bundle) const {
    return json::parse(read_file(bundles.at(bundle) + "/case.json")).at("seen");
  }
  std::string readme(std::size_t bundle) const {
    return read_file(bundles.at(bundle) + "/README.md");
  }
};

TEST(bench_record_scripted, a_wrong_result_becomes_a_bundle) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder kernels;
  break_kernel(kernels, "softmax.cl", "1.0f / ", "1.01f / ");
  const Recorded recorded({}, {"CLAM_KERNEL_DIR=" + kernels.path()});
  EXPECT_EQ(recorded.finished.code, 1) << recorded.finished.err;
  ASSERT_EQ(recorded.bundles.size(), 1u) << "the other row is right";
  EXPECT_EQ(recorded.seen(0).at("outcome"), "wrong");
  const std::string readme = recorded.readme(0);
  EXPECT_TRUE(contains(readme, "# A wrong result: softmax shape=7x9 dtype=f32")) << readme;
  EXPECT_TRUE(contains(readme, "called it INVALID:\n\n    condition 3, right: dst: element"))
      << readme;
  EXPECT_TRUE(contains(recorded.finished.out, "recorded in " + recorded.bundles[0] + ": wrong"))
      << recorded.finished.out;
}

TEST(bench_record_scripted, a_crash_becomes_a_bundle) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder kernels;
  break_kernel(kernels, "softmax.cl", "1.0f / ", "*(volatile __global int*)8 * 1.0f / ");
  const Recorded recorded({"--isolate"},
                          {"CLAM_KERNEL_DIR=" + kernels.path(), "CLAM_CACHE_DIR=off"});
  EXPECT_EQ(recorded.finished.code, 3) << recorded.finished.err;
  ASSERT_EQ(recorded.bundles.size(), 1u) << recorded.finished.out << recorded.finished.err;
  const bool dies = runtime().device().type == "cpu";  // a GPU refuses the read
  EXPECT_EQ(recorded.seen(0).at("outcome"), dies ? "crashed" : "device error");
  EXPECT_TRUE(contains(recorded.readme(0), std::string("called it an error:\n\n    ") +
                                               (dies ? "its process was ended by" : "")))
      << recorded.readme(0);
}

/// Both rows are right, but the driver's clock stands still.
TEST(bench_record_scripted, a_time_that_cannot_be_true_becomes_a_bundle) {
  CLAM_NEEDS_DEVICE();
  for (const char* how : {"--isolate", "--no-isolate"}) {
    SCOPED_TRACE(how);
    const Recorded recorded({how}, {}, scripted::lying("clGetEventProfilingInfo", "zero"));
    EXPECT_EQ(recorded.finished.code, 1) << recorded.finished.err;
    ASSERT_EQ(recorded.bundles.size(), 2u);
    EXPECT_EQ(recorded.seen(0).at("outcome"), "right");
    const std::string readme = recorded.readme(0);
    EXPECT_TRUE(contains(readme, "the result is right: see what was noted")) << readme;
    EXPECT_TRUE(contains(readme, "condition 1, events: an event says that launch 0 took 0 ns"))
        << readme;
    EXPECT_TRUE(contains(readme, "| 0 | 0 | 0 |\n")) << "started, ended and their difference\n"
                                                     << readme;
    EXPECT_TRUE(contains(readme, "Measured at most in the same run: a launch ")) << readme;
  }
}

TEST(bench_record, the_note_has_what_the_row_claims) {
  bench::Result result;
  result.outcome = bench::Outcome::check_failed;
  result.reason = "condition 4, peak: 7122.0 GFLOP/s, but the device does 461.0 at most";
  result.us.median = 2;
  result.iterations = 80;
  result.flops = 14244e3;
  result.bytes = 20e3;
  result.claimed = {{{10, 20, 30, 2030}, {11, 21, 2040, 4040}}, 6, 5000};
  bench::Limits limits;
  limits.gflops_f32 = 461;
  const std::string note = bench::note_of(result, limits);
  for (const char* words :
       {"INVALID:\n\n    condition 4, peak: 7122.0 GFLOP/s", "takes 2 us (median of 80)",
        "which is 7122 GFLOP/s and 10 GB/s", "Measured at most in the same run: f32 461 GFLOP/s.",
        "The first 2 of 6 launches", "took the host 5000.0 us",
        "| 1 | 11 | 21 | 2040 | 4040 | 2000 |\n"}) {
    EXPECT_TRUE(contains(note, words)) << words << "\n" << note;
  }
}

TEST(bench_record, rows_that_did_not_go_wrong_themselves_are_left_out) {
  bench::Result result;
  for (const bench::Outcome outcome : {bench::Outcome::fine, bench::Outcome::skipped,
                                       bench::Outcome::not_run, bench::Outcome::bad_input}) {
    result.outcome = outcome;
    EXPECT_FALSE(is_to_record(result)) << name(outcome);
  }
  result.outcome = bench::Outcome::device_error;
  result.reason = "a kernel ended with -5";
  EXPECT_TRUE(is_to_record(result));
  result.reason = *bench::device_is_sound("a kernel ended with -5");
  EXPECT_FALSE(is_to_record(result));
}

TEST(bench_record, without_clam_it_refuses_before_it_measures) {
  const TemporaryFolder folder;
  const std::string alone = folder.file("clam-bench");
  fs::copy_file(CLAM_BENCH_BINARY, alone);
  const Finished finished =
      run_command({alone, "--problem", kExp, "--record-failures", folder.file("failures")});
  EXPECT_EQ(finished.code, 2);
  EXPECT_EQ(finished.out, "");
  EXPECT_TRUE(contains(finished.err, "needs the program clam beside clam-bench")) << finished.err;
}

TEST(bench_record, a_folder_that_cannot_be_is_refused_before_it_measures) {
  const TemporaryFolder folder;
  write_file(folder.file("taken"), "");
  const Finished finished = run_command(
      {CLAM_BENCH_BINARY, "--problem", kExp, "--record-failures", folder.file("taken/failures")});
  EXPECT_EQ(finished.code, 2);
  EXPECT_EQ(finished.out, "");
  EXPECT_TRUE(contains(finished.err, "there can be no folder ")) << finished.err;
}

}  // namespace
}  // namespace clam::test
