// SPDX-License-Identifier: MIT
// commands.cpp - memory and what moves it.
#include "commands.hpp"

#include <algorithm>

#include "clock.hpp"
#include "next.hpp"

namespace scripted {
namespace {

/// GB/s are bytes in a nanosecond.
double ns_at(std::size_t bytes, double gb_per_s) { return double(bytes) / gb_per_s; }

void flip(const Orders& orders, void* where) {
  const Lie* lie = orders.find("flip");
  if (!lie) return;
  auto* byte = static_cast<unsigned char*>(where) + lie->byte;
  *byte = static_cast<unsigned char>(*byte ^ lie->bits);
}

}  // namespace

cl_event ended_event(cl_command_queue queue) {
  cl_context context = nullptr;
  NEXT(clGetCommandQueueInfo)(queue, CL_QUEUE_CONTEXT, sizeof context, &context, nullptr);
  cl_event event = NEXT(clCreateUserEvent)(context, nullptr);
  NEXT(clSetUserEventStatus)(event, CL_COMPLETE);
  return event;
}

void memory_changes() {
  const std::lock_guard lock(mutex());
  state().done.clear();
}

}  // namespace scripted

using scripted::command;
using scripted::enter;
using scripted::Orders;

extern "C" {

cl_context clCreateContext(const cl_context_properties* properties, cl_uint count,
                           const cl_device_id* devices,
                           void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*),
                           void* data, cl_int* status) {
  const Orders orders = enter("clCreateContext");
  if (refused(orders, status)) return nullptr;
  {
    const std::lock_guard lock(scripted::mutex());
    scripted::state().used = true;
  }
  return NEXT(clCreateContext)(properties, count, devices, notify, data, status);
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void* host,
                      cl_int* status) {
  const Orders orders = enter("clCreateBuffer");
  if (refused(orders, status)) return nullptr;
  scripted::memory_changes();
  const auto most = scripted::number_of("most_buffer_bytes");
  if (!most && double(size) > scripted::number_of("max_alloc_bytes").value_or(double(size))) {
    if (status) *status = CL_INVALID_BUFFER_SIZE;
    return nullptr;
  }
  if (most) size = std::min(size, static_cast<size_t>(*most));
  cl_mem made = NEXT(clCreateBuffer)(context, flags, size, host, status);
  const std::lock_guard lock(scripted::mutex());
  scripted::state().parts.erase(made);
  return made;
}

cl_mem clCreateSubBuffer(cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type,
                         const void* region, cl_int* status) {
  const Orders orders = enter("clCreateSubBuffer");
  if (refused(orders, status)) return nullptr;
  cl_buffer_region part = *static_cast<const cl_buffer_region*>(region);
  if (const auto from = scripted::number_of("sub_buffers_from")) {
    part.origin = static_cast<size_t>(*from);
  }
  cl_mem made = NEXT(clCreateSubBuffer)(buffer, flags, type, &part, status);
  const std::lock_guard lock(scripted::mutex());
  scripted::state().parts[made] = {buffer, part.origin};
  return made;
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                           size_t size, void* to, cl_uint count, const cl_event* events,
                           cl_event* event) {
  const Orders orders = enter("clEnqueueReadBuffer");
  const double ns = scripted::ns_at(size, scripted::script()->download_gb_per_s);
  return command(orders, ns, blocking, event, [&] {
    const cl_int status =
        NEXT(clEnqueueReadBuffer)(queue, buffer, blocking, offset, size, to, count, events, event);
    if (status == CL_SUCCESS && blocking) scripted::flip(orders, to);
    return status;
  });
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                            size_t size, const void* from, cl_uint count, const cl_event* events,
                            cl_event* event) {
  const Orders orders = enter("clEnqueueWriteBuffer");
  scripted::memory_changes();
  const double ns = scripted::ns_at(size, scripted::script()->upload_gb_per_s);
  return command(orders, ns, blocking, event, [&] {
    return NEXT(clEnqueueWriteBuffer)(queue, buffer, blocking, offset, size, from, count, events,
                                      event);
  });
}

cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer, const void* pattern,
                           size_t pattern_size, size_t offset, size_t size, cl_uint count,
                           const cl_event* events, cl_event* event) {
  const Orders orders = enter("clEnqueueFillBuffer");
  scripted::memory_changes();
  const double ns = scripted::ns_at(size, scripted::gb_per_s(double(size)));
  return command(orders, ns, false, event, [&] {
    return NEXT(clEnqueueFillBuffer)(queue, buffer, pattern, pattern_size, offset, size, count,
                                     events, event);
  });
}

cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
                           size_t to_offset, size_t size, cl_uint count, const cl_event* events,
                           cl_event* event) {
  const Orders orders = enter("clEnqueueCopyBuffer");
  scripted::memory_changes();
  const double ns = 2 * scripted::ns_at(size, scripted::gb_per_s(double(size)));
  return command(orders, ns, false, event, [&] {
    return NEXT(clEnqueueCopyBuffer)(queue, from, to, from_offset, to_offset, size, count, events,
                                     event);
  });
}

void* clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                         cl_map_flags flags, size_t offset, size_t size, cl_uint count,
                         const cl_event* events, cl_event* event, cl_int* status) {
  const Orders orders = enter("clEnqueueMapBuffer");
  scripted::memory_changes();
  void* mapped = nullptr;
  cl_int own = CL_SUCCESS;
  const double ns = scripted::script()->map_us * 1e3;
  const cl_int seen = command(orders, ns, blocking, event, [&] {
    mapped = NEXT(clEnqueueMapBuffer)(queue, buffer, blocking, flags, offset, size, count, events,
                                      event, &own);
    return own;
  });
  if (status) *status = seen;
  return mapped;
}

cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void* mapped, cl_uint count,
                               const cl_event* events, cl_event* event) {
  const Orders orders = enter("clEnqueueUnmapMemObject");
  scripted::memory_changes();
  const double ns = scripted::script()->map_us * 1e3;
  return command(orders, ns, false, event, [&] {
    return NEXT(clEnqueueUnmapMemObject)(queue, memory, mapped, count, events, event);
  });
}

}  // extern "C"
