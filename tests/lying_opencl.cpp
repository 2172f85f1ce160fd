// SPDX-License-Identifier: MIT
// lying_opencl.cpp - loaded before libOpenCL (LD_PRELOAD), it has the fault of drivers that
// CLAM_TEST_LIE names: the probe of that name must see it, or a test of clam-bench.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

namespace {

template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}
#define REAL(function) real<decltype(&function)>(#function)

bool lies(std::string_view name) {
  const char* lie = std::getenv("CLAM_TEST_LIE");
  return lie && name == lie;
}

[[noreturn]] void hang() {
  for (;;) ::pause();
}

/// Whether this is the third process that asks, or the sixth: CLAM_TEST_LIE_COUNT names the file
/// that grows by a byte with each.
bool is_third_process() {
  static const bool third = [] {
    std::FILE* count = std::fopen(std::getenv("CLAM_TEST_LIE_COUNT"), "ab");
    std::fputc('.', count);
    const long processes = std::ftell(count);
    std::fclose(count);
    return processes % 3 == 0;
  }();
  return third;
}

/// Memory that stays in use and belongs to nobody.
void leak() {
  constexpr std::size_t kBytes = 1024;
  static std::atomic<void*> last;
  void* memory = std::malloc(kBytes);
  if (memory) std::memset(memory, 1, kBytes);
  last = memory;
}

std::atomic<bool> device_in_use{false};

struct AtExit {
  ~AtExit() {
    if (device_in_use && lies("never-exits")) hang();
  }
} at_exit;

}  // namespace

extern "C" {

cl_context clCreateContext(const cl_context_properties* properties, cl_uint count,
                           const cl_device_id* devices,
                           void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*),
                           void* data, cl_int* status) {
  device_in_use = true;
  return REAL(clCreateContext)(properties, count, devices, notify, data, status);
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void* value,
                       size_t* needed) {
  const cl_int status = REAL(clGetDeviceInfo)(device, what, size, value, needed);
  if (status != CL_SUCCESS || !value) return status;
  if (what == CL_DEVICE_MAX_CLOCK_FREQUENCY && lies("info-lies")) *static_cast<cl_uint*>(value) = 5;
  constexpr cl_device_info kHalfConfig = 0x1033;  // CL_DEVICE_HALF_FP_CONFIG
  if (what == kHalfConfig && lies("half-denormals")) {
    *static_cast<cl_device_fp_config*>(value) |= CL_FP_DENORM;
  }
  return status;
}

cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                cl_kernel_work_group_info what, size_t size, void* value,
                                size_t* needed) {
  const cl_int status = REAL(clGetKernelWorkGroupInfo)(kernel, device, what, size, value, needed);
  if (status == CL_SUCCESS && value && what == CL_KERNEL_WORK_GROUP_SIZE &&
      lies("group-size-lie")) {
    *static_cast<size_t*>(value) *= 64;
  }
  return status;
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void* host,
                      cl_int* status) {
  constexpr size_t kLarge = 1 << 28;
  if (lies("alloc-over-limit")) size = std::min(size, kLarge);
  return REAL(clCreateBuffer)(context, flags, size, host, status);
}

cl_mem clCreateSubBuffer(cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type,
                         const void* region, cl_int* status) {
  cl_buffer_region start = *static_cast<const cl_buffer_region*>(region);
  if (lies("subbuffer-image")) start.origin = 0;
  return REAL(clCreateSubBuffer)(buffer, flags, type, &start, status);
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                           size_t size, void* to, cl_uint count, const cl_event* events,
                           cl_event* event) {
  const cl_int status =
      REAL(clEnqueueReadBuffer)(queue, buffer, blocking, offset, size, to, count, events, event);
  if (lies("wrong-now-and-then") && is_third_process()) static_cast<unsigned char*>(to)[3] ^= 0x80;
  if (lies("native-exp2")) static_cast<unsigned char*>(to)[3] ^= 0x80;  // the sign of the first
  return status;
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint place, size_t size, const void* value) {
  if (lies("kernel-pool-leak")) leak();
  return REAL(clSetKernelArg)(kernel, place, size, value);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t* offset, const size_t* global, const size_t* local,
                              cl_uint count, const cl_event* events, cl_event* event) {
  static std::atomic<int> launches{0};
  const int launch = ++launches;
  if (lies("queue-flood") && launch > 1000) return CL_OUT_OF_HOST_MEMORY;
  if (lies("oob-read") && launch > 1) return CL_OUT_OF_RESOURCES;
  if (lies("local-size-lie")) return CL_OUT_OF_RESOURCES;
  if (lies("enqueue-leak")) leak();
  if (lies("printf-silent")) return CL_SUCCESS;
  return REAL(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local, count,
                                      events, event);
}

