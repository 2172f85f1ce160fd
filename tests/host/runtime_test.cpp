// SPDX-License-Identifier: MIT
#include "clam/runtime.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>

#include "allocations.hpp"
#include "check/verify.hpp"
#include "clam/error.hpp"
#include "clam/planner.hpp"
#include "clam/tuned.hpp"
#include "foreign_plan.hpp"
#include "scripted.hpp"
#include "test_errors.hpp"

namespace clam {
namespace {

TEST(runtime, the_time_of_a_launch_is_exact_however_late_it_is) {
  constexpr std::uint64_t kToday = 1'790'000'000'000'000'001;  // ns since 1970
  EXPECT_EQ((LaunchTime{0, 0, kToday, kToday + 101}).ns(), 101);
  EXPECT_EQ((LaunchTime{0, 0, kToday + 101, kToday}).ns(), -101);
}

class runtime_device : public testing::Test {
 protected:
  void SetUp() override {
    CLAM_NEEDS_DEVICE();
    test::write_scale_kernel(folder_);
    runtime_ = test::runtime_with_kernels(folder_);
  }
  cl::Buffer buffer(std::int64_t floats) {
    return {runtime_->context(), CL_MEM_READ_WRITE, static_cast<cl::size_type>(4 * floats)};
  }
  static HostTensor counting(std::int64_t n) {
    HostTensor tensor(Dtype::f32, {n});
    for (std::int64_t i = 0; i < n; ++i) tensor.set(i, static_cast<double>(i));
    return tensor;
  }

