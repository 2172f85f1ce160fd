// SPDX-License-Identifier: MIT
// facts.cpp - platform and device: those beneath, but for what the script says of them.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "lies.hpp"
#include "next.hpp"

namespace scripted {
namespace {

constexpr cl_device_info kHalfConfig = 0x1033;  // CL_DEVICE_HALF_FP_CONFIG

struct Fact {
  const char* key;
  cl_device_info info;
  std::size_t size;  ///< of a number; 0: a text
};
constexpr Fact kFacts[] = {
    {"name", CL_DEVICE_NAME, 0},
    {"vendor", CL_DEVICE_VENDOR, 0},
    {"version", CL_DEVICE_VERSION, 0},
    {"driver_version", CL_DRIVER_VERSION, 0},
    {"extensions", CL_DEVICE_EXTENSIONS, 0},
    {"vendor_id", CL_DEVICE_VENDOR_ID, sizeof(cl_uint)},
    {"compute_units", CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(cl_uint)},
    {"max_clock_mhz", CL_DEVICE_MAX_CLOCK_FREQUENCY, sizeof(cl_uint)},
    {"max_work_group", CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(std::size_t)},
    {"local_mem_bytes", CL_DEVICE_LOCAL_MEM_SIZE, sizeof(cl_ulong)},
    {"global_mem_bytes", CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong)},
    {"max_alloc_bytes", CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(cl_ulong)},
    {"global_cache_bytes", CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, sizeof(cl_ulong)},
    {"timer_resolution_ns", CL_DEVICE_PROFILING_TIMER_RESOLUTION, sizeof(std::size_t)},
};
/// Of the platform, or of more than one call.
constexpr const char* kOtherKeys[] = {"platform",          "type",
                                      "half_denormals",    "work_group_factor",
                                      "most_buffer_bytes", "sub_buffers_from"};

std::optional<std::string> text_of(const char* key) {
  const auto plays = script();
  const auto found = plays->texts.find(key);
  return found == plays->texts.end() ? std::nullopt : std::optional(found->second);
}

cl_int give(const void* from, std::size_t bytes, std::size_t size, void* value,
            std::size_t* needed) {
  if (needed) *needed = bytes;
  if (value && size < bytes) return CL_INVALID_VALUE;
  if (value) std::memcpy(value, from, bytes);
  return CL_SUCCESS;
}

cl_int give(const std::string& text, std::size_t size, void* value, std::size_t* needed) {
  return give(text.c_str(), text.size() + 1, size, value, needed);
}

/// Any number of so many bytes.
cl_int give(double number, std::size_t bytes, std::size_t size, void* value, std::size_t* needed) {
  const auto whole = static_cast<cl_ulong>(number);
  return give(&whole, bytes, size, value, needed);  // little-endian, as all that run this
}

std::string next_text(cl_device_id device, cl_device_info what) {
  std::size_t size = 0;
  NEXT(clGetDeviceInfo)(device, what, 0, nullptr, &size);
  std::string text(size, '\0');
  NEXT(clGetDeviceInfo)(device, what, size, text.data(), nullptr);
  return text.c_str();
}

cl_device_type type_named(const std::string& name) {
  if (name == "gpu") return CL_DEVICE_TYPE_GPU;
  return name == "cpu" ? CL_DEVICE_TYPE_CPU : CL_DEVICE_TYPE_ACCELERATOR;
}

/// What the script says of it, if it says something.
std::optional<cl_int> scripted_fact(cl_device_info what, std::size_t size, void* value,
                                    std::size_t* needed) {
  for (const Fact& fact : kFacts) {
    if (fact.info != what) continue;
    if (fact.size == 0) {
      const auto text = text_of(fact.key);
      if (text) return give(*text, size, value, needed);
    } else if (const auto number = number_of(fact.key)) {
      return give(*number, fact.size, size, value, needed);
    }
  }
  const auto type = text_of("type");
  if (what != CL_DEVICE_TYPE || !type) return std::nullopt;
  const cl_device_type named = type_named(*type);
  return give(&named, sizeof named, size, value, needed);
}

}  // namespace

std::optional<double> number_of(const char* key) {
  const auto plays = script();
  const auto found = plays->numbers.find(key);
  return found == plays->numbers.end() ? std::nullopt : std::optional(found->second);
}

std::string unknown_fact(const Script& script) {
  const auto is_known = [](const std::string& key) {
    return std::any_of(std::begin(kFacts), std::end(kFacts),
                       [&](const Fact& fact) { return key == fact.key; }) ||
           std::find(std::begin(kOtherKeys), std::end(kOtherKeys), key) != std::end(kOtherKeys);
  };
  for (const auto& [key, text] : script.texts) {
    if (!is_known(key)) return key;
  }
  for (const auto& [key, number] : script.numbers) {
    if (!is_known(key)) return key;
  }
  return "";
}

}  // namespace scripted

using scripted::enter;
using scripted::Orders;

extern "C" {

/// The first time it ends two lists at their first ':', as the Khronos loader does, which reads them
/// in place.
cl_int clGetPlatformIDs(cl_uint most, cl_platform_id* platforms, cl_uint* count) {
  const Orders orders = enter("clGetPlatformIDs");
  if (const auto status = orders.refusal()) return *status;
  static std::once_flag first;
  std::call_once(first, [] {
    for (const char* name : {"OCL_ICD_FILENAMES", "OPENCL_LAYERS"}) {
      char* const list = std::getenv(name);
      if (char* const end = list ? std::strchr(list, ':') : nullptr) *end = '\0';
    }
  });
  return NEXT(clGetPlatformIDs)(most, platforms, count);
}

cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t size, void* value,
                         size_t* needed) {
  const Orders orders = enter("clGetPlatformInfo");
  if (const auto status = orders.refusal()) return *status;
  const auto name = scripted::text_of("platform");
  if (what == CL_PLATFORM_NAME && name) return scripted::give(*name, size, value, needed);
  return NEXT(clGetPlatformInfo)(platform, what, size, value, needed);
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void* value,
                       size_t* needed) {
  const Orders orders = enter("clGetDeviceInfo");
  if (const auto status = orders.refusal()) return *status;
  if (const auto told = scripted::scripted_fact(what, size, value, needed)) return *told;
  // Its binaries are none of the driver's beneath: who caches them must see that.
  if (what == CL_DRIVER_VERSION) {
    const std::string own = scripted::next_text(device, what) + " scripted";
    return scripted::give(own, size, value, needed);
  }
  const cl_int status = NEXT(clGetDeviceInfo)(device, what, size, value, needed);
  if (status == CL_SUCCESS && value && what == scripted::kHalfConfig &&
      scripted::number_of("half_denormals").value_or(0) != 0) {
    *static_cast<cl_device_fp_config*>(value) |= CL_FP_DENORM;
  }
  return status;
}

cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                cl_kernel_work_group_info what, size_t size, void* value,
                                size_t* needed) {
  const Orders orders = enter("clGetKernelWorkGroupInfo");
  if (const auto status = orders.refusal()) return *status;
  const cl_int status = NEXT(clGetKernelWorkGroupInfo)(kernel, device, what, size, value, needed);
  if (status == CL_SUCCESS && value && what == CL_KERNEL_WORK_GROUP_SIZE) {
    auto& group = *static_cast<size_t*>(value);
    group =
        static_cast<size_t>(double(group) * scripted::number_of("work_group_factor").value_or(1));
  }
  return status;
}

}  // extern "C"
