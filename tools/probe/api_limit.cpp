// SPDX-License-Identifier: MIT
// api_limit.cpp - probes of what a device says about itself, held against what it does; of buffers
// that are too large, images in a part of a buffer, reads behind the end.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "check/clock.hpp"
#include "clam/error.hpp"
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
    return bug("a group of {}, which the kernel is said to allow, gave {}", most, *why);
  }
  // Rotations move values about; their sum stays: 16 lanes of 8 vectors that begin at i + lane + k.
  const std::vector<cl_int> sums = stage.read(dst, items);
  for (std::size_t i = 0; i < items; ++i) {
    const cl_int sum = static_cast<cl_int>(16 * 8 * i) + 16 * 28 + 8 * 120;
    if (sums[i] != sum) {
      return bug("in groups of {} element {} is {}, not {}", most, i, sums[i], sum);
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
    return bug("{} bytes of local memory, of {} that the device says it has, gave {}",
               ints * sizeof(cl_int), bytes, *why);
  }
  return judged(wrong_count(stage.read(wrong, kLanes), 0),
                "ints that came out wrong, by work-item: ");
}

/// Facts that cannot be, or that contradict each other. OpenCL's least values are a full profile's.
ProbeResult info_lies(const Stage& stage) {
  constexpr std::int64_t kSlowest = 50, kLeastLocal = 32768;
  const DeviceInfo& info = stage.info;
  if (info.max_clock_mhz < kSlowest && info.max_clock_mhz != 0) {
    return bug("the clock is {} MHz at most", info.max_clock_mhz);
  }
  if (info.compute_units < 1) return bug("{} compute units", info.compute_units);
  if (info.max_work_items.empty() || info.max_work_items[0] < info.max_work_group) {
    return bug("groups of {}, where the first dimension takes {}", info.max_work_group,
               info.max_work_items.empty() ? 0 : info.max_work_items[0]);
  }
  if (info.max_alloc_bytes > info.global_mem_bytes) {
    return bug("buffers of {} bytes in {} bytes of memory", info.max_alloc_bytes,
               info.global_mem_bytes);
  }
  if (info.local_mem_bytes < kLeastLocal) {
    return bug("{} bytes of local memory", info.local_mem_bytes);
  }
  if (info.address_bits != 32 && info.address_bits != 64) {
    return bug("addresses of {} bits", info.address_bits);
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
    stage.launch(kernel);
    stage.queue.finish();
    seconds = seconds_since(start);
  };
  for (spin(); seconds < kSample && rounds < 1 << 24; spin()) rounds *= 2;
  rounds = static_cast<cl_int>(std::min(rounds * kSeconds / seconds, 1e9));
  try {
    spin();
  } catch (const cl::Error& error) {
    return bug("a launch that should take {:.0f} s gave {}", kSeconds, describe(error));
  }
  const std::vector<cl_int> seen = stage.read(dst, kCounts);
  for (std::size_t i = 0; i < kCounts; ++i) {
    const auto right =
        static_cast<cl_int>(after(static_cast<cl_uint>(i), kInner * std::uint64_t(rounds)) >> 1);
    if (seen[i] != right) {
      return bug("after {:.1f} s element {} is {}, not {}", seconds, i, seen[i], right);
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

// ---- memory ----

ProbeResult alloc_over_limit(const Stage& stage) {
  constexpr cl_ulong kMore = 1 << 20;
  const auto most = stage.device.getInfo<CL_DEVICE_MAX_MEM_ALLOC_SIZE>();
  cl_int status = CL_SUCCESS;
  const cl_mem buffer =
      ::clCreateBuffer(stage.context(), CL_MEM_READ_WRITE, most + kMore, nullptr, &status);
  if (buffer) ::clReleaseMemObject(buffer);
  if (status == CL_INVALID_BUFFER_SIZE || status == CL_OUT_OF_RESOURCES ||
      status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_HOST_MEMORY) {
    return ok();
  }
  return bug("a buffer of {} bytes, where the device says that {} are the most, gave {} ({})",
             most + kMore, most, cl_status_name(status), status);
}

/// What an image in a buffer must keep to; 0 where the device does not say.
std::size_t alignment(const cl::Device& device, cl_device_info what) {
  cl_uint pixels = 0;
  if (::clGetDeviceInfo(device(), what, sizeof pixels, &pixels, nullptr) != CL_SUCCESS) return 0;
  return pixels;
}

/// An image of the second half of a buffer that counts its floats.
ProbeResult subbuffer_image(const Stage& stage) {
  constexpr cl_device_info kPitchAlignment = 0x104A, kBaseAlignment = 0x104B;
  constexpr std::size_t kHeight = 8, kPixel = 4 * sizeof(float);
  const std::size_t pitch = std::max<std::size_t>(1, alignment(stage.device, kPitchAlignment));
  const std::size_t base = std::max<std::size_t>(1, alignment(stage.device, kBaseAlignment));
  const std::size_t width = std::lcm(std::lcm(pitch, base), std::size_t{64});
  const std::size_t bytes = width * kHeight * kPixel, floats = bytes / sizeof(float);
  const auto whole_align = static_cast<std::size_t>(stage.info.mem_base_addr_align);
  if (bytes % whole_align != 0) return skip("no place in a buffer suits both alignments");

  std::vector<float> values(2 * floats);
  std::iota(values.begin(), values.end(), 0.0f);
  const cl::Buffer whole(stage.context, CL_MEM_READ_WRITE, 2 * bytes);
  stage.queue.enqueueWriteBuffer(whole, CL_TRUE, 0, 2 * bytes, values.data());
  cl_buffer_region region{bytes, bytes};
  cl_int status = CL_SUCCESS;
  const cl::Buffer half(::clCreateSubBuffer(whole(), CL_MEM_READ_ONLY, CL_BUFFER_CREATE_TYPE_REGION,
                                            &region, &status));
  if (status != CL_SUCCESS) throw cl::Error(status, "clCreateSubBuffer");
  const cl_image_format format{CL_RGBA, CL_FLOAT};
  cl_image_desc shape{};
  shape.image_type = CL_MEM_OBJECT_IMAGE2D;
  shape.image_width = width;
  shape.image_height = kHeight;
  shape.image_row_pitch = width * kPixel;
  shape.buffer = half();
  const cl::Image2D image(
      ::clCreateImage(stage.context(), CL_MEM_READ_ONLY, &format, &shape, nullptr, &status));
  if (status != CL_SUCCESS) throw cl::Error(status, "clCreateImage");

  const cl::Buffer copy(stage.context, CL_MEM_READ_WRITE, bytes);
  const cl::Kernel kernel = with(stage.own_kernel("copy_image"), image, copy);
  stage.queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(width, kHeight));
  std::vector<float> seen(floats, -1);
  stage.queue.enqueueReadBuffer(copy, CL_TRUE, 0, bytes, seen.data());
  const auto wrong =
      std::mismatch(seen.begin(), seen.end(), values.begin() + std::ptrdiff_t(floats));
  if (wrong.first == seen.end()) return ok();
  return bug("float {} of the image is {}, not {}", wrong.first - seen.begin(), *wrong.first,
             *wrong.second);
}

/// Far behind the end of a buffer; then a second queue of the context must still work.
ProbeResult oob_read(const Stage& stage) {
  constexpr cl_int kFar = 1 << 28;  // ints: a GiB
  const cl::CommandQueue other(stage.context, stage.device);
  const cl::Buffer counts = stage.zeros(kCounts);
  const cl::Kernel innocent = stage.add_one(counts);
  const cl::Buffer src = stage.zeros(kCounts), dst = stage.zeros(kCounts);
  const cl::Kernel guilty = with(stage.own_kernel("read_far"), src, dst, kFar);
  const Reason refused = stage.refusal(guilty, kCounts, kCounts);
  try {
    other.enqueueNDRangeKernel(innocent, cl::NullRange, kCounts, kCounts);
    other.finish();
    std::vector<cl_int> seen(kCounts, -1);
    other.enqueueReadBuffer(counts, CL_TRUE, 0, kCounts * sizeof(cl_int), seen.data());
    const std::string wrong = wrong_count(seen, 1);
    if (!wrong.empty()) return bug("after it, in another queue, " + wrong);
  } catch (const cl::Error& error) {
    return bug("after it another queue of the context gave " + describe(error));
  }
  return refused ? ok("the read itself gave " + *refused) : ok();
}

}  // namespace

std::vector<CodeProbe> limit_probes() {
  return {{"group-size-lie", group_size_lie},
          {"local-size-lie", local_size_lie},
          {"info-lies", info_lies},
          {"long-kernel", long_kernel},
          {"native-exp2", native_exp2},
          {"alloc-over-limit", alloc_over_limit},
          {"subbuffer-image", subbuffer_image},
          {"oob-read", oob_read}};
}

}  // namespace clam
