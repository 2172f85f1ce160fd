// SPDX-License-Identifier: MIT
// memory.hpp - buffers that host and device share, where both have one memory.
//
//     kind                   how                          who owns the memory   who flushes
//     of the driver          host_visible()               the buffer            map and unmap
//     of the host            wrap()                       the caller            map and unmap
//     of another device      import_dma_buf()             who made the buffer   who made it
//     a part of a buffer     part()                       the whole one         as the whole one
//
// The host touches memory that a buffer shares only while it is mapped (Mapped): the driver brings
// caches up to date when it maps and unmaps. Mapping waits for the launches before it. Memory of
// the caller stays until the buffer is released and all that uses it has ended. A tensor may begin
// anywhere in its buffer: its offset is a word of the Problem, so a part is seldom needed.
#pragma once

#include <cstdint>

#include "opencl.hpp"

namespace clam {

/// A buffer that the driver puts where the host reaches it (CL_MEM_ALLOC_HOST_PTR). On a Mali this
/// is the kind that is never copied, with any driver. Throws BadArgument for no bytes, and
/// DeviceError.
cl::Buffer host_visible(const cl::Context& context, std::int64_t bytes);

/// Of host memory that a device is to use as it is, address and size are multiples of so many
/// bytes: a line of its cache and its largest vector. A driver copies what is not, and a line that
/// is shared with other data may overwrite that.
std::int64_t shared_alignment(const cl::Device& device);

/// A buffer on the caller's memory: imported where the device has cl_arm_import_memory_host, else
/// by CL_MEM_USE_HOST_PTR. Arm's guide says that its driver copies the
/// latter at each map and unmap. Throws BadArgument for an address or a size that is not a multiple
/// of shared_alignment(), and DeviceError.
cl::Buffer wrap(const cl::Context& context, const cl::Device& device, void* memory,
                std::int64_t bytes);

/// A buffer on a dma-buf: of a camera, a decoder, or another GPU. It keeps a descriptor of its own.
/// Throws Unsupported where the device has no cl_arm_import_memory_dma_buf, and DeviceError.
cl::Buffer import_dma_buf(const cl::Context& context, const cl::Device& device, int descriptor,
                          std::int64_t bytes);

/// The bytes from `offset` on, as a buffer of their own, also of a part. Throws BadArgument where
/// they are not inside, or do not begin at a multiple of CL_DEVICE_MEM_BASE_ADDR_ALIGN.
cl::Buffer part(const cl::Buffer& buffer, const cl::Device& device, std::int64_t offset,
                std::int64_t bytes);

/// A buffer for the host to read or write, until the end of the scope. It waits for the queue.
/// Throws cl::Error, as the calls of cl::CommandQueue do.
class Mapped {
 public:
  /// `flags`: CL_MAP_READ, CL_MAP_WRITE, or CL_MAP_WRITE_INVALIDATE_REGION where all is written.
  Mapped(const cl::CommandQueue& queue, const cl::Buffer& buffer, cl_map_flags flags);
  /// What was written is there for launches that this queue gets from now on. A failure to unmap is
  /// not reported: the queue's next wait fails then.
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
