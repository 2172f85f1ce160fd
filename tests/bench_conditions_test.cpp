// SPDX-License-Identifier: MIT
// The seven conditions: each by synthetic data, and each against a device that lies.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "../bench/conditions.hpp"
#include "../bench/fewest_work.hpp"
#include "../bench/launch_limit.hpp"
#include "../bench/measure.hpp"
#include "test_device.hpp"

namespace clam::test {
namespace {

using namespace bench;

void expect_says(const Reason& reason, const std::string& words) {
  ASSERT_TRUE(reason) << "nothing is said of: " << words;
  EXPECT_NE(reason->find(words), std::string::npos) << *reason;
}

void expect_holds(const Reason& reason) { EXPECT_FALSE(reason) << reason.value_or(""); }

// ---- on plain data ------------------------------------------------------------------------------

/// Launches one after another, each as long as `ns` says, 10 ns apart; the host waits 50 ns more.
Batch batch_of(const std::vector<std::uint64_t>& ns, std::int64_t launches = 1) {
  Batch batch;
  std::uint64_t now = 1000;
  for (const std::uint64_t each : ns) {
    batch.times.push_back({0, 0, now, now + each});
    now += each + 10;
  }
  batch.launches = launches;
  batch.iterations = static_cast<std::int64_t>(ns.size()) / launches;
  batch.wall_ns = double(now - 1000) + 50;
  return batch;
}

TEST(bench_conditions, times_are_summed_per_iteration) {
  const Batch batch = batch_of({4, 1, 7, 2}, 2);
  EXPECT_EQ(batch.iterations_ns(), (std::vector<double>{5, 9}));
  EXPECT_EQ(batch.events_ns(), 14);
  EXPECT_EQ(batch_of({4, 1}).iterations_ns(), (std::vector<double>{4, 1}));
}

TEST(bench_conditions, one_events_are_times) {
  expect_holds(events_are_times(batch_of({100, 200, 300})));
  const auto with = [](std::uint64_t started, std::uint64_t ended) {
    Batch batch = batch_of({100, 200, 300});
    batch.times[1].started = started;
    batch.times[1].ended = ended;
    return events_are_times(batch);
  };
  expect_holds(with(1110, 1111));
  expect_says(with(1110, 1110), "condition 1, events: an event says that launch 1 took 0 ns");
  expect_says(with(1310, 1110), "launch 1 took -200 ns");
  expect_says(with(1110, 1110 + 700), "the host waited 680 ns for all");
  expect_says(with(0, ~std::uint64_t{0}), "cannot be believed");
}

TEST(bench_conditions, one_launches_do_not_all_start_at_once) {
  Batch batch = batch_of({100, 200});
  batch.times[1].started = batch.times[0].started;
  expect_says(events_are_times(batch), "2 launches one after another all say that they started at");
  batch.times.push_back({0, 0, 5000, 5001});
  expect_holds(events_are_times(batch));
  expect_holds(events_are_times(batch_of({100})));
}

Verification verification(const std::function<void(Verification&)>& change = {}) {
  Verification timed;
  timed.outputs["y"].pass = true;
  if (change) change(timed);
  return timed;
}

TEST(bench_conditions, two_and_three_tell_unwritten_from_wrong) {
  expect_holds(all_is_written(verification()));
  expect_holds(result_is_right(verification()));
  expect_says(all_is_written(verification([](Verification& v) { v.fault = "memory around y"; })),
              "condition 2, written: memory around y");
  const Verification poisoned = verification([](Verification& v) {
    v.outputs["y"] = Verdict{};
    v.outputs["y"].poison = 3;
    v.outputs["y"].reason = "3 elements were never written";
  });
  expect_says(all_is_written(poisoned), "condition 2, written: y: 3 elements were never written");
  const Verification wrong = verification([](Verification& v) {
    v.outputs["y"] = Verdict{};
    v.outputs["y"].reason = "element 7 is 1";
  });
  expect_holds(all_is_written(wrong));
  expect_says(result_is_right(wrong), "condition 3, right: y: element 7 is 1");
  expect_says(result_is_right(Verification{}), "nothing was compared");
}

const Limits kPeaks{100, 200, 10, 1 << 20, 5};

TEST(bench_conditions, four_nothing_is_faster_than_the_device) {
  const auto flops = [](double gflops, bool half = false) {
    return below_the_peaks({1000, gflops * 1e6, 0, half}, kPeaks);
  };
  expect_holds(flops(104));
  expect_says(flops(106), "condition 4, peak: 106.0 GFLOP/s, but the device does 100.0 at most");
  expect_says(flops(7122), "7122.0 GFLOP/s");
  expect_holds(flops(209, true));
  expect_says(flops(211, true), "condition 4");
  expect_holds(below_the_peaks({1000, 1e9, 1e12, false}, Limits{}));
}

TEST(bench_conditions, four_counts_only_what_must_be_computed) {
  const auto share = [](const char* line) {
    const Problem problem = Problem::parse(line);
    return fewest_flops(problem) / problem.op().flops(problem);
  };
  EXPECT_EQ(share("dense m=3 n=4 k=5 dtype=f32"), 1);
  EXPECT_DOUBLE_EQ(share("conv2d c=8 h=1 w=1 k=8 r=3 dtype=f32 pad=1"), 1.0 / 9);
  EXPECT_DOUBLE_EQ(share("conv2d c=8 h=2 w=2 k=8 r=3 dtype=f32 pad=1"), 4.0 / 9);
  EXPECT_DOUBLE_EQ(share("conv2d c=8 h=9 w=9 k=8 r=3 s=1 dtype=f32 stride=2 pad_t=1"), 11.0 / 12);
  EXPECT_DOUBLE_EQ(share("conv2d c=8 h=9 w=9 k=8 r=3 dtype=f32 dilation=2"), 1);
  EXPECT_DOUBLE_EQ(share("attention heads=1 nq=3 nk=3 d=8 dtype=f32 causal=1"), 6.0 / 9);
  EXPECT_EQ(share("attention heads=1 nq=3 nk=3 d=8 dtype=f32"), 1);
}

TEST(bench_conditions, four_counts_only_what_must_be_read) {
  const auto spared = [](const char* line) {  // bytes
    const Problem problem = Problem::parse(line);
    return problem.op().bytes(problem) - fewest_bytes(problem);
  };
  EXPECT_DOUBLE_EQ(spared("dense m=3 n=4 k=5 dtype=f32"), 0);
  EXPECT_DOUBLE_EQ(spared("conv2d c=8 h=9 w=9 k=8 r=3 dtype=f32 pad=1"), 0);
  EXPECT_DOUBLE_EQ(spared("conv2d c=8 h=6 w=6 k=8 r=1 dtype=f32 stride=2"), 8 * 27 * 4);
  EXPECT_DOUBLE_EQ(spared("conv2d c=8 h=7 w=7 k=8 r=1 dtype=f16 stride=2"), 8 * (49 - 16) * 2);
  EXPECT_DOUBLE_EQ(spared("conv2d c=8 h=9 w=9 k=8 r=3 dtype=f32 stride=2 pad=1"), 0);
  EXPECT_DOUBLE_EQ(spared("conv2d c=8 h=6 w=5 k=8 r=2 s=1 dtype=f32 stride=1 stride_h=3"),
                   8 * 2 * 5 * 4);
  EXPECT_DOUBLE_EQ(spared("conv2d c=1 h=9 w=1 k=1 r=2 s=1 dtype=f32 stride_h=9 dilation_h=4"),
                   7 * 4);
  EXPECT_DOUBLE_EQ(spared("pool2d n=1 c=4 h=8 w=8 r=2 stride=4 dtype=f32 mode=max"), 4 * 48 * 4);
  EXPECT_DOUBLE_EQ(spared("pool2d n=1 c=4 h=8 w=8 dtype=f32 global"), 0);
}

TEST(bench_conditions, four_halves_computed_as_floats_have_the_peak_of_floats) {
  const Limits slow_halves{100, 50, 0, 0, 0};
  expect_holds(below_the_peaks({1000, 90e6, 0, true}, slow_halves));
  const Limits no_halves{100, 0, 0, 0, 0};
  expect_holds(below_the_peaks({1000, 900e6, 0, true}, no_halves));
}

TEST(bench_conditions, four_a_cache_may_be_faster_than_memory) {
  const auto bytes = [](double cached, double more) {
    return below_the_peaks({1000, 0, cached * (4 << 20) + more, false}, kPeaks);
  };
  expect_holds(bytes(0.9, 0));
  expect_holds(bytes(1, 10e6));
  expect_says(bytes(1, 11e6), "condition 4, peak: 11.0 GB/s of what the last cache cannot hold");
}

/// Batches of n and 2n iterations, by what an iteration takes and what other load adds.
std::vector<Span> spans(double us, double fixed_us, double noise, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<Span> all;
  for (int i = 0; i < 12; ++i) {
    const std::int64_t n = i % 2 + 1;
    const double late = 1 + noise * double(random() % 1000) / 1000;
    const double events = double(n) * us * late;
    all.push_back({n, n, events, events + fixed_us * late, 0});
  }
  return all;
}

TEST(bench_conditions, five_honest_rows_hold_with_any_noise) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    for (const double noise : {0.0, 0.3}) {
      expect_holds(time_follows_work(spans(1000, 20, noise, seed), kPeaks));
      expect_holds(time_follows_work(spans(3, 5, noise, seed), kPeaks));
    }
  }
  expect_holds(time_follows_work({}, kPeaks));
}

