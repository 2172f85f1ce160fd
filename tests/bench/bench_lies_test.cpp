// SPDX-License-Identifier: MIT
// bench_lies_test.cpp - devices that lie, one fault a test: none is believed, and an honest one is.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <random>
#include <set>
#include <utility>

#include "bench/measure.hpp"
#include "clam/planner.hpp"
#include "scripted.hpp"
#include "test_device.hpp"

namespace clam::test {
namespace {

using namespace bench;
using nlohmann::json;

constexpr const char* kWork = "dense m=33 n=20 k=48 dtype=f32 bias";
constexpr const char* kOther = "unary op=exp shape=4099 dtype=f32";
constexpr int kTimes = 100;  // each liar is caught so often, with other noise each time

/// Launches of kWork take half a millisecond, those of kOther a tenth of it.
json script_of(json lies, int seed = 1) {
  return {
      {"costs", {{{"kernel", "dense_packed"}, {"us", 500}}, {{"kernel", "unary*"}, {"us", 50}}}},
      {"noise", {{"spread", 0.1}, {"seed", seed}}},
      {"skips_repeats", true},
      {"lies", std::move(lies)}};
}

json launch_lie(const std::string& does, json more = {}) {
  return scripted::lie("clEnqueueNDRangeKernel", does, std::move(more));
}

json event_lie(const std::string& does, json more = {}) {
  return scripted::lie("clGetEventProfilingInfo", does, std::move(more));
}

using Make = std::function<std::unique_ptr<Subject>(Runtime&, const Row&)>;

std::vector<Result> measure(const std::vector<std::string>& problems, Runtime& runtime,
                            const Make& make = {}, const Limits& peaks = {}) {
  Selection selection;
  for (const std::string& line : problems)
    selection.rows.push_back({line, Problem::parse(line), ""});
  std::vector<Result> results(problems.size());
  MeterOptions options;
  options.seconds = 0.01;
  options.rounds = options.fewest_rounds = 2;
  options.warm_up_seconds = 0.01;
  options.limits = &peaks;
  if (make) options.make = [&](const Row& row) { return make(runtime, row); };
  Meter meter(runtime, selection, results, options);
  for (std::size_t i = 0; i < results.size(); ++i) meter.measure(i);
  return results;
}

void expect_invalid(const Result& result, const std::string& words) {
  EXPECT_EQ(result.outcome, Outcome::check_failed);
  EXPECT_FALSE(result.valid());
  EXPECT_NE(result.reason.find(words), std::string::npos) << result.reason;
}

/// kWork on a device that lies, kTimes times. `more`: other keys of the script.
void expect_caught(const json& lie, const std::string& words, const Limits& peaks = {},
                   const json& more = json::object()) {
  for (int seed = 1; seed <= kTimes && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    json script = script_of(lie.is_null() ? json::array() : json::array({lie}), seed);
    script.update(more);
    scripted::play(script);
    expect_invalid(measure({kWork}, runtime(), {}, peaks).at(0), words);
  }
}

TEST(bench_lies_scripted, an_honest_device_is_believed) {
  CLAM_ON_SCRIPTED_DEVICE();
  const Limits peaks{1e6, 1e6, 1e6, 1 << 20, 20};
  for (int seed = 1; seed <= kTimes; ++seed) {
    scripted::play(script_of(json::array(), seed));
    for (const Result& result : measure({kWork, kOther}, runtime(), {}, peaks)) {
      EXPECT_TRUE(result.valid()) << result.reason;
      EXPECT_GE(result.iterations, 3) << "a batch of one, and one of two";
      EXPECT_EQ(result.rounds_us.size(), 2u);
      EXPECT_TRUE(result.us.low <= result.us.median && result.us.median <= result.us.high);
    }
  }
}

TEST(bench_lies_scripted, early_return) {
  CLAM_ON_SCRIPTED_DEVICE();
  const TemporaryFolder folder;
  const std::string first = "if (count <= 0) return;";
  break_kernel(folder, "unary.cl", first, first + " if (get_group_id(0) > 0) return;");
  const auto broken = runtime_with_kernels(folder);
  expect_invalid(measure({kOther}, *broken).at(0), "condition 2, written");
}

TEST(bench_lies_scripted, half_the_global_size) {
  CLAM_ON_SCRIPTED_DEVICE();
  const auto make = [](Runtime& runtime, const Row& row) {
    Plan plan = make_plan(row.problem, runtime.device());
    Launch& launch = plan.launches.back();
    launch.global[0] = launch.global[0] / launch.local[0] / 2 * launch.local[0];
    return std::make_unique<Subject>(runtime, row, Trial(runtime, plan));
  };
  expect_invalid(measure({kOther}, runtime(), make).at(0), "condition 2, written");
  expect_caught(launch_lie("half", {{"kernel", "dense_packed"}}), "condition 2, written");
}

TEST(bench_lies_scripted, never_writes) {
  CLAM_ON_SCRIPTED_DEVICE();
  expect_caught(launch_lie("nothing", {{"kernel", "dense_packed"}}), "condition 2, written");
}

TEST(bench_lies_scripted, ended_silently_as_it_takes_too_long) {
  CLAM_ON_SCRIPTED_DEVICE();
  expect_caught({}, "condition 2, written", {}, {{"limit_s", 1e-4}, {"limit_is_silent", true}});
}

TEST(bench_lies_scripted, an_event_that_fails_is_a_device_error_and_taints_what_comes_after) {
  CLAM_ON_SCRIPTED_DEVICE();
  scripted::play(script_of({launch_lie("fail", {{"status", -5}, {"kernel", "unary*"}})}));
  const std::vector<Result> results = measure({kOther, kWork}, *fresh_runtime());
  EXPECT_EQ(results[0].outcome, Outcome::device_error);
  EXPECT_EQ(results[0].reason, "a kernel ended with CL_OUT_OF_RESOURCES (-5)");
  EXPECT_EQ(results[1].outcome, Outcome::device_error);
  EXPECT_EQ(results[1].reason,
            std::string("condition 7, device: it is not trusted since an error before: ") + kOther +
                ": a kernel ended with CL_OUT_OF_RESOURCES (-5)");
}

TEST(bench_lies_scripted, a_row_that_cannot_be_made_ready_taints_nobody) {
  CLAM_ON_SCRIPTED_DEVICE();
  const auto make = [](Runtime& runtime, const Row& row) {
    if (row.problem.text() == kWork) throw DeviceError("cannot allocate 64 GiB", -4);
    return std::make_unique<Subject>(runtime, row);
  };
  const std::vector<Result> results = measure({kWork, kOther}, runtime(), make);
  EXPECT_EQ(results[0].outcome, Outcome::device_error);
  EXPECT_TRUE(results[1].valid()) << results[1].reason;
}

TEST(bench_lies_scripted, zero_timestamps) {
  CLAM_ON_SCRIPTED_DEVICE();
  expect_caught(event_lie("zero"), "condition 1, events: an event says that launch 0 took 0 ns");
}

TEST(bench_lies_scripted, swapped_timestamps) {
  CLAM_ON_SCRIPTED_DEVICE();
  expect_caught(event_lie("swap"), "condition 1, events: an event says that launch 0 took -");
}

TEST(bench_lies_scripted, constant_timestamps) {
  CLAM_ON_SCRIPTED_DEVICE();
  expect_caught(event_lie("constant", {{"ns", 1000}}), "condition 1, events: ");
}

const Limits kCheapLaunches{0, 0, 0, 0, 0.5};

TEST(bench_lies_scripted, constant_durations) {
  CLAM_ON_SCRIPTED_DEVICE();
  expect_caught(event_lie("length", {{"ns", 100}}), "condition 5, work: the events of ",
                kCheapLaunches);
}

TEST(bench_lies_scripted, clocks_of_another_speed) {
  CLAM_ON_SCRIPTED_DEVICE();
  expect_caught({}, "event times are wrong", kCheapLaunches, {{"event_clock", 1.5}});
  expect_caught({}, "the events leave time out", kCheapLaunches, {{"event_clock", 0.4}});
}

TEST(bench_lies_scripted, one_wrong_element_at_a_random_place) {
  CLAM_ON_SCRIPTED_DEVICE();
  const Plan plan = make_plan(Problem::parse(kWork), runtime().device());
  const std::vector<Arg>& args = plan.launches.back().args;
  const auto is_y = [](const Arg& arg) {
    const auto* buffer = std::get_if<BufferArg>(&arg);
    return buffer && buffer->name == "y";
  };
  const auto y = std::find_if(args.begin(), args.end(), is_y) - args.begin();
  std::mt19937_64 random(seed());
  for (int i = 0; i < 20; ++i) {
    const std::size_t place = random() % (33 * 20);
    json script = script_of({launch_lie(
        "wrong",
        {{"kernel", "dense_packed"}, {"argument", y}, {"byte", 4 * place + 2}, {"bits", 0x40}})});
    script["skips_repeats"] = false;  // the last launch of all is wrong
    scripted::play(script);
    expect_invalid(measure({kWork}, runtime()).at(0),
                   fmt::format("condition 3, right: y: element {}", place));
  }
}

TEST(bench_lies_scripted, faster_than_the_peak) {
  CLAM_ON_SCRIPTED_DEVICE();
  scripted::play(script_of(json::array()));
  const Result honest = measure({kWork}, runtime()).at(0);
  ASSERT_TRUE(honest.valid()) << honest.reason;
  const double most = honest.flops / honest.us.min * 1e-3;
  expect_caught(event_lie("scale", {{"factor", 0.1}}),
                "condition 4, peak: ", {2 * most, 0, 0, 0, 0});
}

/// Counts what is enqueued between two waits, and leaves out every `swallowed`th.
class Counting : public Subject {
 public:
  Counting(Runtime& runtime, const Row& row, std::set<int>& batches, int swallowed)
      : Subject(runtime, row), batches_(batches), swallowed_(swallowed) {}
  void enqueue() override {
    if (swallowed_ == 0 || ++asked_ % swallowed_ != 0) Subject::enqueue();
    ++batch_;
  }
  std::vector<LaunchTime> finish() override {
    batches_.insert(std::exchange(batch_, 0));
    return Subject::finish();
  }

