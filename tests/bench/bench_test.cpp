// SPDX-License-Identifier: MIT
// clam-bench as a person runs it: rows, counters, files, and what it says when something is wrong.
// It runs on the scripted OpenCL, so that a row takes what the test says: timing_bench_test.cpp has
// the machine's own clock.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "check/workload.hpp"
#include "clam/plan.hpp"
#include "clam/planner.hpp"
#include "command.hpp"
#include "runtime/atomic_file.hpp"
#include "scripted.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

constexpr const char* kDense = "dense m=33 n=20 k=48 dtype=f32 bias";
constexpr const char* kCounts = "get_valid_counts n=1000 dtype=f32 score_threshold=0.01";

/// clam-bench with `words`, on the scripted device.
Finished run_bench(std::vector<std::string> words, const std::vector<std::string>& more = {},
                   const json& script = json::object()) {
  words.insert(words.begin(), CLAM_BENCH_BINARY);
  std::vector<std::string> environment = scripted::on(script);
  environment.insert(environment.end(), more.begin(), more.end());
  return run_command(words, environment);
}

/// A script where launches of these kernels take so many microseconds, and peaks as usual.
json taking(const std::map<std::string, double>& us) {
  json costs = json::array();
  for (const auto& [kernel, each] : us) costs.push_back({{"kernel", kernel}, {"us", each}});
  return {{"costs", costs}};
}

std::vector<std::string> short_run(std::vector<std::string> words) {
  words.push_back("--benchmark_min_time=0.001");
  return words;
}

json row_of(const json& document, const std::string& name) {
  for (const json& row : document.at("benchmarks")) {
    if (row.at("name") == name) return row;
  }
  return {};
}

TEST(bench_device, rows_counters_and_context_are_in_the_json) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string file = folder.file("out.json");
  const Finished done =
      run_bench(short_run({"--problem", kDense, "--problem", kCounts, "--json", file}), {},
                taking({{"dense_packed", 40}, {"get_valid_counts*", 25}}));
  ASSERT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_NE(done.out.find("2 passed, 0 failed, 0 skipped"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("no time here is true"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("device: " + runtime().device().name), std::string::npos) << done.out;
  const json document = json::parse(read_file(file));
  for (const char* name : {kDense, kCounts}) {
    SCOPED_TRACE(name);
    const json row = row_of(document, name);
    ASSERT_FALSE(row.is_null()) << document.dump(2);
    for (const char* counter : {"GB/s", "launches", "err/bound", "us", "us_min", "pack_us"}) {
      ASSERT_TRUE(row.contains(counter)) << counter;
    }
    EXPECT_GT(row.at("GB/s").get<double>(), 0);
    EXPECT_GE(row.at("launches").get<double>(), 1);
    EXPECT_LE(row.at("err/bound").get<double>(), 1);
    const double launches = row.at("launches");
    EXPECT_EQ(row.at("us").get<double>(), launches * (name == std::string(kDense) ? 40 : 25));
    EXPECT_EQ(row.at("us_min"), row.at("us"));
    EXPECT_NEAR(row.at("real_time").get<double>(), row.at("us").get<double>(), 1e-6);
    EXPECT_EQ(row.at("time_unit"), "us");
  }
  const Op& dense = find_op("dense");
  EXPECT_NEAR(row_of(document, kDense).at("GFLOP/s").get<double>(),
              dense.flops(Problem::parse(kDense)) / 40e3, 1e-6);
  EXPECT_FALSE(row_of(document, kCounts).contains("GFLOP/s")) << "it has no floating-point work";
  const json& context = document.at("context");
  EXPECT_EQ(context.at("device"), runtime().device().name);
  EXPECT_EQ(context.at("driver_version"), runtime().device().driver_version + " scripted");
  EXPECT_EQ(context.at("kernel dense.cl"), "embedded " + KernelFiles().get("dense.cl").hash());
}

TEST(bench_scripted, json_holds_verdicts_and_the_command_that_repeats_a_row) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string file = folder.file("out.json");
  ASSERT_EQ(run_bench(short_run({"--problem", kDense, "--json", file}), {},
                      {{"noise", {{"spread", 0.05}}}})
                .code,
            0);
  const json own = json::parse(read_file(file)).at("clam");
  const json& row = own.at("rows").at(0);
  EXPECT_EQ(row.at("problem"), kDense);
  EXPECT_EQ(row.at("outcome"), "fine");
  EXPECT_EQ(row.at("validity"), "OK");
  EXPECT_EQ(row.at("kernel_hash"), KernelFiles().get("dense.cl").hash());
  const json& us = row.at("us");
  EXPECT_LE(us.at("low"), us.at("median"));
  EXPECT_LE(us.at("median"), us.at("high"));
  EXPECT_LE(us.at("min"), us.at("low"));
  EXPECT_LT(us.at("min"), us.at("high")) << "there is noise";
  EXPECT_GE(row.at("samples_us").size(), 6u);
  EXPECT_LE(row.at("samples_us").size(), 200u);
  EXPECT_GE(row.at("rounds_us").size(), 6u);
  EXPECT_EQ(row.at("command"), std::string("clam-bench --problem '") + kDense + "'");
  EXPECT_TRUE(row.at("outputs").at("y").at("pass").get<bool>());
  EXPECT_EQ(own.at("device").at("name"), runtime().device().name);
}

