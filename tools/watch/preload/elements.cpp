// SPDX-License-Identifier: MIT
// elements.cpp - what lies behind the names that a program gives its types: "real*" is "float*".
#include <algorithm>
#include <array>

#include "launch.hpp"
#include "real.hpp"

namespace watch {
namespace {

constexpr std::array kElements{"", "float", "half", "int"};  ///< by the size of a group, from 1

/// A name that the program may have made itself.
bool is_own_name(const std::string& type) {
  static const std::array known{"float", "half", "double", "char",  "uchar", "short",   "ushort",
                                "int",   "uint", "long",   "ulong", "bool",  "unsigned"};
  return std::none_of(known.begin(), known.end(),
                      [&](const char* word) { return type.rfind(word, 0) == 0; });
}

std::string own_kernel(cl_uint index) { return "clam_watch_type_" + std::to_string(index); }

/// Macros that say whether a type is of floats, of halves, if there are any, or of whole numbers.
/// Clang's word for it is in all OpenCL compilers that are made of Clang.
std::string macros() {
  const auto sum = [](const std::string& element) {
    std::string text;
    for (const char* width : {"", "2", "3", "4", "8", "16"}) {
      text += " + __builtin_types_compatible_p(T, " + element + width + ")";
    }
    return text;
  };
  std::string whole;
  for (const char* element : {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong"}) {
    whole += sum(element);
  }
  return "\n#define CLAM_WATCH_FLOAT(T)" + sum("float") +
         "\n#define CLAM_WATCH_HALF(T)\n#ifdef cl_khr_fp16\n"
         "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n#undef CLAM_WATCH_HALF\n"
         "#define CLAM_WATCH_HALF(T)" +
         sum("half") + "\n#endif\n#define CLAM_WATCH_WHOLE(T)" + whole + "\n";
}

/// A kernel whose work-group says what a type is, since that is known without running it.
std::string question(const std::string& type, cl_uint index) {
  return "__kernel __attribute__((reqd_work_group_size(1 CLAM_WATCH_FLOAT(" + type +
         ") CLAM_WATCH_HALF(" + type + ") CLAM_WATCH_HALF(" + type + ") CLAM_WATCH_WHOLE(" + type +
         ") CLAM_WATCH_WHOLE(" + type + ") CLAM_WATCH_WHOLE(" + type + "), 1, 1))) void " +
         own_kernel(index) + "(__global int* clam_watch_none) {}\n";
}

const char* answer(cl_program program, cl_device_id device, cl_uint index) {
  cl_kernel kernel = REAL(clCreateKernel)(program, own_kernel(index).c_str(), nullptr);
  if (!kernel) return kElements[0];
  const auto group = value_of<std::array<std::size_t, 3>>(
      REAL(clGetKernelWorkGroupInfo), CL_KERNEL_COMPILE_WORK_GROUP_SIZE, kernel, device);
  REAL(clReleaseKernel)(kernel);
  return group[0] >= 1 && group[0] <= kElements.size() ? kElements[group[0] - 1] : kElements[0];
}

}  // namespace

void name_elements(cl_program program, cl_device_id device, Kernel& known) {
  std::vector<cl_uint> asked;
  std::string text = known.source + macros();
  for (cl_uint i = 0; i < known.parameters.size(); ++i) {
    const Parameter& parameter = known.parameters[i];
    const std::string& type = parameter.type;
    if (parameter.kind != Parameter::Kind::buffer || type.size() < 2 || type.back() != '*')
      continue;
    if (!is_own_name(type)) continue;
    text += question(type.substr(0, type.size() - 1), i);
    asked.push_back(i);
  }
  if (asked.empty()) return;
  const auto context = value_of<cl_context>(REAL(clGetProgramInfo), CL_PROGRAM_CONTEXT, program);
  const char* whole = text.c_str();
  cl_program asking = REAL(clCreateProgramWithSource)(context, 1, &whole, nullptr, nullptr);
  if (!asking) return;
  if (REAL(clBuildProgram)(asking, 1, &device, known.options.c_str(), nullptr, nullptr) ==
      CL_SUCCESS) {
    for (const cl_uint index : asked) {
      const std::string element = answer(asking, device, index);
      if (!element.empty()) known.parameters[index].type = element + "*";
    }
  }
  REAL(clReleaseProgram)(asking);
}

}  // namespace watch
