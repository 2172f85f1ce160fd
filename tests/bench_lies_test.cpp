// SPDX-License-Identifier: MIT
// bench_lies_test.cpp - devices that lie, one fault a test: none is believed, and an honest one is.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <functional>
#include <iterator>
#include <random>
#include <set>

#include "../bench/measure.hpp"
#include "test_device.hpp"

namespace clam::test {
namespace {

using namespace bench;

constexpr const char* kWork = "dense m=192 n=256 k=256 dtype=f32 bias";
constexpr const char* kOther = "unary op=exp shape=4099 dtype=f32";

/// What a lying device does in place of the real one, or after it.
struct Lies {
  std::function<bool()> swallows;  ///< true: this launch is not done
  std::function<void(std::vector<LaunchTime>&)> times;
  std::function<void(Runtime&, const Bindings&)> result;
};

class Liar : public Subject {
 public:
  Liar(Runtime& runtime, const Row& row, Lies lies)
      : Subject(runtime, row), runtime_(runtime), lies_(std::move(lies)) {}
  void enqueue() override {
    if (!lies_.swallows || !lies_.swallows()) Subject::enqueue();
  }
  std::vector<LaunchTime> finish() override {
    std::vector<LaunchTime> times = Subject::finish();
    if (lies_.times) lies_.times(times);
    return times;
  }
  Verification check(int group) override {
    if (lies_.result) lies_.result(runtime_, trial().bindings());
    return Subject::check(group);
  }

