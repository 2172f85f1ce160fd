// SPDX-License-Identifier: MIT
#include "clam/error.hpp"

#include <fmt/core.h>

#include "text.hpp"

namespace clam {
namespace {

/// The first lines of a build log: enough for the error, short enough for a terminal.
std::string head_of(const std::string& log) {
  constexpr std::size_t kLongest = 2000;
  return log.size() <= kLongest ? log : log.substr(0, kLongest) + "\n... (log cut here)";
}

std::vector<std::string> prefixed(std::string_view words) {
  std::vector<std::string> names;
  for (const std::string_view word : split(words, ' ')) names.push_back("CL_" + std::string(word));
  return names;
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
  // In the order of their numbers, from 0 and from -30 down, without "CL_"; CL/cl.h.
  static const auto names = prefixed(
      "SUCCESS DEVICE_NOT_FOUND DEVICE_NOT_AVAILABLE COMPILER_NOT_AVAILABLE "
      "MEM_OBJECT_ALLOCATION_FAILURE OUT_OF_RESOURCES OUT_OF_HOST_MEMORY "
      "PROFILING_INFO_NOT_AVAILABLE MEM_COPY_OVERLAP IMAGE_FORMAT_MISMATCH "
      "IMAGE_FORMAT_NOT_SUPPORTED BUILD_PROGRAM_FAILURE MAP_FAILURE MISALIGNED_SUB_BUFFER_OFFSET "
      "EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST COMPILE_PROGRAM_FAILURE LINKER_NOT_AVAILABLE "
      "LINK_PROGRAM_FAILURE DEVICE_PARTITION_FAILED KERNEL_ARG_INFO_NOT_AVAILABLE");
  static const auto argument_names = prefixed(
      "INVALID_VALUE INVALID_DEVICE_TYPE INVALID_PLATFORM INVALID_DEVICE INVALID_CONTEXT "
      "INVALID_QUEUE_PROPERTIES INVALID_COMMAND_QUEUE INVALID_HOST_PTR INVALID_MEM_OBJECT "
      "INVALID_IMAGE_FORMAT_DESCRIPTOR INVALID_IMAGE_SIZE INVALID_SAMPLER INVALID_BINARY "
      "INVALID_BUILD_OPTIONS INVALID_PROGRAM INVALID_PROGRAM_EXECUTABLE INVALID_KERNEL_NAME "
      "INVALID_KERNEL_DEFINITION INVALID_KERNEL INVALID_ARG_INDEX INVALID_ARG_VALUE "
      "INVALID_ARG_SIZE INVALID_KERNEL_ARGS INVALID_WORK_DIMENSION INVALID_WORK_GROUP_SIZE "
      "INVALID_WORK_ITEM_SIZE INVALID_GLOBAL_OFFSET INVALID_EVENT_WAIT_LIST INVALID_EVENT "
      "INVALID_OPERATION INVALID_GL_OBJECT INVALID_BUFFER_SIZE INVALID_MIP_LEVEL "
      "INVALID_GLOBAL_WORK_SIZE INVALID_PROPERTY INVALID_IMAGE_DESCRIPTOR "
      "INVALID_COMPILER_OPTIONS INVALID_LINKER_OPTIONS INVALID_DEVICE_PARTITION_COUNT");
  const auto plain = static_cast<std::size_t>(-static_cast<long>(code));
  if (code <= 0 && plain < names.size()) return names[plain].c_str();
  if (code <= -30 && plain - 30 < argument_names.size()) return argument_names[plain - 30].c_str();
  if (code == -1001) return "CL_PLATFORM_NOT_FOUND_KHR";
  return "unknown OpenCL status";
}

}  // namespace clam
