// SPDX-License-Identifier: MIT
#include "clam/opencl.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "clam/error.hpp"
#include "text.hpp"

namespace clam {
namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Strings from drivers sometimes carry the terminating zero or trailing blanks.
std::string trimmed(std::string text) {
  text.erase(text.find_last_not_of(" \n\t\0", std::string::npos, 4) + 1);
  return text;
}

std::string type_name(cl_device_type type) {
  if (type & CL_DEVICE_TYPE_GPU) return "gpu";
  if (type & CL_DEVICE_TYPE_CPU) return "cpu";
  if (type & CL_DEVICE_TYPE_ACCELERATOR) return "accelerator";
  return "custom";
}

/// Higher is better: a Mali, another GPU, an accelerator, a CPU.
int preference(const cl::Device& device) {
  const cl_device_type type = device.getInfo<CL_DEVICE_TYPE>();
  if (lower(device.getInfo<CL_DEVICE_NAME>()).find("mali") != std::string::npos) return 4;
  return type & CL_DEVICE_TYPE_GPU ? 3 : type & CL_DEVICE_TYPE_ACCELERATOR ? 2 : 1;
}

bool matches(const DeviceEntry& entry, const std::string& wanted) {
  if (wanted == fmt::format("{}:{}", entry.platform, entry.index)) return true;
  if (wanted.find_first_not_of("0123456789:") == std::string::npos) return false;
  const cl::Platform platform(entry.device.getInfo<CL_DEVICE_PLATFORM>());
  return lower(entry.device.getInfo<CL_DEVICE_NAME>()).find(lower(wanted)) != std::string::npos ||
         lower(platform.getInfo<CL_PLATFORM_NAME>()).find(lower(wanted)) != std::string::npos;
}

std::string listing(const std::vector<DeviceEntry>& entries) {
  std::string text;
  for (const DeviceEntry& entry : entries) {
    text += fmt::format("{}{}:{} {}", text.empty() ? "" : ", ", entry.platform, entry.index,
                        trimmed(entry.device.getInfo<CL_DEVICE_NAME>()));
  }
  return text;
}

DeviceInfo read_facts(const cl::Device& device) {
  const cl::Platform platform(device.getInfo<CL_DEVICE_PLATFORM>());
  DeviceInfo info;
  info.name = trimmed(device.getInfo<CL_DEVICE_NAME>());
  info.vendor = trimmed(device.getInfo<CL_DEVICE_VENDOR>());
  info.vendor_id = device.getInfo<CL_DEVICE_VENDOR_ID>();
  info.type = type_name(device.getInfo<CL_DEVICE_TYPE>());
  info.platform = trimmed(platform.getInfo<CL_PLATFORM_NAME>());
  info.platform_version = trimmed(platform.getInfo<CL_PLATFORM_VERSION>());
  info.device_version = trimmed(device.getInfo<CL_DEVICE_VERSION>());
  info.driver_version = trimmed(device.getInfo<CL_DRIVER_VERSION>());
  info.opencl_c_version = trimmed(device.getInfo<CL_DEVICE_OPENCL_C_VERSION>());
  info.extensions = trimmed(device.getInfo<CL_DEVICE_EXTENSIONS>());
  info.compute_units = device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>();
  info.max_clock_mhz = device.getInfo<CL_DEVICE_MAX_CLOCK_FREQUENCY>();
  info.max_work_group = static_cast<std::int64_t>(device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>());
  info.max_work_items.clear();
  for (const auto items : device.getInfo<CL_DEVICE_MAX_WORK_ITEM_SIZES>()) {
    info.max_work_items.push_back(static_cast<std::int64_t>(items));
  }
  const auto bytes = [](cl_ulong value) {
    return static_cast<std::int64_t>(std::min<cl_ulong>(value, INT64_MAX));
  };
  info.local_mem_bytes = bytes(device.getInfo<CL_DEVICE_LOCAL_MEM_SIZE>());
  info.global_mem_bytes = bytes(device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>());
  info.max_alloc_bytes = bytes(device.getInfo<CL_DEVICE_MAX_MEM_ALLOC_SIZE>());
  info.global_cache_bytes = bytes(device.getInfo<CL_DEVICE_GLOBAL_MEM_CACHE_SIZE>());
  info.mem_base_addr_align = std::max(1u, device.getInfo<CL_DEVICE_MEM_BASE_ADDR_ALIGN>() / 8);
  info.address_bits = device.getInfo<CL_DEVICE_ADDRESS_BITS>();
  info.timer_resolution_ns =
      static_cast<std::int64_t>(device.getInfo<CL_DEVICE_PROFILING_TIMER_RESOLUTION>());
  info.images = device.getInfo<CL_DEVICE_IMAGE_SUPPORT>();
  info.fp16 = info.has_extension("cl_khr_fp16");
  const cl_device_fp_config f32 = device.getInfo<CL_DEVICE_SINGLE_FP_CONFIG>();
  info.denormals_f32 = f32 & CL_FP_DENORM;
  info.fma_f32 = f32 & CL_FP_FMA;
  return info;
}

}  // namespace

std::string describe(const cl::Error& error) {
  return fmt::format("{}: {} ({})", error.what(), cl_status_name(error.err()), error.err());
}

DeviceInfo query_device(const cl::Device& device) {
  try {
    return read_facts(device);
  } catch (const cl::Error& error) {
    throw DeviceError("cannot read the device's facts: " + describe(error), error.err());
  }
}

std::vector<DeviceEntry> list_devices() {
  std::vector<DeviceEntry> entries;
  std::vector<cl::Platform> platforms;
  try {
    cl::Platform::get(&platforms);
  } catch (const cl::Error&) {
    return entries;  // the loader's way to say that there is no platform
  }
  for (std::size_t p = 0; p < platforms.size(); ++p) {
    std::vector<cl::Device> devices;
    try {
      platforms[p].getDevices(CL_DEVICE_TYPE_ALL, &devices);
    } catch (const cl::Error&) {
      continue;  // a platform without devices
    }
    for (std::size_t d = 0; d < devices.size(); ++d) {
      entries.push_back({static_cast<int>(p), static_cast<int>(d), devices[d]});
    }
  }
  return entries;
}

DeviceEntry select_device(const std::string& wanted) {
  const std::string choice = wanted.empty() ? environment("CLAM_DEVICE") : wanted;
  const std::vector<DeviceEntry> entries = list_devices();
  if (entries.empty()) {
    throw NoDevice(
        "no OpenCL device: install a driver (on a Mali board the vendor's libmali or Mesa's "
        "mesa-opencl-icd; elsewhere pocl-opencl-icd), and check that /etc/OpenCL/vendors names it");
  }
  if (choice.empty()) {
    return *std::max_element(entries.begin(), entries.end(),
                             [](const DeviceEntry& a, const DeviceEntry& b) {
                               return preference(a.device) < preference(b.device);
                             });
  }
  for (const DeviceEntry& entry : entries) {
    if (matches(entry, choice)) return entry;
  }
  throw DeviceError(
      fmt::format("no OpenCL device matches '{}'; there is {}", choice, listing(entries)));
}

}  // namespace clam
