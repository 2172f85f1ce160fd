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

/// Builds a text where `program` is, and asks something of it if the driver takes it.
template <typename Ask>
void ask_built(cl_program program, cl_device_id device, const std::string& text,
               const std::string& options, const Ask& ask) {
  const auto context = value_of<cl_context>(REAL(clGetProgramInfo), CL_PROGRAM_CONTEXT, program);
  const char* whole = text.c_str();
  cl_program built = REAL(clCreateProgramWithSource)(context, 1, &whole, nullptr, nullptr);
  if (!built) return;
  if (REAL(clBuildProgram)(built, 1, &device, options.c_str(), nullptr, nullptr) == CL_SUCCESS) {
    ask(built);
  }
  REAL(clReleaseProgram)(built);
}

/// Of the same source, built for the sake of the parameters alone.
bool read_parameters_again(cl_program program, cl_device_id device, Kernel& known) {
  bool read = false;
  const std::string options = known.options + " -cl-kernel-arg-info";
  ask_built(program, device, known.source, options, [&](cl_program again) {
    cl_kernel kernel = REAL(clCreateKernel)(again, known.name.c_str(), nullptr);
    read = kernel && read_parameters(kernel, known.parameters);
    if (kernel) REAL(clReleaseKernel)(kernel);
  });
  return read;
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

// ---- types that have a name of the program's own: "real*" is "float*" ----

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

/// Puts what the compiler says into the parameters whose type has a name of the program's own, if
/// it is of floats or whole numbers: "real4*" becomes "float*".
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
  ask_built(program, device, text, known.options, [&](cl_program asking) {
    for (const cl_uint index : asked) {
      const std::string element = answer(asking, device, index);
      if (!element.empty()) known.parameters[index].type = element + "*";
    }
  });
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
  } else {
    name_elements(program, device, known);
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
