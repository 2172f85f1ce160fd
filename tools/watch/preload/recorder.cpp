// SPDX-License-Identifier: MIT
#include "recorder.hpp"

#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "real.hpp"

namespace watch {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// What tells two launches apart: all but addresses and what is in memory.
std::string key_of(const Kernel& kernel, const Launch& launch, const Memory& memory) {
  std::string key = kernel.name + '\0' + kernel.options + '\0' + kernel.source_hash;
  const auto add = [&](const void* bytes, std::size_t size) {
    key.append(static_cast<const char*>(bytes), size);
  };
  add(&launch, sizeof launch);
  for (const auto& [index, argument] : kernel.arguments) {
    const bool is_value =
        index < kernel.parameters.size() && kernel.parameters[index].kind == Parameter::Kind::value;
    if (is_value) {
      add(argument.bytes.data(), argument.bytes.size());
    } else {
      add(&argument.size, sizeof argument.size);
    }
  }
  for (const Range& range : memory.ranges) add(&range.bytes, sizeof range.bytes);
  return key;
}

/// A kernel that cannot be recorded is noted once.
std::string key_or_reason(const Kernel& kernel, const Launch& launch) {
  if (!kernel.refused.empty()) return kernel.name + kernel.refused;
  try {
    return key_of(kernel, launch, memory_of(kernel));
  } catch (const std::exception& error) {
    return kernel.name + error.what();
  }
}

/// A value as a plan has it: by its bytes where it is no int and no finite float.
json value_json(const Parameter& parameter, const Argument& argument) {
  std::int32_t whole = 0;
  float real = 0;
  if (argument.size == 4) {
    std::memcpy(&whole, argument.bytes.data(), 4);
    std::memcpy(&real, argument.bytes.data(), 4);
    if (parameter.type == "int") return {{"int", whole}};
    if (parameter.type == "float" && std::isfinite(real)) return {{"float", real}};
  }
  std::string digits;
  for (const std::uint8_t byte : argument.bytes) {
    for (const int nibble : {byte >> 4, byte & 15}) digits += "0123456789abcdef"[nibble];
  }
  return {{"bytes", digits}};
}

json arguments_json(const Kernel& kernel, const Memory& memory) {
  json all = json::array();
  for (cl_uint i = 0; i < kernel.parameters.size(); ++i) {
    const Parameter& parameter = kernel.parameters[i];
    const Argument& argument = kernel.arguments.at(i);
    json written{{"name", parameter.name}, {"type", parameter.type}};
    const auto place = memory.places.find(i);
    if (place != memory.places.end()) {
      written["buffer"] = place->second.range;
      written["offset"] = place->second.offset;
    } else if (parameter.kind == Parameter::Kind::local) {
      written["local_bytes"] = argument.size;
    } else if (parameter.kind == Parameter::Kind::value) {
      written.update(value_json(parameter, argument));
    } else {
      written["none"] = true;
    }
    all.push_back(written);
  }
  return all;
}

/// What a launch is, as a plan has it but for the names of its buffers, and on which device.
json launch_json(cl_command_queue queue, const Kernel& kernel, const Launch& launch,
                 const Memory& memory) {
  const auto get = REAL(clGetDeviceInfo);
  const auto device = value_of<cl_device_id>(REAL(clGetCommandQueueInfo), CL_QUEUE_DEVICE, queue);
  const auto platform = value_of<cl_platform_id>(get, CL_DEVICE_PLATFORM, device);
  json buffers = json::array();
  for (const Range& range : memory.ranges) {
    buffers.push_back({{"bytes", range.bytes}, {"only_read", range.only_read}});
  }
  return {{"clam_watch", 1},
          {"kernel", kernel.name},
          {"options", kernel.options},
          {"dimensions", launch.dimensions},
          {"offset", launch.offset},
          {"global", launch.global},
          {"local", launch.local},
          {"args", arguments_json(kernel, memory)},
          {"buffers", buffers},
          {"platform", text_of(REAL(clGetPlatformInfo), CL_PLATFORM_NAME, platform)},
          {"device", text_of(get, CL_DEVICE_NAME, device)},
          {"driver", text_of(get, CL_DRIVER_VERSION, device)}};
}

void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  if (!file) throw std::runtime_error(path.filename().string() + " cannot be written");
}

/// By way of a buffer of its own where the host may not read this one.
bool read_range(cl_command_queue queue, const Range& range, std::string& bytes) {
  bytes.resize(range.bytes);
  if (REAL(clEnqueueReadBuffer)(queue, range.memory, CL_TRUE, range.first, range.bytes,
                                bytes.data(), 0, nullptr, nullptr) == CL_SUCCESS) {
    return true;
  }
  const auto context = value_of<cl_context>(REAL(clGetCommandQueueInfo), CL_QUEUE_CONTEXT, queue);
  cl_mem copy = REAL(clCreateBuffer)(context, CL_MEM_READ_WRITE, range.bytes, nullptr, nullptr);
  if (!copy) return false;
  const bool done = REAL(clEnqueueCopyBuffer)(queue, range.memory, copy, range.first, 0,
                                              range.bytes, 0, nullptr, nullptr) == CL_SUCCESS &&
                    REAL(clFinish)(queue) == CL_SUCCESS &&
                    REAL(clEnqueueReadBuffer)(queue, copy, CL_TRUE, 0, range.bytes, bytes.data(), 0,
                                              nullptr, nullptr) == CL_SUCCESS;
  REAL(clReleaseMemObject)(copy);
  return done;
}