/// The row of the problem in the document's own part, of a run with one more variable.
json own_row(const std::string& problem, const std::vector<std::string>& environment = {},
             const json& script = json::object()) {
  const TemporaryFolder folder;
  const std::string file = folder.file("out.json");
  const Finished done =
      run_bench(short_run({"--problem", problem, "--json", file}), environment, script);
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  return json::parse(read_file(file)).at("clam").at("rows").at(0);
}

TEST(bench_scripted, packing_is_told_where_a_plan_packs) {
  CLAM_NEEDS_DEVICE();
  const Plan plan = make_plan(Problem::parse(kDense), runtime().device());
  ASSERT_FALSE(plan.pack.empty());
  const json row = own_row(kDense, {}, taking({{"dense_pack_w", 7}}));
  EXPECT_EQ(row.at("launches"), plan.launches.size()) << "packing is no part of a call";
  const json& pack = row.at("pack");
  EXPECT_EQ(pack.at("launches"), plan.pack.size());
  EXPECT_GE(pack.at("bytes").get<int>(), 20 * 48 * 4) << "all of w is packed";
  EXPECT_EQ(pack.at("us").at("min"), 7 * pack.at("launches").get<double>());
  EXPECT_EQ(pack.at("us").at("min"), pack.at("us").at("median"));
  EXPECT_FALSE(own_row(kCounts).contains("pack"));
}

TEST(bench_scripted, peaks_and_board_stand_beside_the_rows) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string file = folder.file("out.json");
  json script = taking({{"dense*", 20}});
  script["memory"] = {{{"gb_per_s", 4}}};
  script["device"] = {{"type", "cpu"}};
  const Finished done = run_bench(short_run({"--problem", kDense, "--json", file}), {}, script);
  ASSERT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_NE(done.out.find("peaks measured here: "), std::string::npos) << done.out;
  EXPECT_NE(done.out.find(" % peak "), std::string::npos) << done.out;
  const json own = json::parse(read_file(file)).at("clam");
  // Its items do 1920 multiply-adds on 128 lanes in 10 us.
  EXPECT_NEAR(own.at("peaks").at("gflops_f32").get<double>(), 49.152, 1e-3);
  EXPECT_NEAR(own.at("peaks").at("gb_per_s_copy").get<double>(), 4, 1e-3);
  EXPECT_TRUE(own.at("board").contains("before") && own.at("board").contains("after"));
  const json& row = own.at("rows").at(0);
  EXPECT_GT(row.at("floor_us").get<double>(), 0);
  EXPECT_DOUBLE_EQ(row.at("of_peak").get<double>(),
                   row.at("floor_us").get<double>() / row.at("us").at("median").get<double>());
  const Problem problem = Problem::parse(kDense);
  const double arithmetic_us = flops_of(problem) / 49.152e3;
  const double moving_us = bytes_of(problem) / 4e3;
  EXPECT_NEAR(row.at("floor_us").get<double>(), std::max(arithmetic_us, moving_us), 1e-2);
}

