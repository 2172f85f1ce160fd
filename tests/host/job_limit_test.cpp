// SPDX-License-Identifier: MIT
// When kernel drivers end a job, and that no command runs so long. A scripted OpenCL ends launches
// and says nothing, as drivers do.
#include "clam/job_limit.hpp"

#include "clam/gpu.hpp"
#include "clam/planner.hpp"
#include "run_clam.hpp"
#include "scripted.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

DeviceInfo arms(const std::string& name, const std::string& version, std::int64_t mhz = 1000) {
  DeviceInfo device;
  device.name = name;
  device.vendor = "ARM";
  device.platform = "ARM Platform";
  device.device_version = version;
  device.max_clock_mhz = mhz;
  return device;
}

DeviceInfo mesas(const std::string& gpu, std::int64_t mhz = 1000) {
  DeviceInfo device = gpu_device(find_gpu(gpu));
  device.max_clock_mhz = mhz;
  return device;
}

TEST(job_limit, is_that_of_the_kernel_driver) {
  for (const char* gpu : {"t860", "g31", "g52", "g57"}) {
    EXPECT_EQ(job_limit(mesas(gpu)).seconds, 0.5) << gpu;
    EXPECT_EQ(job_limit(mesas(gpu)).driver, "panfrost") << gpu;
  }
  EXPECT_NEAR(job_limit(mesas("g610")).seconds, 2.62, 0.01);
  EXPECT_EQ(job_limit(mesas("g610", 300)).seconds, 5) << "panthor's own, where the clock is low";
  EXPECT_NEAR(job_limit(arms("Mali-G610 r0p0", "OpenCL 3.0 v1.g13p0-01eac0.1")).seconds, 2.62,
              0.01);
  EXPECT_NEAR(job_limit(arms("Mali-G610 r0p0", "OpenCL 3.0 v1.g13p0-01eac0.1", 500)).seconds, 5.24,
              0.01);
  EXPECT_EQ(job_limit(arms("Mali-G52 r1p0", "OpenCL 3.0 v1.g13p0-01eac0.1")).seconds, 5);
  EXPECT_EQ(job_limit(arms("Mali-T860", "OpenCL 1.2 v1.r18p0-01rel0.2")).seconds, 5);
  EXPECT_EQ(job_limit(arms("Mali-T760", "OpenCL 1.1 v1.r4p0-00rel0.3")).seconds, 0.1);
  EXPECT_EQ(job_limit(generic_device()).seconds, 0);
}

/// From what was published: 400 million multiply-adds take .3 s on a G52 MP2, over 1 s on a T860.
TEST(job_limit, a_plain_kernel_is_predicted_as_it_was_measured) {
  const Problem problem = Problem::parse("dense m=1000 n=800 k=500 dtype=f32");
  DeviceInfo g52 = mesas("g52", 800);
  g52.compute_units = 2;
  const auto seconds = [&](const DeviceInfo& device) {
    return predicted_seconds(problem, make_plan(problem, device, {"dense_plain", 0}), device);
  };
  EXPECT_NEAR(seconds(g52), 0.3, 0.1);
  DeviceInfo t860 = mesas("t860", 800);
  t860.compute_units = 4;
  EXPECT_GT(seconds(t860), 1);
}

TEST(job_limit, a_variant_that_stays_below_it_is_preferred) {
  const DeviceInfo g52 = mesas("g52", 800);
  const Problem problem = Problem::parse("dense m=1024 n=1024 k=1024 dtype=f32");
  EXPECT_TRUE(predicted_too_long(problem, make_plan(problem, g52, {"dense_plain", 0}), g52));
  const Plan plan = make_plan(problem, g52);
  EXPECT_FALSE(predicted_too_long(problem, plan, g52)) << plan.variant;
  // Nothing is below it: there is a plan all the same, which says why it should not run.
  const Problem huge = Problem::parse("dense m=20000 n=20000 k=4096 dtype=f32");
  const Reason reason = predicted_too_long(huge, make_plan(huge, g52), g52);
  ASSERT_TRUE(reason);
  EXPECT_TRUE(contains(*reason, "over half of the 0.5 s after which panfrost ends it")) << *reason;
}

// ---- launches that a driver ends, and says nothing ----

/// A device whose driver has that limit, and launches that take so long.
json slow(const json& device, double limit_s, double launch_s) {
  json facts = device;
  facts["max_alloc_bytes"] = 64 << 20;
  return {{"device", facts},
          {"limit_s", limit_s},
          {"limit_is_silent", true},
          {"costs", {{{"kernel", "dense_*"}, {"us", launch_s * 1e6}}}}};
}

const json kG52 = {{"name", "Mali-G52 r1 (Panfrost)"},
                   {"vendor", "Mesa"},
                   {"platform", "rusticl"},
                   {"type", "gpu"},
                   {"max_clock_mhz", 800},
                   {"compute_units", 2}};
const json kG52Arm = {{"name", "Mali-G52 r1p0"},
                      {"vendor", "ARM"},
                      {"platform", "ARM Platform"},
                      {"version", "OpenCL 3.0 v1.g13p0-01eac0.1"},
                      {"type", "gpu"},
                      {"max_clock_mhz", 800},
                      {"compute_units", 2}};
const json kT760 = {{"name", "Mali-T760"},
                    {"vendor", "ARM"},
                    {"platform", "ARM Platform"},
                    {"version", "OpenCL 1.1 v1.r4p0-00rel0.1"},
                    {"type", "gpu"},
                    {"max_clock_mhz", 600},
                    {"compute_units", 4}};

