// SPDX-License-Identifier: MIT
// api_queue.cpp - probes of queues: many launches without a wait, memory that grows with each,
// clFinish, events of another queue.
#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <thread>

#include "check/clock.hpp"
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
      stage.queue.enqueueNDRangeKernel(kernel, cl::NullRange, kCounts, kCounts);
    } catch (const cl::Error& error) {
      return bug(fmt::format("{} after {} launches without a wait", describe(error), launch));
    }
  }
  try {
    stage.queue.finish();
  } catch (const cl::Error& error) {
    return bug(fmt::format("{} with {} launches in flight", describe(error), kLaunches));
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
  return bug(
      fmt::format("the process grows by {:.0f} bytes a launch, and by {:.0f} in a second window",
                  first, second));
}

ProbeResult enqueue_leak(const Stage& stage) {
  const cl::Buffer counts = stage.zeros(kCounts);
  const cl::Kernel kernel = stage.add_one(counts);
  return leak(stage, [&](int) {
    cl::Event event;
    stage.queue.enqueueNDRangeKernel(kernel, cl::NullRange, kCounts, kCounts, nullptr, &event);
  });
}

/// One kernel object, whose arguments change between launches.
ProbeResult kernel_pool_leak(const Stage& stage) {
  const cl::Buffer buffers[] = {stage.zeros(kCounts), stage.zeros(kCounts)};
  cl::Kernel kernel = stage.add_one(buffers[0]);
  return leak(stage, [&](int call) {
    kernel.setArg(0, buffers[call % 2]);
    stage.queue.enqueueNDRangeKernel(kernel, cl::NullRange, kCounts, kCounts);
  });
}

/// Where clFinish never returns, the parent process sees it.
ProbeResult profiling_finish_hang(const Stage& stage) {
  constexpr int kRounds = 50, kEach = 3;
  const cl::Buffer counts = stage.zeros(kCounts);
  const cl::Kernel kernel = stage.add_one(counts);
  for (int round = 0; round < kRounds; ++round) {
    for (int launch = 0; launch < kEach; ++launch) {
      stage.queue.enqueueNDRangeKernel(kernel, cl::NullRange, kCounts, kCounts);
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
  stage.queue.enqueueNDRangeKernel(kernel, cl::NullRange, kCounts, kCounts, nullptr, &event);
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

}  // namespace

std::vector<CodeProbe> queue_probes() {
  return {{"queue-flood", queue_flood},
          {"enqueue-leak", enqueue_leak},
          {"kernel-pool-leak", kernel_pool_leak},
          {"profiling-finish-hang", profiling_finish_hang},
          {"cross-queue-event", cross_queue_event}};
}

}  // namespace clam
