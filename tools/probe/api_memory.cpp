// SPDX-License-Identifier: MIT
// api_memory.cpp - probes of memory: buffers that are too large, images in a part of a buffer,
// reads behind the end.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "clam/error.hpp"
#include "stage.hpp"

namespace clam {
namespace {

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
  return bug(
      fmt::format("a buffer of {} bytes, where the device says that {} are the most, gave {} ({})",
                  most + kMore, most, cl_status_name(status), status));
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
  return bug(fmt::format("float {} of the image is {}, not {}", wrong.first - seen.begin(),
                         *wrong.first, *wrong.second));
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

std::vector<CodeProbe> memory_probes() {
  return {{"alloc-over-limit", alloc_over_limit},
          {"subbuffer-image", subbuffer_image},
          {"oob-read", oob_read}};
}

}  // namespace clam
