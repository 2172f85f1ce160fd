// SPDX-License-Identifier: MIT
// programs.cpp - programs are built beneath; their binaries are this library's own, so that it is
// the script that says which of them are taken.
#include <cstdlib>
#include <cstring>
#include <utility>

#include "clock.hpp"
#include "lies.hpp"
#include "next.hpp"

namespace scripted {
namespace {

constexpr const char* kBinary = "clam's scripted binary\n";

using Record = std::shared_ptr<ProgramRecord>;

Record record_of(cl_program program) {
  const std::lock_guard lock(mutex());
  const auto found = state().programs.find(program);
  return found == state().programs.end() ? std::make_shared<ProgramRecord>() : found->second;
}

void remember_program(cl_program program, ProgramRecord record) {
  if (!program) return;
  const std::lock_guard lock(mutex());
  state().programs[program] = std::make_shared<ProgramRecord>(std::move(record));
}

About about(const ProgramRecord& record) { return {"", record.options, record.source, false}; }

std::string joined(cl_uint count, const char** strings, const size_t* lengths) {
  std::string text;
  for (cl_uint i = 0; i < count; ++i) {
    const bool sized = lengths && lengths[i] > 0;
    text += sized ? std::string(strings[i], lengths[i]) : std::string(strings[i]);
  }
  return text;
}

std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::string binary_of(const ProgramRecord& record) {
  const std::string text = record.options + '\n' + *record.source;
  return kBinary + std::to_string(hash_of(text)) + '\n' + text;
}

/// What the binary was made of; nothing where it is another's, or damaged.
std::optional<ProgramRecord> unpacked(const std::string& binary) {
  const std::size_t start = std::strlen(kBinary);
  if (binary.compare(0, start, kBinary) != 0) return std::nullopt;
  const std::size_t hash_end = binary.find('\n', start);
  if (hash_end == binary.npos) return std::nullopt;
  const std::string text = binary.substr(hash_end + 1);
  if (binary.substr(start, hash_end - start) != std::to_string(hash_of(text))) return std::nullopt;
  const std::size_t options_end = text.find('\n');
  return ProgramRecord{std::make_shared<const std::string>(text.substr(options_end + 1)),
                       text.substr(0, options_end), true, false};
}

/// A compiler that takes one piece of a text for another.
std::string misread(const Orders& orders, std::string source) {
  orders.each("replace", [&](const Lie& lie) {
    for (std::size_t at = 0; (at = source.find(lie.text, at)) != source.npos;) {
      source.replace(at, lie.text.size(), lie.becomes);
      at += lie.becomes.size();
    }
  });
  return source;
}

cl_program create(cl_context context, const std::string& source, cl_int* status) {
  const char* text = source.c_str();
  const std::size_t size = source.size();
  return NEXT(clCreateProgramWithSource)(context, 1, &text, &size, status);
}

cl_uint devices_of(cl_program program) {
  cl_uint devices = 1;
  NEXT(clGetProgramInfo)(program, CL_PROGRAM_NUM_DEVICES, sizeof devices, &devices, nullptr);
  return devices;
}

cl_int give_source(const Record& record, size_t size, void* value, size_t* needed) {
  const std::string& source = *record->source;
  if (needed) *needed = source.size() + 1;
  if (value && size <= source.size()) return CL_INVALID_VALUE;
  if (value) std::memcpy(value, source.c_str(), source.size() + 1);
  return CL_SUCCESS;
}

cl_int give_sizes(cl_program program, const Record& record, size_t size, void* value,
                  size_t* needed) {
  const cl_uint devices = devices_of(program);
  if (needed) *needed = devices * sizeof(size_t);
  if (value && size < devices * sizeof(size_t)) return CL_INVALID_VALUE;
  for (cl_uint i = 0; value && i < devices; ++i) {
    static_cast<size_t*>(value)[i] = binary_of(*record).size();
  }
  return CL_SUCCESS;
}

cl_int give_binaries(cl_program program, const Record& record, size_t size, void* value,
                     size_t* needed) {
  const cl_uint devices = devices_of(program);
  if (needed) *needed = devices * sizeof(unsigned char*);
  if (value && size < devices * sizeof(unsigned char*)) return CL_INVALID_VALUE;
  const std::string binary = binary_of(*record);
  for (cl_uint i = 0; value && i < devices; ++i) {
    unsigned char* to = static_cast<unsigned char**>(value)[i];
    if (to) std::memcpy(to, binary.data(), binary.size());
  }
  return CL_SUCCESS;
}

/// It is in the counts and in the log.
void count_build(const ProgramRecord& record) {
  const std::string what = record.from_binary ? "built from binary" : "built from source";
  {
    const std::lock_guard lock(mutex());
    ++state().counts[what];
  }
  const auto plays = script();
  pass(nanoseconds(record.from_binary ? plays->load_ms : plays->build_ms, 1e6));
  write_log(what + ": " + record.options);
}

KernelRecord& new_kernel(cl_kernel kernel) {
  KernelRecord& record = state().kernels[kernel];
  record = {};
  return record;
}

void remember_kernel(cl_kernel kernel, cl_program program, const std::string& name) {
  const Record made_of = record_of(program);
  const std::lock_guard lock(mutex());
  KernelRecord& record = new_kernel(kernel);
  record.name = name;
  record.program = made_of;
  record.made_of = program;
}

std::string name_of(cl_kernel kernel) {
  std::size_t size = 0;
  NEXT(clGetKernelInfo)(kernel, CL_KERNEL_FUNCTION_NAME, 0, nullptr, &size);
  std::string name(size, '\0');
  NEXT(clGetKernelInfo)(kernel, CL_KERNEL_FUNCTION_NAME, size, name.data(), nullptr);
  return name.c_str();
}

}  // namespace
}  // namespace scripted