/// Each range of memory as a file; after a launch those alone that it may have changed.
void write_ranges(cl_command_queue queue, const Memory& memory, const fs::path& folder,
                  bool after) {
  std::string bytes;
  for (std::size_t i = 0; i < memory.ranges.size(); ++i) {
    if (after && memory.ranges[i].only_read) continue;
    if (!read_range(queue, memory.ranges[i], bytes)) {
      throw std::runtime_error("the driver lets nobody read one of its buffers");
    }
    write_file(folder / (std::to_string(i) + (after ? ".after" : ".before")), bytes);
  }
}

std::int64_t bytes_of(const Memory& memory) {
  std::int64_t bytes = 0;
  for (const Range& range : memory.ranges) {
    bytes += static_cast<std::int64_t>(range.bytes) * (range.only_read ? 1 : 2);
  }
  return bytes;
}

}  // namespace

std::unique_ptr<Recorder> Recorder::from_environment() {
  const char* text = std::getenv("CLAM_WATCH");
  const json asked = json::parse(text ? text : "", nullptr, false);
  if (!asked.is_object()) return nullptr;
  return std::make_unique<Recorder>(asked.get<Request>());
}

Recorder::Recorder(const Request& request) : request_(request) {
  // clam watch has refused what is no expression; an empty one takes every name.
  ::regcomp(&kernel_, request_.kernel.c_str(), REG_EXTENDED | REG_NOSUB);
  std::ofstream(fs::path(request_.folder) / (std::to_string(::getpid()) + ".seen"));
}

std::int64_t Recorder::number_if_wanted(const Kernel& kernel, const Launch& launch) {
  if (::regexec(&kernel_, kernel.name.c_str(), 0, nullptr, 0) != 0) return 0;
  ++number_;
  bool wanted = number_ == request_.launch;
  if (request_.launch == 0) wanted = seen_.insert(key_or_reason(kernel, launch)).second;
  return wanted ? number_ : 0;
}

void Recorder::note(const Kernel& kernel, const std::string& why) {
  const std::string line = "kernel " + kernel.name + " is not recorded: " + why;
  if (!noted_.insert(line).second) return;
  std::ofstream(fs::path(request_.folder) / "notes.txt", std::ios::app) << line << '\n';
}

Memory Recorder::write_before(const std::string& folder, cl_command_queue queue,
                              const Kernel& kernel, const Launch& launch, const json& callers) {
  const Memory memory = memory_of(kernel);
  const std::int64_t bytes = bytes_of(memory);
  if (written_ + bytes > request_.limit) {
    throw std::runtime_error("its buffers exceed what --limit leaves");
  }
  REAL(clFinish)(queue);
  fs::create_directory(folder);
  write_ranges(queue, memory, folder, false);
  write_file(fs::path(folder) / "kernel.cl", kernel.source);
  json written = launch_json(queue, kernel, launch, memory);
  written["callers"] = callers;
  write_file(fs::path(folder) / "launch.json",
             written.dump(1, ' ', false, json::error_handler_t::replace));
  if (request_.checker == 0) written_ += bytes;
  return memory;
}

/// Until the folder is gone, or the checker is.
void Recorder::await_check(const std::string& folder) const {
  while (fs::exists(folder) && ::kill(static_cast<pid_t>(request_.checker), 0) == 0) {
    ::usleep(2000);
  }
}

cl_int Recorder::record(cl_command_queue queue, const Kernel& kernel, const Launch& launch,
                        std::int64_t number, const json& callers, bool is_held, cl_uint wait_count,
                        const cl_event* wait_list, const std::function<cl_int()>& run) {
  const std::lock_guard lock(recording_);
  const std::string folder =
      request_.folder + "/" + std::to_string(::getpid()) + "-" + std::to_string(number);
  const std::string unfinished = folder + ".in-flight";
  const auto give_up = [&](const std::exception& error) {
    note(kernel, error.what());
    std::error_code ignored;
    fs::remove_all(unfinished, ignored);
  };
  Memory memory;
  try {
    if (!kernel.refused.empty()) throw std::runtime_error(kernel.refused);
    if (is_held) {
      throw std::runtime_error(
          "the program has yet to end an event of its own, which it may wait for");
    }
    if (wait_count > 0) REAL(clWaitForEvents)(wait_count, wait_list);
    memory = write_before(unfinished, queue, kernel, launch, callers);
  } catch (const std::exception& error) {
    give_up(error);
    return run();
  }
  const cl_int code = run();
  try {
    const cl_int finished = code == CL_SUCCESS ? REAL(clFinish)(queue) : code;
    if (finished != CL_SUCCESS) {
      write_file(fs::path(unfinished) / "error.txt", std::to_string(finished));
    } else {
      write_ranges(queue, memory, unfinished, true);
    }
    fs::rename(unfinished, folder);
    if (request_.checker > 0) await_check(folder);
  } catch (const std::exception& error) {
    give_up(error);
  }
  return code;
}

}  // namespace watch
