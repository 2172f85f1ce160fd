// SPDX-License-Identifier: MIT
#include "clam/device.hpp"

#include <nlohmann/json.hpp>

#include "refuse.hpp"
#include "text.hpp"

namespace clam {
namespace {

/// Calls visit("key", member) for every fact: the one list that JSON, text and equality share.
template <typename Info, typename Visit>
void for_each_fact(Info& info, Visit&& visit) {
  visit("name", info.name);
  visit("vendor", info.vendor);
  visit("vendor_id", info.vendor_id);
  visit("type", info.type);
  visit("platform", info.platform);
  visit("platform_version", info.platform_version);
  visit("device_version", info.device_version);
  visit("driver_version", info.driver_version);
  visit("opencl_c_version", info.opencl_c_version);
  visit("compute_units", info.compute_units);
  visit("max_clock_mhz", info.max_clock_mhz);
  visit("max_work_group", info.max_work_group);
  visit("max_work_items", info.max_work_items);
  visit("local_mem_bytes", info.local_mem_bytes);
  visit("global_mem_bytes", info.global_mem_bytes);
  visit("max_alloc_bytes", info.max_alloc_bytes);
  visit("mem_base_addr_align", info.mem_base_addr_align);
  visit("global_cache_bytes", info.global_cache_bytes);
  visit("address_bits", info.address_bits);
  visit("timer_resolution_ns", info.timer_resolution_ns);
  visit("images", info.images);
  visit("fp16", info.fp16);
  visit("denormals_f32", info.denormals_f32);
  visit("fma_f32", info.fma_f32);
  visit("native_exp2_ulp", info.native_exp2_ulp);
  visit("extensions", info.extensions);
}

}  // namespace

bool DeviceInfo::has_extension(const std::string& extension) const {
  return (" " + extensions + " ").find(" " + extension + " ") != std::string::npos;
}

bool DeviceInfo::operator==(const DeviceInfo& other) const {
  return to_json(*this) == to_json(other);
}

DeviceInfo generic_device() {
  DeviceInfo info;
  info.name = "generic OpenCL 1.2 device";
  info.type = "gpu";
  info.device_version = "OpenCL 1.2";
  info.opencl_c_version = "OpenCL C 1.2";
  info.extensions = "cl_khr_fp16";
  info.compute_units = 4;
  info.images = true;
  info.fp16 = true;
  return info;
}

nlohmann::json to_json(const DeviceInfo& info) {
  nlohmann::json json = nlohmann::json::object();
  for_each_fact(info, [&](const char* key, const auto& value) {
    json[key] = value;
    if (json[key].is_string()) json[key] = printable(json[key].get<std::string>());
  });
  return json;
}

DeviceInfo device_from_json(const nlohmann::json& json) {
  if (!json.is_object()) throw BadArgument("a device in JSON needs to be an object");
  DeviceInfo info;
  for_each_fact(info, [&](const char* key, auto& value) {
    if (!json.contains(key)) return;
    try {
      json.at(key).get_to(value);
    } catch (const nlohmann::json::exception&) {
      throw BadArgument(fmt::format("device: key \"{}\" has the wrong type", key));
    }
  });
  throw_if(info.mem_base_addr_align < 1, "device: mem_base_addr_align={}, needs 1 or more",
           info.mem_base_addr_align);
  return info;
}

std::string to_text(const DeviceInfo& info) {
  std::string text;
  const nlohmann::json json = to_json(info);
  for_each_fact(info, [&](const char* key, const auto&) {
    const nlohmann::json& value = json[key];
    text += fmt::format("{:<20} {}\n", std::string(key) + ":",
                        value.is_string() ? value.get<std::string>() : value.dump());
  });
  return text;
}

}  // namespace clam
