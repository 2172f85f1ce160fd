// SPDX-License-Identifier: MIT
#include "clam/error.hpp"

#include <fmt/core.h>

#include <array>

#include "text.hpp"

namespace clam {
namespace {

/// The first lines of a build log: enough for the error, short enough for a terminal.
std::string head_of(const std::string& log) {
  constexpr std::size_t kLongest = 2000;
  return log.size() <= kLongest ? log : log.substr(0, kLongest) + "\n... (log cut here)";
}

}  // namespace

BuildFailure::BuildFailure(std::string file, std::string options, std::string device,
                           std::string log, int code)
    : DeviceError(fmt::format("{} does not build on {} with options '{}': {} ({})\n{}", file,
                              device, options, cl_status_name(code), code, head_of(log)),
                  code),
      file(std::move(file)),
      options(std::move(options)),
      device(std::move(device)),
      log(std::move(log)) {}

std::string in_quotes(std::string_view word) {
  constexpr std::size_t kLongest = 60;
  return "'" + printable(word.substr(0, kLongest)) + (word.size() > kLongest ? "...'" : "'");
}

const char* cl_status_name(int code) {
  // In the order of their numbers, from 0 down; CL/cl.h.
  static constexpr std::array kNames = {"CL_SUCCESS",
                                        "CL_DEVICE_NOT_FOUND",
                                        "CL_DEVICE_NOT_AVAILABLE",
                                        "CL_COMPILER_NOT_AVAILABLE",
                                        "CL_MEM_OBJECT_ALLOCATION_FAILURE",
                                        "CL_OUT_OF_RESOURCES",
                                        "CL_OUT_OF_HOST_MEMORY",
                                        "CL_PROFILING_INFO_NOT_AVAILABLE",
                                        "CL_MEM_COPY_OVERLAP",
                                        "CL_IMAGE_FORMAT_MISMATCH",
                                        "CL_IMAGE_FORMAT_NOT_SUPPORTED",
                                        "CL_BUILD_PROGRAM_FAILURE",
                                        "CL_MAP_FAILURE",
                                        "CL_MISALIGNED_SUB_BUFFER_OFFSET",
                                        "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
                                        "CL_COMPILE_PROGRAM_FAILURE",
                                        "CL_LINKER_NOT_AVAILABLE",
                                        "CL_LINK_PROGRAM_FAILURE",
                                        "CL_DEVICE_PARTITION_FAILED",
                                        "CL_KERNEL_ARG_INFO_NOT_AVAILABLE"};
  static constexpr std::array kArgumentNames = {"CL_INVALID_VALUE",
                                                "CL_INVALID_DEVICE_TYPE",
                                                "CL_INVALID_PLATFORM",
                                                "CL_INVALID_DEVICE",
                                                "CL_INVALID_CONTEXT",
                                                "CL_INVALID_QUEUE_PROPERTIES",
                                                "CL_INVALID_COMMAND_QUEUE",
                                                "CL_INVALID_HOST_PTR",
                                                "CL_INVALID_MEM_OBJECT",
                                                "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR",
                                                "CL_INVALID_IMAGE_SIZE",
                                                "CL_INVALID_SAMPLER",
                                                "CL_INVALID_BINARY",
                                                "CL_INVALID_BUILD_OPTIONS",
                                                "CL_INVALID_PROGRAM",
                                                "CL_INVALID_PROGRAM_EXECUTABLE",
                                                "CL_INVALID_KERNEL_NAME",
                                                "CL_INVALID_KERNEL_DEFINITION",
                                                "CL_INVALID_KERNEL",
                                                "CL_INVALID_ARG_INDEX",
                                                "CL_INVALID_ARG_VALUE",
                                                "CL_INVALID_ARG_SIZE",
                                                "CL_INVALID_KERNEL_ARGS",
                                                "CL_INVALID_WORK_DIMENSION",
                                                "CL_INVALID_WORK_GROUP_SIZE",
                                                "CL_INVALID_WORK_ITEM_SIZE",
                                                "CL_INVALID_GLOBAL_OFFSET",
                                                "CL_INVALID_EVENT_WAIT_LIST",
                                                "CL_INVALID_EVENT",
                                                "CL_INVALID_OPERATION",
                                                "CL_INVALID_GL_OBJECT",
                                                "CL_INVALID_BUFFER_SIZE",
                                                "CL_INVALID_MIP_LEVEL",
                                                "CL_INVALID_GLOBAL_WORK_SIZE",
                                                "CL_INVALID_PROPERTY",
                                                "CL_INVALID_IMAGE_DESCRIPTOR",
                                                "CL_INVALID_COMPILER_OPTIONS",
                                                "CL_INVALID_LINKER_OPTIONS",
                                                "CL_INVALID_DEVICE_PARTITION_COUNT"};
  const auto plain = static_cast<std::size_t>(-static_cast<long>(code));
  if (code <= 0 && plain < kNames.size()) return kNames[plain];
  if (code <= -30 && plain - 30 < kArgumentNames.size()) return kArgumentNames[plain - 30];
  if (code == -1001) return "CL_PLATFORM_NOT_FOUND_KHR";
  return "unknown OpenCL status";
}

}  // namespace clam