TEST(bench_conditions, five_events_fit_the_wait) {
  std::vector<Span> all = spans(1000, 20, 0);
  for (Span& span : all) span.events_us *= 1.2;
  expect_says(time_follows_work(all, kPeaks), "condition 5, work: the events of 1 launches");
  all[3].events_us /= 1.2;
  expect_holds(time_follows_work(all, Limits{}));  // the best batch decides
}

TEST(bench_conditions, five_events_leave_no_time_out) {
  std::vector<Span> all = spans(1000, 20, 0.3);
  for (Span& span : all) span.events_us = 2 * double(span.launches);
  expect_says(time_follows_work(all, kPeaks), "the events leave time out");
  expect_holds(time_follows_work(all, Limits{}));      // what a launch costs is not known
  for (Span& span : all) span.host_us = span.wall_us;  // the host itself was that slow
  expect_holds(time_follows_work(all, kPeaks));
}

TEST(bench_conditions, five_more_work_takes_longer) {
  std::vector<Span> all = spans(1000, 20, 0.3);
  for (Span& span : all) {
    span.wall_us /= double(span.iterations);
    span.events_us /= double(span.iterations);
  }
  expect_says(time_follows_work(all, kPeaks), "more work does not take longer");
  for (Span& span : all) span.wall_us = span.events_us = 40;  // 10 launch costs are 50
  expect_holds(time_follows_work(all, kPeaks));
}

