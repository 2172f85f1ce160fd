// SPDX-License-Identifier: MIT
// memory.hpp - buffers that host and device share, where both have one memory.
//
//     kind                   how                          who owns the memory   who flushes
//     of the driver          host_visible()               the buffer            map and unmap
//     of the host            wrap()                       the caller            map and unmap
//     of another device      import_dma_buf()             who made the buffer   who made it
//     a part of a buffer     part()                       the whole one         as the whole one
//
// The host may touch shared memory only while the buffer is mapped (Mapped): the driver
// synchronises caches when it maps and unmaps. Mapping waits for the launches before it. The caller
// must keep its memory until the buffer is released and all launches that use it have ended. A
// tensor may begin anywhere in its buffer: its offset is a word of the Problem, so a part is seldom
// needed.
#pragma once

#include <cstdint>

#include "opencl.hpp"

namespace clam {

/// A buffer that the driver puts where the host reaches it (CL_MEM_ALLOC_HOST_PTR). On a Mali this
/// is the kind that is never copied, with any driver. Throws BadArgument for no bytes, and
/// DeviceError.
cl::Buffer host_visible(const cl::Context& context, std::int64_t bytes);

/// The alignment in bytes of host memory that a device uses without a copy, for its address and its
/// size. It covers a line of the device's cache and its largest vector. A driver copies memory that
/// is not aligned so. A cache line that holds other data too may overwrite that data.
std::int64_t shared_alignment(const cl::Device& device);

/// A buffer for the caller's memory: imported where the device has cl_arm_import_memory_host, else
/// by CL_MEM_USE_HOST_PTR. Arm's guide says that its driver copies the latter at each map and
/// unmap. Throws BadArgument for an address or a size that is not a multiple of shared_alignment(),
/// and DeviceError.
cl::Buffer wrap(const cl::Context& context, const cl::Device& device, void* memory,
                std::int64_t bytes);

/// A buffer for a dma-buf: of a camera, a decoder, or another GPU. It keeps its own copy of the
/// descriptor. Throws Unsupported where the device has no cl_arm_import_memory_dma_buf, and
/// DeviceError.
cl::Buffer import_dma_buf(const cl::Context& context, const cl::Device& device, int descriptor,
                          std::int64_t bytes);

/// A buffer for `bytes` bytes of `buffer`, from `offset` on; `buffer` may be a part itself. Throws
/// BadArgument where they are not inside, or do not begin at a multiple of
/// CL_DEVICE_MEM_BASE_ADDR_ALIGN.
cl::Buffer part(const cl::Buffer& buffer, const cl::Device& device, std::int64_t offset,
                std::int64_t bytes);

/// Maps a buffer for the host to read or write, until the end of the scope. The constructor waits
/// for the queue. Throws cl::Error, as the calls of cl::CommandQueue do.
class Mapped {
 public:
  /// `flags`: CL_MAP_READ, CL_MAP_WRITE, or CL_MAP_WRITE_INVALIDATE_REGION where all is written.
  Mapped(const cl::CommandQueue& queue, const cl::Buffer& buffer, cl_map_flags flags);
  /// Launches that this queue gets from now on see what the host wrote. A failure to unmap is not
  /// reported here: the queue's next wait fails then.
  ~Mapped();
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  void* data() const { return data_; }

 private:
  cl::CommandQueue queue_;
  cl::Buffer buffer_;
  void* data_;
};

}  // namespace clam
