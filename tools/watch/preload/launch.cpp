// SPDX-License-Identifier: MIT
#include "launch.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "real.hpp"

namespace watch {
namespace {

template <typename T>
bool get(cl_kernel kernel, cl_uint index, cl_kernel_arg_info what, T& value) {
  return REAL(clGetKernelArgInfo)(kernel, index, what, sizeof value, &value, nullptr) == CL_SUCCESS;
}

/// False where the driver does not know.
bool read_parameter(cl_kernel kernel, cl_uint index, Parameter& parameter) {
  cl_kernel_arg_address_qualifier space = 0;
  cl_kernel_arg_access_qualifier access = CL_KERNEL_ARG_ACCESS_NONE;
  cl_kernel_arg_type_qualifier type = 0;
  if (!get(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, space)) return false;
  get(kernel, index, CL_KERNEL_ARG_ACCESS_QUALIFIER, access);
  get(kernel, index, CL_KERNEL_ARG_TYPE_QUALIFIER, type);
  parameter.name = text_of(REAL(clGetKernelArgInfo), CL_KERNEL_ARG_NAME, kernel, index);
  parameter.type = text_of(REAL(clGetKernelArgInfo), CL_KERNEL_ARG_TYPE_NAME, kernel, index);
  using Kind = Parameter::Kind;
  const bool in_memory =
      space == CL_KERNEL_ARG_ADDRESS_GLOBAL || space == CL_KERNEL_ARG_ADDRESS_CONSTANT;
  const bool is_other = access != CL_KERNEL_ARG_ACCESS_NONE || parameter.type == "sampler_t";
  parameter.kind = is_other                               ? Kind::other
                   : in_memory                            ? Kind::buffer
                   : space == CL_KERNEL_ARG_ADDRESS_LOCAL ? Kind::local
                                                          : Kind::value;
  parameter.only_read =
      space == CL_KERNEL_ARG_ADDRESS_CONSTANT || (type & CL_KERNEL_ARG_TYPE_CONST) != 0;
  return true;
}

bool read_parameters(cl_kernel kernel, std::vector<Parameter>& parameters) {
  const auto count = value_of<cl_uint>(REAL(clGetKernelInfo), CL_KERNEL_NUM_ARGS, kernel);
  parameters.assign(count, {});
  for (cl_uint i = 0; i < count; ++i) {
    if (!read_parameter(kernel, i, parameters[i])) return false;
  }
  return true;
}

/// Of the same source, built for the sake of the parameters alone.
bool read_parameters_again(cl_program program, cl_device_id device, Kernel& known) {
  const auto context = value_of<cl_context>(REAL(clGetProgramInfo), CL_PROGRAM_CONTEXT, program);
  const std::string options = known.options + " -cl-kernel-arg-info";
  const char* source = known.source.c_str();
  cl_program again = REAL(clCreateProgramWithSource)(context, 1, &source, nullptr, nullptr);
  if (!again) return false;
  const bool is_built =
      REAL(clBuildProgram)(again, 1, &device, options.c_str(), nullptr, nullptr) == CL_SUCCESS;
  cl_kernel kernel = is_built ? REAL(clCreateKernel)(again, known.name.c_str(), nullptr) : nullptr;
  const bool is_read = kernel && read_parameters(kernel, known.parameters);
  if (kernel) REAL(clReleaseKernel)(kernel);
  REAL(clReleaseProgram)(again);
  return is_read;
}

/// The buffer beneath a sub-buffer, and where that begins.
Range range_of(cl_mem memory, const std::string& name) {
  cl_mem_object_type type = 0;
  Range range;
  const auto get = [&](cl_mem object, cl_mem_info what, auto& value) {
    const cl_int code = REAL(clGetMemObjectInfo)(object, what, sizeof value, &value, nullptr);
    if (code != CL_SUCCESS) throw std::runtime_error("its argument " + name + " is no buffer");
  };
  get(memory, CL_MEM_TYPE, type);
  if (type != CL_MEM_OBJECT_BUFFER)
    throw std::runtime_error("its argument " + name + " is an image");
  cl_mem whole = nullptr;
  get(memory, CL_MEM_SIZE, range.bytes);
  get(memory, CL_MEM_ASSOCIATED_MEMOBJECT, whole);
  if (whole) get(memory, CL_MEM_OFFSET, range.first);
  range.memory = whole ? whole : memory;
  return range;
}

bool overlap(const Range& a, const Range& b) {
  return a.memory == b.memory && a.first < b.first + b.bytes && b.first < a.first + a.bytes;
}

/// Takes in every range that it overlaps, so that those left overlap none.
void add(std::vector<Range>& ranges, Range more) {
  for (std::size_t i = 0; i < ranges.size();) {
    if (!overlap(ranges[i], more)) {
      ++i;
      continue;
    }
    const std::size_t end = std::max(ranges[i].first + ranges[i].bytes, more.first + more.bytes);
    more.first = std::min(more.first, ranges[i].first);
    more.bytes = end - more.first;
    more.only_read = more.only_read && ranges[i].only_read;
    ranges.erase(ranges.begin() + static_cast<std::ptrdiff_t>(i));
    i = 0;
  }
  ranges.push_back(more);
}

}  // namespace

Launch::Launch(cl_uint count, const size_t* offsets, const size_t* globals, const size_t* locals)
    : dimensions(count) {
  for (std::size_t i = 0; i < count && i < 3; ++i) {
    if (offsets) offset[i] = offsets[i];
    if (globals) global[i] = globals[i];
    if (locals) local[i] = locals[i];
  }
  for (std::size_t i = count; locals && i < 3; ++i) local[i] = 1;
}

void describe(cl_kernel kernel, Kernel& known) {
  known.is_described = true;
  const auto program = value_of<cl_program>(REAL(clGetKernelInfo), CL_KERNEL_PROGRAM, kernel);
  using Devices = std::array<cl_device_id, 64>;
  const auto device = value_of<Devices>(REAL(clGetProgramInfo), CL_PROGRAM_DEVICES, program)[0];
  known.name = text_of(REAL(clGetKernelInfo), CL_KERNEL_FUNCTION_NAME, kernel);
  known.source = text_of(REAL(clGetProgramInfo), CL_PROGRAM_SOURCE, program);
  known.source_hash = std::to_string(std::hash<std::string>{}(known.source));
  known.options = text_of(REAL(clGetProgramBuildInfo), CL_PROGRAM_BUILD_OPTIONS, program, device);
  if (known.source.empty()) {
    known.refused =
        "its program was made of a binary, of SPIR-V or by linking, not of a source (if the "
        "program "
        "keeps built kernels, empty or switch off its cache)";
  } else if (!read_parameters(kernel, known.parameters) &&
             !read_parameters_again(program, device, known)) {
    known.refused = "the driver does not say what its arguments are";
  }
}

Memory memory_of(const Kernel& kernel) {
  Memory memory;
  std::map<cl_uint, Range> own;
  for (cl_uint i = 0; i < kernel.parameters.size(); ++i) {
    const Parameter& parameter = kernel.parameters[i];
    const auto set = kernel.arguments.find(i);
    if (set == kernel.arguments.end()) {
      throw std::runtime_error("its argument " + parameter.name + " was set by SVM or not at all");
    }
    if (parameter.kind == Parameter::Kind::other) {
      throw std::runtime_error("its argument " + parameter.name + " is an image or a sampler");
    }
    if (parameter.kind != Parameter::Kind::buffer || set->second.is_null) continue;
    cl_mem object = nullptr;
    std::memcpy(&object, set->second.bytes.data(), std::min(sizeof object, set->second.size));
    if (!object) continue;
    Range range = range_of(object, parameter.name);
    range.only_read = parameter.only_read;
    own[i] = range;
    add(memory.ranges, range);
  }
  for (const auto& [argument, range] : own) {
    const auto in = std::find_if(memory.ranges.begin(), memory.ranges.end(),
                                 [&, &mine = range](const Range& r) { return overlap(r, mine); });
    memory.places[argument] = {static_cast<std::size_t>(in - memory.ranges.begin()),
                               range.first - in->first};
  }
  return memory;
}

}  // namespace watch
