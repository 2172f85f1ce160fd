// SPDX-License-Identifier: MIT
// api_event.cpp - probes of events: their times, and their callbacks.
#include <fmt/core.h>

#include <atomic>
#include <chrono>

#include "check/clock.hpp"
#include "clam/runtime.hpp"
#include "stage.hpp"

namespace clam {
namespace {

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
    if (!what.empty()) return bug(fmt::format("launch {}: {}", launch, what));
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
  stage.queue.enqueueNDRangeKernel(kernel, cl::NullRange, kCounts, kCounts, nullptr, &event);
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

std::vector<CodeProbe> event_probes() {
  return {{"event-garbage", event_garbage},
          {"event-zero-time", event_zero_time},
          {"callback-without-flush", callback_without_flush}};
}

}  // namespace clam
