// SPDX-License-Identifier: MIT
// chatty_opencl.cpp - loaded before libOpenCL (LD_PRELOAD), it behaves like the drivers that print
// on standard output when they are loaded, and builds as slowly as CHATTY_BUILD_MS says.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace {

template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

void chatter() {
  constexpr std::string_view kRaw = "arm_release_ver: g13p0-01eac0, written\n";
  std::printf("arm_release_ver: g13p0-01eac0, printed\n");
  if (::write(STDOUT_FILENO, kRaw.data(), kRaw.size()) < 0) std::abort();
}

}  // namespace

extern "C" cl_int clGetPlatformIDs(cl_uint entries, cl_platform_id* platforms, cl_uint* count) {
  chatter();
  return real<decltype(&clGetPlatformIDs)>("clGetPlatformIDs")(entries, platforms, count);
}

extern "C" cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id* devices,
                                 const char* options, void(CL_CALLBACK* notify)(cl_program, void*),
                                 void* data) {
  chatter();
  const char* milliseconds = std::getenv("CHATTY_BUILD_MS");
  std::this_thread::sleep_for(
      std::chrono::milliseconds(milliseconds ? std::atoi(milliseconds) : 0));
  return real<decltype(&clBuildProgram)>("clBuildProgram")(program, count, devices, options, notify,
                                                           data);
}
