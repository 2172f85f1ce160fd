// SPDX-License-Identifier: MIT
// real.hpp - the functions of the OpenCL library that the program uses, behind those of this one.
#pragma once

#include <CL/cl.h>

namespace watch {

/// What the program would have called. Ends the process with a sentence where no OpenCL is loaded.
void* real_function(const char* name);

}  // namespace watch

/// The OpenCL function of that name: REAL(clFinish)(queue).
#define REAL(function)                                                              \
  ([] {                                                                             \
    static const auto real =                                                        \
        reinterpret_cast<decltype(&::function)>(::watch::real_function(#function)); \
    return real;                                                                    \
  }())