TEST(bench_scripted, a_slow_pack_is_not_in_the_time_of_the_product) {
  CLAM_NEEDS_DEVICE();
  const json row = own_row(kDense, {}, taking({{"dense_pack_w", 5000}, {"dense_packed", 10}}));
  EXPECT_EQ(row.at("pack").at("us").at("min"), 5000);
  EXPECT_EQ(row.at("us").at("min"), 10) << row.dump(2);
  EXPECT_EQ(row.at("us").at("median"), 10) << row.dump(2);
}

/// A file about two rows of which launches took so long, with noise of that seed.
void measure(const std::string& file, double counts_us, int seed) {
  json script = taking({{"get_valid_counts*", counts_us}, {"dense_packed", 150}});
  script["noise"] = {{"spread", 0.03}, {"seed", seed}};
  EXPECT_EQ(run_bench({"--time", "0.03", "--problem", kCounts, "--problem", kDense, "--json", file},
                      {}, script)
                .code,
            0);
}

TEST(bench_scripted, a_kernel_that_became_slow_is_told_from_one_that_did_not) {
  CLAM_NEEDS_DEVICE();
  for (int seed = 1; seed <= 9; seed += 3) {
    const TemporaryFolder folder;
    const std::string quick = folder.file("quick"), again = folder.file("again"),
                      slow = folder.file("slow");
    measure(quick, 100, seed);
    measure(again, 100, seed + 1);
    measure(slow, 108, seed + 2);
    const Finished slower = run_bench({"--compare", quick, slow});
    EXPECT_EQ(slower.code, 1) << slower.out << slower.err;
    EXPECT_NE(slower.out.find(std::string("SLOW     ") + kCounts), std::string::npos) << slower.out;
    EXPECT_EQ(slower.out.find(std::string("SLOW     ") + kDense), std::string::npos) << slower.out;
    const Finished back = run_bench({"--compare", slow, quick});
    EXPECT_EQ(back.code, 0) << back.out;
    EXPECT_NE(back.out.find(std::string("FAST     ") + kCounts), std::string::npos) << back.out;
    const Finished same = run_bench({"--compare", quick, again});
    EXPECT_EQ(same.code, 0) << same.out;
    EXPECT_EQ(same.out.find(std::string("FAST     ") + kCounts), std::string::npos) << same.out;
  }
}

TEST(bench_scripted, honest_small_rows_stay_ok_however_often_they_are_measured) {
  CLAM_NEEDS_DEVICE();
  constexpr int kTimes = 20;
  const std::vector<std::string> problems = {kDense, kCounts, "softmax shape=7x9 dtype=f32",
                                             "unary op=exp shape=4099 dtype=f32",
                                             "conv2d c=8 h=16 w=16 k=8 r=1 dtype=f32 stride=2"};
  const TemporaryFolder folder;
  const std::string file = folder.file("out.json");
  std::vector<std::string> words{"--time", "0.002", "--json", file,
                                 "--benchmark_repetitions=" + std::to_string(kTimes)};
  for (const std::string& problem : problems) words.insert(words.end(), {"--problem", problem});
  const Finished done = run_bench(words, {}, {{"noise", {{"spread", 0.2}}}});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  const json document = json::parse(read_file(file));
  ASSERT_EQ(document.at("clam").at("rows").size(), problems.size());
  for (const json& row : document.at("clam").at("rows")) {
    EXPECT_EQ(row.at("validity"), "OK") << row.at("name") << row.value("reason", "");
    const auto& runs = document.at("benchmarks");
    EXPECT_EQ(std::count_if(runs.begin(), runs.end(),
                            [&](const json& run) {
                              return run.at("run_type") == "iteration" &&
                                     run.at("run_name") == row.at("name");
                            }),
              kTimes)
        << row.at("name");
  }
}

