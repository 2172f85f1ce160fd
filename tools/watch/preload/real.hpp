// SPDX-License-Identifier: MIT
// real.hpp - the functions of the OpenCL library that the program uses, behind those of this one.
#pragma once

#include <CL/cl.h>

#include <string>

#if __has_include(<CL/cl_layer.h>)
#include <CL/cl_layer.h>
#define CLAM_HAS_LAYERS
#endif

namespace watch {

#ifdef CLAM_HAS_LAYERS
/// The functions beneath this library where the ICD loader has it as a layer; nullptr: it is none.
extern const cl_icd_dispatch* beneath;
#define CLAM_BENEATH(function) \
  (::watch::beneath ? reinterpret_cast<void*>(::watch::beneath->function) : nullptr)
#else
#define CLAM_BENEATH(function) nullptr
#endif

/// What the program would have called: the function beneath, or that of the library which it uses.
/// Ends the process with a sentence where no OpenCL is loaded.
void* real_function(const char* name, void* function_beneath);

/// What OpenCL says of an object, where it is a value:
/// value_of<cl_context>(REAL(clGetProgramInfo), CL_PROGRAM_CONTEXT, program).
template <typename T, typename Get, typename What, typename... Of>
T value_of(Get get, What what, Of... of) {
  T value{};
  get(of..., what, sizeof value, &value, nullptr);
  return value;
}

/// The same where it is a text; empty where there is none.
template <typename Get, typename What, typename... Of>
std::string text_of(Get get, What what, Of... of) {
  std::size_t size = 0;
  if (get(of..., what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return "";
  std::string text(size, '\0');
  if (get(of..., what, size, text.data(), nullptr) != CL_SUCCESS) return "";
  return text.substr(0, text.find('\0'));
}

}  // namespace watch

/// The OpenCL function of that name: REAL(clFinish)(queue).
#define REAL(function)                                                \
  ([] {                                                               \
    static const auto real = reinterpret_cast<decltype(&::function)>( \
        ::watch::real_function(#function, CLAM_BENEATH(function)));   \
    return real;                                                      \
  }())
