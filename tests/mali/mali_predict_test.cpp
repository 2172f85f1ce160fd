// SPDX-License-Identifier: MIT
// Predictions: held against times that were published from a board, bound by bound, and through
// stored listings of the suite's own kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "check/workload.hpp"
#include "clam/error.hpp"
#include "clam/op.hpp"
#include "clam/planner.hpp"
#include "mali/predict.hpp"
#include "test_errors.hpp"

namespace clam::mali {
namespace {

const Gpu& g610() { return find_gpu("g610"); }

/// A kernel file with these //@loop lines.
FileTags tags_with(const std::string& loops) {
  const std::string text =
      "//@define WG 64\n//@define SKIP 0\n//@kernel f\n//@arg 0 x in T[n]\n//@arg 1 n int\n"
      "//@global n\n//@local WG\n//@loops f\n" +
      loops + "\n";
  return read_tags({"f.cl", text, "here", ""});
}

Counts issued(double count) {
  Counts counts;
  counts.issued = count;
  return counts;
}

/// Straight code.
Shader straight(const Counts& counts) {
  Shader shader;
  shader.kernel = "f";
  shader.whole = counts;
  shader.threads = 2;
  shader.blocks = {{counts, {}}};
  return shader;
}

/// As many loops, one after the other, each of one block; then a block of one instruction.
Shader looped(int loops, const Counts& trip) {
  Shader shader = straight(trip);
  shader.blocks.clear();
  for (int i = 0; i < loops; ++i) {
    shader.blocks.push_back({trip, {i, i + 1}});
    shader.loops.push_back({i, i, -1});
  }
  shader.blocks.push_back({issued(1), {}});
  return shader;
}

Plan plan_of(double items, std::int64_t group, std::int32_t n = 8, const char* options = "") {
  Plan plan;
  plan.tensors = {{"x", TensorSpec::Role::input, Dtype::f32, {1}, {}, 0}};
  plan.launches = {{"f.cl",
                    "f",
                    options,
                    {static_cast<std::int64_t>(items), 1, 1},
                    {group, 1, 1},
                    {BufferArg{"x"}, n}}};
  return plan;
}

LaunchTime time_of(const Plan& plan, const Shader& shader, const std::string& loops = "",
                   const Gpu& gpu = g610()) {
  const FileTags tags = tags_with(loops);
  return predict(plan.launches[0], plan, {&shader, &tags}, gpu);
}

double published_us(const char* node) {
  static const Workload workload = read_workload("lightglue-192");
  return workload.node(node)->published_us.at("tvm");
}

double two_decimals(double value) { return std::round(value * 100) / 100; }

// ---- against a board ----

// TVM's untuned dense kernels: a work-group of 64 for each output, no loop, full occupancy. Their
// instructions are those of the regenerated kernels through Mesa 25.0 for the G610.
TEST(mali, predict_meets_the_published_times_of_dense) {
  const struct {
    const char* node;
    double outputs, instructions, us;
  } rows[] = {{"dense_3", 192 * 512, 342, 8405},
              {"dense_2", 192 * 256, 230, 2826},
              {"dense_4", 192 * 256, 345, 4239},
              {"dense", 192 * 768, 234, 8626}};
  for (const auto& row : rows) {
    const Plan plan = plan_of(row.outputs * 64, 64);
    const LaunchTime time = time_of(plan, straight(issued(row.instructions)));
    EXPECT_NEAR(time.issue.high, row.us, 0.5) << row.node;
    EXPECT_EQ(time.time().low, time.issue.low) << row.node;
    EXPECT_EQ(time.time().high, time.issue.high) << row.node << ": so many warps hide latency";
    const double ratio = two_decimals(time.time().high / published_us(row.node));
    EXPECT_GE(ratio, 0.98) << row.node;
    EXPECT_LE(ratio, 1.04) << row.node;
  }
}

// TVM's batch_matmul kernels: 4096 outputs a work-group of 64, so that a core has few warps. The
// clocks that the board took for an instruction of a warp are those of the regenerated kernels; so
// this holds the constant of the latency bound, and that the bound is the one that counts there.
TEST(mali, predict_takes_few_warps_for_bound_by_latency) {
  const struct {
    const char* node;
    std::int64_t groups;
    double clocks;
  } rows[] = {
      {"batch_matmul", 36, 24.8}, {"batch_matmul_1", 12, 24.8}, {"batch_matmul_2", 9, 25.6}};
  for (const auto& row : rows) {
    const double us = published_us(row.node), instructions = us * 1000 / row.clocks;
    const LaunchTime time = time_of(plan_of(row.groups * 64, 64), straight(issued(instructions)));
    EXPECT_EQ(time.time().high, time.latency.high) << row.node;
    EXPECT_NEAR(time.time().high / us, 1, 0.03) << row.node;
    EXPECT_GT(us / time.issue.high, 2.5) << row.node << ": far over its issue bound";
    EXPECT_LT(us / time.issue.high, 11.5) << row.node;
  }
}

// ---- bound by bound ----

TEST(mali, predict_each_bound_can_be_the_largest) {
  const Plan many = plan_of(1 << 20, 64), one = plan_of(64, 64);
  const LaunchTime issue = time_of(many, straight(issued(100)));
  EXPECT_EQ(issue.time().high, issue.issue.high);
  EXPECT_DOUBLE_EQ(issue.issue.high, (1 << 16) * 100 / 16 / 1000.0);

  const LaunchTime latency = time_of(one, straight(issued(100)));
  EXPECT_EQ(latency.time().high, latency.latency.high);
  EXPECT_DOUBLE_EQ(latency.latency.high, 2.5);
  EXPECT_EQ(latency.time().low, latency.issue.low) << "or the warp waits for nothing";

  Counts loads = issued(10);
  loads.loads = 8;
  loads.load_bytes = 8 * 16;
  const LaunchTime load = time_of(many, straight(loads));
  EXPECT_EQ(load.time().high, load.load.high);
  EXPECT_DOUBLE_EQ(load.load.low, (1 << 16) * 8 / 4 / 1000.0) << "a line a load";
  EXPECT_DOUBLE_EQ(load.load.high, 4 * load.load.low) << "16 lanes of 16 bytes are 4 lines";

  Plan large = one;
  large.tensors[0].shape = {27'200'000 / 4};
  const LaunchTime dram = time_of(large, straight(issued(10)));
  EXPECT_EQ(dram.time().high, dram.dram.high);
  EXPECT_DOUBLE_EQ(dram.dram.high, 1000) << "at 27.2 GB/s";
}

TEST(mali, predict_special_functions_run_at_a_quarter_of_the_rate) {
  const Plan plan = plan_of(1 << 20, 64);
  Counts counts = issued(100);
  counts.sfu = 25;
  EXPECT_EQ(time_of(plan, straight(counts)).issue.high,
            time_of(plan, straight(issued(100))).issue.high);
  counts.sfu = 50;
  EXPECT_EQ(time_of(plan, straight(counts)).issue.high,
            time_of(plan, straight(issued(200))).issue.high);
}

TEST(mali, predict_small_loads_take_a_line_each) {
  Counts counts = issued(1);
  counts.loads = 4;
  counts.load_bytes = 4 * 2;
  const LaunchTime time = time_of(plan_of(1 << 16, 64), straight(counts));
  EXPECT_EQ(time.load.low, time.load.high);
}

TEST(mali, predict_counts_a_buffer_once_a_launch) {
  Plan plan = plan_of(64, 64);
  plan.buffers = {{"scratch", BufferSpec::Role::scratch, 1 << 20}};
  plan.launches[0].args = {BufferArg{"scratch"}, 8};
  const double once = time_of(plan, straight(issued(1))).dram.high;
  EXPECT_DOUBLE_EQ(once, (1 << 20) / 27.2 / 1000);
  plan.launches[0].args.emplace_back(BufferArg{"scratch"});
  EXPECT_EQ(time_of(plan, straight(issued(1))).dram.high, once);
  plan.launches[0].args.emplace_back(BufferArg{"x"});
  EXPECT_GT(time_of(plan, straight(issued(1))).dram.high, once);
  plan.launches[0].args = {BufferArg{"lost"}, 8};
  EXPECT_THROWS_SAYING(time_of(plan, straight(issued(1))), BadArgument, "no buffer 'lost'");
}

TEST(mali, predict_a_group_fills_whole_warps_and_one_core) {
  const Shader shader = straight(issued(1000));
  const auto issue = [&](double items, std::int64_t group) {
    return time_of(plan_of(items, group), shader).issue.high;
  };
  EXPECT_EQ(issue(17, 17), issue(32, 32)) << "17 items are two warps";
  EXPECT_EQ(issue(64, 64), issue(4 * 64, 64)) << "four groups have a core each";
  EXPECT_EQ(2 * issue(4 * 64, 64), issue(8 * 64, 64));
}

TEST(mali, predict_follows_the_gpu) {
  const Plan plan = plan_of(1 << 20, 64);
  const Shader shader = straight(issued(100));
  const Gpu& g52 = find_gpu("g52");
  const double warps = (1 << 20) / g52.warp, per_clock = g52.cores * g52.fma_f32 / g52.warp;
  EXPECT_DOUBLE_EQ(time_of(plan, shader, "", g52).issue.high, warps * 100 / per_clock / 1000);
}

// ---- loops ----

TEST(mali, predict_more_trips_never_take_less) {
  Counts trip = issued(10);
  trip.loads = 2;
  trip.load_bytes = 32;
  trip.sfu = 4;
  const Shader shader = looped(1, trip);
  Interval before;
  for (const std::int32_t n : {0, 1, 2, 7, 100, 10000}) {
    const LaunchTime time = time_of(plan_of(1 << 12, 64, n), shader, "//@loop n/2..n  some");
    for (const Interval& one : {time.issue, time.latency, time.load, time.dram, time.time()}) {
      EXPECT_LE(one.low, one.high) << n;
    }
    EXPECT_GE(time.time().low, before.low) << n;
    EXPECT_GE(time.time().high, before.high) << n;
    before = time.time();
  }
  EXPECT_GT(before.high, 1.5 * before.low) << "the range of the tag is seen in the time";
}

TEST(mali, predict_refuses_loops_that_the_tags_do_not_speak_of) {
  const Plan plan = plan_of(64, 64);
  const char* const sentence = "kernel f: its compiled code has 1 loops, and its //@loop tags";
  EXPECT_THROWS_SAYING(time_of(plan, looped(1, issued(1))), BadArgument, sentence);
  EXPECT_THROWS_SAYING(time_of(plan, looped(1, issued(1)), "//@loop n\n//@loop n"), BadArgument,
                       sentence);
  EXPECT_THROWS_SAYING(time_of(plan, looped(1, issued(1)), "//@loop m"), BadArgument,
                       "kernel f: //@loop: m is no count of trips");
  Shader midgard = straight(issued(10));
  midgard.blocks.clear();
  EXPECT_THROWS_SAYING(time_of(plan, midgard), BadArgument, "its listing is a summary alone");
  const FileTags tags = tags_with("");
  EXPECT_THROWS_SAYING(predict(plan.launches[0], plan, {nullptr, &tags}, g610()), BadArgument,
                       "kernel f of f.cl is not compiled");
}

TEST(mali, predict_knows_which_loops_were_unrolled) {
  const auto most = [](int loops, const std::string& tags, const char* options = "") {
    return time_of(plan_of(64, 64, 8, options), looped(loops, issued(100)), tags).most.issued;
  };
  const double eight = most(1, "//@loop n");
  EXPECT_EQ(most(1, "//@loop n\n//@loop WG/4  unrolled"), eight);
  EXPECT_EQ(most(1, "//@loop SKIP  never there\n//@loop n"), eight);
  EXPECT_EQ(most(1, "//@loop 3..3 if WG==32  not in this text\n//@loop n", "-DWG=64"), eight);
  EXPECT_GT(most(2, "//@loop n\n//@loop WG/4  kept"), eight);
  EXPECT_EQ(most(2, "//@loop n\n//@loop 2  unrolled\n//@loop WG/4"),
            most(2, "//@loop n\n//@loop WG/4"))
      << "the shorter one is unrolled first";
  EXPECT_THROWS_SAYING(most(1, "//@loop WG/4\n//@loop WG/4"), BadArgument,
                       "kernel f: of its loops of 16 trips some are unrolled");
  EXPECT_NO_THROW(most(2, "//@loop WG/4\n//@loop WG/4"));
}

// ---- plans ----

TEST(mali, predict_adds_launches_up_each_with_its_cost) {
  Plan plan = plan_of(1 << 20, 64);
  plan.launches.push_back(plan.launches[0]);
  plan.pack = plan.launches;
  const Shader shader = straight(issued(100));
  const FileTags tags = tags_with("");
  const auto find = [&](const Launch&) { return Compiled{&shader, &tags}; };
  const PlanTime time = predict(plan, 1e6, find, g610());
  ASSERT_EQ(time.launches.size(), 2u) << "packs of constants are run once";
  const Interval one = time.launches[0].time();
  EXPECT_DOUBLE_EQ(time.us.low, 2 * (one.low + kLaunchCostUs));
  EXPECT_DOUBLE_EQ(time.us.high, 2 * (one.high + kLaunchCostUs));
  EXPECT_DOUBLE_EQ(time.issued, 2.0 * (1 << 20) * 100);
  EXPECT_DOUBLE_EQ(time.mac_per_issued(), 1e6 / time.issued);
}

TEST(mali, predict_floor_is_compute_or_memory) {
  const Problem heavy = Problem::parse("dense m=1024 n=1024 k=1024 dtype=f32");
  EXPECT_NEAR(floor_us(heavy, g610()), std::pow(1024.0, 3) / (4 * 64) / 1000, 1);
  EXPECT_NEAR(floor_us(heavy.with("dtype", "f16"), g610()), floor_us(heavy, g610()) / 2, 1);
  const Problem light = Problem::parse("softmax shape=1024x1024 dtype=f32");
  EXPECT_NEAR(floor_us(light, g610()), 2 * 4 * 1024 * 1024 / 27.2 / 1000, 1);
}

TEST(mali, predict_says_what_it_leaves_out) {
  for (const char* word :
       {"for Mesa's compiler, not Arm's, at 1 GHz, and was never run", "cache", "scatter",
        "barrier", "idle cores", "clocks", "heat", "10 us", "longer side", "within about 5 %",
        "factors of .25 to 3", "probable causes", "tools/README.md"}) {
    EXPECT_NE(leaves_out().find(word), std::string::npos) << word;
  }
}

// ---- the suite's own kernels, by stored listings ----

Shader stored(const std::string& name) {
  std::ifstream file(CLAM_SOURCE_DIR "/tests/mali/listings/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return parse_listing(text.str());
}

// A tile over an edge computes what it does not store; activations multiply too.
TEST(mali, predict_counts_the_products_of_a_problem) {
  const struct {
    const char *problem, *options, *listing;  ///< the options that the listing was compiled with
    double padding;
  } rows[] = {
      {"dense m=384 n=512 k=512 dtype=f32 bias",
       "-DDENSE_LX=16 -DDENSE_LY=1 -DDENSE_M0=5 -DDENSE_N0=8 -DDENSE_K0=16 -DDENSE_PARTS=2 "
       "-DDENSE_BAND=39 -DDENSE_SPLIT=1 -DDENSE_WHOLE=1 -DDENSE_BIAS=1 -DDENSE_LDX=512",
       "valhall_dense_packed_split.txt", 1.02},
      {"batch_matmul batch=4 m=192 n=192 k=64 dtype=f32 tb=1 scale=0.125",
       "-DBMM_LX=4 -DBMM_LY=16 -DBMM_M0=6 -DBMM_K0=16 -DBMM_SPLIT=1 -DBMM_LDA=64 -DBMM_LDB=64 "
       "-DBMM_WHOLE=1",
       "valhall_batch_matmul_nt.txt", 1.1},
      {"conv2d c=256 h=2 w=2 k=256 r=1 dtype=f32 bias act=relu",
       "-DCONV2D_LX=1 -DCONV2D_LY=4 -DCONV2D_PARTS=16 -DCONV2D_CHANNELS=4 -DCONV2D_WHOLE=1 "
       "-DCONV2D_FLAT=1 -DCONV2D_SPLIT=1 -DCONV2D_BIAS=1 -DCONV2D_ACT=relu",
       "valhall_conv2d_product.txt", 1.1}};
  for (const auto& row : rows) {
    const Problem problem = Problem::parse(row.problem);
    const Plan plan = make_plan(problem, gpu_device(g610()));
    const Shader shader = stored(row.listing);
    ASSERT_EQ(plan.launches.size(), 1u) << row.problem;
    EXPECT_EQ(plan.launches[0].options, row.options) << "compile the listing anew";
    EXPECT_EQ(plan.launches[0].kernel, shader.kernel) << "compile the listing anew";
    const FileTags tags = read_tags(KernelFiles().get(plan.launches[0].file));
    const double mac = flops_of(problem) / 2;
    const auto find = [&](const Launch&) { return Compiled{&shader, &tags}; };
    const PlanTime time = predict(plan, mac, find, g610());
    const LaunchTime& launch = time.launches[0];
    EXPECT_LE(launch.items * launch.least.mac, row.padding * mac) << row.problem;
    EXPECT_GE(launch.items * launch.most.mac, mac) << row.problem;
    EXPECT_LE(launch.items * launch.most.mac, row.padding * mac) << row.problem;
    EXPECT_LT(floor_us(problem, g610()), time.us.low) << row.problem;
  }
}

}  // namespace
}  // namespace clam::mali
