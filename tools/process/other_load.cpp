// SPDX-License-Identifier: MIT
#include "other_load.hpp"

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "check/clock.hpp"

namespace clam {
namespace {

constexpr double kFewestTicks = 20;  // fewer are too coarse

std::optional<ProcessorTime> processor_time() {
  std::ifstream file("/proc/stat");
  std::ostringstream text;
  text << file.rdbuf();
  return parse_processor_time(text.str());
}

double seconds_of(const timeval& time) { return double(time.tv_sec) + double(time.tv_usec) * 1e-6; }

/// Of all threads of this process, a driver's included, and of processes that it waited for.
double own_seconds() {
  double seconds = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    ::getrusage(who, &usage);
    seconds += seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  }
  return seconds;
}

}  // namespace

std::optional<ProcessorTime> parse_processor_time(const std::string& stat) {
  // cpu user nice system idle iowait irq softirq steal guest guest_nice; user has guest in it
  std::istringstream words(stat);
  std::string name;
  words >> name;
  if (name != "cpu") return std::nullopt;
  ProcessorTime time;
  double ticks = 0;
  for (int field = 0; field < 8 && words >> ticks; ++field) {
    const bool idle = field == 3 || field == 4;
    time.all += ticks;
    if (!idle) time.busy += ticks;
  }
  return time;
}

OtherLoad::OtherLoad() : start_(processor_time()), own_start_(own_seconds()) {}

std::optional<double> OtherLoad::share() const {
  if (const auto told = Clock::scripted_load()) return *told;
  const std::optional<ProcessorTime> now = processor_time();
  if (!start_ || !now || now->all - start_->all < kFewestTicks) return std::nullopt;
  const double own = (own_seconds() - own_start_) * double(sysconf(_SC_CLK_TCK));
  const double others = now->busy - start_->busy - own;
  return std::clamp(others / (now->all - start_->all), 0.0, 1.0);
}

}  // namespace clam
