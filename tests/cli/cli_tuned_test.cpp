// SPDX-License-Identifier: MIT
// CLAM_TUNED_DIR: what the programs do with a user's measured choices.
#include <algorithm>

#include "clam/gpu.hpp"
#include "clam/planner.hpp"
#include "clam/tuned.hpp"
#include "run_clam.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

constexpr const char* kProblem = "dense m=192 n=512 k=512 dtype=f32";

/// A table with one row, of a variant that the model does not choose.
void write_table(const TemporaryFolder& folder, const DeviceInfo& device) {
  const Plan plan = make_plan(Problem::parse(kProblem), device, {"dense_nt", 0});
  ASSERT_NE(make_plan(Problem::parse(kProblem), device).variant, "dense_nt");
  TunedRow row = tuned_row(plan, "", {});
  row.date = "2026-11-27";
  write_file(folder.file("mine.json"), to_json(TunedTable{{row}}).dump());
}

TEST(cli, plan_takes_a_users_row_and_says_so) {
  const TemporaryFolder folder;
  write_table(folder, gpu_device(find_gpu("g610")));
  const std::vector<std::string> set{"CLAM_TUNED_DIR=" + folder.path()};
  const Finished why = run_clam({"plan", kProblem, "--gpu", "g610", "--why", "--quiet"}, set);
  EXPECT_EQ(why.code, 0);
  EXPECT_EQ(why.err, "");
  EXPECT_TRUE(contains(why.out, "chosen   dense_nt: ")) << why.out;
  EXPECT_TRUE(contains(why.out,
                       "tuned    the exact row, 2026-11-27 on 4 cores with mesa 25.0.7: "
                       "dense_nt, 0.0 us (" +
                           folder.file("mine.json") + ")\n"))
      << why.out;
  const auto variant = [&](const char* gpu, const std::vector<std::string>& environment) {
    return parse_out(run_clam({"plan", kProblem, "--gpu", gpu, "--json", "-"}, environment))
        .value("variant", "");
  };
  EXPECT_EQ(variant("g610", set), "dense_nt");
  EXPECT_NE(variant("g610", {}), "dense_nt");
  EXPECT_NE(variant("g710", set), "dense_nt");
  const Finished none = run_clam({"plan", kProblem, "--gpu", "g610", "--why"});
  EXPECT_TRUE(contains(none.out,
                       "tuned    no row of this GPU and driver has the problem's words, "
                       "so the model chooses\n"))
      << none.out;
}

TEST(cli, a_table_that_cannot_be_used_is_one_note) {
  const TemporaryFolder folder;
  write_file(folder.file("bad.json"), "{\"clam_tuned\": 2, \"rows\": []}");
  const std::vector<std::string> set{"CLAM_TUNED_DIR=" + folder.path()};
  const std::string note =
      folder.file("bad.json") + " is not used: its form is 2, and this clam reads form 1 alone";
  const Finished plan = run_clam({"plan", kProblem, "--generic"}, set);
  EXPECT_EQ(plan.code, 0);
  EXPECT_TRUE(contains(plan.err, note)) << plan.err;
  EXPECT_EQ(std::count(plan.err.begin(), plan.err.end(), '\n'), 1) << plan.err;
  EXPECT_EQ(plan.out, run_clam({"plan", kProblem, "--generic"}).out);
  EXPECT_EQ(run_clam({"plan", kProblem, "--generic", "--quiet"}, set).err, "");
  EXPECT_TRUE(contains(run_clam({"info"}, set).out, "  tuned plans: " + note + "\n"));
  const Finished missing = run_clam({"plan", kProblem, "--generic"}, {"CLAM_TUNED_DIR=/none"});
  EXPECT_EQ(missing.code, 0);
  EXPECT_TRUE(contains(missing.err, "/none is no folder")) << missing.err;
}

TEST(cli_device, runs_take_a_users_rows) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  write_table(folder, runtime().device());
  const std::vector<std::string> set{"CLAM_TUNED_DIR=" + folder.path()};
  const Finished info = run_clam({"info"}, set);
  EXPECT_TRUE(contains(info.out, "  tuned plans: 1 of 1 rows count here\n")) << info.out;
  EXPECT_FALSE(contains(run_clam({"info"}).out, "tuned plans"));
  for (const char* isolate : {"--isolate", "--no-isolate"}) {
    const Finished verify = run_clam({"verify", kProblem, "--set", "zero_mean", isolate}, set);
    EXPECT_EQ(verify.code, 0) << verify.err;
    EXPECT_TRUE(contains(verify.out, "dense_nt ")) << verify.out;
  }
  const Finished run = run_clam({"run", kProblem, "--fill", "zero_mean", "--check"}, set);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(contains(run.out, "dense_nt")) << run.out;
}

}  // namespace
}  // namespace clam::test
