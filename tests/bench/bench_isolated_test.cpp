// SPDX-License-Identifier: MIT
// bench_isolated_test.cpp - clam-bench with a row in each process: the same rows, and faults that
// cost one. On the scripted device, where a hang takes no time and times are what the test says.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "bench/document.hpp"
#include "command.hpp"
#include "contains.hpp"
#include "runtime/atomic_file.hpp"
#include "scripted.hpp"
#include "signalled.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"
#include "tests/bundle/break_pack.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

constexpr const char* kDense = "dense m=33 n=20 k=48 dtype=f32";
constexpr const char* kSoftmax = "softmax shape=7x9 dtype=f32";

/// The file that clam-bench wrote about both problems, and its exit code.
std::pair<json, int> measured(std::vector<std::string> words,
                              const TemporaryFolder* kernels = nullptr,
                              const json& script = json::object()) {
  const TemporaryFolder folder;
  const scripted::SharedClock clock;
  const std::string file = folder.file("out.json");
  words.insert(words.begin(), {CLAM_BENCH_BINARY, "--problem", kDense, "--problem", kSoftmax,
                               "--time", "0.001", "--json", file});
  std::vector<std::string> environment = scripted::on(clock.in(script));
  if (kernels) {
    environment.insert(environment.end(),
                       {"CLAM_KERNEL_DIR=" + kernels->path(), "CLAM_CACHE_DIR=off"});
  }
  const Finished finished = run_command(words, environment);
  return {json::parse(read_file(file)).at("clam").at("rows"), finished.code};
}

/// Everything that does not change from run to run.
json lasting(json row) {
  for (const char* key :
       {"us", "host_us", "isolated", "samples_us", "rounds_us", "gb_per_s", "gflop_per_s",
        "iterations", "gpu_mhz", "of_peak", "floor_us", "marks", "other_load"}) {
    row.erase(key);
  }
  if (row.contains("pack")) row["pack"].erase("us");
  return row;
}

TEST(bench_isolated_scripted, rows_are_those_of_one_process) {
  CLAM_NEEDS_DEVICE();
  const auto [apart, code] = measured({"--isolate"});
  EXPECT_EQ(code, 0);
  const json together = measured({"--no-isolate"}).first;
  ASSERT_EQ(apart.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(lasting(apart[i]), lasting(together[i]));
    EXPECT_EQ(apart[i].at("validity"), "OK");
    EXPECT_EQ(apart[i].at("us").at("median"), together[i].at("us").at("median"));
    EXPECT_GT(apart[i].at("of_peak"), 0) << "by the peaks that the first process measured";
    EXPECT_GE(apart[i].at("samples_us").size(), 12u) << "of two visits, six rounds each at least";
    EXPECT_GE(apart[i].at("rounds_us").size(), 12u);
    EXPECT_TRUE(apart[i].at("isolated").get<bool>());
  }
}

TEST(bench_isolated_scripted, a_row_comes_back_from_its_json) {
  CLAM_NEEDS_DEVICE();
  const json row = measured({"--no-isolate"}).first.at(0);
  const bench::Result result = bench::result_from_json(row);
  EXPECT_TRUE(result.valid());
  EXPECT_EQ(result.us.median, row.at("us").at("median").get<double>());
  EXPECT_EQ(result.samples_us.size(), row.at("samples_us").size());
  EXPECT_EQ(result.verification.outputs.size(), 1u);
  EXPECT_GT(result.packing.launches, 0);
  EXPECT_THROW(bench::result_from_json({{"outcome", "splendid"}}), BadArgument);
  EXPECT_ANY_THROW(bench::result_from_json(json::object()));
}

TEST(bench_isolated_scripted, the_limit_of_a_launch_holds_there_too) {
  CLAM_NEEDS_DEVICE();
  for (const char* how : {"--isolate", "--no-isolate"}) {
    const auto [rows, code] = measured({how, "--launch-limit", "1e-8"});
    EXPECT_EQ(code, 77) << how;
    for (const json& row : rows) {
      EXPECT_EQ(row.at("outcome"), "skipped") << how;
      EXPECT_TRUE(contains(row.at("reason"), "over half of the limit of 1e-08 s; a driver may end it"))
          << row.at("reason");
    }
  }
}

TEST(bench_isolated, what_its_processes_are_told_is_not_for_people) {
  const Finished finished =
      run_command({CLAM_BENCH_BINARY, "--problem", kDense, "--limits", "1,2"});
  EXPECT_EQ(finished.code, 2);
  EXPECT_TRUE(contains(finished.err, "--limits is for clam-bench's own processes")) << finished.err;
}