 private:
  Runtime& runtime_;
  Lies lies_;
};

using Make = std::function<std::unique_ptr<Subject>(Runtime&, const Row&)>;

std::vector<Result> measure(const std::vector<std::string>& problems, Runtime& runtime,
                            const Make& make = {}, const Limits& peaks = {},
                            double seconds = 0.01) {
  Selection selection;
  for (const std::string& line : problems)
    selection.rows.push_back({line, Problem::parse(line), ""});
  std::vector<Result> results(problems.size());
  MeterOptions options;
  options.seconds = seconds;
  options.rounds = options.fewest_rounds = 2;
  options.warm_up_seconds = 0.01;
  options.limits = &peaks;
  if (make) options.make = [&](const Row& row) { return make(runtime, row); };
  Meter meter(runtime, selection, results, options);
  for (std::size_t i = 0; i < results.size(); ++i) meter.measure(i);
  return results;
}

Result measure_liar(const Lies& lies, const Limits& peaks = {}, const std::string& work = kWork,
                    double seconds = 0.01) {
  const auto make = [&](Runtime& runtime, const Row& row) {
    return std::make_unique<Liar>(runtime, row, lies);
  };
  return measure({work}, runtime(), make, peaks, seconds).at(0);
}

/// kWork, or as much more of it as keeps a quick device busy for so long that what a lie does to
/// its time shows beside what launches and waits cost.
const std::string& long_work() {
  static const std::string line = [] {
    constexpr double kLong = 200;  // us
    constexpr int kMost = 192 << 7;
    std::string work = kWork;
    for (int m = 192; measure({work}, runtime()).at(0).us < kLong && m < kMost;) {
      work = fmt::format("dense m={} n=256 k=256 dtype=f32 bias", m *= 2);
    }
    return work;
  }();
  return line;
}

void expect_invalid(const Result& result, const std::string& words) {
  EXPECT_EQ(result.outcome, Outcome::check_failed);
  EXPECT_FALSE(result.valid());
  EXPECT_NE(result.reason.find(words), std::string::npos) << result.reason;
}

TEST(bench_lies_device, an_honest_device_is_believed) {
  CLAM_NEEDS_DEVICE();
  const Limits peaks{1e6, 1e6, 1e6, 1 << 20, 20};
  for (const Result& result : measure({kWork, kOther}, runtime(), {}, peaks)) {
    EXPECT_TRUE(result.valid()) << result.reason;
    EXPECT_GE(result.iterations, 3) << "a batch of one, and one of two";
    EXPECT_EQ(result.rounds_us.size(), 2u);
    EXPECT_TRUE(result.interval.has(result.us));
  }
  EXPECT_TRUE(measure_liar({}, peaks).valid()) << "a liar without lies";
}

TEST(bench_lies_device, early_return) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string first = "if (count <= 0) return;";
  break_kernel(folder, "unary.cl", first, first + " if (get_group_id(0) > 0) return;");
  const auto broken = runtime_with_kernels(folder);
  expect_invalid(measure({kOther}, *broken).at(0), "condition 2, written");
}

TEST(bench_lies_device, half_the_global_size) {
  CLAM_NEEDS_DEVICE();
  const auto make = [](Runtime& runtime, const Row& row) {
    Plan plan = make_plan(row.problem, runtime.device());
    Launch& launch = plan.launches.back();
    launch.global[0] = launch.global[0] / launch.local[0] / 2 * launch.local[0];
    return std::make_unique<Subject>(runtime, row, plan);
  };
  expect_invalid(measure({kOther}, runtime(), make).at(0), "condition 2, written");
}

TEST(bench_lies_device, never_writes) {
  CLAM_NEEDS_DEVICE();
  int asked = 0;
  Lies lies;
  lies.swallows = [&] { return ++asked > 0; };
  lies.times = [&](std::vector<LaunchTime>& times) {  // times of launches that never were
    for (std::uint64_t now = 1000; asked > 0; --asked, now += 20) {
      times.push_back({0, 0, now, now + 10});
    }
  };
  expect_invalid(measure_liar(lies), "condition 2, written");
}

TEST(bench_lies_device, a_failed_event_taints_what_comes_after) {
  CLAM_NEEDS_DEVICE();
  const auto make = [](Runtime& runtime, const Row& row) {
    Lies lies;
    if (row.name == kOther) {
      lies.times = [](std::vector<LaunchTime>&) {
        throw DeviceError("a kernel ended with CL_OUT_OF_RESOURCES (-5)", -5);
      };
    }
    return std::make_unique<Liar>(runtime, row, lies);
  };
  const std::vector<Result> results = measure({kOther, kWork}, runtime(), make);
  EXPECT_EQ(results[0].outcome, Outcome::device_error);
  EXPECT_EQ(results[0].reason, "a kernel ended with CL_OUT_OF_RESOURCES (-5)");
  EXPECT_EQ(results[1].outcome, Outcome::device_error);
  EXPECT_EQ(results[1].reason,
            std::string("condition 7, device: it is not trusted since an error before: ") + kOther +
                ": a kernel ended with CL_OUT_OF_RESOURCES (-5)");
}

TEST(bench_lies_device, a_row_that_cannot_be_made_ready_taints_nobody) {
  CLAM_NEEDS_DEVICE();
  const auto make = [](Runtime& runtime, const Row& row) {
    if (row.problem.text() == kWork) throw DeviceError("cannot allocate 64 GiB", -4);
    return std::make_unique<Subject>(runtime, row);
  };
  const std::vector<Result> results = measure({kWork, kOther}, runtime(), make);
  EXPECT_EQ(results[0].outcome, Outcome::device_error);
  EXPECT_TRUE(results[1].valid()) << results[1].reason;
}

TEST(bench_lies_device, an_event_that_really_fails_is_a_device_error) {
  CLAM_NEEDS_DEVICE();
  class Failing : public Subject {
   public:
    Failing(Runtime& runtime, const Row& row) : Subject(runtime, row), runtime_(runtime) {}
    void enqueue() override {
      cl::UserEvent gate(runtime_.context());
      const std::vector<cl::Event> gates = {gate};
      runtime_.queue().enqueueBarrierWithWaitList(&gates);
      Subject::enqueue();
      gate.setStatus(CL_OUT_OF_RESOURCES);
    }

   private:
    Runtime& runtime_;
  };
  if (runtime().device().platform == "Portable Computing Language") {
    GTEST_SKIP() << "PoCL 3.1 aborts when an event fails";
  }
  const auto fresh = fresh_runtime();
  const auto make = [](Runtime& runtime, const Row& row) {
    return std::make_unique<Failing>(runtime, row);
  };
  const Result result = measure({kOther}, *fresh, make).at(0);
  EXPECT_EQ(result.outcome, Outcome::device_error) << result.reason;
}

Result with_times(const std::function<void(LaunchTime&)>& change, const Limits& peaks = {},
                  const std::string& work = kWork) {
  Lies lies;
  lies.times = [&](std::vector<LaunchTime>& times) {
    for (LaunchTime& time : times) change(time);
  };
  return measure_liar(lies, peaks, work);
}

TEST(bench_lies_device, zero_timestamps) {
  CLAM_NEEDS_DEVICE();
  expect_invalid(with_times([](LaunchTime& time) { time = {}; }),
                 "condition 1, events: an event says that launch 0 took 0 ns");
}

TEST(bench_lies_device, swapped_timestamps) {
  CLAM_NEEDS_DEVICE();
  expect_invalid(with_times([](LaunchTime& time) { std::swap(time.started, time.ended); }),
                 "condition 1, events: an event says that launch 0 took -");
}

TEST(bench_lies_device, constant_timestamps) {
  CLAM_NEEDS_DEVICE();
  expect_invalid(with_times([](LaunchTime& time) {
                   time = {1, 2, 3, 1003};
                 }),
                 "condition 1, events: ");
}

TEST(bench_lies_device, constant_durations) {
  CLAM_NEEDS_DEVICE();
  // One that the device's clock can show.
  const auto ns = static_cast<std::uint64_t>(runtime().device().timer_resolution_ns + 99);
  expect_invalid(with_times([ns](LaunchTime& time) { time.ended = time.started + ns; },
                            {0, 0, 0, 0, 0.5}, long_work()),
                 "condition 5, work: the events of ");
}

TEST(bench_lies_device, one_wrong_element_at_a_random_place) {
  CLAM_NEEDS_DEVICE();
  std::mt19937_64 random(seed());
  for (int i = 0; i < 5; ++i) {
    const std::size_t place = random() % (192 * 256);
    Lies lies;
    lies.result = [&](Runtime& runtime, const Bindings& bindings) {
      float value = 0;
      const cl::Buffer& y = bindings.at("y");
      runtime.queue().enqueueReadBuffer(y, CL_TRUE, 4 * place, 4, &value);
      value += 0.01f;
      runtime.queue().enqueueWriteBuffer(y, CL_TRUE, 4 * place, 4, &value);
    };
    expect_invalid(measure_liar(lies), "condition 3, right: y: element " + std::to_string(place));
  }
}

TEST(bench_lies_device, faster_than_the_peak) {
  CLAM_NEEDS_DEVICE();
  const Result honest = measure_liar({});
  ASSERT_TRUE(honest.valid()) << honest.reason;
  const double most = honest.flops / honest.us_min * 1e-3;
  const auto tenth = [](LaunchTime& time) { time.ended -= (time.ended - time.started) * 9 / 10; };
  expect_invalid(with_times(tenth, {2 * most, 0, 0, 0, 0}), "condition 4, peak: ");
}

TEST(bench_lies_device, launches_that_are_not_done) {
  CLAM_NEEDS_DEVICE();
  int asked = 0;
  Lies every_other;
  every_other.swallows = [&] { return ++asked % 2 == 0; };
  expect_invalid(measure_liar(every_other), "condition 6, queue: ");
}

TEST(bench_lies_device, a_batch_that_is_done_once) {
  CLAM_NEEDS_DEVICE();
  int asked = 0;
  std::set<int> sizes;  // of batches
  Lies lies;
  lies.swallows = [&] { return ++asked > 1; };
  lies.times = [&](std::vector<LaunchTime>& times) {  // the one launch's time is dealt out
    sizes.insert(asked);
    const LaunchTime once = times.at(0);
    const std::uint64_t part = (once.ended - once.started) / static_cast<std::uint64_t>(asked);
    times.clear();
    for (std::uint64_t i = 0; asked > 0; ++i, --asked) {
      times.push_back({0, 0, once.started + i * part, once.started + (i + 1) * part});
    }
  };
  const std::string& work = long_work();  // which is measured, and no lie
  constexpr double kSeconds = 0.3;        // the best batch decides: one in many is not interrupted
  expect_invalid(measure_liar(lies, {0, 0, 0, 0, 0.5}, work, kSeconds), "condition 5, work: ");
  // It is called wrong by batches that differ much, and by more: n or 2 n, then 6 n, then 36 n.
  ASSERT_GE(sizes.size(), 3u);
  EXPECT_GE(*sizes.rbegin(), 18 * *std::next(sizes.rbegin(), 2));
}

// ---- turns --------------------------------------------------------------------------------------

TEST(bench_lies_device, rows_take_turns_in_an_order_that_the_seed_gives) {
  CLAM_NEEDS_DEVICE();
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

TEST(bench_lies_device, rows_beyond_the_memory_limit_come_later) {
  CLAM_NEEDS_DEVICE();
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