/// It comes back from a shell as it was.
TEST(bench_scripted, the_command_takes_any_folder) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string kernels = folder.file("it's $HOME");
  std::filesystem::create_directory(kernels);
  const std::string command =
      own_row(kCounts, {"CLAM_KERNEL_DIR=" + kernels}).at("command").get<std::string>();
  const std::size_t program = command.find(" clam-bench ");
  ASSERT_NE(program, std::string::npos) << command;
  const std::string set = command.substr(0, program);
  const Finished shell = run_command({"/bin/sh", "-c", set + "; printf %s \"$CLAM_KERNEL_DIR\""});
  EXPECT_EQ(shell.out, kernels) << command;
}

/// Wherever the device's name came from.
TEST(bench_scripted, the_command_has_the_device_that_was_asked_for) {
  CLAM_NEEDS_DEVICE();
  const std::string command = own_row(kCounts, {"CLAM_DEVICE=0:0"}).at("command");
  EXPECT_NE(command.find(" --device '0:0'"), std::string::npos) << command;
  const std::string none = own_row(kCounts, {"CLAM_DEVICE="}).at("command");
  EXPECT_EQ(none.find("--device"), std::string::npos) << none;
}

TEST(bench_scripted, table_has_a_column_for_packing) {
  CLAM_NEEDS_DEVICE();
  const Finished done = run_bench(short_run({"--problem", kDense, "--problem", kCounts}), {},
                                  taking({{"dense_pack_w", 7}}));
  std::istringstream lines(done.out);
  std::vector<std::string> packing;
  for (std::string line; std::getline(lines, line) && line.find("farthest") == line.npos;) {
    std::istringstream words(line);
    std::string us, pack_us;
    const bool is_row = line.find(", dense_") != line.npos || line.find(", get_valid") != line.npos;
    if (is_row && words >> us >> pack_us) packing.push_back(pack_us);
  }
  ASSERT_EQ(packing.size(), 2u) << done.out;
  EXPECT_EQ(std::atof(packing[0].c_str()), 7) << done.out;
  EXPECT_EQ(packing[1], "-") << done.out;
  EXPECT_NE(done.out.find("pack us: of constant inputs, once"), std::string::npos) << done.out;
}

/// How many programs the runs so far built from source, as the driver counts them.
std::ptrdiff_t builds_in(const std::string& log) {
  const std::string text = read_file(log), from_source = "built from source: ";
  std::ptrdiff_t builds = 0;
  for (std::size_t at = 0; (at = text.find(from_source, at)) != text.npos; ++at) ++builds;
  return builds;
}

/// But for one that is built to see how long that takes (peaks.hpp).
TEST(bench_scripted, second_start_builds_no_program) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string file = folder.file("out.json"), log = folder.file("log");
  const std::vector<std::string> cache = {"CLAM_CACHE_DIR=" + folder.file("cache")};
  const auto built = [&] {
    EXPECT_EQ(
        run_bench(short_run({"--problem", kDense, "--json", file}), cache, {{"log", log}}).code, 0);
    return json::parse(read_file(file))
        .at("clam")
        .at("counters")
        .at("programs")
        .at("built")
        .get<int>();
  };
  const int programs = built();
  const std::ptrdiff_t first = builds_in(log);
  EXPECT_GT(programs, 0);
  EXPECT_GT(first, programs) << "those of the peaks, too";
  EXPECT_EQ(built(), 0);
  EXPECT_EQ(builds_in(log), first + 1);
  EXPECT_EQ(read_file(log).rfind("built from source: -DPEAK_UNIQUE="),
            read_file(log).rfind("built from source: "));
}

TEST(bench_device, every_variant_is_a_row) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string file = folder.file("out.json");
  const Finished done =
      run_bench(short_run({"--problem", kDense, "--variant", "all", "--json", file}));
  ASSERT_EQ(done.code, 0) << done.out << done.err;
  const Problem problem = Problem::parse(kDense);
  const json document = json::parse(read_file(file));
  const std::string standard = make_plan(problem, runtime().device()).variant;
  for (const Variant& variant : op_of(problem).variants) {
    if (variant.refuses(problem, runtime().device())) continue;  // it gives a reason: it cannot
    const std::string name =
        kDense + (variant.name == standard ? std::string() : "/" + variant.name);
    EXPECT_FALSE(row_of(document, name).is_null()) << name;
  }
}

