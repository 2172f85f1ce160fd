// SPDX-License-Identifier: MIT
// `clam tune` on the scripted device, where a script says what each tile takes and which of them
// fail: what is wrong, crashes, hangs or leaks costs one candidate and never wins.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "run_clam.hpp"
#include "scripted.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

constexpr const char* kDense = "dense m=24 n=16 k=12 dtype=f32";
constexpr const char* kFast = "*DENSE_M0=2*";  // the options of the tile that would win
constexpr const char* kWrong = "fma((float4)(out.factor), sum, z)";

/// All take 100 us, the tile with M0=2 takes 20 us, unless the script says more.
json with_a_fast_tile(json script = json::object()) {
  script["costs"] = {{{"kernel", "dense_*"}, {"options", kFast}, {"us", 20}},
                     {{"kernel", "dense_*"}, {"us", 100}},
                     {{"kernel", "batch_matmul_*"}, {"us", 100}}};
  return script;
}

/// The script's lie of the fast tile.
json with_lie(const std::string& call, const std::string& does, json more = json::object()) {
  more["options"] = kFast;
  json script = scripted::lying(call, does, std::move(more));
  return with_a_fast_tile(std::move(script));
}

class Tuned {
 public:
  explicit Tuned(std::vector<std::string> environment = {})
      : environment_(std::move(environment)) {}

  json run(const json& script, const std::vector<std::string>& more = {}) {
    return run_on(scripted::on(script), more);
  }
  json run_on(std::vector<std::string> environment, const std::vector<std::string>& more = {}) {
    environment.insert(environment.end(), environment_.begin(), environment_.end());
    std::vector<std::string> words{"--json",  "-",
                                   "tune",    kDense,
                                   "-o",      folder_.file("tuned"),
                                   "--state", folder_.file("state"),
                                   "--time",  "0.002"};
    words.insert(words.end(), more.begin(), more.end());
    finished = run_clam(words, environment);
    const json report = json::parse(finished.out, nullptr, false);
    return report.is_discarded() ? json() : report.at("results").at(0);
  }
  std::string file(const std::string& name) const { return folder_.file(name); }

  Finished finished;

 private:
  TemporaryFolder folder_;
  std::vector<std::string> environment_;
};

std::string tile_of(const json& result) { return result.value("tile", "none"); }

TEST(cli_tune_scripted, the_fastest_wins_is_kept_and_not_measured_again) {
  CLAM_NEEDS_DEVICE();
  Tuned tuned;
  const json result = tuned.run(with_a_fast_tile());
  ASSERT_FALSE(result.is_null()) << tuned.finished.err;
  EXPECT_EQ(tuned.finished.code, 0) << tuned.finished.err;
  EXPECT_TRUE(contains(tile_of(result), "M0=2")) << result << tuned.finished.err;
  EXPECT_NEAR(result.at("us").get<double>(), 20, 1) << result;
  EXPECT_EQ(result.at("bad"), 0) << result << tuned.finished.err;
  EXPECT_GT(result.at("measured"), 3);

  const auto table = [&] {
    std::string text;
    for (const auto& entry : std::filesystem::directory_iterator(tuned.file("tuned"))) {
      text += read_file(entry.path().string());
    }
    return text;
  };
  const std::string first = table();
  EXPECT_FALSE(contains(first, "\"share\": 0.0,")) << first;
  EXPECT_TRUE(contains(first, "\"launches_a_flush\": ")) << first;
  EXPECT_TRUE(contains(tuned.finished.out, "\"costs\"")) << "what a launch costs is in the report";
  const json again = tuned.run(with_lie("clBuildProgram", "refuse", {{"status", -11}}));
  EXPECT_EQ(table(), first);
  EXPECT_EQ(tile_of(again), tile_of(result)) << "nothing was measured, so nothing could fail";
  EXPECT_EQ(again.at("us"), result.at("us"));
  EXPECT_FALSE(contains(tuned.finished.out, "\"costs\"")) << "launches are not measured again";

  std::vector<std::string> environment = scripted::on(with_a_fast_tile());
  environment.push_back("CLAM_TUNED_DIR=" + tuned.file("tuned"));
  const Finished plan = run_clam({"plan", kDense, "--why"}, environment);
  EXPECT_TRUE(contains(plan.out, "-DDENSE_M0=2")) << plan.out << plan.err;
}

