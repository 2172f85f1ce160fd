// SPDX-License-Identifier: MIT
// api_limit.cpp - probes of what a device says about itself, held against what it does.
#include <fmt/core.h>

#include "check/clock.hpp"
#include "runtime/native_exp2.hpp"
#include "stage.hpp"

namespace clam {
namespace {

/// A kernel that wants many registers, in a group as large as CL_KERNEL_WORK_GROUP_SIZE says.
ProbeResult group_size_lie(const Stage& stage) {
  constexpr std::size_t kGroups = 4;
  constexpr cl_int kRounds = 64;
  const cl::Kernel kernel = stage.own_kernel("rotate_all");
  const std::size_t most = kernel.getWorkGroupInfo<CL_KERNEL_WORK_GROUP_SIZE>(stage.device);
  const std::size_t items = kGroups * most;
  const cl::Buffer dst = stage.zeros(items);
  if (const Reason why = stage.refusal(with(kernel, dst, kRounds), items, most)) {
    return bug(
        fmt::format("a group of {}, which the kernel is said to allow, gave {}", most, *why));
  }
  // Rotations move values about; their sum stays: 16 lanes of 8 vectors that begin at i + lane + k.
  const std::vector<cl_int> sums = stage.read(dst, items);
  for (std::size_t i = 0; i < items; ++i) {
    const cl_int sum = static_cast<cl_int>(16 * 8 * i) + 16 * 28 + 8 * 120;
    if (sums[i] != sum) {
      return bug(fmt::format("in groups of {} element {} is {}, not {}", most, i, sums[i], sum));
    }
  }
  const auto device_most = static_cast<std::size_t>(stage.info.max_work_group);
  if (most == device_most) return ok();
  return ok(fmt::format("this kernel runs in groups of {}, the device in {}: ask the kernel", most,
                        device_most));
}

/// All local memory that the device says it has, written and read across the group.
ProbeResult local_size_lie(const Stage& stage) {
  constexpr std::size_t kLanes = 64;
  const cl::Kernel kernel = stage.own_kernel("fill_local");
  const auto bytes = static_cast<std::size_t>(stage.info.local_mem_bytes);
  const auto taken = kernel.getWorkGroupInfo<CL_KERNEL_LOCAL_MEM_SIZE>(stage.device);
  const std::size_t ints = (bytes - taken) / sizeof(cl_int) / kLanes * kLanes;
  const cl::Buffer wrong = stage.zeros(kLanes);
  with(kernel, wrong, cl::Local(ints * sizeof(cl_int)), static_cast<cl_int>(ints));
  if (const Reason why = stage.refusal(kernel, kLanes, kLanes)) {
    return bug(fmt::format("{} bytes of local memory, of {} that the device says it has, gave {}",
                           ints * sizeof(cl_int), bytes, *why));
  }
  const std::string what = wrong_count(stage.read(wrong, kLanes), 0);
  return what.empty() ? ok() : bug("ints that came out wrong, by work-item: " + what);
}

/// Facts that cannot be, or that contradict each other. OpenCL's least values are a full profile's.
ProbeResult info_lies(const Stage& stage) {
  constexpr std::int64_t kSlowest = 50, kLeastLocal = 32768;
  const DeviceInfo& info = stage.info;
  if (info.max_clock_mhz < kSlowest && info.max_clock_mhz != 0) {
    return bug(fmt::format("the clock is {} MHz at most", info.max_clock_mhz));
  }
  if (info.compute_units < 1) return bug(fmt::format("{} compute units", info.compute_units));
  if (info.max_work_items.empty() || info.max_work_items[0] < info.max_work_group) {
    return bug(fmt::format("groups of {}, where the first dimension takes {}", info.max_work_group,
                           info.max_work_items.empty() ? 0 : info.max_work_items[0]));
  }
  if (info.max_alloc_bytes > info.global_mem_bytes) {
    return bug(fmt::format("buffers of {} bytes in {} bytes of memory", info.max_alloc_bytes,
                           info.global_mem_bytes));
  }
  if (info.local_mem_bytes < kLeastLocal) {
    return bug(fmt::format("{} bytes of local memory", info.local_mem_bytes));
  }
  if (info.address_bits != 32 && info.address_bits != 64) {
    return bug(fmt::format("addresses of {} bits", info.address_bits));
  }
  return info.max_clock_mhz ? ok() : ok("it does not say its clock");
}

/// x * a + c, `steps` times, with a and c of the kernel: by squaring, so that the host needs no
/// time.
cl_uint after(cl_uint x, std::uint64_t steps) {
  cl_uint a = 1664525u, c = 1013904223u;
  for (; steps; steps /= 2) {
    if (steps % 2) x = x * a + c;
    c = c * a + c;
    a *= a;
  }
  return x;
}

/// One launch of six seconds, after short ones that say how many rounds that takes.
ProbeResult long_kernel(const Stage& stage) {
  constexpr std::uint64_t kInner = 1 << 16;  // the kernel's inner loop
  constexpr double kSample = 0.3, kSeconds = 6;
  cl::Kernel kernel = stage.own_kernel("spin");
  const cl::Buffer dst = stage.zeros(kCounts);
  kernel.setArg(0, dst);
  double seconds = 0;
  cl_int rounds = 16;
  const auto spin = [&] {
    kernel.setArg(1, rounds);
    const Clock::time_point start = Clock::now();
    stage.queue.enqueueNDRangeKernel(kernel, cl::NullRange, kCounts, kCounts);
    stage.queue.finish();
    seconds = seconds_since(start);
  };
  for (spin(); seconds < kSample && rounds < 1 << 24; spin()) rounds *= 2;
  rounds = static_cast<cl_int>(std::min(rounds * kSeconds / seconds, 1e9));
  try {
    spin();
  } catch (const cl::Error& error) {
    return bug(
        fmt::format("a launch that should take {:.0f} s gave {}", kSeconds, describe(error)));
  }
  const std::vector<cl_int> seen = stage.read(dst, kCounts);
  for (std::size_t i = 0; i < kCounts; ++i) {
    const auto right =
        static_cast<cl_int>(after(static_cast<cl_uint>(i), kInner * std::uint64_t(rounds)) >> 1);
    if (seen[i] != right) {
      return bug(
          fmt::format("after {:.1f} s element {} is {}, not {}", seconds, i, seen[i], right));
    }
  }
  return ok();
}

/// OpenCL leaves the errors of native_exp2 and native_recip to the driver: wrong is what no use can
/// be made of.
ProbeResult native_exp2(const Stage& stage) {
  constexpr double kUseless = 1e5, kRows = 16, kActivations = 4;
  const double ulp = measure_native_exp2(stage.queue, stage.info);
  if (ulp < 0) return bug("a kernel with native_exp2 and native_recip does not build or run");
  if (ulp >= kUseless) return bug("it is wrong for -infinity, for NaN, or for small results");
  const char* use = ulp > kRows          ? ": clam takes neither"
                    : ulp > kActivations ? ": clam's activations take neither"
                                         : "";
  return ok(
      fmt::format("{:.2f} ulp at most, with a step of Newton behind native_recip{}", ulp, use));
}

}  // namespace

std::vector<CodeProbe> limit_probes() {
  return {{"group-size-lie", group_size_lie},
          {"local-size-lie", local_size_lie},
          {"info-lies", info_lies},
          {"long-kernel", long_kernel},
          {"native-exp2", native_exp2}};
}

}  // namespace clam