TEST(bench_scripted, a_wrong_kernel_is_an_error_row) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string file = folder.file("out.json");
  break_kernel(folder, "get_valid_counts.cl", "indices[place] = row;", "indices[place] = row + 1;");
  const Finished done =
      run_bench(short_run({"--problem", kDense, "--problem", kCounts, "--json", file}),
                {"CLAM_KERNEL_DIR=" + folder.path()});
  EXPECT_EQ(done.code, 1) << done.err;
  EXPECT_NE(done.out.find("replaced: get_valid_counts.cl: " + folder.path()), std::string::npos);
  EXPECT_NE(done.out.find("INVALID get_valid_counts"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("1 passed, 1 failed, 0 skipped"), std::string::npos) << done.out;
  const json document = json::parse(read_file(file));
  EXPECT_FALSE(row_of(document, kDense).contains("error_occurred"));
  const json& own = document.at("clam").at("rows").at(1);
  EXPECT_EQ(own.at("validity"), "INVALID");
  EXPECT_EQ(own.at("reason").get<std::string>().rfind("condition 3, right: ", 0), 0u);
  EXPECT_FALSE(own.contains("us"));
  const json row = row_of(document, kCounts);
  EXPECT_TRUE(row.at("error_occurred").get<bool>());
  EXPECT_NE(row.at("error_message").get<std::string>().find("indices: element"), std::string::npos);
}

TEST(bench_scripted, a_kernel_that_writes_nothing_is_caught) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  break_kernel(folder, "get_valid_counts.cl", "indices[place] = row;", "");
  const Finished done =
      run_bench(short_run({"--problem", kCounts}), {"CLAM_KERNEL_DIR=" + folder.path()});
  EXPECT_EQ(done.code, 1) << done.out << done.err;
  EXPECT_NE(done.out.find("were never written"), std::string::npos) << done.out;
}

TEST(bench_scripted, a_kernel_that_does_not_build_names_its_file) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  write_file(folder.file("get_valid_counts.cl"), "kernel void broken( {\n");
  const Finished done =
      run_bench(short_run({"--problem", kCounts}), {"CLAM_KERNEL_DIR=" + folder.path()});
  EXPECT_EQ(done.code, 3) << done.out << done.err;
  EXPECT_NE(done.out.find("get_valid_counts.cl"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("ERROR"), std::string::npos) << done.out;
}

TEST(bench_scripted, a_filter_picks_rows) {
  CLAM_NEEDS_DEVICE();
  const Finished one = run_bench(short_run(
      {"--problem", kDense, "--problem", kCounts, "--benchmark_filter=^get_valid_counts n=1000"}));
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_NE(one.out.find("1 passed"), std::string::npos) << one.out;
  EXPECT_EQ(one.out.find("dense"), std::string::npos) << one.out;
  const Finished none = run_bench(short_run({"--problem", kDense, "--benchmark_filter=conv2d"}));
  EXPECT_EQ(none.code, 2) << none.out;
}