/// The clock sinks to a small part while it is searched, so what comes later takes longer. The fast
/// tile is not among the first, and would lose against times of before.
TEST(cli_tune_scripted, a_clock_that_sinks_gives_the_same_winner) {
  CLAM_NEEDS_DEVICE();
  const scripted::SharedClock steady, sinking;
  json script = with_a_fast_tile();
  script["costs"][0].update({{"options", "*DENSE_M0=6*"}, {"us", 86}});
  Tuned before, meanwhile;
  const std::string winner = tile_of(before.run_on(steady.on(script), {"--all"}));
  EXPECT_TRUE(contains(winner, "M0=6")) << before.finished.err;
  const double seconds = std::chrono::duration<double>(steady.passed()).count();
  script["noise"]["slower_a_second"] = 2 / seconds;
  const json result = meanwhile.run_on(sinking.on(script), {"--all"});
  ASSERT_FALSE(result.is_null()) << meanwhile.finished.err;
  EXPECT_EQ(tile_of(result), winner) << result << meanwhile.finished.err;
  EXPECT_GT(result.at("us"), result.at("untuned_us")) << "it was slower than the first one before";
  EXPECT_LT(result.at("share_of_untuned"), 0.9) << "yet in the same run it is faster";
}

TEST(cli_tune_scripted, launches_that_crash_cost_a_note) {
  CLAM_NEEDS_DEVICE();
  Tuned tuned;
  const json result = tuned.run(with_a_fast_tile(scripted::lying(
      "clEnqueueNDRangeKernel", "crash", {{"kernel", "unary*"}, {"text", "no more"}})));
  ASSERT_FALSE(result.is_null()) << tuned.finished.err;
  EXPECT_TRUE(contains(tile_of(result), "M0=2")) << result << tuned.finished.err;
  EXPECT_TRUE(contains(tuned.finished.err, "launches were not measured: ")) << tuned.finished.err;
}

/// A driver that starts nothing before a flush is measured like any other.
TEST(cli_tune_scripted, a_driver_that_starts_only_when_flushed_is_tuned) {
  CLAM_NEEDS_DEVICE();
  Tuned tuned;
  json script = with_a_fast_tile({{"starts_when_flushed", true}, {"wait_us", 0}});
  script["costs"].push_back({{"kernel", "unary*"}, {"us", 0.6}});
  const json result = tuned.run(script);
  ASSERT_FALSE(result.is_null()) << tuned.finished.err;
  EXPECT_TRUE(contains(tile_of(result), "M0=2")) << result << tuned.finished.err;
  EXPECT_EQ(json::parse(tuned.finished.out).at("launches").at("launches_a_flush"), 1);
}

TEST(cli_tune_scripted, one_is_exported_with_the_rows_that_show_it) {
  CLAM_NEEDS_DEVICE();
  Tuned tuned;
  tuned.run(with_a_fast_tile());
  tuned.run(with_a_fast_tile(), {"--export", tuned.file("pull")});  // of what is known already
  EXPECT_EQ(tuned.finished.code, 0) << tuned.finished.err;
  for (const auto& entry : std::filesystem::directory_iterator(tuned.file("pull/rows"))) {
    const json rows = json::parse(read_file(entry.path().string())).at("clam").at("rows");
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_NEAR(rows[0].at("us").at("median").get<double>(), 100, 2);
    EXPECT_NEAR(rows[1].at("us").at("median").get<double>(), 20, 2);
  }
  for (const auto& entry : std::filesystem::directory_iterator(tuned.file("pull/kernels/tuned"))) {
    const json table = json::parse(read_file(entry.path().string()));
    EXPECT_TRUE(contains(table.at("rows").at(0).at("tile"), "M0=2")) << table;
    EXPECT_GT(table.at("rows").at(0).at("share"), 0) << table;
    EXPECT_EQ(table.at("launches").size(), 1u) << table;
  }
}

