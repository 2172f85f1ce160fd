// SPDX-License-Identifier: MIT
// api_queue.cpp - probes of queues and events: many launches without a wait, memory that grows with
// each, clFinish, events of another queue; the times of events, and their callbacks.
#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <thread>

#include "check/clock.hpp"
#include "clam/runtime.hpp"
#include "stage.hpp"

namespace clam {
namespace {

constexpr auto kPatience = std::chrono::seconds(3), kLongPatience = std::chrono::seconds(6);

/// Bounded: a queue that takes this many is taken for one without such a limit.
ProbeResult queue_flood(const Stage& stage) {
  constexpr int kLaunches = 5000;
  const cl::Buffer counts = stage.zeros(kCounts);
  const cl::Kernel kernel = stage.add_one(counts);
  for (int launch = 0; launch < kLaunches; ++launch) {
    try {
      stage.launch(kernel);
    } catch (const cl::Error& error) {
      return bug("{} after {} launches without a wait", describe(error), launch);
    }
  }
  try {
    stage.queue.finish();
  } catch (const cl::Error& error) {
    return bug("{} with {} launches in flight", describe(error), kLaunches);
  }
  return judged(wrong_count(stage.read(counts, kCounts), kLaunches));
}

/// Bytes of memory that this process has in use.
double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

/// Calls `once` until a window is over. Returns by how many bytes the process grew each time.
double growth(const Stage& stage, const std::function<void(int)>& once) {
  constexpr int kCalls = 4000, kInFlight = 32;
  constexpr auto kLongest = std::chrono::seconds(5);
  const Clock::time_point start = Clock::now();
  const double before = resident_bytes();
  int call = 0;
  while (call < kCalls && Clock::now() - start < kLongest) {
    once(call);
    if (++call % kInFlight == 0) stage.queue.finish();
  }
  stage.queue.finish();
  return (resident_bytes() - before) / call;
}

/// A driver may keep things for later, but then it stops: memory must grow in both of two windows,
/// after one that does not count.
ProbeResult leak(const Stage& stage, const std::function<void(int)>& once) {
  constexpr double kLeast = 100;  // bytes: 4000 calls are a hundred pages
  growth(stage, once);
  const double first = growth(stage, once), second = growth(stage, once);
  if (first < kLeast || second < kLeast) return ok();
  return bug("the process grows by {:.0f} bytes a launch, and by {:.0f} in a second window", first,
             second);
}

ProbeResult enqueue_leak(const Stage& stage) {
  const cl::Buffer counts = stage.zeros(kCounts);
  const cl::Kernel kernel = stage.add_one(counts);
  return leak(stage, [&](int) {
    cl::Event event;
    stage.launch(kernel, &event);
  });
}

/// One kernel object, whose arguments change between launches.
ProbeResult kernel_pool_leak(const Stage& stage) {
  const cl::Buffer buffers[] = {stage.zeros(kCounts), stage.zeros(kCounts)};
  cl::Kernel kernel = stage.add_one(buffers[0]);
  return leak(stage, [&](int call) {
    kernel.setArg(0, buffers[call % 2]);
    stage.launch(kernel);
  });
}

/// Where clFinish never returns, the parent process sees it.
ProbeResult profiling_finish_hang(const Stage& stage) {
  constexpr int kRounds = 50, kEach = 3;
  const cl::Buffer counts = stage.zeros(kCounts);
  const cl::Kernel kernel = stage.add_one(counts);
  for (int round = 0; round < kRounds; ++round) {
    for (int launch = 0; launch < kEach; ++launch) {
      stage.launch(kernel);
    }
    stage.queue.finish();
  }
  return judged(wrong_count(stage.read(counts, kCounts), kRounds * kEach));
}

/// The second queue waits for an event of the first, which nobody flushed. OpenCL asks for the
/// flush, so a driver that needs it is in the right; one that hangs in spite of it is not.
ProbeResult cross_queue_event(const Stage& stage) {
  const cl::Buffer counts = stage.zeros(kCounts);
  const cl::Kernel kernel = stage.add_one(counts);
  const cl::CommandQueue second(stage.context, stage.device);
  cl::Event event;
  stage.launch(kernel, &event);
  const std::vector<cl::Event> first{event};
  second.enqueueNDRangeKernel(kernel, cl::NullRange, kCounts, kCounts, &first);
  const auto done = std::make_shared<std::promise<void>>();
  std::future<void> finished = done->get_future();
  std::thread([second, done] {
    try {
      second.finish();
      done->set_value();
    } catch (...) {
      done->set_exception(std::current_exception());
    }
  }).detach();
  const auto is_finished = [&] {
    return finished.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  std::string note;
  if (!comes(is_finished, kPatience)) {
    note = "only once the first queue is flushed, as OpenCL allows";
    stage.queue.flush();
    if (!comes(is_finished, kLongPatience)) {
      return hang("clFinish does not return, even when the first queue is flushed");
    }
  }
  finished.get();
  const std::string wrong = wrong_count(stage.read(counts, kCounts), 2);
  return wrong.empty() ? ok(note) : bug(wrong);
}

// ---- events ----

// Enough work for any timer to see, and not too much for a slow CPU.
constexpr std::size_t kItems = 1 << 14;
constexpr const char* kWork =
    "__kernel void work(__global int* dst, int rounds) {\n"
    "  uint value = get_global_id(0);\n"
    "  for (int i = 0; i < rounds; ++i) value = value * 1664525u + 1013904223u;\n"
    "  dst[get_global_id(0)] = (int)(value >> 1);\n"
    "}\n";

struct Times {
  cl_int status = CL_COMPLETE;
  LaunchTime device;
  double wall_ns = 0;  ///< from before the launch until it was waited for
};

std::vector<Times> time_launches(const Stage& stage) {
  constexpr int kLaunches = 20, kRounds = 1000;
  const cl::Buffer dst = stage.zeros(kItems);
  const cl::Kernel kernel = with(stage.kernel(kWork, "work"), dst, kRounds);
  std::vector<Times> all;
  for (int launch = 0; launch < kLaunches; ++launch) {
    const Clock::time_point start = Clock::now();
    cl::Event event;
    stage.queue.enqueueNDRangeKernel(kernel, cl::NullRange, kItems, 64, nullptr, &event);
    event.wait();
    Times times;
    times.wall_ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
    times.status = event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>();
    times.device = LaunchTime::of(event);
    all.push_back(times);
  }
  return all;
}

std::string garbage(const Times& times) {
  constexpr double kSlackNs = 1e6;  // two clocks
  if (times.status != CL_COMPLETE) {
    return fmt::format("its status after the wait is {}", times.status);
  }
  const auto& [queued, submitted, started, ended] = times.device;
  if (queued > submitted || submitted > started || started > ended) {
    return fmt::format("queued {}, submitted {}, started {}, ended {} ns", queued, submitted,
                       started, ended);
  }
  const double ns = times.device.ns();
  if (ns <= 1.05 * times.wall_ns + kSlackNs) return "";
  return fmt::format("the event says {:.0f} ns, and the host saw {:.0f}", ns, times.wall_ns);
}

std::string no_time(const Times& times) {
  const LaunchTime& time = times.device;
  if (time.started != 0 && time.started != time.ended) return "";
  return fmt::format("started {}, ended {} ns, and the host saw {:.0f} ns", time.started,
                     time.ended, times.wall_ns);
}

/// The first launch that there is something to say about.
ProbeResult look_at_launches(const Stage& stage, std::string (*what_is_wrong)(const Times&)) {
  int launch = 0;
  for (const Times& times : time_launches(stage)) {
    ++launch;
    const std::string what = what_is_wrong(times);
    if (!what.empty()) return bug("launch {}: {}", launch, what);
  }
  return ok();
}

ProbeResult event_garbage(const Stage& stage) { return look_at_launches(stage, garbage); }
ProbeResult event_zero_time(const Stage& stage) { return look_at_launches(stage, no_time); }

void CL_CALLBACK note_callback(cl_event, cl_int, void* flag) {
  static_cast<std::atomic<bool>*>(flag)->store(true);
}

/// OpenCL promises the callback only for what was flushed, so needing that is no fault.
ProbeResult callback_without_flush(const Stage& stage) {
  static std::atomic<bool> called{false};  // outlives a callback that comes too late
  const cl::Buffer counts = stage.zeros(kCounts);
  const cl::Kernel kernel = stage.add_one(counts);
  cl::Event event;
  stage.launch(kernel, &event);
  event.setCallback(CL_COMPLETE, note_callback, &called);
  const auto is_called = [] { return called.load(); };
  if (comes(is_called, std::chrono::seconds(2))) return ok();
  stage.queue.flush();
  if (comes(is_called, std::chrono::seconds(3))) {
    return ok("it comes only after a clFlush, as OpenCL allows");
  }
  stage.queue.finish();
  if (comes(is_called, std::chrono::seconds(3))) {
    return bug("it comes only after clFinish, not after a clFlush");
  }
  return bug("it never comes, not even after clFinish");
}

}  // namespace

std::vector<CodeProbe> queue_probes() {
  return {{"queue-flood", queue_flood},
          {"enqueue-leak", enqueue_leak},
          {"kernel-pool-leak", kernel_pool_leak},
          {"profiling-finish-hang", profiling_finish_hang},
          {"cross-queue-event", cross_queue_event},
          {"event-garbage", event_garbage},
          {"event-zero-time", event_zero_time},
          {"callback-without-flush", callback_without_flush}};
}

}  // namespace clam
