// SPDX-License-Identifier: MIT
// device.hpp - facts about an OpenCL device, as data. They are read once, and plans depend on them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace clam {

struct DeviceInfo {
  std::string name, vendor, platform, platform_version;
  std::string device_version, driver_version, opencl_c_version;
  std::string type;        ///< "gpu", "cpu", "accelerator", "custom"
  std::string extensions;  ///< as the driver gives them, space separated
  std::uint32_t vendor_id = 0;
  std::int64_t compute_units = 1;
  std::int64_t max_clock_mhz = 0;
  std::int64_t max_work_group = 256;
  std::vector<std::int64_t> max_work_items{256, 256, 256};
  std::int64_t local_mem_bytes = 32768;
  std::int64_t global_mem_bytes = 1 << 30;
  std::int64_t max_alloc_bytes = 1 << 28;
  std::int64_t mem_base_addr_align = 128;  ///< bytes (OpenCL reports bits)
  std::int64_t global_cache_bytes = 0;
  std::int64_t address_bits = 64;
  std::int64_t timer_resolution_ns = 0;
  bool images = false;
  bool fp16 = false;          ///< cl_khr_fp16
  bool denormals_f32 = true;  ///< CL_FP_DENORM
  bool fma_f32 = true;        ///< CL_FP_FMA: fma() is fused
  /// Largest error in ulp of native_exp2, and of reciprocals by native_recip and a step of Newton,
  /// as a Runtime measured it. 0: not measured. Negative: the measurement failed.
  double native_exp2_ulp = 0;

  bool has_extension(const std::string& extension) const;
  bool operator==(const DeviceInfo&) const;
};

/// A small OpenCL 1.2 device with fp16, for plans made without a device.
DeviceInfo generic_device();

nlohmann::json to_json(const DeviceInfo& info);
/// Unknown keys are ignored, missing ones keep their default. Throws BadArgument on a wrong type.
DeviceInfo device_from_json(const nlohmann::json& json);
/// Lines "key: value", as clinfo prints them.
std::string to_text(const DeviceInfo& info);

}  // namespace clam
