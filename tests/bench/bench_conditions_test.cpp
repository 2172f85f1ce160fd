// SPDX-License-Identifier: MIT
// bench_conditions_test.cpp - the seven conditions, each by synthetic data.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/conditions.hpp"
#include "expect_reason.hpp"

namespace clam::test {
namespace {

using namespace bench;

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
  expect_says(with(0, ~std::uint64_t{0}), "event times are wrong");
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
    return least_flops_of(problem) / flops_of(problem);
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
    return bytes_of(problem) - least_bytes_of(problem);
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

}  // namespace
}  // namespace clam::test