TEST(cli_tune_scripted, a_fast_one_that_is_wrong_never_wins) {
  CLAM_NEEDS_DEVICE();
  Tuned tuned;
  const json result =
      tuned.run(with_lie("clEnqueueNDRangeKernel", "wrong",
                         {{"kernel", "dense_*"}, {"argument", 5}, {"byte", 3}, {"bits", 64}}));
  ASSERT_FALSE(result.is_null()) << tuned.finished.err;
  EXPECT_FALSE(contains(tile_of(result), "M0=2")) << result;
  EXPECT_GE(result.at("bad"), 1) << tuned.finished.err;
}

TEST(cli_tune_scripted, a_fast_one_that_is_wrong_at_its_edge_alone_never_wins) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder kernels;
  break_kernel(kernels, "dense.cl", kWrong,
               std::string(kWrong) + " + (float)(DENSE_M0 == 2 && (out.n & 1))");
  const std::string folder = "CLAM_KERNEL_DIR=" + kernels.path();
  Tuned tuned({folder});
  const json result = tuned.run(with_a_fast_tile());
  ASSERT_FALSE(result.is_null()) << tuned.finished.err;
  EXPECT_FALSE(contains(tile_of(result), "M0=2")) << result;
  EXPECT_GE(result.at("bad"), 1) << tuned.finished.err;
  std::vector<std::string> environment = scripted::on();
  environment.push_back(folder);
  const Finished alone =
      run_clam({"verify", kDense, "--tile", "M0=2", "--variant", "dense_packed"}, environment);
  EXPECT_EQ(alone.code, 0) << "the problem itself is right: " << alone.out;
}

TEST(cli_tune_scripted, a_crash_costs_one_candidate_and_is_remembered) {
  CLAM_NEEDS_DEVICE();
  Tuned tuned;
  const json script = with_lie("clEnqueueNDRangeKernel", "crash", {{"text", "it ends here"}});
  const json result = tuned.run(script, {"--record-failures", tuned.file("cases")});
  const std::filesystem::directory_iterator cases(tuned.file("cases"));
  ASSERT_NE(cases, std::filesystem::directory_iterator()) << tuned.finished.err;
  EXPECT_TRUE(contains(read_file((cases->path() / "README.md").string()), "crash"));
  ASSERT_FALSE(result.is_null()) << tuned.finished.err;
  EXPECT_FALSE(contains(tile_of(result), "M0=2")) << result;
  EXPECT_GE(result.at("bad"), 1) << tuned.finished.err;
  const json again = tuned.run(with_a_fast_tile(), {"--again"});
  EXPECT_FALSE(contains(tile_of(again), "M0=2")) << "what is bad is not tried again: " << again;
}

TEST(cli_tune_scripted, a_hang_costs_one_candidate) {
  CLAM_NEEDS_DEVICE();
  const scripted::SharedClock clock;
  Tuned tuned;
  const json result =
      tuned.run_on(clock.on(with_lie("clEnqueueNDRangeKernel", "hang")), {"--budget", "1000h"});
  ASSERT_FALSE(result.is_null()) << tuned.finished.err;
  EXPECT_FALSE(contains(tile_of(result), "M0=2")) << result;
  EXPECT_GE(result.at("bad"), 1) << tuned.finished.err;
}

TEST(cli_tune_scripted, one_that_eats_the_memory_costs_one_candidate) {
  CLAM_NEEDS_DEVICE();
  Tuned tuned;
  const json result =
      tuned.run(with_lie("clEnqueueNDRangeKernel", "leak", {{"bytes", 8e9}}), {"--memory", "6000"});
  ASSERT_FALSE(result.is_null()) << tuned.finished.err;
  EXPECT_FALSE(contains(tile_of(result), "M0=2")) << result;
  EXPECT_GE(result.at("bad"), 1) << tuned.finished.err;
}

TEST(cli_tune_scripted, one_that_is_refused_costs_one_candidate) {
  CLAM_NEEDS_DEVICE();
  Tuned tuned;
  const json result = tuned.run(with_lie("clBuildProgram", "refuse", {{"status", -11}}));
  ASSERT_FALSE(result.is_null()) << tuned.finished.err;
  EXPECT_FALSE(contains(tile_of(result), "M0=2")) << result;
  EXPECT_GE(result.at("bad"), 1) << tuned.finished.err;
}

