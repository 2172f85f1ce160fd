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

#define PARAMETER(name, i) Signature<decltype(name)>::Parameter<i> a##i
#define PARAMETERS_1(name) PARAMETER(name, 0)
#define PARAMETERS_2(name) PARAMETERS_1(name), PARAMETER(name, 1)
#define PARAMETERS_3(name) PARAMETERS_2(name), PARAMETER(name, 2)
#define PARAMETERS_4(name) PARAMETERS_3(name), PARAMETER(name, 3)
#define PARAMETERS_5(name) PARAMETERS_4(name), PARAMETER(name, 4)
#define PARAMETERS_6(name) PARAMETERS_5(name), PARAMETER(name, 5)
#define PARAMETERS_7(name) PARAMETERS_6(name), PARAMETER(name, 6)
#define PARAMETERS_8(name) PARAMETERS_7(name), PARAMETER(name, 7)
#define PARAMETERS_9(name) PARAMETERS_8(name), PARAMETER(name, 8)
#define PARAMETERS_10(name) PARAMETERS_9(name), PARAMETER(name, 9)
#define ARGUMENTS_1 a0
#define ARGUMENTS_2 ARGUMENTS_1, a1
#define ARGUMENTS_3 ARGUMENTS_2, a2
#define ARGUMENTS_4 ARGUMENTS_3, a3
#define ARGUMENTS_5 ARGUMENTS_4, a4
#define ARGUMENTS_6 ARGUMENTS_5, a5
#define ARGUMENTS_7 ARGUMENTS_6, a6
#define ARGUMENTS_8 ARGUMENTS_7, a7
#define ARGUMENTS_9 ARGUMENTS_8, a8
#define ARGUMENTS_10 ARGUMENTS_9, a9

// FORWARD(name, number of its parameters)
#define FORWARD_OR(name, count, status)                                       \
  Signature<decltype(name)>::Result name(PARAMETERS_##count(name)) {          \
    static void* const found = clam::opencl::function(#name);                 \
    return Signature<decltype(name)>::call(found, status, ARGUMENTS_##count); \
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