TEST(bench_isolated, two_visits_are_joined) {
  bench::Result a, b;
  a.samples_us = {1, 2, 3};
  b.samples_us = {4, 5};
  a.rounds_us = {2};
  b.rounds_us = {4.5};
  a.iterations = 3;
  b.iterations = 2;
  a.us.min = 0.5;
  b.us.min = 4;
  a.marks = {"launch-bound"};
  b.marks = {"launch-bound", "clock moved 5.2 %"};
  join(a, b);
  EXPECT_EQ(a.us.median, 3);
  EXPECT_EQ(a.us.mean, 3);
  EXPECT_EQ(a.us.min, 0.5);
  EXPECT_EQ(a.iterations, 5);
  EXPECT_EQ(a.samples_us.size(), 5u);
  EXPECT_EQ(a.rounds_us, (std::vector<double>{2, 4.5}));
  EXPECT_EQ(a.marks.size(), 2u);
}

TEST(bench_isolated_scripted, a_crash_costs_one_row) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder kernels;
  break_pack(kernels, "*(volatile __global int*)8 = 1;");
  const auto [rows, code] = measured({"--isolate"}, &kernels);
  EXPECT_EQ(code, 3);
  EXPECT_EQ(rows[0].at("validity"), "INVALID");
  // A GPU refuses the write, and no process dies of it.
  const std::string reason = rows[0].at("reason");
  EXPECT_TRUE(contains(reason, runtime().device().type == "cpu"
                                   ? "ended by signal 11 (Segmentation fault)"
                                   : " failed: "))
      << reason;
  EXPECT_EQ(rows[1].at("validity"), "OK");
}

/// The device's compiler dies of the kernels that measure the peaks.
TEST(bench_isolated_scripted, peaks_whose_process_crashes_cost_no_row) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string file = folder.file("out.json");
  std::vector<std::string> environment = scripted::on(
      scripted::lying("clCreateProgramWithSource", "crash", {{"source", "*peak_fma*"}}));
  environment.push_back("CLAM_CACHE_DIR=off");
  const Finished finished = run_command({CLAM_BENCH_BINARY, "--problem", kDense, "--problem",
                                         kSoftmax, "--time", "0.001", "--isolate", "--json", file},
                                        environment);
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out, "no peak of any kind: its process was ended by signal 6"))
      << finished.out;
  const json own = json::parse(read_file(file)).at("clam");
  EXPECT_TRUE(contains(own.at("peaks").at("refused").at(0), "any kind: its process was ended"));
  for (const json& row : own.at("rows")) {
    EXPECT_EQ(row.at("validity"), "OK");
    EXPECT_EQ(row.at("marks"), json{"no peak to compare with, as none is known"});
    EXPECT_FALSE(row.contains("floor_us"));
  }
}

/// The kernel really never ends.
TEST(bench_isolated_scripted, a_hang_costs_one_row) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder kernels;
  break_pack(kernels, "for (volatile int again = 0; again < 2; again = 0)");
  const json forever = {{"costs", {{{"kernel", "dense_pack_w"}, {"us", 1e12}}}}};
  const auto [rows, code] = measured({"--isolate", "--limit", "8"}, &kernels, forever);
  EXPECT_EQ(code, 3);
  EXPECT_TRUE(contains(rows[0].at("reason"), "gave no result for 8 s")) << rows[0];
  EXPECT_EQ(rows[1].at("validity"), "OK");
}

TEST(bench_isolated_scripted, a_signal_leaves_no_temporary_folder) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  break_pack(kernels, "for (volatile int again = 0; again < 2; again = 0)");
  const std::string command =
      fmt::format("{} --isolate --limit 60 --problem '{}'", CLAM_BENCH_BINARY, kDense);
  EXPECT_EQ(code_when_signalled(folder, command, "INT",
                                {"CLAM_KERNEL_DIR=" + kernels.path(), "CLAM_CACHE_DIR=off"}),
            128 + 2);
  EXPECT_TRUE(std::filesystem::is_empty(folder.file("tmp")));
}

TEST(bench_isolated_scripted, a_wrong_result_is_invalid_there_too) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder kernels;
  break_kernel(kernels, "softmax.cl", "1.0f / ", "1.01f / ");
  const auto [rows, code] = measured({"--isolate"}, &kernels);
  EXPECT_EQ(code, 1);
  EXPECT_EQ(rows[1].at("validity"), "INVALID");
  EXPECT_TRUE(contains(rows[1].at("reason"), "condition 3, right"));
}

}  // namespace
}  // namespace clam::test
