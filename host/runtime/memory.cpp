// SPDX-License-Identifier: MIT
#include "clam/memory.hpp"

#include <CL/cl_ext.h>

#include <algorithm>

#include "refuse.hpp"

namespace clam {
namespace {

bool has(const cl::Device& device, const char* extension) {
  return query_device(device).has_extension(extension);
}

cl::Buffer made(cl_mem buffer, cl_int status, const std::string& what) {
  if (status != CL_SUCCESS) {
    throw DeviceError(fmt::format("{} failed: {} ({})", what, cl_status_name(status), status),
                      status);
  }
  return cl::Buffer(buffer);
}

/// `memory`: host memory, or where a file descriptor lies.
cl::Buffer import(const cl::Context& context, const cl::Device& device, std::intptr_t type,
                  void* memory, std::int64_t bytes) {
  const cl::Platform platform(device.getInfo<CL_DEVICE_PLATFORM>());
  const auto import_memory = reinterpret_cast<decltype(&clImportMemoryARM)>(
      clGetExtensionFunctionAddressForPlatform(platform(), "clImportMemoryARM"));
  if (!import_memory)
    throw DeviceError("the driver has cl_arm_import_memory, but no such function");
  const cl_import_properties_arm properties[] = {CL_IMPORT_TYPE_ARM, type, 0};
  cl_int status = CL_SUCCESS;
  const cl_mem buffer = import_memory(context(), CL_MEM_READ_WRITE, properties, memory,
                                      static_cast<size_t>(bytes), &status);
  return made(buffer, status, fmt::format("clImportMemoryARM of {} bytes", bytes));
}

void require_size(std::int64_t bytes) {
  if (bytes <= 0) throw BadArgument(fmt::format("a buffer has at least one byte, not {}", bytes));
}

std::int64_t base_alignment(const cl::Device& device) {
  return std::max<std::int64_t>(device.getInfo<CL_DEVICE_MEM_BASE_ADDR_ALIGN>() / 8, 1);
}

}  // namespace

cl::Buffer host_visible(const cl::Context& context, std::int64_t bytes) {
  require_size(bytes);
  cl_int status = CL_SUCCESS;
  const cl_mem buffer = clCreateBuffer(context(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                       static_cast<size_t>(bytes), nullptr, &status);
  return made(buffer, status, fmt::format("clCreateBuffer of {} bytes", bytes));
}

std::int64_t shared_alignment(const cl::Device& device) {
  return std::max<std::int64_t>(device.getInfo<CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE>(),
                                base_alignment(device));
}

cl::Buffer wrap(const cl::Context& context, const cl::Device& device, void* memory,
                std::int64_t bytes) {
  require_size(bytes);
  const std::int64_t alignment = shared_alignment(device);
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  throw_if(
      !memory || address % static_cast<std::uintptr_t>(alignment) != 0 || bytes % alignment != 0,
      "the device shares memory whose address and size are multiples of {} bytes; "
      "given are {} bytes at {:#x}: allocate it by aligned_alloc({}, ...)",
      alignment, bytes, address, alignment);
  if (has(device, "cl_arm_import_memory_host")) {
    return import(context, device, CL_IMPORT_TYPE_HOST_ARM, memory, bytes);
  }
  cl_int status = CL_SUCCESS;
  const cl_mem buffer = clCreateBuffer(context(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                       static_cast<size_t>(bytes), memory, &status);
  return made(buffer, status, fmt::format("clCreateBuffer on {} bytes of the host", bytes));
}

cl::Buffer import_dma_buf(const cl::Context& context, const cl::Device& device, int descriptor,
                          std::int64_t bytes) {
  require_size(bytes);
  if (descriptor < 0) throw BadArgument("a dma-buf's descriptor is not negative");
  throw_if<Unsupported>(
      !has(device, "cl_arm_import_memory_dma_buf"),
      "the device cannot import a dma-buf: it lacks cl_arm_import_memory_dma_buf");
  return import(context, device, CL_IMPORT_TYPE_DMA_BUF_ARM, &descriptor, bytes);
}

cl::Buffer part(const cl::Buffer& buffer, const cl::Device& device, std::int64_t offset,
                std::int64_t bytes) {
  const auto size = static_cast<std::int64_t>(buffer.getInfo<CL_MEM_SIZE>());
  throw_if(offset < 0 || bytes <= 0 || offset > size || bytes > size - offset,
           "{} bytes from byte {} on are not inside a buffer of {} bytes", bytes, offset, size);
  cl::Buffer whole = buffer;
  std::int64_t origin = offset;
  if (const cl_mem parent = buffer.getInfo<CL_MEM_ASSOCIATED_MEMOBJECT>()()) {
    origin += static_cast<std::int64_t>(buffer.getInfo<CL_MEM_OFFSET>());
    whole = cl::Buffer(parent, true);
  }
  throw_if(origin % base_alignment(device) != 0,
           "a part begins at a multiple of {} bytes on this device, not at {}",
           base_alignment(device), origin);
  const cl_buffer_region region{static_cast<size_t>(origin), static_cast<size_t>(bytes)};
  cl_int status = CL_SUCCESS;  // flags 0: those of the whole buffer
  const cl_mem made_part =
      clCreateSubBuffer(whole(), 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
  return made(made_part, status, fmt::format("clCreateSubBuffer of {} bytes", bytes));
}

Mapped::Mapped(const cl::CommandQueue& queue, const cl::Buffer& buffer, cl_map_flags flags)
    : queue_(queue),
      buffer_(buffer),
      data_(queue_.enqueueMapBuffer(buffer_, CL_TRUE, flags, 0, buffer_.getInfo<CL_MEM_SIZE>())) {}

Mapped::~Mapped() {
  clEnqueueUnmapMemObject(queue_(), buffer_(), data_, 0, nullptr, nullptr);
  clFlush(queue_());  // a queue that is never flushed can keep it back for ever
}

}  // namespace clam