TEST(bench_device, half_runs_or_is_skipped_with_a_reason) {
  CLAM_NEEDS_DEVICE();
  const Finished done = run_bench(short_run({"--problem", kDense, "--dtype", "f32,f16"}));
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  if (runtime().device().fp16) {
    EXPECT_NE(done.out.find("2 passed, 0 failed, 0 skipped"), std::string::npos) << done.out;
    return;
  }
  EXPECT_NE(done.out.find("1 passed, 0 failed, 1 skipped"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("skipped (1): cannot run on"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("cl_khr_fp16"), std::string::npos) << done.out;
  EXPECT_EQ(run_bench(short_run({"--problem", kDense, "--dtype", "f16"})).code, 77);
}

TEST(bench_scripted, published_times_stand_beside_the_rows_of_a_workload) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string file = folder.file("tiny.json");
  json workload = {{"clam_workload", 1},
                   {"name", "tiny"},
                   {"title", "Tiny"},
                   {"about", "one"},
                   {"published_on", {{"device", "Mali-G610 MP4"}}},
                   {"columns", {{{"key", "tvm"}, {"title", "TVM untuned"}}}},
                   {"nodes",
                    {{{"name", "ffn"},
                      {"what", "a product"},
                      {"problem", kDense},
                      {"calls", 36},
                      {"published_us", {{"tvm", 8575.9}}}}}}};
  write_file(file, workload.dump());
  const std::vector<std::string> words = short_run({"--workload", file});
  const Finished other = run_bench(words);
  ASSERT_EQ(other.code, 0) << other.err;
  EXPECT_NE(other.out.find("on Mali-G610 MP4, which is not this device"), std::string::npos)
      << other.out;
  EXPECT_NE(other.out.find(" 8576  dense"), std::string::npos) << other.out;
  workload["published_on"]["device"] = runtime().device().name.substr(0, 8);
  write_file(file, workload.dump());
  const Finished same = run_bench(words);
  EXPECT_NE(same.out.find("(x) is published / measured"), std::string::npos) << same.out;
  EXPECT_NE(same.out.find(" 8576 ("), std::string::npos) << same.out;
}

TEST(bench_scripted, standard_formats_leave_standard_output_clean) {
  CLAM_NEEDS_DEVICE();
  const Finished done = run_bench(short_run({"--problem", kDense, "--benchmark_format=json"}));
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(row_of(json::parse(done.out), kDense).at("name"), kDense);
  const Finished csv = run_bench(short_run({"--problem", kDense, "--benchmark_format=csv"}));
  EXPECT_EQ(csv.out.rfind("name,iterations", 0), 0u) << csv.out;
}

TEST(bench_scripted, repetitions_give_aggregates) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string file = folder.file("out.json");
  // The error of an exact op is always 0, so that its variation is 0/0: left out, or 0 where Google
  // Benchmark says so itself.
  const Finished done = run_bench(short_run({"--problem", kCounts, "--benchmark_repetitions=3",
                                             "--benchmark_format=json", "--json", file}));
  ASSERT_EQ(done.code, 0) << done.err;
  for (const std::string& text : {done.out, read_file(file)}) {
    const json document = json::parse(text);
    EXPECT_TRUE(row_of(document, std::string(kCounts) + "_median").contains("GB/s")) << text;
    const json variation = row_of(document, std::string(kCounts) + "_cv");
    EXPECT_EQ(variation.value("err/bound", 0.0), 0) << text;
  }
}

TEST(bench_scripted, google_benchmarks_own_file_has_the_measured_iterations) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string file = folder.file("google.json"), own = folder.file("own.json");
  ASSERT_EQ(
      run_bench({"--problem", kDense, "--time", "0.001", "--benchmark_out=" + file, "--json", own},
                {}, {{"noise", {{"spread", 0.1}}}})
          .code,
      0);
  const json row = row_of(json::parse(read_file(file)), kDense);
  const json measured = json::parse(read_file(own)).at("clam").at("rows").at(0);
  EXPECT_EQ(row.at("iterations"), measured.at("iterations"));
  EXPECT_NEAR(row.at("real_time").get<double>(), measured.at("us").at("mean").get<double>(), 1e-6);
}

TEST(bench_scripted, a_full_disk_loses_no_table) {
  CLAM_NEEDS_DEVICE();
  const Finished done = run_bench(short_run({"--problem", kDense, "--json", "/dev/full"}));
  EXPECT_EQ(done.code, 2);
  EXPECT_NE(done.out.find("1 passed"), std::string::npos) << done.out;
  EXPECT_NE(done.err.find("/dev/full"), std::string::npos) << done.err;
}

