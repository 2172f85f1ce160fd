// SPDX-License-Identifier: MIT
// scripted_test.cpp - the scripted OpenCL itself: its times are the script's to the nanosecond, its
// results are real, and each lie is told.
#include "scripted.hpp"

#include <algorithm>
#include <numeric>

#include "check/clock.hpp"
#include "clam/program_cache.hpp"
#include "command.hpp"
#include "process/isolate.hpp"
#include "runtime/atomic_file.hpp"

namespace clam::test::scripted {
namespace {

using nlohmann::json;

constexpr std::size_t kItems = 64;
constexpr const char* kSource =
    "__kernel void add_one(__global int* sums) { ++sums[get_global_id(0)]; }\n"
    "__kernel void twice(__global const int* src, __global int* dst) {\n"
    "  dst[get_global_id(0)] = 2 * src[get_global_id(0)];\n"
    "}\n";

/// A queue, and two buffers of numbers.
class scripted_device : public testing::Test {
 protected:
  /// The rest of a test is on the scripted device.
  void open(json script) {
    play(std::move(script));
    const Runtime& shared = runtime();
    queue_ = cl::CommandQueue(shared.context(), shared.queue().getInfo<CL_QUEUE_DEVICE>(),
                              CL_QUEUE_PROFILING_ENABLE);
    program_ = cl::Program(shared.context(), std::string(kSource));
    program_.build("");  // the constructor would ask for OpenCL C 2.0, which not every driver has
    for (cl::Buffer* buffer : {&src_, &dst_}) {
      *buffer = cl::Buffer(shared.context(), CL_MEM_READ_WRITE, kItems * sizeof(cl_int));
      fill(*buffer, 0);
    }
    add_one_ = cl::Kernel(program_, "add_one");
    add_one_.setArg(0, dst_);
    twice_ = cl::Kernel(program_, "twice");
    twice_.setArg(0, src_);
    twice_.setArg(1, dst_);
  }
  void fill(const cl::Buffer& buffer, cl_int value) {
    const std::vector<cl_int> values(kItems, value);
    queue_.enqueueWriteBuffer(buffer, CL_TRUE, 0, kItems * sizeof(cl_int), values.data());
  }
  std::vector<cl_int> read(const cl::Buffer& buffer) {
    std::vector<cl_int> values(kItems);
    queue_.enqueueReadBuffer(buffer, CL_TRUE, 0, kItems * sizeof(cl_int), values.data());
    return values;
  }
  cl_int sum() {
    const std::vector<cl_int> values = read(dst_);
    return std::accumulate(values.begin(), values.end(), 0);
  }
  cl::Event launch(const cl::Kernel& kernel) {
    cl::Event event;
    queue_.enqueueNDRangeKernel(kernel, cl::NullRange, kItems, 16, nullptr, &event);
    return event;
  }
  static cl_ulong started(const cl::Event& event) {
    return event.getProfilingInfo<CL_PROFILING_COMMAND_START>();
  }
  static cl_ulong ended(const cl::Event& event) {
    return event.getProfilingInfo<CL_PROFILING_COMMAND_END>();
  }
  static std::int64_t took(const cl::Event& event) {
    return static_cast<std::int64_t>(ended(event) - started(event));
  }
  /// What a launch's event says under the lie.
  cl::Event under(const std::string& does, json more = {}) {
    json script = lying("clGetEventProfilingInfo", does, std::move(more));
    script["costs"] = {{{"us", 100}}};
    open(script);
    cl::Event event = launch(add_one_);
    event.wait();
    return event;
  }
  /// The sum over dst, all 2 where the launches are done as they should be.
  cl_int sum_under(const std::string& does, int launches, json more = {}) {
    open(lying("clEnqueueNDRangeKernel", does, std::move(more)));
    fill(src_, 1);
    for (int i = 0; i < launches; ++i) launch(twice_).wait();
    return sum();
  }

