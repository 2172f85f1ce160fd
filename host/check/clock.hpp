// SPDX-License-Identifier: MIT
// clock.hpp - the one clock that times are taken by and limits end at: the machine's. An OpenCL
// library may bring its own. That of the tests does (tests/support/scripted_opencl): there a launch
// takes what a script says, and no verdict depends on what else the machine does.
#pragma once

#include <chrono>
#include <optional>

namespace clam {

/// As much of std::chrono's clocks as its time points need.
struct Clock {
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<Clock>;

  static time_point now();
  /// Whether the OpenCL library brings it. Such a clock stands still where nothing uses OpenCL.
  static bool is_scripted();
  /// Returns not before this clock has gone on by so much.
  static void sleep_for(duration time);

  /// What the calling thread has computed so far: waiting is not in it, nor are other threads.
  static duration thread_time();
  /// Where to look for the clock: the functions of the OpenCL library in use, for programs that are
  /// not linked with it. To be called before any other.
  static void ask(void* (*function)(const char* name));
  /// The share of the processors that other programs take, where the library says so; the inner
  /// one is empty where that is not known.
  static std::optional<std::optional<double>> scripted_load();
};

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace clam
