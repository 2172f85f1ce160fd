// SPDX-License-Identifier: MIT
#include "clock.hpp"

#include <dlfcn.h>
#include <time.h>

#include <cstdint>
#include <thread>
#include <type_traits>

#include "runtime/text.hpp"

namespace clam {
namespace {

void* (*opencl_function)(const char*) = nullptr;

/// What an OpenCL library with a clock of its own gives. All or none of them are there.
struct Library {
  std::int64_t (*now)() = nullptr;
  std::int64_t (*own)() = nullptr;
  void (*pass)(std::int64_t) = nullptr;
  double (*other_load)() = nullptr;

  Library() {
    // No other library has a clock: it need not be opened.
    if (environment("CLAM_SCRIPTED_OPENCL").empty()) return;
    const auto find = [](const char* name, auto& function) {
      void* const found = opencl_function ? opencl_function(name) : ::dlsym(RTLD_DEFAULT, name);
      function = reinterpret_cast<std::decay_t<decltype(function)>>(found);
    };
    find("clam_scripted_now", now);
    find("clam_scripted_own", own);
    find("clam_scripted_pass", pass);
    find("clam_scripted_other_load", other_load);
  }
};

const Library& library() {
  static const Library found;
  return found;
}

}  // namespace

void Clock::ask(void* (*function)(const char* name)) { opencl_function = function; }

bool Clock::is_scripted() { return library().now != nullptr; }

Clock::time_point Clock::now() {
  if (is_scripted()) return time_point(duration(library().now()));
  return time_point(std::chrono::steady_clock::now().time_since_epoch());
}

void Clock::sleep_for(duration time) {
  std::this_thread::sleep_for(time);
  if (is_scripted()) library().pass(time.count());
}

Clock::duration Clock::thread_time() {
  if (is_scripted()) return duration(library().own());
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + duration(now.tv_nsec);
}

std::optional<std::optional<double>> Clock::scripted_load() {
  if (!is_scripted()) return std::nullopt;
  const double share = library().other_load();
  return share < 0 ? std::optional<double>() : share;
}

}  // namespace clam