  test::TemporaryFolder folder_;
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(runtime_device, runs_a_foreign_plan) {
  Trial trial(*runtime_, test::scale_plan(37, 2));
  trial.upload({{"src", counting(37)}});
  trial.run();
  const HostTensor dst = trial.download().at("dst");
  for (std::int64_t i = 0; i < 37; ++i) EXPECT_EQ(dst.get(i), 2.0 * static_cast<double>(i));
  EXPECT_FALSE(trial.trespass());
}

TEST_F(runtime_device, takes_local_null_and_offset_arguments) {
  const std::int64_t align = runtime_->device().mem_base_addr_align;
  Plan plan = test::scale_plan(16, 1);
  plan.device = runtime_->device();
  plan.buffers = {{"middle", BufferSpec::Role::scratch, align + 64}};
  plan.launches[0].args[1] = BufferArg{"middle", align};
  plan.launches.push_back(
      {"scale.cl",
       "reverse",
       "",
       {16, 1, 1},
       {16, 1, 1},
       {BufferArg{"middle", align}, BufferArg{"dst"}, LocalArg{64}, NullArg{}, std::int32_t{16}}});
  Trial trial(*runtime_, plan);
  trial.upload({{"src", counting(16)}});
  trial.run();
  const HostTensor dst = trial.download().at("dst");
  for (std::int64_t i = 0; i < 16; ++i) EXPECT_EQ(dst.get(i), static_cast<double>(15 - i));
}

TEST_F(runtime_device, an_offset_into_a_sub_buffer_counts_from_its_start) {
  const std::int64_t align = runtime_->device().mem_base_addr_align;
  const std::int64_t skipped = align / 4, n = skipped + 16;
  Plan plan = test::scale_plan(n, 2);  // the tensors of a Trial are sub-buffers
  plan.device = runtime_->device();
  plan.launches[0].args = {BufferArg{"src", align}, BufferArg{"dst", align}, 2.0f,
                           std::int32_t{16}};
  Trial trial(*runtime_, plan);
  trial.upload({{"src", counting(n)}});
  trial.run();
  const HostTensor dst = trial.download().at("dst");
  EXPECT_EQ(dst.get(skipped), 2.0 * static_cast<double>(skipped));
  EXPECT_EQ(dst.get(n - 1), 2.0 * static_cast<double>(n - 1));
  EXPECT_TRUE(std::isnan(dst.get(skipped - 1))) << "nobody writes before the offset";
  EXPECT_FALSE(trial.trespass());
}

TEST_F(runtime_device, arguments_that_do_not_suit_the_kernel_are_refused_without_taint) {
  Plan plan = test::scale_plan(16, 2);
  const std::vector<Arg> args = plan.launches[0].args;
  plan.launches[0].args.pop_back();
  EXPECT_THROWS_SAYING(runtime_->prepare(plan), BadArgument,
                       "kernel scale takes 4 arguments, the launch gives 3");
  plan.launches[0].args = args;
  plan.launches[0].args[0] = std::int32_t{8};
  Executable executable = runtime_->prepare(plan);
  EXPECT_THROWS_SAYING(runtime_->enqueue(executable, {{"src", buffer(16)}, {"dst", buffer(16)}}),
                       BadArgument, "argument 0 does not suit kernel scale");
  EXPECT_FALSE(runtime_->tainted());
}

TEST_F(runtime_device, bounds_what_is_in_flight) {
  RuntimeOptions options;
  options.max_in_flight = 4;
  options.files = KernelFiles(folder_.path());
  const auto bounded = test::fresh_runtime(options);
  Executable executable = bounded->prepare(test::scale_plan(16, 2));
  const Bindings bindings{{"src", buffer(16)}, {"dst", buffer(16)}};
  for (int i = 0; i < 20; ++i) bounded->enqueue(executable, bindings);
  EXPECT_EQ(bounded->counters().waits, 16);
  const std::vector<LaunchTime> times = bounded->finish();
  ASSERT_EQ(times.size(), 20u);
  for (const LaunchTime& time : times) EXPECT_GE(time.ended, time.started);
  EXPECT_TRUE(bounded->finish().empty());
  for (int i = 0; i < 4; ++i) bounded->enqueue(executable, bindings);
  bounded->bound_flight(1);
  bounded->enqueue(executable, bindings);
  EXPECT_EQ(bounded->counters().waits, 20) << "for all four that were in flight";
  EXPECT_EQ(bounded->finish().size(), 5u);
  EXPECT_THROWS_SAYING(bounded->bound_flight(0), BadArgument, "max_in_flight must be at least 1");
  options.max_in_flight = 0;
  EXPECT_THROWS_SAYING(test::fresh_runtime(options), BadArgument,
                       "max_in_flight must be at least 1");
}

TEST_F(runtime_device, a_bound_call_computes_what_an_unbound_one_does) {
  Executable executable = runtime_->prepare(test::scale_plan(16, 2));
  const HostTensor from = counting(16);
  Bindings bindings{{"src", buffer(16)}, {"dst", buffer(16)}};
  runtime_->queue().enqueueWriteBuffer(bindings.at("src"), CL_TRUE, 0, from.bytes(), from.data());
  const Bound first = runtime_->bind(executable, bindings);
  // Another bound call, and one of the executable itself, leave its arguments alone.
  const Bindings others{{"src", buffer(16)}, {"dst", buffer(16)}};
  const Bound second = runtime_->bind(executable, others);
  runtime_->enqueue(executable, others);
  const cl::Buffer dst = bindings.at("dst");
  bindings.clear();  // the bound call keeps src
  const cl::Event before = runtime_->enqueue(second);
  const cl::Event done = runtime_->enqueue(first, {before});
  done.wait();
  EXPECT_EQ(before.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>(), CL_COMPLETE);
  HostTensor to(Dtype::f32, {16});
  runtime_->queue().enqueueReadBuffer(dst, CL_TRUE, 0, to.bytes(), to.data());
  for (std::int64_t i = 0; i < 16; ++i) EXPECT_EQ(to.get(i), 2.0 * static_cast<double>(i));
  EXPECT_EQ(runtime_->finish().size(), 1u) << "the times of bound calls are their events'";
  EXPECT_EQ(runtime_->counters().launches, 3);
}

TEST_F(runtime_device, binding_refuses_what_enqueueing_refuses) {
  Executable executable = runtime_->prepare(test::scale_plan(16, 2));
  EXPECT_THROWS_SAYING(runtime_->bind(executable, {{"src", buffer(16)}}), BadArgument,
                       "no buffer is bound to 'dst'");
  EXPECT_THROWS_SAYING(runtime_->bind(executable, {{"src", buffer(16)}, {"dst", buffer(15)}}),
                       BadArgument, "'dst' needs 64 bytes, its buffer has 60");
  const cl::Buffer both = buffer(16);
  EXPECT_THROWS_SAYING(runtime_->bind(executable, {{"src", both}, {"dst", both}}), BadArgument,
                       "overlap");
  EXPECT_FALSE(runtime_->tainted());
}

TEST_F(runtime_device, bound_calls_are_bounded_in_flight_too) {
  RuntimeOptions options;
  options.max_in_flight = 4;
  options.files = KernelFiles(folder_.path());
  const auto bounded = test::fresh_runtime(options);
  Executable executable = bounded->prepare(test::scale_plan(16, 2));
  const Bound bound = bounded->bind(executable, {{"src", buffer(16)}, {"dst", buffer(16)}});
  for (int i = 0; i < 20; ++i) bounded->enqueue(bound);
  EXPECT_EQ(bounded->counters().waits, 16);
}

TEST_F(runtime_device, a_bound_call_allocates_nothing) {
  constexpr int kCalls = 100;
  if (!test::allocations()) GTEST_SKIP() << "a sanitizer has its own operator new";
  Executable executable = runtime_->prepare(test::scale_plan(16, 2));
  const Bindings bindings{{"src", buffer(16)}, {"dst", buffer(16)}};
  const Bound bound = runtime_->bind(executable, bindings);
  const auto allocations_of = [&](const auto& call) {
    const std::int64_t before = *test::allocations();
    for (int i = 0; i < kCalls; ++i) call();
    const std::int64_t after = *test::allocations();
    runtime_->finish();
    return after - before;
  };
  runtime_->bound_flight(kCalls);
  cl::Kernel bare = runtime_->programs().kernel(runtime_->files().get("scale.cl"), "", "scale");
  bare.setArg(0, bindings.at("src"));
  bare.setArg(1, bindings.at("dst"));
  bare.setArg(2, 2.0f);
  bare.setArg(3, cl_int{16});
  const std::int64_t of_driver = allocations_of([&] {
    cl::Event event;
    runtime_->queue().enqueueNDRangeKernel(bare, cl::NullRange, {16}, {16}, nullptr, &event);
  });
  EXPECT_EQ(allocations_of([&] { runtime_->enqueue(bound); }), of_driver);
  EXPECT_GT(allocations_of([&] { runtime_->enqueue(executable, bindings); }), of_driver + kCalls)
      << "allocations are not counted";
}

/// How often a queue is flushed by so many launches and the wait for them, as a script counts.
struct Flushes {
  std::int64_t launching, waiting;
};

Flushes flushes_of(int launches, RuntimeOptions options = {}) {
  const test::TemporaryFolder folder;
  test::write_scale_kernel(folder);
  options.files = KernelFiles(folder.path());
  const auto runtime = test::fresh_runtime(std::move(options));
  Executable executable = runtime->prepare(test::scale_plan(16, 2));
  const cl::Buffer src(runtime->context(), CL_MEM_READ_WRITE, 64);
  const cl::Buffer dst(runtime->context(), CL_MEM_READ_WRITE, 64);
  const Bound bound = runtime->bind(executable, {{"src", src}, {"dst", dst}});
  const auto count = [] { return test::scripted::counts()["clFlush"]; };
  const std::int64_t before = count();
  for (int i = 0; i < launches; ++i) runtime->enqueue(bound);
  const std::int64_t launched = count();
  runtime->finish();
  return {launched - before, count() - launched};
}

/// The first launch after a wait is handed over at once, then every eighth; the rest where the host
/// waits. It waits for the oldest launch from the 33rd on, and flushes nothing for that.
TEST(runtime_scripted, launches_are_flushed_by_the_stated_policy) {
  CLAM_ON_SCRIPTED_DEVICE();
  for (const auto& [launches, launching, waiting] :
       std::vector<std::array<int, 3>>{{1, 1, 0}, {8, 1, 1}, {9, 2, 0}, {25, 4, 0}, {65, 9, 0}}) {
    EXPECT_EQ(flushes_of(launches).launching, launching) << launches;
    EXPECT_EQ(flushes_of(launches).waiting, waiting) << launches;
  }
  RuntimeOptions at_once, at_the_end;
  at_once.launches_a_flush = 1;
  EXPECT_EQ(flushes_of(25, at_once).launching, 25);
  at_the_end.launches_a_flush = RuntimeOptions::kWhenWaiting;
  EXPECT_EQ(flushes_of(25, at_the_end).launching, 0);
  EXPECT_EQ(flushes_of(25, at_the_end).waiting, 1);
  EXPECT_EQ(flushes_of(40, at_the_end).launching, 1) << "32 are in flight, so it waits for one";
  RuntimeOptions wrong;
  wrong.launches_a_flush = -2;
  EXPECT_THROWS_SAYING(flushes_of(1, wrong), BadArgument, "launches_a_flush must be a count");
}

/// Measured choices say it where the caller does not.
TEST(runtime_scripted, launches_are_flushed_as_was_measured) {
  CLAM_ON_SCRIPTED_DEVICE();
  const DeviceInfo device = query_device(select_device().device);
  Tuned tuned;
  tuned.add(to_json(TunedTable{{}, {tuned_flush(device, 2, 1)}}).dump(), "t.json");
  RuntimeOptions options;
  options.tuned = std::make_shared<Tuned>(tuned);
  EXPECT_EQ(flushes_of(25, options).launching, 13);
  options.launches_a_flush = 8;
  EXPECT_EQ(flushes_of(25, options).launching, 4);
}

/// On a driver that starts nothing before a flush no policy waits for ever.
TEST(runtime_scripted, what_starts_only_when_it_is_flushed_ends) {
  CLAM_ON_SCRIPTED_DEVICE();
  test::scripted::play({{"starts_when_flushed", true}});
  RuntimeOptions measures_exp2;  // in no cache
  test::fresh_runtime(measures_exp2)->prepare(Problem::parse("softmax shape=4x16 dtype=f32"));
  for (const int policy : {1, 3, 8, 100, RuntimeOptions::kWhenWaiting}) {
    for (const int in_flight : {1, 2, 32}) {
      RuntimeOptions options;
      options.launches_a_flush = policy;
      options.max_in_flight = in_flight;
      const Flushes flushes = flushes_of(25, options);  // or it hangs
      EXPECT_GE(flushes.launching + flushes.waiting, 1) << policy << " " << in_flight;
    }
  }
}

/// Of this process, in bytes; 0 where the system does not say.
std::int64_t resident() {
  long long pages = 0, in_memory = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lld %lld", &pages, &in_memory) != 2) in_memory = 0;
    std::fclose(file);
  }
  return in_memory * ::sysconf(_SC_PAGESIZE);
}

/// Ends this process: with 1 where ten thousand launches make it grow by more than a megabyte,
/// else with 0. What a driver makes at first is there before.
[[noreturn]] void exit_by_growth(const std::function<void()>& launch) {
  constexpr int kAtFirst = 2000, kLaunches = 10000;
  constexpr std::int64_t kMost = 1000000;
  for (int i = 0; i < kAtFirst; ++i) launch();
  const std::int64_t before = resident();
  for (int i = 0; i < kLaunches; ++i) launch();
  const std::int64_t growth = resident() - before;
  std::fprintf(stderr, "grew by %lld bytes\n", static_cast<long long>(growth));
  std::_Exit(growth > kMost ? 1 : 0);
}

/// In processes of their own: memory that another test has freed would hide what grows.
TEST_F(runtime_device, ten_thousand_launches_leave_the_memory_as_it_is) {
  if (resident() == 0) GTEST_SKIP() << "the system does not say what is resident";
  const Executable executable = runtime_->prepare(test::scale_plan(16, 2));
  const Bound bound = runtime_->bind(executable, {{"src", buffer(16)}, {"dst", buffer(16)}});
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // starts the program again: a fresh heap
  EXPECT_EXIT(exit_by_growth([&] { runtime_->enqueue(bound); }), testing::ExitedWithCode(0),
              "grew by");
  std::vector<cl::Event> kept;  // what the check is there for: events that nobody releases
  EXPECT_EXIT(exit_by_growth([&] { kept.push_back(runtime_->enqueue(bound)); }),
              testing::ExitedWithCode(1), "grew by");
}

TEST_F(runtime_device, pack_launches_run_apart_and_are_timed_apart) {
  Plan plan = test::scale_plan(16, 3);
  plan.buffers = {{"packed", BufferSpec::Role::packed, 64}};
  plan.pack = plan.launches;
  plan.pack[0].args[1] = BufferArg{"packed"};
  plan.launches[0].args[0] = BufferArg{"packed"};
  Executable executable = runtime_->prepare(plan);
  EXPECT_EQ(executable.device_bytes(), 64);
  const Bindings bindings{{"src", buffer(16)}, {"dst", buffer(16)}};
  const char* missing = "are not packed: call Runtime::pack first";
  EXPECT_THROWS_SAYING(runtime_->enqueue(executable, bindings), BadArgument, missing);
  EXPECT_THROWS_SAYING(runtime_->bind(executable, bindings), BadArgument, missing);
  const Bindings packs{{"src", bindings.at("src")}};
  EXPECT_EQ(runtime_->pack(executable, packs).size(), 1u);
  runtime_->enqueue(executable, bindings);
  EXPECT_EQ(runtime_->pack(executable, packs).size(), 1u);
  EXPECT_EQ(runtime_->finish().size(), 1u) << "the enqueued launch's time is kept";
}

TEST_F(runtime_device, unbound_and_small_buffers_are_refused_before_the_launch) {
  Executable executable = runtime_->prepare(test::scale_plan(16, 2));
  EXPECT_THROWS_SAYING(runtime_->enqueue(executable, {{"src", buffer(16)}}), BadArgument,
                       "no buffer is bound to 'dst'");
  EXPECT_THROWS_SAYING(runtime_->enqueue(executable, {{"src", buffer(15)}, {"dst", buffer(16)}}),
                       BadArgument, "'src' needs 64 bytes, its buffer has 60");
  EXPECT_FALSE(runtime_->tainted());
  EXPECT_EQ(runtime_->counters().launches, 0);
}

TEST_F(runtime_device, a_buffer_of_the_last_launch_is_asked_for_before_the_first) {
  Plan plan = test::scale_plan(16, 2);
  plan.buffers = {{"between", BufferSpec::Role::scratch, 64}};
  plan.launches.push_back(plan.launches[0]);
  plan.launches[0].args[1] = BufferArg{"between"};
  plan.launches[1].args[0] = BufferArg{"between"};
  Executable executable = runtime_->prepare(plan);
  EXPECT_THROWS_SAYING(runtime_->enqueue(executable, {{"src", buffer(16)}}), BadArgument,
                       "no buffer is bound to 'dst'");
  EXPECT_THROWS_SAYING(runtime_->enqueue(executable, {{"src", buffer(16)}, {"dst", cl::Buffer()}}),
                       BadArgument, "no buffer is bound to 'dst'");
  EXPECT_EQ(runtime_->counters().launches, 0);
}

TEST_F(runtime_device, a_device_error_taints) {
  Plan plan = test::scale_plan(64, 2);
  plan.launches[0].kernel = "scale64";  // requires groups of 64, is launched with 16
  Executable executable = runtime_->prepare(plan);
  const Bindings bindings{{"src", buffer(64)}, {"dst", buffer(64)}};
  EXPECT_THROWS_SAYING(runtime_->enqueue(executable, bindings), DeviceError,
                       "launch of scale.cl:scale64 failed: clEnqueueNDRangeKernel: "
                       "CL_INVALID_WORK_GROUP_SIZE (-54)");
  EXPECT_TRUE(runtime_->tainted());
  EXPECT_THROWS_SAYING(runtime_->enqueue(executable, bindings), DeviceError,
                       "unusable since an earlier device error");
  EXPECT_THROWS_SAYING(runtime_->finish(), DeviceError, "CL_INVALID_WORK_GROUP_SIZE");
  EXPECT_THROWS_SAYING(runtime_->prepare(plan), DeviceError, "make a new context");
}

TEST_F(runtime_device, a_group_over_the_kernels_limit_cannot_run_here) {
  Plan plan = test::scale_plan(1 << 20, 2);
  plan.launches[0].global = plan.launches[0].local = {1 << 20, 1, 1};
  EXPECT_THROWS_SAYING(runtime_->prepare(plan), Unsupported,
                       "kernel scale needs 1048576 work-items a group");
  EXPECT_FALSE(runtime_->tainted());
}

TEST_F(runtime_device, an_out_of_order_queue_is_refused) {
  const cl::Device device = runtime_->queue().getInfo<CL_QUEUE_DEVICE>();
  if (!(device.getInfo<CL_DEVICE_QUEUE_PROPERTIES>() & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)) {
    GTEST_SKIP() << "the device has no out-of-order queues";
  }
  const cl::CommandQueue queue(runtime_->context(), device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  EXPECT_THROWS_SAYING(Runtime(runtime_->context(), queue), BadArgument,
                       "the queue is out of order");
}

TEST_F(runtime_device, counters_are_written_as_json) {
  Executable executable = runtime_->prepare(test::scale_plan(16, 2));
  runtime_->enqueue(executable, {{"src", buffer(16)}, {"dst", buffer(16)}});
  runtime_->finish();
  const nlohmann::json counters = counters_json(*runtime_);
  EXPECT_EQ(counters["launches"], 1);
  EXPECT_EQ(counters["programs"]["built"], 1);
}

/// A driver that refuses the group of the first plan: when it builds, or at the launch of that
/// kernel.
void expect_half_the_group(const std::string& line, const std::string& call,
                           const std::string& kernel) {
  SCOPED_TRACE(line + " " + call + " " + kernel);
  const Problem problem = Problem::parse(line);
  const Plan first = make_plan(problem, test::runtime().device());
  nlohmann::json script = test::scripted::lying(
      call, "refuse",
      {{"options", first.launches[0].options}, {"status", CL_INVALID_WORK_GROUP_SIZE}});
  if (!kernel.empty()) script["lies"][0]["kernel"] = kernel;
  test::scripted::play(script);
  RuntimeOptions options;
  const auto own = test::fresh_runtime(options);
  const Verification result = verify(*own, problem, usual_data_set(problem), 1);
  EXPECT_TRUE(result.pass()) << result.reason();
  EXPECT_EQ(own->counters().groups_halved, 1);
  EXPECT_FALSE(own->tainted());
}

TEST(runtime_scripted, a_driver_that_refuses_a_group_gets_half_of_it) {
  CLAM_ON_SCRIPTED_DEVICE();
  const char* unary = "unary op=exp shape=4096 dtype=f32";
  const char* dense = "dense m=64 n=64 k=64 dtype=f32 bias";
  for (const char* line : {unary, dense}) {
    expect_half_the_group(line, "clBuildProgram", "");
    expect_half_the_group(line, "clEnqueueNDRangeKernel", "");
  }
  expect_half_the_group(dense, "clEnqueueNDRangeKernel", "dense_packed");
}

TEST(runtime_scripted, a_bound_call_says_that_it_must_be_bound_again) {
  CLAM_ON_SCRIPTED_DEVICE();
  const Problem problem = Problem::parse("unary op=exp shape=4096 dtype=f32");
  const Plan first = make_plan(problem, test::runtime().device());
  test::scripted::play(test::scripted::lying(
      "clEnqueueNDRangeKernel", "refuse",
      {{"options", first.launches[0].options}, {"status", CL_INVALID_WORK_GROUP_SIZE}}));
  const auto own = test::fresh_runtime(RuntimeOptions());
  const cl::Buffer src(own->context(), CL_MEM_READ_WRITE, 4 * 4096),
      dst(own->context(), CL_MEM_READ_WRITE, 4 * 4096);
  const Bindings bindings{{"src", src}, {"dst", dst}};
  const Bound refused = own->bind(own->prepare(problem), bindings);
  EXPECT_THROW(own->enqueue(refused), Unsupported);
  EXPECT_FALSE(own->tainted());
  const Bound again = own->bind(own->prepare(problem), bindings);
  own->enqueue(again);
  own->finish();
}

TEST(runtime_scripted, a_kernel_that_no_group_mends_is_a_build_failure) {
  CLAM_ON_SCRIPTED_DEVICE();
  test::scripted::play(test::scripted::lying("clBuildProgram", "refuse", {{"status", -11}}));
  const auto own = test::fresh_runtime(RuntimeOptions());
  EXPECT_THROW(own->prepare(Problem::parse("unary op=exp shape=4096 dtype=f32")), BuildFailure);
  EXPECT_EQ(own->counters().groups_halved, 0);
}

}  // namespace
}  // namespace clam