using scripted::About;
using scripted::enter;
using scripted::Orders;
using scripted::ProgramRecord;
using scripted::Record;

extern "C" {

cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char** strings,
                                     const size_t* lengths, cl_int* status) {
  ProgramRecord record;
  if (count > 0 && strings) {
    record.source = std::make_shared<const std::string>(scripted::joined(count, strings, lengths));
  }
  const Orders orders = enter("clCreateProgramWithSource", scripted::about(record));
  if (refused(orders, status)) return nullptr;
  cl_program program =
      orders.find("replace")
          ? scripted::create(context, scripted::misread(orders, *record.source), status)
          : NEXT(clCreateProgramWithSource)(context, count, strings, lengths, status);
  scripted::remember_program(program, record);
  return program;
}

cl_program clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id*,
                                     const size_t* sizes, const unsigned char** binaries,
                                     cl_int* each, cl_int* status) {
  const Orders orders = enter("clCreateProgramWithBinary");
  if (refused(orders, status)) return nullptr;
  const auto record = count > 0 && sizes && binaries && binaries[0]
                          ? scripted::unpacked({binaries[0], binaries[0] + sizes[0]})
                          : std::nullopt;
  const cl_int taken = record ? CL_SUCCESS : CL_INVALID_BINARY;
  for (cl_uint i = 0; each && i < count; ++i) each[i] = taken;
  if (status) *status = taken;
  if (!record) return nullptr;
  cl_program program = scripted::create(context, *record->source, status);
  scripted::remember_program(program, *record);
  return program;
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id* devices,
                      const char* options, void(CL_CALLBACK* notify)(cl_program, void*),
                      void* data) {
  const Record record = scripted::record_of(program);
  if (!record->from_binary) record->options = options ? options : "";
  const Orders orders = enter("clBuildProgram", scripted::about(*record));
  if (const auto status = orders.refusal()) return *status;
  scripted::count_build(*record);
  return NEXT(clBuildProgram)(program, count, devices, record->options.c_str(), notify, data);
}

cl_program clLinkProgram(cl_context context, cl_uint count, const cl_device_id* devices,
                         const char* options, cl_uint parts, const cl_program* programs,
                         void(CL_CALLBACK* notify)(cl_program, void*), void* data, cl_int* status) {
  const Orders orders = enter("clLinkProgram");
  if (refused(orders, status)) return nullptr;
  cl_program program =
      NEXT(clLinkProgram)(context, count, devices, options, parts, programs, notify, data, status);
  ProgramRecord record;
  record.linked = true;
  scripted::remember_program(program, record);
  return program;
}

cl_int clGetProgramInfo(cl_program program, cl_program_info what, size_t size, void* value,
                        size_t* needed) {
  const Orders orders = enter("clGetProgramInfo");
  if (const auto status = orders.refusal()) return *status;
  const Record record = scripted::record_of(program);
  if (record->source && what == CL_PROGRAM_SOURCE) {
    return scripted::give_source(record, size, value, needed);
  }
  if (!record->linked && what == CL_PROGRAM_BINARY_SIZES) {
    return scripted::give_sizes(program, record, size, value, needed);
  }
  if (!record->linked && what == CL_PROGRAM_BINARIES) {
    return scripted::give_binaries(program, record, size, value, needed);
  }
  return NEXT(clGetProgramInfo)(program, what, size, value, needed);
}

cl_int clReleaseProgram(cl_program program) {
  cl_uint holds = 0;
  NEXT(clGetProgramInfo)(program, CL_PROGRAM_REFERENCE_COUNT, sizeof holds, &holds, nullptr);
  About about;
  about.last_hold = holds <= 1;
  const Orders orders = enter("clReleaseProgram", about);
  if (const auto status = orders.refusal()) return *status;
  return NEXT(clReleaseProgram)(program);
}

cl_kernel clCreateKernel(cl_program program, const char* name, cl_int* status) {
  About about = scripted::about(*scripted::record_of(program));
  about.kernel = name ? name : "";
  const Orders orders = enter("clCreateKernel", about);
  if (refused(orders, status)) return nullptr;
  cl_kernel kernel = NEXT(clCreateKernel)(program, name, status);
  if (kernel) scripted::remember_kernel(kernel, program, name);
  return kernel;
}

cl_int clCreateKernelsInProgram(cl_program program, cl_uint count, cl_kernel* kernels,
                                cl_uint* made) {
  const Orders orders = enter("clCreateKernelsInProgram");
  if (const auto status = orders.refusal()) return *status;
  cl_uint all = 0;
  const cl_int status = NEXT(clCreateKernelsInProgram)(program, count, kernels, &all);
  if (made) *made = all;
  for (cl_uint i = 0; status == CL_SUCCESS && kernels && i < all; ++i) {
    scripted::remember_kernel(kernels[i], program, scripted::name_of(kernels[i]));
  }
  return status;
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint place, size_t size, const void* value) {
  const Orders orders = enter("clSetKernelArg");
  if (const auto status = orders.refusal()) return *status;
  const cl_int status = NEXT(clSetKernelArg)(kernel, place, size, value);
  if (status != CL_SUCCESS) return status;
  const std::lock_guard lock(scripted::mutex());
  scripted::KernelRecord& record = scripted::state().kernels[kernel];
  const auto* bytes = static_cast<const unsigned char*>(value);
  record.values[place].assign(bytes, bytes + (bytes ? size : 0));
  record.locals[place] = bytes ? 0 : size;
  return status;
}

}  // extern "C"