TEST(bench_conditions, five_a_third_of_the_batches_must_agree) {
  std::vector<Span> all = spans(1000, 20, 0);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % 5 != 0) all[i].events_us /= 10;  // four of five claim a tenth
  }
  expect_holds(time_follows_work(all, kPeaks));  // the best batch alone
  expect_says(time_follows_work(all, kPeaks, 1.0 / 3), "the events leave time out");
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].events_us *= i % 5 != 0 ? 20 : 1;  // four of five claim twice what is true
  }
  expect_holds(time_follows_work(all, kPeaks));
  expect_says(time_follows_work(all, kPeaks, 1.0 / 3), "but the host waited");
}

TEST(bench_conditions, four_a_cache_may_be_four_times_what_was_seen_of_it) {
  Limits limits = kPeaks;  // 10 GB/s of memory; 1 MiB was seen to fit
  const double mega = 1 << 20;
  expect_holds(below_the_peaks({100, 0, 4 * mega, false}, limits));  // 42 GB/s
  expect_says(below_the_peaks({100, 0, 8 * mega, false}, limits), "the last cache cannot hold");
  limits.last_cache_bytes = 0;
  limits.best_gb_per_s = 40;
  expect_says(below_the_peaks({100, 0, 8 * mega, false}, limits),
              "condition 4, peak: 83.9 GB/s, but");
  expect_holds(below_the_peaks({250, 0, 8 * mega, false}, limits));
}

TEST(bench_conditions, four_says_when_a_peak_is_not_known) {
  EXPECT_FALSE(lacks_a_peak({1, 1, 1, false}, kPeaks));
  EXPECT_TRUE(lacks_a_peak({1, 1, 1, true}, Limits{100, 0, 10, 0, 0}));
  EXPECT_FALSE(lacks_a_peak({1, 0, 1, true}, Limits{100, 0, 10, 0, 0}));
  EXPECT_TRUE(lacks_a_peak({1, 0, 1, false}, Limits{}));
}

TEST(bench_conditions, five_a_wait_costs_what_it_costs) {
  // What was seen of a kernel of 3 us, where one launch and the wait for it take 45.
  const std::vector<Span> all = {{1, 1, 3, 55, 3}, {6, 6, 18, 86, 8}};
  Limits limits = kPeaks;
  limits.round_trip_us = 45;
  expect_holds(time_follows_work(all, limits));
  limits.round_trip_us = 5;
  expect_says(time_follows_work(all, limits), "condition 5, work");
}

