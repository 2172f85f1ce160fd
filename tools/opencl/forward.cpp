// SPDX-License-Identifier: MIT
// forward.cpp - the functions of OpenCL that the programs call. Each calls its namesake in the
// library that search.hpp found, so that the programs need no libOpenCL to start.
//
// Without a library, or where the library lacks a function, the call fails as OpenCL's calls do.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS  // clCreateCommandQueue
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <tuple>
#include <type_traits>

#include "search.hpp"

namespace {

template <typename Function>
struct Signature;
template <typename R, typename... A>
struct Signature<R(A...)> {
  using Result = R;
  template <std::size_t i>
  using Parameter = std::tuple_element_t<i, std::tuple<A...>>;

  /// Calls `function`; where there is none, gives the status in place of the result, or in the last
  /// argument.
  static R call(void* function, cl_int status, A... arguments) {
    if (function) return reinterpret_cast<R (*)(A...)>(function)(arguments...);
    if constexpr (std::is_same_v<R, cl_int>) {
      return status;
    } else {
      const auto last = std::get<sizeof...(A) - 1>(std::tuple<A...>(arguments...));
      if constexpr (std::is_same_v<decltype(last), cl_int* const>) {
        if (last) *last = status;
      }
      return nullptr;
    }
  }
};

}  // namespace

// EACH_n(DO, name): DO(name, 0), DO(name, 1) and so on, n of them.
#define EACH_1(DO, name) DO(name, 0)
#define EACH_2(DO, name) EACH_1(DO, name), DO(name, 1)
#define EACH_3(DO, name) EACH_2(DO, name), DO(name, 2)
#define EACH_4(DO, name) EACH_3(DO, name), DO(name, 3)
#define EACH_5(DO, name) EACH_4(DO, name), DO(name, 4)
#define EACH_6(DO, name) EACH_5(DO, name), DO(name, 5)
#define EACH_7(DO, name) EACH_6(DO, name), DO(name, 6)
#define EACH_8(DO, name) EACH_7(DO, name), DO(name, 7)
#define EACH_9(DO, name) EACH_8(DO, name), DO(name, 8)
#define EACH_10(DO, name) EACH_9(DO, name), DO(name, 9)
#define PARAMETER(name, i) Signature<decltype(name)>::Parameter<i> a##i
#define ARGUMENT(name, i) a##i

// FORWARD(name, number of its parameters)
#define FORWARD_OR(name, count, status)                                                  \
  Signature<decltype(name)>::Result name(EACH_##count(PARAMETER, name)) {                \
    static void* const found = clam::opencl::function(#name);                            \
    return Signature<decltype(name)>::call(found, status, EACH_##count(ARGUMENT, name)); \
  }
#define FORWARD(name, count) FORWARD_OR(name, count, CL_INVALID_OPERATION)

extern "C" {
FORWARD_OR(clGetPlatformIDs, 3, CL_PLATFORM_NOT_FOUND_KHR)
FORWARD(clGetPlatformInfo, 5)
FORWARD(clGetDeviceIDs, 5)
FORWARD(clGetDeviceInfo, 5)
FORWARD(clRetainDevice, 1)
FORWARD(clReleaseDevice, 1)
FORWARD(clCreateContext, 6)
FORWARD(clRetainContext, 1)
FORWARD(clReleaseContext, 1)
FORWARD(clGetContextInfo, 5)
FORWARD(clCreateCommandQueue, 4)
FORWARD(clRetainCommandQueue, 1)
FORWARD(clReleaseCommandQueue, 1)
FORWARD(clGetCommandQueueInfo, 5)
FORWARD(clFlush, 1)
FORWARD(clFinish, 1)
FORWARD(clCreateBuffer, 5)
FORWARD(clCreateSubBuffer, 5)
FORWARD(clCreateImage, 6)
FORWARD(clRetainMemObject, 1)
FORWARD(clReleaseMemObject, 1)
FORWARD(clGetMemObjectInfo, 5)
FORWARD(clCreateProgramWithSource, 5)
FORWARD(clCreateProgramWithBinary, 7)
FORWARD(clRetainProgram, 1)
FORWARD(clReleaseProgram, 1)
FORWARD(clBuildProgram, 6)
FORWARD(clCompileProgram, 9)
FORWARD(clLinkProgram, 9)
FORWARD(clGetProgramInfo, 5)
FORWARD(clGetProgramBuildInfo, 6)
FORWARD(clCreateKernel, 3)
FORWARD(clCreateKernelsInProgram, 4)
FORWARD(clRetainKernel, 1)
FORWARD(clReleaseKernel, 1)
FORWARD(clSetKernelArg, 4)
FORWARD(clGetKernelInfo, 5)
FORWARD(clGetKernelArgInfo, 6)
FORWARD(clGetKernelWorkGroupInfo, 6)
FORWARD(clEnqueueReadBuffer, 9)
FORWARD(clEnqueueWriteBuffer, 9)
FORWARD(clEnqueueCopyBuffer, 9)
FORWARD(clEnqueueFillBuffer, 9)
FORWARD(clEnqueueMapBuffer, 10)
FORWARD(clEnqueueUnmapMemObject, 6)
FORWARD(clEnqueueNDRangeKernel, 9)
FORWARD(clCreateUserEvent, 2)
FORWARD(clSetUserEventStatus, 2)
FORWARD(clWaitForEvents, 2)
FORWARD(clRetainEvent, 1)
FORWARD(clReleaseEvent, 1)
FORWARD(clGetEventInfo, 5)
FORWARD(clGetEventProfilingInfo, 5)
FORWARD(clSetEventCallback, 4)
FORWARD(clGetExtensionFunctionAddressForPlatform, 2)
}