TEST(bench, list_needs_no_device) {
  const TemporaryFolder empty;
  const Finished done = run_bench({"--list"}, {"OCL_ICD_VENDORS=" + empty.path()});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.out.find("lightglue-192: "), std::string::npos);
  EXPECT_NE(done.out.find("dense m=192 n=512 k=512 dtype=f32 bias\n"), std::string::npos);
  EXPECT_NE(done.out.find("get_valid_counts n=122640 dtype=f32 score_threshold=0.01\n"),
            std::string::npos);
}

TEST(bench_device, devices_are_listed) {
  CLAM_NEEDS_DEVICE();
  const Finished listed = run_bench({"--list-devices"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_NE(listed.out.find("0:0 "), std::string::npos) << listed.out;
  EXPECT_NE(listed.out.find(runtime().device().name + "\n"), std::string::npos) << listed.out;
}

TEST(bench, google_benchmark_lists_names_without_a_device) {
  const TemporaryFolder empty;
  const Finished done = run_bench({"--workload", "lightglue-192", "--benchmark_list_tests=true"},
                                  {"OCL_ICD_VENDORS=" + empty.path()});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.out.find("dense m=192 n=512 k=512 dtype=f32 bias/manual_time\n"),
            std::string::npos)
      << done.out;
}

TEST(bench, no_device_is_77) {
  const TemporaryFolder empty;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--problem", kDense}, {"--list-devices"}}) {
    const Finished done = run_bench(words, {"OCL_ICD_VENDORS=" + empty.path()});
    EXPECT_EQ(done.code, 77);
    EXPECT_NE(done.err.find("no OpenCL device"), std::string::npos) << done.err;
  }
}

TEST(bench, wrong_input_is_2_with_a_sentence) {
  const struct {
    std::vector<std::string> words;
    const char* sentence;
  } cases[] = {
      {{"--workload", "lightglue"}, "clam-bench: unknown workload 'lightglue'; there is "},
      {{"--workload", "/nowhere/x.json"}, "/nowhere/x.json"},
      {{"--problem", "dens m=1"}, "clam-bench: unknown op 'dens'"},
      {{"--problem", "dense m=1 n=1"}, "clam-bench: dense: "},
      {{"--problem", kDense, "--variant", "fast"}, "clam-bench: unknown variant 'fast'; there is "},
      {{"--problem", kDense, "--dtype", "f64"}, "f64"},
      {{"--problem", kDense, "--json", "/nowhere/out.json"}, "there is no folder /nowhere"},
      {{"--problem", kDense, "--json", "/"}, "Is a directory"},
      {{"--fast"}, "--fast"},
      {{"--problem", kDense, "--time", "-1"}, "--time"},
      {{"--problem", kDense, "--benchmark_min_time=soon"}, "--time: "},
      {{"--problem", kDense, "--benchmark_colour=1"}, "benchmark_colour"},
  };
  for (const auto& each : cases) {
    const Finished done = run_bench(each.words);
    EXPECT_EQ(done.code, 2) << each.sentence;
    EXPECT_NE(done.err.find(each.sentence), std::string::npos) << done.err;
    EXPECT_EQ(done.out, "");
  }
  const Finished folder = run_bench({"--problem", kDense}, {"CLAM_KERNEL_DIR=/nowhere"});
  EXPECT_NE(folder.err.find("CLAM_KERNEL_DIR=/nowhere is no folder"), std::string::npos);
}

TEST(bench_scripted, an_unknown_device_is_3) {
  CLAM_NEEDS_DEVICE();
  const Finished done = run_bench({"--problem", kDense, "--device", "Mali-T1"});
  EXPECT_EQ(done.code, 3);
  EXPECT_NE(done.err.find("no OpenCL device matches 'Mali-T1'"), std::string::npos) << done.err;
}

TEST(bench, help_names_the_flags) {
  const Finished done = run_bench({"--help"});
  EXPECT_EQ(done.code, 0);
  for (const char* flag : {"--workload", "--problem", "--device", "--dtype", "--variant", "--quick",
                           "--json", "--list", "--benchmark_filter", "--time", "--seed",
                           "--compare", "--record-failures", "--launch-limit"}) {
    EXPECT_NE(done.out.find(flag), std::string::npos) << flag;
  }
}

}  // namespace
}  // namespace clam::test
