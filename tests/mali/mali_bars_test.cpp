// SPDX-License-Identifier: MIT
// The bars of tests/mali/mali_bars.txt: what the hot loops of main kernels must reach, whichever of
// the compilers is at hand. Slow, so with CLAM_TEST_FULL only:
//     CLAM_TEST_FULL=1 build/clam-tests --gtest_filter='mali_bars.*'
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <tuple>

#include "check/manifest.hpp"
#include "check/workload.hpp"
#include "clam/error.hpp"
#include "clam/plan.hpp"
#include "clam/planner.hpp"
#include "clam/problem.hpp"
#include "command.hpp"
#include "mali/compile.hpp"
#include "mali/predict.hpp"
#include "runtime/atomic_file.hpp"
#include "test_errors.hpp"

namespace clam::mali {
namespace {

const std::string kTree = CLAM_SOURCE_DIR;

struct Bar {
  const Gpu* gpu = nullptr;
  double minimum = 0;
  Plan plan;
};

/// The word variant=NAME is no word of the problem.
Bar parse_bar(const std::string& line) {
  std::istringstream words(line);
  Bar bar;
  std::string gpu, problem;
  PlanOptions options;
  if (!(words >> gpu >> bar.minimum)) throw BadArgument("a bar needs GPU, MINIMUM and PROBLEM");
  constexpr std::string_view kVariant = "variant=";
  for (std::string word; words >> word;) {
    if (word.compare(0, kVariant.size(), kVariant) == 0) {
      options.variant = word.substr(kVariant.size());
    } else {
      problem += (problem.empty() ? "" : " ") + word;
    }
  }
  bar.gpu = &find_gpu(gpu);
  bar.plan = make_plan(Problem::parse(problem), gpu_device(*bar.gpu), options);
  return bar;
}

/// Throws BadArgument naming the line.
std::vector<Bar> parse_bars(const std::string& text) {
  std::vector<Bar> bars;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    try {
      bars.push_back(parse_bar(line));
    } catch (const Error& error) {
      throw BadArgument(fmt::format("line {}: {}", number, error.what()));
    }
  }
  return bars;
}

std::vector<Bar> own_bars() { return parse_bars(read_file(kTree + "/tests/mali/mali_bars.txt")); }

Counts hot_trip(const Shader& shader) {
  const int hot = hot_loop(shader);
  return hot < 0 ? Counts{} : own_trip(shader, static_cast<std::size_t>(hot));
}

/// Of the plan's kernels the one with the most multiply-adds in a trip of its hot loop; nullptr
/// where none was compiled.
const KernelCode* main_kernel(const Plan& plan, const std::vector<KernelCode>& codes) {
  const KernelCode* main = nullptr;
  for (const Launch& launch : plan.launches) {
    for (const KernelCode& code : codes) {
      if (code.file != launch.file || code.options != launch.options) continue;
      if (code.kernel != launch.kernel || code.status != KernelCode::Status::compiled) continue;
      if (!main || hot_trip(code.shader).mac > hot_trip(main->shader).mac) main = &code;
    }
  }
  return main;
}

/// What is wrong with the plan's kernels; empty where they reach the bar.
std::string judge_bar(const Bar& bar, const std::vector<KernelCode>& codes) {
  const KernelCode* main = main_kernel(bar.plan, codes);
  if (!main) return "none of its kernels was compiled";
  const Shader& shader = main->shader;
  const Counts trip = hot_trip(shader);
  const double reached = trip.issued > 0 ? trip.mac / trip.issued : 0;
  if (shader.spills + shader.fills > 0)
    return fmt::format("{} has {}:{} spills:fills", main->kernel, shader.spills, shader.fills);
  if (reached < bar.minimum)
    return fmt::format("{} has {:.0f} multiply-adds in {:.0f} instructions of its hot loop: {:.3f}",
                       main->kernel, trip.mac, trip.issued, reached);
  return "";
}

/// All bars of a GPU, with the compilers of one release.
void judge_bars(const std::vector<Bar>& bars, const Gpu& gpu, Mesa mesa) {
  std::vector<Plan> plans;
  for (const Bar& bar : bars) {
    if (bar.gpu != &gpu) continue;
    plans.push_back(bar.plan);
    plans.back().pack.clear();  // it runs once
  }
  if (plans.empty()) return;
  ::setenv("CLAM_MALI_COMPILER", (kTree + "/tools/mali/compile").c_str(), /*overwrite=*/0);
  Compiler compiler(gpu, KernelFiles::from_environment(), default_compiler(mesa));
  const std::vector<KernelCode> codes = compiler.compile(kernels_of(plans));
  for (const Bar& bar : bars) {
    if (bar.gpu != &gpu) continue;
    const std::string wrong = judge_bar(bar, codes);
    EXPECT_EQ(wrong, "") << fmt::format("{} {} must reach {} ({}, {})", gpu.key, bar.plan.problem,
                                        bar.minimum, bar.plan.variant, compiler.version());
  }
}

int with_driver(const std::string& what, const std::string& driver) {
  return test::run_command({kTree + "/tools/with-driver", what, driver}).code;
}

void judge_all_bars(Mesa mesa) {
  const std::vector<Bar> bars = own_bars();
  ASSERT_FALSE(bars.empty());
  for (const Gpu& gpu : all_gpus()) judge_bars(bars, gpu, mesa);
}

TEST(mali_bars, bars_are_reached_with_the_compilers_of_debian_13) {
  if (!::getenv("CLAM_TEST_FULL")) GTEST_SKIP() << "slow: tools/test --full";
  if (with_driver("--check", "mali") != 0)
    GTEST_SKIP() << "no Mali compilers: tools/with-driver --check mali";
  judge_all_bars(Mesa::debian13);
}

/// Its folder is an addition: it is not made for this.
TEST(mali_bars, bars_are_reached_with_the_compilers_of_testing) {
  if (!::getenv("CLAM_TEST_FULL")) GTEST_SKIP() << "slow: tools/test --full";
  if (with_driver("--made", "mali-testing") != 0)
    GTEST_SKIP() << "no Mali compilers of Debian testing: tools/setup mali-testing";
  judge_all_bars(Mesa::testing);
}

/// Compiles the launches of plans for a G610 and predicts their times. Packs are left out.
std::vector<PlanTime> predict_all(std::vector<Plan> plans) {
  const Gpu& gpu = find_gpu("g610");
  for (Plan& plan : plans) plan.pack.clear();
  const KernelFiles files = KernelFiles::from_environment();
  const std::vector<KernelCode> codes =
      Compiler(gpu, files, default_compiler(Mesa::debian13)).compile(kernels_of(plans));
  std::map<std::string, FileTags> tags;
  const auto find = [&](const Launch& launch) {
    for (const KernelCode& code : codes) {
      if (std::tie(code.file, code.options, code.kernel) !=
          std::tie(launch.file, launch.options, launch.kernel)) {
        continue;
      }
      const auto [at, is_new] = tags.try_emplace(code.file);
      if (is_new) at->second = read_tags(files.get(code.file));
      return Compiled{&code.shader, &at->second};
    }
    throw BadArgument("no code of " + launch.kernel);
  };
  std::vector<PlanTime> times;
  for (const Plan& plan : plans) times.push_back(predict(plan, 0, find, gpu));
  return times;
}

/// Predicted for all calls of a workload's nodes of these ops on a G610, in ms: issued instructions
/// alone, without launches.
double predicted_ms(const std::string& workload, const std::vector<std::string>& ops,
                    const std::string& dtype, const std::string& acc) {
  std::vector<double> calls;
  std::vector<Plan> plans;
  const Workload model = read_workload(workload);
  for (const Workload::Node& node : model.nodes) {
    if (!node.problem || !node.folded_into.empty()) continue;
    if (std::find(ops.begin(), ops.end(), node.problem->schema().name) == ops.end()) continue;
    EXPECT_GT(node.calls, 0) << node.name;
    const Problem problem = node.problem->with("dtype", dtype).with("acc", acc);
    plans.push_back(make_plan(problem, gpu_device(find_gpu("g610"))));
    calls.push_back(static_cast<double>(node.calls));
  }
  double us = 0;
  const std::vector<PlanTime> times = predict_all(plans);
  for (std::size_t i = 0; i < times.size(); ++i) {
    for (const LaunchTime& launch : times[i].launches) us += calls[i] * launch.issue.high;
  }
  return us / 1000;
}

TEST(mali_bars, products_of_the_workloads_keep_to_their_time) {
  if (!::getenv("CLAM_TEST_FULL")) GTEST_SKIP() << "slow: tools/test --full";
  if (with_driver("--check", "mali") != 0)
    GTEST_SKIP() << "no Mali compilers: tools/with-driver --check mali";
  ::setenv("CLAM_MALI_COMPILER", (kTree + "/tools/mali/compile").c_str(), /*overwrite=*/0);
  const std::vector<std::string> products{"dense", "batch_matmul"}, convolutions{"conv2d"};
  const struct {
    const char* workload;
    const std::vector<std::string>& ops;
    const char *dtype, *acc;
    double most;
  } table[] = {{"lightglue-192", products, "f32", "f32", 28},
               {"lightglue-192", products, "f16", "f32", 31},
               {"lightglue-192", products, "f16", "chunk", 20},
               {"ssd512-mobilenet1.0-voc", convolutions, "f32", "f32", 32},
               {"ssd512-mobilenet1.0-voc", convolutions, "f16", "chunk", 25}};
  for (const auto& row : table) {
    SCOPED_TRACE(fmt::format("{} {} acc={}", row.workload, row.dtype, row.acc));
    const double ms = predicted_ms(row.workload, row.ops, row.dtype, row.acc);
    EXPECT_LE(ms, row.most);
    EXPECT_GT(ms, row.most / 2) << "too good: was something left out?";
  }
}

const LaunchTime& launch_of(const PlanTime& time, const char* kernel) {
  for (const LaunchTime& launch : time.launches) {
    if (launch.kernel == kernel) return launch;
  }
  throw BadArgument(std::string("no launch of ") + kernel);
}

/// get_valid_counts and nms of SSD 512, with 2000 of 122,640 rows valid and the best 400 looked at.
/// Trips and bytes that the data decides are taken from 2000 rows which are all valid, at their
/// most. Groups past those leave at once, and cost the issue of what stands before they do.
TEST(mali_bars, the_tail_of_an_ssd_keeps_to_its_time) {
  if (!::getenv("CLAM_TEST_FULL")) GTEST_SKIP() << "slow: tools/test --full";
  if (with_driver("--check", "mali") != 0)
    GTEST_SKIP() << "no Mali compilers: tools/with-driver --check mali";
  ::setenv("CLAM_MALI_COMPILER", (kTree + "/tools/mali/compile").c_str(), /*overwrite=*/0);
  const DeviceInfo device = gpu_device(find_gpu("g610"));
  const auto plan = [&](const std::string& line) {
    return make_plan(Problem::parse(line + " dtype=f32"), device);
  };
  const std::string nms = " iou_threshold=0.45 top_k=400";
  const std::vector<PlanTime> times = predict_all(
      {plan("get_valid_counts n=122640 score_threshold=0.01"), plan("nms n=122640" + nms),
       plan("get_valid_counts n=2000 score_threshold=0.01"), plan("nms n=2000" + nms)});
  EXPECT_LE(times[0].launches.size() + times[1].launches.size(), 8u);
  const double bytes_per_us = 27.2e3, out = 122640 * 24.0, indices = 122640 * 4.0;
  double us = 0;
  const auto add = [&](const char* kernel, double least_us, double most_us) {
    const double time = std::max(least_us, most_us);
    RecordProperty(kernel, fmt::format("{:.0f}", time));
    us += time + kLaunchCostUs;
  };
  add("get_valid_counts_count", launch_of(times[0], "get_valid_counts_count").time().high, 0);
  add("get_valid_counts_scatter", (out + indices) / bytes_per_us,
      launch_of(times[0], "get_valid_counts_scatter").issue.high);
  const std::pair<const char*, double> until_they_leave[] = {
      {"nms_sort", 30}, {"nms_place", 60}, {"nms_mask", 0}, {"nms_walk", 0}};  // instructions
  for (const auto& [kernel, instructions] : until_they_leave) {
    const LaunchTime& all = launch_of(times[1], kernel);
    const LaunchTime& valid = launch_of(times[3], kernel);
    const double leaving_us = all.issue.low * instructions / all.least.issued;
    add(kernel, leaving_us + valid.issue.high, valid.time().high);
  }
  add("nms_rows", out / bytes_per_us, launch_of(times[1], "nms_rows").issue.high);
  EXPECT_LE(us, 700);
  EXPECT_GT(us, 350) << "too good: was something left out?";
}

/// LightGlue for two images of 192 points, with sums in half chunks: fused by hand 23.5 ms at 1 GHz,
/// with the output projections folded into the products behind them 21.5 ms.
TEST(mali_bars, lightglue_for_two_images_keeps_to_its_time) {
  if (!::getenv("CLAM_TEST_FULL")) GTEST_SKIP() << "slow: tools/test --full";
  if (with_driver("--check", "mali") != 0)
    GTEST_SKIP() << "no Mali compilers: tools/with-driver --check mali";
  ::setenv("CLAM_MALI_COMPILER", (kTree + "/tools/mali/compile").c_str(), /*overwrite=*/0);
  const DeviceInfo device = gpu_device(find_gpu("g610"));
  for (const auto& [name, bar_us] :
       {std::pair("lightglue-192-fused", 23500), std::pair("lightglue-192-folded", 21500)}) {
    std::vector<Plan> plans;
    for (const Workload::Node& node : read_workload(name).nodes) {
      Problem problem = node.problem->with("dtype", "f16");
      if (op_of(problem).sums_products) problem = problem.with("acc", "chunk");
      plans.push_back(make_plan(problem, device));
    }
    double low_us = 0, high_us = 0;
    for (const PlanTime& time : predict_all(std::move(plans))) {
      low_us += time.us.low;
      high_us += time.us.high;
    }
    RecordProperty(name, fmt::format("{:.0f} to {:.0f} us", low_us, high_us));
    EXPECT_LE(high_us, bar_us) << name;
    EXPECT_GT(low_us, 11000) << name << ": less than the roofline: was something left out?";
  }
}

// ---- the judge itself -------------------------------------------------------------------------

/// A kernel whose loop of 40 instructions has so many multiply-adds.
KernelCode code_of(const Launch& launch, double mac) {
  KernelCode code{
      {launch.file, launch.options, launch.kernel}, KernelCode::Status::compiled, "", "", {}};
  code.shader.blocks.resize(2);
  code.shader.blocks[0].counts.issued = 40;
  code.shader.blocks[0].counts.mac = mac;
  code.shader.blocks[0].next = {0, 1};
  code.shader.loops = {{0, 0, -1}};
  return code;
}

std::vector<Launch> launches_of(const Bar& bar) { return bar.plan.launches; }

TEST(mali, bars_that_are_missed_are_told_with_their_figures) {
  const Bar bar = parse_bar("g610 0.5 dense m=192 n=512 k=512 dtype=f32");
  std::vector<KernelCode> codes;
  for (const Launch& launch : launches_of(bar)) codes.push_back(code_of(launch, 1));
  codes.back() = code_of(launches_of(bar).back(), 20);
  EXPECT_EQ(judge_bar(bar, codes), "") << "just reached, and other kernels do not count";
  codes.back() = code_of(launches_of(bar).back(), 19);
  EXPECT_EQ(
      judge_bar(bar, codes),
      codes.back().kernel + " has 19 multiply-adds in 40 instructions of its hot loop: 0.475");
  codes.back() = code_of(launches_of(bar).back(), 39);
  codes.back().shader.spills = 1;
  EXPECT_EQ(judge_bar(bar, codes), codes.back().kernel + " has 1:0 spills:fills");
  codes.back().shader.spills = 0;
  codes.back().shader.loops.clear();
  codes.back().shader.blocks[0].next = {1};
  EXPECT_NE(judge_bar(bar, codes), "") << "unrolled: no loop reaches the bar";
  for (KernelCode& code : codes) code.status = KernelCode::Status::crashed;
  EXPECT_EQ(judge_bar(bar, codes), "none of its kernels was compiled");
}

TEST(mali, bars_name_gpu_problem_and_variant) {
  const Bar bar = parse_bar("g52 0.7 dense m=192 n=512 k=512 dtype=f32 variant=dense_plain");
  EXPECT_STREQ(bar.gpu->key, "g52");
  EXPECT_EQ(bar.minimum, 0.7);
  EXPECT_EQ(bar.plan.variant, "dense_plain");
  EXPECT_EQ(parse_bars("# nothing\n\n").size(), 0u);
  EXPECT_THROWS_SAYING(parse_bars("\ng610 dense m=1"), BadArgument, "line 2: a bar needs");
  EXPECT_THROWS_SAYING(parse_bars("g610 1 dense m=1"), BadArgument, "line 1: ");
  EXPECT_THROWS_SAYING(parse_bars("g9 1 dense m=4 n=4 k=4 dtype=f32"), BadArgument, "g9");
  EXPECT_FALSE(own_bars().empty());
}

}  // namespace
}  // namespace clam::mali