/// Ctrl-C on a terminal ends all processes of the group, the one that measures too. That is no
/// fault of the candidate.
TEST(cli_tune_scripted, an_interruption_is_no_fault_of_the_candidate) {
  CLAM_NEEDS_DEVICE();
  Tuned tuned;
  const json hanging = scripted::lying("clEnqueueNDRangeKernel", "hang", {{"kernel", "dense_*"}});
  const std::string state = tuned.file("state");
  for (const char* signal : {"INT", "TERM", "INT", "TERM", "INT"}) {
    const std::string script =
        "setsid env --default-signal=INT " CLAM_BINARY " tune '" + std::string(kDense) + "' -o " +
        tuned.file("tuned") + " --state " + state +
        " & for i in $(seq 3600); do grep -s '\"running\": *\"[^\"]' " + state +
        "/dense-*.json && break; sleep 0.1; kill -0 $! || break; done; sleep 0.3; kill -" + signal +
        " -$!; wait $!";
    const Finished stopped =
        run_command({"/bin/sh", "-c", script}, scripted::on(with_a_fast_tile(hanging)));
    EXPECT_TRUE(contains(stopped.out, "running")) << "no candidate has begun: " << stopped.err;
    EXPECT_TRUE(contains(stopped.out, "nothing was measured: it was interrupted")) << stopped.out;
    EXPECT_EQ(stopped.code, 77) << stopped.err;
  }
  const json result = tuned.run(with_a_fast_tile());
  ASSERT_FALSE(result.is_null()) << tuned.finished.err;
  EXPECT_EQ(result.at("bad"), 0) << tuned.finished.err;
  EXPECT_EQ(result.at("unsteady"), 0) << tuned.finished.err;
  EXPECT_EQ(result.at("untuned_us"), 100) << result;
  EXPECT_TRUE(contains(tile_of(result), "M0=2")) << result;
}

/// No device, or too little memory for any process: the next search tries all.
TEST(cli_tune_scripted, a_machine_where_nothing_runs_makes_no_candidate_bad) {
  CLAM_NEEDS_DEVICE();
  Tuned tuned;
  const json none = tuned.run(with_a_fast_tile(), {"--memory", "50"});
  EXPECT_TRUE(contains(none.value("why_not", ""), "nothing was measured: ")) << none;
  EXPECT_EQ(tuned.finished.code, 77);
  const json result = tuned.run(with_a_fast_tile());
  EXPECT_TRUE(contains(tile_of(result), "M0=2")) << result << tuned.finished.err;
  EXPECT_EQ(result.at("bad"), 0) << tuned.finished.err;
}

/// Without the untuned plan nothing is said of it.
TEST(cli_tune_scripted, a_share_is_said_of_what_was_measured_alone) {
  CLAM_NEEDS_DEVICE();
  Tuned tuned;
  json script = with_a_fast_tile(
      scripted::lying("clBuildProgram", "refuse", {{"status", -11}, {"options", "*DENSE_M0=1*"}}));
  const json result = tuned.run(script);
  EXPECT_TRUE(contains(tile_of(result), "M0=2")) << result << tuned.finished.err;
  EXPECT_FALSE(result.contains("share_of_untuned")) << result;
  EXPECT_EQ(result.at("bad"), 2) << result;
}

TEST(cli_tune_scripted, predictions_are_compared_with_times) {
  CLAM_NEEDS_DEVICE();
  Tuned tuned;
  tuned.run(with_a_fast_tile(), {"--compare-model"});
  const json report = json::parse(tuned.finished.out, nullptr, false);
  ASSERT_FALSE(report.is_discarded()) << tuned.finished.err;
  ASSERT_EQ(report.at("model").at("ops").size(), 1u) << report;
  EXPECT_EQ(report.at("model").at("ops")[0].at("op"), "dense");
  EXPECT_GT(report.at("model").at("worst").size(), 1u);
}

TEST(cli_tune, refuses_what_it_cannot_do) {
  expect_refusal(run_clam({"tune"}), 2, "tune what? Give a problem or --workload");
  expect_refusal(run_clam({"tune", kDense, "--workload", "dcmt"}), 2, "one of the two");
  expect_refusal(run_clam({"tune", "dense m=0"}), 2, "dense");
  expect_refusal(run_clam({"tune", kDense, "--budget", "-5"}), 2, "--budget");
  expect_refusal(run_clam({"tune", kDense, "--budget", "1e30"}), 2, "--budget");
}

}  // namespace
}  // namespace clam::test