 private:
  std::set<int>& batches_;
  int swallowed_, asked_ = 0, batch_ = 0;
};

Result counted(std::set<int>& batches, int swallowed, const Limits& peaks = {}) {
  const auto make = [&](Runtime& runtime, const Row& row) {
    return std::make_unique<Counting>(runtime, row, batches, swallowed);
  };
  return measure({kWork}, runtime(), make, peaks).at(0);
}

TEST(bench_lies_scripted, launches_that_are_not_done) {
  CLAM_ON_SCRIPTED_DEVICE();
  std::set<int> batches;
  expect_invalid(counted(batches, 2), "condition 6, queue: ");
}

TEST(bench_lies_scripted, a_batch_that_is_done_once) {
  CLAM_ON_SCRIPTED_DEVICE();
  const json lie = launch_lie("once", {{"kernel", "dense_packed"}});
  const json no_repeats = {{"skips_repeats", false}};
  expect_caught(lie, "condition 5, work: ", kCheapLaunches, no_repeats);
  // It is called wrong by batches that differ much, and by more: n or 2 n, then 6 n, then 36 n.
  std::set<int> batches;
  scripted::play(script_of({lie}));
  expect_invalid(counted(batches, 0, kCheapLaunches), "condition 5, work: ");
  ASSERT_GE(batches.size(), 3u);
  EXPECT_GE(*batches.rbegin(), 18 * *std::next(batches.rbegin(), 2));
}

// ---- turns --------------------------------------------------------------------------------------

TEST(bench_lies_scripted, rows_take_turns_in_an_order_that_the_seed_gives) {
  CLAM_ON_SCRIPTED_DEVICE();
  class Named : public Subject {
   public:
    Named(Runtime& runtime, const Row& row, std::string& log) : Subject(runtime, row), log_(log) {}
    void poison(int group) override {
      log_ += plan().problem.substr(0, 1);
      Subject::poison(group);
    }

   private:
    std::string& log_;
  };
  const auto order = [&](std::uint64_t seed) {
    Selection selection;
    for (const char* line :
         {"dense m=4 n=4 k=4 dtype=f32", "softmax shape=4x4 dtype=f32", kOther}) {
      selection.rows.push_back({line, Problem::parse(line), ""});
    }
    std::vector<Result> results(3);
    std::string log;
    MeterOptions options;
    options.seconds = options.warm_up_seconds = 1e-4;
    options.rounds = options.fewest_rounds = 8;
    options.seed = seed;
    options.make = [&](const Row& row) { return std::make_unique<Named>(runtime(), row, log); };
    Meter(runtime(), selection, results, options).measure(1);
    EXPECT_EQ(results[0].outcome, Outcome::not_run) << "rows before it wait for their turn";
    EXPECT_TRUE(results[1].valid() && results[2].valid());
    return log;
  };
  const std::string log = order(1);
  EXPECT_EQ(log, order(1));
  EXPECT_NE(log, order(2));
  ASSERT_EQ(log.size(), 16u);
  for (std::size_t i = 0; i < log.size(); i += 2) EXPECT_NE(log[i], log[i + 1]) << log;
}

TEST(bench_lies_scripted, rows_beyond_the_memory_limit_come_later) {
  CLAM_ON_SCRIPTED_DEVICE();
  Selection selection;
  for (const char* line : {kWork, kOther}) {
    selection.rows.push_back({line, Problem::parse(line), ""});
  }
  std::vector<Result> results(2);
  MeterOptions options;
  options.seconds = options.warm_up_seconds = 1e-3;
  options.memory_bytes = 1;
  Meter meter(runtime(), selection, results, options);
  meter.measure(0);
  EXPECT_EQ(results[1].outcome, Outcome::not_run);
  meter.measure(1);
  EXPECT_TRUE(results[0].valid() && results[1].valid());
}

}  // namespace
}  // namespace clam::test