  cl::CommandQueue queue_;
  cl::Program program_;
  cl::Buffer src_, dst_;
  cl::Kernel add_one_, twice_;
};

TEST_F(scripted_device, a_launch_takes_what_the_script_says) {
  CLAM_ON_SCRIPTED_DEVICE();
  open({{"costs",
         {{{"kernel", "add_*"}, {"us", 3}, {"ns_per_item", 2}},
          {{"kernel", "twice"}, {"bytes_per_item", 8}}}},
        {"memory", {{{"gb_per_s", 4}}}},
        {"enqueue_us", 10},
        {"submit_us", 20},
        {"wait_us", 40}});
  const Clock::time_point start = Clock::now();
  const Clock::duration own = Clock::thread_time();
  const cl::Event event = launch(add_one_);
  event.wait();
  const auto wall = (Clock::now() - start).count();
  EXPECT_EQ(took(event), 3000 + 2 * 64);
  EXPECT_NEAR(double(wall), 10e3 + 20e3 + 3128 + 40e3, 500) << "asking for the time takes some ns";
  EXPECT_EQ((Clock::thread_time() - own).count(), 10000);
  EXPECT_EQ(took(launch(twice_)), 64 * 8 / 4);
  EXPECT_EQ(sum(), 0) << "twice comes after add_one";
}

TEST_F(scripted_device, what_starts_only_when_it_is_flushed_waits_for_that) {
  CLAM_ON_SCRIPTED_DEVICE();
  open({{"costs", {{{"us", 100}}}}, {"starts_when_flushed", true}, {"flush_us", 7}});
  const cl::Event first = launch(add_one_), second = launch(add_one_);
  const auto status = [](const cl::Event& event) {
    return event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>();
  };
  EXPECT_NE(status(first), CL_COMPLETE);
  const Clock::time_point start = Clock::now();
  queue_.flush();
  EXPECT_NEAR(double((Clock::now() - start).count()), 7e3, 500);
  second.wait();
  EXPECT_EQ(status(first), CL_COMPLETE);
  EXPECT_EQ(started(second), ended(first));
  EXPECT_EQ(took(second), 100000);
  EXPECT_EQ(sum(), 2 * 64) << "a blocking command flushes";
  launch(add_one_);
  queue_.finish();
  EXPECT_EQ(sum(), 3 * 64) << "and so does clFinish";
}

TEST_F(scripted_device, the_device_takes_one_launch_after_the_other) {
  CLAM_ON_SCRIPTED_DEVICE();
  open({{"costs", {{{"us", 100}}}}, {"enqueue_us", 1}});
  std::vector<cl::Event> events;
  for (int i = 0; i < 3; ++i) events.push_back(launch(add_one_));
  events.back().wait();
  for (std::size_t i = 1; i < events.size(); ++i)
    EXPECT_EQ(started(events[i]), ended(events[i - 1]));
  EXPECT_EQ(sum(), 3 * 64) << "and they are done";
  EXPECT_EQ(counts().at("clEnqueueNDRangeKernel"), 3);
}

TEST_F(scripted_device, rates_depend_on_the_bytes_and_arguments_count) {
  CLAM_ON_SCRIPTED_DEVICE();
  open({{"memory", {{{"up_to_bytes", 511}, {"gb_per_s", 100}}, {{"gb_per_s", 1}}}},
        {"costs",
         {{{"kernel", "twice"}, {"bytes_per_item", 8}},
          {{"kernel", "add_one"}, {"flops_per_item", 1000}}}},
        {"gflop_per_s", 10}});
  EXPECT_EQ(took(launch(twice_)), 512);
  EXPECT_EQ(took(launch(add_one_)), 64 * 1000 / 10);
}

TEST_F(scripted_device, noise_is_the_same_for_a_seed_and_another_for_another) {
  CLAM_ON_SCRIPTED_DEVICE();
  const auto times = [&](int seed) {
    open({{"noise", {{"seed", seed}, {"spread", 0.2}}}, {"costs", {{{"us", 100}}}}});
    std::vector<std::int64_t> all;
    for (int i = 0; i < 20; ++i) all.push_back(took(launch(add_one_)));
    return all;
  };
  const std::vector<std::int64_t> one = times(1);
  EXPECT_EQ(one, times(1));
  EXPECT_NE(one, times(2));
  for (const std::int64_t ns : one) EXPECT_GE(ns, 100000);
}

TEST_F(scripted_device, recorded_delays_come_in_turns) {
  CLAM_ON_SCRIPTED_DEVICE();
  const TemporaryFolder folder;
  write_file(folder.file("noise.json"), R"({"device_and_wait_us": [[1, 0], [20, 0], [0, 300]]})");
  open({{"noise", {{"recorded", folder.file("noise.json")}}}, {"costs", {{{"us", 100}}}}});
  std::vector<std::int64_t> times;
  for (int i = 0; i < 4; ++i) times.push_back(took(launch(add_one_)));
  EXPECT_EQ(times[0], times[3]);
  std::sort(times.begin(), times.begin() + 3);
  EXPECT_EQ(std::vector<std::int64_t>(times.begin(), times.begin() + 3),
            (std::vector<std::int64_t>{100000, 101000, 120000}));
}

TEST_F(scripted_device, events_lie_about_their_times) {
  CLAM_ON_SCRIPTED_DEVICE();
  EXPECT_EQ(took(under("take")), 100000) << "no lie";
  EXPECT_EQ(started(under("zero")), 0u);
  EXPECT_EQ(ended(under("zero")), 0u);
  EXPECT_EQ(took(under("swap")), -100000);
  EXPECT_EQ(started(under("constant", {{"ns", 7}})), 3u);
  EXPECT_EQ(ended(under("constant", {{"ns", 7}})), 10u);
  EXPECT_EQ(took(under("length", {{"ns", 55}})), 55);
  EXPECT_EQ(took(under("scale", {{"factor", 0.1}})), 10000);
  EXPECT_LT(took(under("halve end")), 0);
}

TEST_F(scripted_device, an_event_counts_in_the_devices_own_clock) {
  CLAM_ON_SCRIPTED_DEVICE();
  open({{"costs", {{{"us", 100}}}}, {"event_clock", 1.5}});
  EXPECT_NEAR(double(took(launch(add_one_))), 150000, 1);
  open({{"costs", {{{"us", 100}}}}, {"device", {{"timer_resolution_ns", 1000}}}});
  EXPECT_EQ(started(launch(add_one_)) % 1000, 0u);
}

TEST_F(scripted_device, work_is_done_as_far_as_the_script_lets_it) {
  CLAM_ON_SCRIPTED_DEVICE();
  EXPECT_EQ(sum_under("take", 1), 128) << "no lie";
  EXPECT_EQ(sum_under("nothing", 1), 0);
  EXPECT_EQ(sum_under("half", 1), 64);
  EXPECT_EQ(sum_under("wrong", 1, {{"argument", 1}, {"byte", 8}, {"bits", 1}}), 129);
  EXPECT_EQ(sum_under("wrong", 3, {{"argument", 1}, {"from", 4}}), 128) << "the fourth lies";
}

TEST_F(scripted_device, results_come_late) {
  CLAM_ON_SCRIPTED_DEVICE();
  open(lying("clEnqueueNDRangeKernel", "late", {{"kernel", "twice"}}));
  fill(src_, 1);
  launch(twice_).wait();
  EXPECT_EQ(sum(), 0);
  fill(src_, 5);
  launch(twice_).wait();
  EXPECT_EQ(sum(), 64 * 10) << "of the launch before, with what is there by now";
}

TEST_F(scripted_device, a_batch_is_done_once_and_its_time_dealt_out) {
  CLAM_ON_SCRIPTED_DEVICE();
  json script = lying("clEnqueueNDRangeKernel", "once");
  script["costs"] = {{{"us", 100}}};
  open(script);
  for (int batch = 1; batch <= 2; ++batch) {
    std::vector<cl::Event> events;
    for (int i = 0; i < 4; ++i) events.push_back(launch(add_one_));
    events.back().wait();
    EXPECT_EQ(sum(), batch * 64);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(took(events[i]), 25000);
    EXPECT_EQ(ended(events[3]) - started(events[0]), 100000u);
  }
}

TEST_F(scripted_device, repeats_may_be_left_out_until_the_host_writes) {
  CLAM_ON_SCRIPTED_DEVICE();
  open({{"skips_repeats", true}, {"costs", {{{"us", 100}}}}});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(took(launch(add_one_)), 100000);
  EXPECT_EQ(sum(), 64);
  fill(src_, 1);
  launch(add_one_);
  EXPECT_EQ(sum(), 2 * 64);
  add_one_.setArg(0, src_);
  launch(add_one_);
  EXPECT_EQ(read(src_)[0], 2) << "on another buffer it is no repeat";
}

TEST_F(scripted_device, a_launch_fails) {
  CLAM_ON_SCRIPTED_DEVICE();
  open(lying("clEnqueueNDRangeKernel", "fail", {{"status", -5}}));
  const cl::Event event = launch(add_one_);
  EXPECT_THROW(event.wait(), cl::Error);
  EXPECT_EQ(event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>(), -5);
  EXPECT_THROW(queue_.finish(), cl::Error) << "clFinish tells it once";
  EXPECT_NO_THROW(queue_.finish());
}

TEST_F(scripted_device, a_launch_over_the_limit_is_ended) {
  CLAM_ON_SCRIPTED_DEVICE();
  json script = {{"costs", {{{"us", 6e6}}}}, {"limit_s", 5}};
  open(script);
  const cl::Event event = launch(add_one_);
  EXPECT_THROW(event.wait(), cl::Error);
  EXPECT_EQ(took(event), 5000000000);
  EXPECT_EQ(sum(), 0);
  script["limit_is_silent"] = true;
  open(script);
  EXPECT_NO_THROW(launch(add_one_).wait());
  EXPECT_EQ(sum(), 0) << "and nobody says so";
}

TEST_F(scripted_device, calls_are_refused_and_passed_over) {
  CLAM_ON_SCRIPTED_DEVICE();
  open(lying("clEnqueueNDRangeKernel", "refuse", {{"status", -6}, {"from", 2}, {"every", 2}}));
  launch(add_one_);
  EXPECT_THROW(launch(add_one_), cl::Error);
  launch(add_one_);
  EXPECT_THROW(launch(add_one_), cl::Error);
  EXPECT_EQ(sum(), 2 * 64);
  open(lying("clFinish", "take", {{"s", 2}}));
  const Clock::time_point start = Clock::now();
  queue_.finish();
  EXPECT_GE(Clock::now() - start, std::chrono::seconds(2));
}

TEST_F(scripted_device, facts_are_what_the_script_says) {
  CLAM_ON_SCRIPTED_DEVICE();
  open({{"device", {{"name", "Mali-G1"}, {"max_clock_mhz", 850}, {"type", "gpu"}}}});
  const DeviceInfo info = query_device(runtime().queue().getInfo<CL_QUEUE_DEVICE>());
  EXPECT_EQ(info.name, "Mali-G1");
  EXPECT_EQ(info.max_clock_mhz, 850);
  EXPECT_EQ(info.type, "gpu");
  EXPECT_EQ(info.driver_version, runtime().device().driver_version);
  EXPECT_THROW(cl::Buffer(runtime().context(), CL_MEM_READ_WRITE, info.max_alloc_bytes + 1),
               cl::Error);
  EXPECT_NE(info.driver_version.find(" scripted"), std::string::npos);
}

/// A start of a program that needs one program.
std::map<std::string, std::int64_t> builds_of(const std::string& dir, const KernelSource& source) {
  const std::map<std::string, std::int64_t> before = counts();
  const Runtime& shared = runtime();
  ProgramCache cache(shared.context(), shared.queue().getInfo<CL_QUEUE_DEVICE>(), shared.device(),
                     dir);
  cache.kernel(source, "-DX=1", "twice");
  std::map<std::string, std::int64_t> built;
  for (const char* how : {"built from source", "built from binary"}) {
    const auto was = before.find(how);
    const auto all = counts();
    const auto is = all.find(how);
    built[how] = (is == all.end() ? 0 : is->second) - (was == before.end() ? 0 : was->second);
  }
  return built;
}

TEST_F(scripted_device, binaries_are_its_own_and_counted) {
  CLAM_ON_SCRIPTED_DEVICE();
  open({});
  const TemporaryFolder folder;
  const KernelSource source{"twice.cl", kSource, "test", ""};
  using Counts = std::map<std::string, std::int64_t>;
  EXPECT_EQ(builds_of(folder.path(), source),
            (Counts{{"built from source", 1}, {"built from binary", 0}}));
  EXPECT_EQ(builds_of(folder.path(), source),
            (Counts{{"built from source", 0}, {"built from binary", 1}}));
  play(lying("clCreateProgramWithBinary", "refuse", {{"status", -42}}));
  EXPECT_EQ(builds_of(folder.path(), source),
            (Counts{{"built from source", 1}, {"built from binary", 0}}));
}

TEST_F(scripted_device, what_is_no_script_is_refused) {
  CLAM_ON_SCRIPTED_DEVICE();
  const json scripts[] = {{{"cost", json::array()}},
                          {{"lies", {{{"call", "clFinish"}, {"does", "dance"}}}}},
                          {{"lies", {{{"call", "clFinish"}, {"does", "hang"}, {"form", 1}}}}},
                          {{"device", {{"clock", 5}}}},
                          {{"noise", {{"recorded", "/nowhere"}}}}};
  for (const json& script : scripts) EXPECT_THROW(play(script), std::logic_error) << script;
}

TEST_F(scripted_device, processes_share_a_clock) {
  CLAM_ON_SCRIPTED_DEVICE();
  const SharedClock clock;
  play(clock.in());
  const Clock::time_point start = Clock::now();
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(1)) << "nobody uses it";
  json script = clock.in(lying("clGetDeviceIDs", "take", {{"s", 70}}));
  std::vector<std::string> words = own_command();
  words.push_back("--gtest_filter=scripted_device.a_launch_takes_what_the_script_says");
  EXPECT_EQ(run_command(words, on(script)).code, 0);
  EXPECT_GE(Clock::now() - start, std::chrono::seconds(70));
}

}  // namespace
}  // namespace clam::test::scripted