cl_int clFinish(cl_command_queue queue) {
  if (lies("profiling-finish-hang") || lies("cross-queue-event")) hang();
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const cl_int status = REAL(clFinish)(queue);
  const bool is_long = Clock::now() - start > std::chrono::seconds(3);
  return lies("long-kernel") && is_long ? CL_OUT_OF_RESOURCES : status;
}

cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info what, size_t size, void* value,
                               size_t* needed) {
  const cl_int status = REAL(clGetEventProfilingInfo)(event, what, size, value, needed);
  if (status != CL_SUCCESS || !value) return status;
  cl_ulong& time = *static_cast<cl_ulong*>(value);
  if (what == CL_PROFILING_COMMAND_END && lies("event-garbage")) time /= 2;
  if (what >= CL_PROFILING_COMMAND_START && lies("event-zero-time")) time = 0;
  return status;
}

cl_int clSetEventCallback(cl_event event, cl_int when,
                          void(CL_CALLBACK* notify)(cl_event, cl_int, void*), void* data) {
  if (lies("callback-without-flush")) return CL_SUCCESS;
  return REAL(clSetEventCallback)(event, when, notify, data);
}

cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char** strings,
                                     const size_t* lengths, cl_int* status) {
  const bool sized = lengths && lengths[0] > 0;
  const std::string_view text = sized ? std::string_view(strings[0], lengths[0]) : strings[0];
  if (lies("peaks-crash") && text.find("peak_fma") != text.npos) std::abort();
  return REAL(clCreateProgramWithSource)(context, count, strings, lengths, status);
}

cl_program clLinkProgram(cl_context context, cl_uint count, const cl_device_id* devices,
                         const char* options, cl_uint parts, const cl_program* programs,
                         void(CL_CALLBACK* notify)(cl_program, void*), void* data, cl_int* status) {
  if (!lies("link-program")) {
    return REAL(clLinkProgram)(context, count, devices, options, parts, programs, notify, data,
                               status);
  }
  if (status) *status = CL_INVALID_OPERATION;
  return nullptr;
}

cl_program clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id* devices,
                                     const size_t* sizes, const unsigned char** binaries,
                                     cl_int* each, cl_int* status) {
  if (lies("binary-reload")) std::abort();
  return REAL(clCreateProgramWithBinary)(context, count, devices, sizes, binaries, each, status);
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id* devices,
                      const char* options, void(CL_CALLBACK* notify)(cl_program, void*),
                      void* data) {
  // The probe builds two programs from source, then the binary of each: the first's is the one that
  // was read before the kernel was made.
  static std::atomic<int> builds{0};
  const int build = builds++;
  if (lies("compiler-aborts")) {
    std::fprintf(stderr, "0x%0500000d\n", 0);  // whoever reads it, of any length
    std::fprintf(stderr, "a frame at %p\ncompiler.cc:42: Assertion `a == b' failed.\n",
                 static_cast<void*>(program));
    std::abort();
  }
  if (lies("binary-before-kernel") && build % 2 == 0) {
    std::this_thread::sleep_for(std::chrono::seconds(4));
  }
  return REAL(clBuildProgram)(program, count, devices, options, notify, data);
}

cl_int clReleaseProgram(cl_program program) {
  // The kept program alone: its own scope has a second hold on it.
  cl_uint holds = 0;
  if (lies("late-release") &&
      REAL(clGetProgramInfo)(program, CL_PROGRAM_REFERENCE_COUNT, sizeof holds, &holds, nullptr) ==
          CL_SUCCESS &&
      holds <= 1) {
    std::abort();
  }
  return REAL(clReleaseProgram)(program);
}

}  // extern "C"
