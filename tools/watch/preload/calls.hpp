// SPDX-License-Identifier: MIT
// calls.hpp - the functions that are followed.
#pragma once

/// Their names.
// clang-format off
#define CLAM_FOLLOWED(X)                                                                 \
  X(clCreateKernel) X(clCreateKernelsInProgram) X(clCloneKernel)                         \
  X(clSetKernelArg) X(clSetKernelArgSVMPointer) X(clEnqueueNDRangeKernel) X(clEnqueueTask) \
  X(clCreateUserEvent) X(clSetUserEventStatus)
// clang-format on

namespace watch {

/// This library's function of an OpenCL name; nullptr: it is not followed.
void* own_function(const char* name);

}  // namespace watch