TEST(bench_conditions, five_larger_batches_clear_an_unlucky_row) {
  // The machine had half its cores while single iterations ran, and all of them for the pairs.
  std::vector<Span> all = {{1, 1, 1000, 1010, 0}, {2, 2, 1300, 1310, 0}};
  expect_says(time_follows_work(all, kPeaks), "more work does not take longer");
  all.push_back({6, 6, 3300, 3310, 0});
  expect_holds(time_follows_work(all, kPeaks));
  all.back() = {6, 6, 1400, 1410, 0};
  expect_says(time_follows_work(all, kPeaks), "1 iterations take 1010.0 us at best and 6 take");
}

TEST(bench_conditions, six_as_many_end_as_were_enqueued) {
  Batch batch = batch_of({100, 200, 300, 400}, 2);
  expect_holds(queue_is_kept(batch, true, true));
  expect_says(queue_is_kept(batch, false, true), "condition 6, queue: it runs out of order");
  expect_says(queue_is_kept(batch, true, false), "no profiling");
  batch.times.pop_back();
  expect_says(queue_is_kept(batch, true, true), "4 launches were enqueued, and 3 ended");
}

TEST(bench_conditions, seven_an_error_taints) {
  expect_holds(device_is_sound(""));
  expect_says(device_is_sound("dense: a kernel ended with -5"),
              "condition 7, device: it is not trusted since an error before: dense: a kernel");
}

TEST(bench_conditions, a_launch_bound_row_is_marked) {
  EXPECT_TRUE(is_launch_bound(49, 1, kPeaks));
  EXPECT_FALSE(is_launch_bound(51, 1, kPeaks));
  EXPECT_TRUE(is_launch_bound(99, 2, kPeaks));
  EXPECT_FALSE(is_launch_bound(1, 1, Limits{}));
}

TEST(bench_limits, every_limit_comes_back_from_json) {
  const Limits limits{1, 2, 3, 4, 5, 6, 7};
  const nlohmann::json value = to_json(limits);
  EXPECT_EQ(value.size(), 7u);
  EXPECT_EQ(to_json(limits_from_json(value)), value);
  EXPECT_EQ(limits_from_json(value).last_cache_bytes, 4);
  EXPECT_EQ(limits_from_json(value).best_gb_per_s, 7);
  nlohmann::json less = value;
  less.erase("launch_us");
  EXPECT_ANY_THROW(limits_from_json(less));
  const Limits other{7, 1, 7, 1, 7, 1, 7};
  EXPECT_EQ(to_json(larger_of(limits, other)), to_json(Limits{7, 2, 7, 4, 7, 6, 7}));
}

// ---- against a device that lies -----------------------------------------------------------------

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
  Lies lies;
  lies.swallows = [&] { return ++asked > 1; };
  lies.times = [&](std::vector<LaunchTime>& times) {  // the one launch's time is dealt out
    const LaunchTime once = times.at(0);
    const std::uint64_t part = (once.ended - once.started) / static_cast<std::uint64_t>(asked);
    times.clear();
    for (std::uint64_t i = 0; asked > 0; ++i, --asked) {
      times.push_back({0, 0, once.started + i * part, once.started + (i + 1) * part});
    }
  };
  const std::string& work = long_work();  // which is measured, and no lie
  constexpr double kSeconds = 0.3;  // the best batch decides: one in many is not interrupted
  expect_invalid(measure_liar(lies, {0, 0, 0, 0, 0.5}, work, kSeconds), "condition 5, work: ");
}

// ---- long launches ------------------------------------------------------------------------------

std::vector<LaunchTime> times_of(const std::vector<double>& seconds) {
  std::vector<LaunchTime> times;
  for (const double each : seconds) {
    times.push_back({0, 0, 1000, 1000 + static_cast<std::uint64_t>(each * 1e9)});
  }
  return times;
}

TEST(bench_launch_limit, launches_in_flight_stay_below_half_the_limit) {
  EXPECT_EQ(launches_in_flight(times_of({0.001, 0.1}), 5, 32), 25);
  EXPECT_EQ(launches_in_flight(times_of({0.001}), 5, 32), 32) << "as many as the queue may have";
  EXPECT_EQ(launches_in_flight(times_of({2}), 5, 32), 1);
  EXPECT_EQ(launches_in_flight(times_of({4}), 5, 32), 1) << "one at least";
  EXPECT_EQ(launches_in_flight(times_of({4}), 0, 32), 32) << "no limit";
}