/// Large enough that it is tried in parts first, and soon done here.
constexpr const char* kProblem = "dense m=512 n=512 k=512 dtype=f32";
constexpr const char* kLarger = "dense m=1024 n=1024 k=512 dtype=f32";

struct Driver {
  const char* name;
  json device;
  double limit_s;
  const char* problem;
};
const Driver kDrivers[] = {{"panfrost", kG52, 0.5, kProblem},
                           {"Arm's oldest", kT760, 0.1, kProblem},
                           {"Arm's", kG52Arm, 5, kLarger}};

class job_limit_scripted : public testing::Test {
 protected:
  void SetUp() override { CLAM_NEEDS_DEVICE(); }

  /// clam with these words where a launch takes that share of the driver's limit.
  static Finished run(const Driver& driver, double share, std::vector<std::string> words) {
    return run_clam(std::move(words),
                    clock_.on(slow(driver.device, driver.limit_s, share * driver.limit_s)));
  }
  static inline scripted::SharedClock clock_;
};

TEST_F(job_limit_scripted, a_launch_over_half_the_limit_is_skipped_with_the_reason) {
  for (const Driver& driver : kDrivers) {
    SCOPED_TRACE(driver.name);
    for (const double share : {0.7, 1.5}) {
      const TemporaryFolder folder;
      const Finished finished = run(driver, share,
                                    {"verify", driver.problem, "--variant", "dense_plain",
                                     "--record-failures", folder.file("cases")});
      EXPECT_EQ(finished.code, 77) << finished.out << finished.err;
      EXPECT_TRUE(contains(finished.out + finished.err, "after which"))
          << finished.out << finished.err;
      EXPECT_TRUE(contains(finished.out + finished.err, "0 failed")) << finished.out;
      EXPECT_FALSE(std::filesystem::exists(folder.file("cases/0001"))) << "a time-out in a bundle";
    }
  }
}

TEST_F(job_limit_scripted, a_launch_well_below_it_runs) {
  for (const Driver& driver : kDrivers) {
    SCOPED_TRACE(driver.name);
    const Finished finished =
        run(driver, 0.001,
            {"verify", driver.problem, "--variant", "dense_plain", "--set", "zero_mean"});
    EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
    EXPECT_TRUE(contains(finished.out, "1 passed, 0 failed")) << finished.out;
  }
}

TEST_F(job_limit_scripted, run_record_and_bench_skip_it_too) {
  const Driver& driver = kDrivers[0];
  const TemporaryFolder folder;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", kProblem, "--fill", "zero_mean", "--variant",
                                 "dense_plain"},
        {"record", kProblem, "--variant", "dense_plain", "-o", folder.file("case")}}) {
    const Finished finished = run(driver, 1.5, words);
    EXPECT_EQ(finished.code, 77) << words[0] << finished.out << finished.err;
    EXPECT_TRUE(contains(finished.err, "panfrost ends it")) << words[0] << finished.err;
  }
  EXPECT_FALSE(std::filesystem::exists(folder.file("case")));
  const Finished bench = run_command(
      {CLAM_BENCH_BINARY, "--problem", kProblem, "--variant", "dense_plain", "--no-isolate"},
      clock_.on(slow(driver.device, 0.5, 0.75)));
  EXPECT_TRUE(contains(bench.out, "panfrost ends it")) << bench.out << bench.err;
}

TEST_F(job_limit_scripted, a_graph_skips_it_too) {
  const TemporaryFolder folder;
  write_file(folder.file("long.json"), R"({
    "clam_workload": 1, "name": "long", "title": "Long", "about": "one node", "columns": [],
    "tensors": {"x": {"shape": [512, 512], "fill": "normal"}, "w": {"shape": [512, 512], "fill": "normal"}},
    "nodes": [{"name": "a", "what": "a product", "calls": 1, "problem": "dense m=512 n=512 k=512 dtype=f32",
               "inputs": {"x": "x", "w": "w"}, "outputs": {"y": "y"}}]})");
  for (const char* mode : {"isolated", "chained"}) {
    const Finished finished =
        run(kDrivers[0], 1.5, {"verify", "--workload", folder.file("long.json"), "--mode", mode});
    EXPECT_NE(finished.code, 0) << mode << finished.out << finished.err;
    EXPECT_TRUE(contains(finished.out + finished.err, "panfrost ends it"))
        << mode << finished.out << finished.err;
  }
}

TEST_F(job_limit_scripted, a_probe_skips_it_too) {
  json script = slow(kG52, 0.5, 0);
  script["costs"] = {{{"kernel", "*"}, {"us", 1e6}}};
  const Finished finished = run_clam({"probe", "local-atomic"}, clock_.on(script));
  EXPECT_TRUE(contains(finished.out, "SKIP  local-atomic")) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out, "panfrost ends it after 0.5 s")) << finished.out;
}

/// A launch whose work the driver drops: it took no time that would show it.
TEST_F(job_limit_scripted, what_is_left_unwritten_is_no_wrong_value) {
  json script = scripted::lying("clEnqueueNDRangeKernel", "nothing", {{"kernel", "softmax_*"}});
  script["device"] = kG52;
  const Finished finished =
      run_clam({"verify", "softmax shape=8x64 dtype=f32", "--no-isolate"}, clock_.on(script));
  EXPECT_EQ(finished.code, 1) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out,
                       "not written: ended by the driver? 512 of 512 elements were never "
                       "written; panfrost ends a launch after 0.5 s"))
      << finished.out << finished.err;
}

}  // namespace
}  // namespace clam::test
