// SPDX-License-Identifier: MIT
#include "clam/job_limit.hpp"

#include <algorithm>
#include <charconv>

#include "clam/gpu.hpp"
#include "refuse.hpp"

namespace clam {
namespace {

enum class Stack { mesa, arm };

/// Clocks without progress after which a GPU with command streams is reset (CSF_PROGRESS_TIMEOUT in
/// Arm's kernel driver, PROGRESS_TIMEOUT_CYCLES in panthor).
constexpr double kProgressClocks = 5.0 * 500 * 1024 * 1024;

/// A kernel driver's limit, as its sources have it.
struct Rule {
  Stack stack;
  bool command_streams;    ///< GPUs from architecture 10 on
  int before_release;      ///< Arm's releases rN before it alone; 0: all
  double seconds, clocks;  ///< the lesser counts; 0: none
  const char* driver;
};

constexpr Rule kRules[] = {
    // JOB_TIMEOUT_MS of panfrost_job.c and panthor_sched.c.
    {Stack::mesa, false, 0, 0.5, 0, "panfrost"},
    {Stack::mesa, true, 0, 5, kProgressClocks, "panthor"},
    {Stack::arm, true, 0, 0, kProgressClocks, "Arm's kernel driver"},
    // DEFAULT_JS_HARD_STOP_TICKS_CL: 2 ticks of 50 ms at first, 50 of 100 ms since. The older file
    // names no release; its settings are those of r4.
    {Stack::arm, false, 5, 0.1, 0, "Arm's oldest kernel driver"},
    {Stack::arm, false, 0, 5, 0, "Arm's kernel driver"},
};

/// N of a version such as "OpenCL 1.1 v1.r4p0-00rel0.abc"; -1 where there is none.
int release_of(const std::string& version) {
  const std::size_t at = version.find(".r");
  int release = -1;
  if (at != version.npos) {
    std::from_chars(version.data() + at + 2, version.data() + version.size(), release);
  }
  return release;
}

/// What the device says; some say 5 MHz, or nothing.
double clock_hz(const DeviceInfo& device) {
  constexpr double kLeast = 50, kUsual = 500;
  const auto mhz = static_cast<double>(device.max_clock_mhz);
  return 1e6 * (mhz >= kLeast ? mhz : kUsual);
}

/// The share of the peak that a kernel without tiles reached: 400 million multiply-adds took .3 s
/// on a Mali-G52 MP2, and over 1 s on a Mali-T860 MP4.
double plain_share(const Gpu& gpu) { return gpu.family == Gpu::Family::midgard ? 0.0075 : 0.035; }

}  // namespace

JobLimit job_limit(const DeviceInfo& device) {
  const Gpu* gpu = identify(device).gpu;
  if (!gpu) return {};
  constexpr std::uint32_t kFirstWithStreams = 10;
  const bool streams = gpu->arch_major >= kFirstWithStreams;
  const bool arms = device.platform == "ARM Platform";
  const int release = release_of(device.device_version);
  for (const Rule& rule : kRules) {
    if ((rule.stack == Stack::arm) != arms || rule.command_streams != streams) continue;
    if (rule.before_release > 0 && (release < 0 || release >= rule.before_release)) continue;
    double seconds = rule.seconds;
    const double by_clocks = rule.clocks / clock_hz(device);
    if (rule.clocks > 0) seconds = seconds > 0 ? std::min(seconds, by_clocks) : by_clocks;
    return {seconds, rule.driver};
  }
  return {};
}

double predicted_seconds(const Problem& problem, const Plan& plan, const DeviceInfo& device) {
  const Identity who = identify(device);
  if (!who.gpu) return 0;
  if (plan.clocks > 0) return plan.clocks / clock_hz(device);
  const double cores = static_cast<double>(who.cores > 0 ? who.cores : who.gpu->cores);
  const double rate = who.gpu->fma_f32 * cores * clock_hz(device) * plain_share(*who.gpu);
  return std::max(flops_of(problem) / 2 / rate, bytes_of(problem) / (1e9 * who.gpu->gb_per_s));
}

Reason predicted_too_long(const Problem& problem, const Plan& plan, const DeviceInfo& device) {
  const JobLimit limit = job_limit(device);
  const double seconds = limit.seconds > 0 ? predicted_seconds(problem, plan, device) : 0;
  return reason_if(
      seconds > limit.safe_seconds(),
      "a launch is predicted to take {:.2g} s, over half of the {:.2g} s after which {} ends it",
      seconds, limit.seconds, limit.driver);
}

}  // namespace clam