TEST(bench_launch_limit, a_launch_over_the_limit_is_refused) {
  expect_holds(too_long(times_of({0.1, 4.9}), 5));
  expect_says(too_long(times_of({0.1, 6}), 5),
              "a launch took 6 s, over the limit of 5 s; a driver");
  expect_holds(too_long(times_of({60}), 0));
  const Problem dense = Problem::parse("dense m=1000 n=1000 k=1000 dtype=f32");  // 2 GFLOP
  Limits slow;
  slow.gflops_f32 = 0.25;
  expect_says(too_long_at_best(dense, 1, slow, 5), "a launch takes 8 s at least by the measured");
  expect_holds(too_long_at_best(dense, 2, slow, 5));
  expect_holds(too_long_at_best(dense, 1, slow, 0));
  expect_holds(too_long_at_best(dense, 1, Limits{}, 5));
  Limits narrow;
  narrow.best_gb_per_s = 1e-3;  // 12 MB
  expect_says(too_long_at_best(dense, 1, narrow, 5), "a launch takes 12 s at least");
}

/// Its launches take so long, whatever they really took; and it keeps how many may be in flight.
class Slow : public Subject {
 public:
  Slow(Runtime& runtime, const Row& row, std::uint64_t ns, std::vector<int>& in_flight)
      : Subject(runtime, row), runtime_(runtime), ns_(ns), in_flight_(in_flight) {}
  void enqueue() override {
    in_flight_.push_back(runtime_.max_in_flight());
    Subject::enqueue();
  }
  std::vector<LaunchTime> finish() override {
    std::vector<LaunchTime> times = Subject::finish();
    for (LaunchTime& time : times) time.ended = time.started + ns_;
    return times;
  }

 private:
  Runtime& runtime_;
  std::uint64_t ns_;
  std::vector<int>& in_flight_;
};

/// Under a limit of 10 us; `in_flight`: at each iteration.
Result measure_slow(std::uint64_t ns, std::vector<int>& in_flight, const Limits& peaks = {}) {
  Selection selection;
  selection.rows.push_back({kWork, Problem::parse(kWork), ""});
  std::vector<Result> results(1);
  MeterOptions options;
  options.seconds = options.warm_up_seconds = 1e-3;
  options.rounds = options.fewest_rounds = 2;
  options.limits = &peaks;
  options.launch_limit_s = 1e-5;
  options.make = [&](const Row& row) {
    return std::make_unique<Slow>(runtime(), row, ns, in_flight);
  };
  Meter(runtime(), selection, results, options).measure(0);
  return results[0];
}

TEST(bench_launch_limit_device, launches_are_submitted_so_that_none_exceeds_it) {
  CLAM_NEEDS_DEVICE();
  const int usual = runtime().max_in_flight();
  std::vector<int> in_flight;
  const Result result = measure_slow(1000, in_flight);
  EXPECT_TRUE(result.valid()) << result.reason;
  ASSERT_GE(in_flight.size(), 6u) << "one, a warm-up, and two rounds of two batches at least";
  EXPECT_EQ(in_flight.front(), 1) << "until it is known how long one takes";
  for (std::size_t i = 1; i < in_flight.size(); ++i) EXPECT_EQ(in_flight[i], 5) << i;
  EXPECT_EQ(runtime().max_in_flight(), usual);
}

TEST(bench_launch_limit_device, a_long_launch_is_skipped_after_one) {
  CLAM_NEEDS_DEVICE();
  std::vector<int> in_flight;
  const Result result = measure_slow(20000, in_flight);
  EXPECT_EQ(result.outcome, Outcome::skipped);
  EXPECT_EQ(result.reason.rfind("a launch took 2e-05 s, over the limit of 1e-05 s", 0), 0u)
      << result.reason;
  EXPECT_EQ(in_flight.size(), 1u);
}

TEST(bench_launch_limit_device, a_launch_that_must_take_long_is_never_tried) {
  CLAM_NEEDS_DEVICE();
  std::vector<int> in_flight;
  const Result result = measure_slow(1000, in_flight, {1e-3, 0, 0, 0, 0});
  EXPECT_EQ(result.outcome, Outcome::skipped);
  EXPECT_NE(result.reason.find(" at least by the measured peaks"), std::string::npos)
      << result.reason;
  EXPECT_TRUE(in_flight.empty());
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
