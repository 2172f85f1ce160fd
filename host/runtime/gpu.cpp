// SPDX-License-Identifier: MIT
#include "clam/gpu.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "clam/error.hpp"
#include "text.hpp"
#include "words.hpp"

namespace clam {
namespace {

constexpr Words<4> kGpuFamilyWords{"Midgard", "Bifrost", "Valhall", "fifth generation"};
constexpr std::int64_t kMostCores = 32;  ///< of any Mali: G71 scales to 32

/// Ids of GPUs whose row has another one: G57 has two, and small G715 and G720 are sold as G615 and
/// G620 (ARM-software/libGPUInfo).
struct OtherId {
  std::uint32_t arch_major, product;
  std::int64_t most_cores;
  const char* key;
};
constexpr OtherId kOtherIds[] = {{9, 3, kMostCores, "g57"}, {11, 2, 6, "g615"}, {12, 0, 5, "g620"}};

/// Names that are no model's. Four letters: Arm's code names, which its kernel driver gives ids to
/// (GPU_ID2_PRODUCT_LODX is 10, 7). Mali-G1: the newest, arch 14, of the fifth generation
/// (libGPUInfo).
struct Alias {
  const char *word, *key;
};
constexpr Alias kAliases[] = {
    {"TMIX", "g71"},  {"THEX", "g72"},  {"TSIX", "g51"},  {"TNOX", "g76"},  {"TGOX", "g52"},
    {"TDVX", "g31"},  {"TTRX", "g77"},  {"TNAX", "g57"},  {"TBEX", "g78"},  {"LBEX", "g68"},
    {"TODX", "g710"}, {"TGRX", "g510"}, {"TVAX", "g310"}, {"LODX", "g610"}, {"TTUX", "g715"},
    {"LTUX", "g615"}, {"TTIX", "g720"}, {"LTIX", "g620"}, {"G1", "g720"}};

// No <cctype>: it depends on the locale and may not be given a negative char.
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
bool is_word(char c) { return (c >= '0' && c <= '9') || (upper(c) >= 'A' && upper(c) <= 'Z'); }

/// The number that all of `digits` says, at most 9999; -1 when it is none.
int number(std::string_view digits) {
  constexpr int kMost = 9999;
  int value = 0;
  const std::errc error = read_number(digits, value);
  if (error == std::errc::result_out_of_range) return kMost;
  return error == std::errc() ? std::min(value, kMost) : -1;
}

/// What a Mali's name holds: its words in capitals, "MP4" and the like taken off and counted. Of
/// another device, the cores alone.
struct Name {
  bool mali = false;
  std::int64_t cores = 0;
  std::vector<std::string> words;

  void add(std::string word) {
    const std::size_t at = std::min(word.rfind("MP"), word.rfind("MC"));
    const int count = at == word.npos ? -1 : number(std::string_view(word).substr(at + 2));
    if (count >= 1 && count <= kMostCores) cores = count, word.resize(at);
    mali = mali || word == "MALI" || word == "IMMORTALIS";
    if (!word.empty()) words.push_back(std::move(word));
  }
};

Name read_name(const std::string& text) {
  Name name;
  std::string word;
  for (const char c : text + " ") {
    if (is_word(c)) {
      word += upper(c);
    } else if (!word.empty()) {
      name.add(std::move(word));
      word.clear();
    }
  }
  if (!name.mali) name.words.clear();
  return name;
}

const Gpu* by_model(const Name& name) {
  for (const std::string& word : name.words) {
    for (const Gpu& gpu : all_gpus()) {
      if (word == gpu.model) return &gpu;
    }
  }
  return nullptr;
}

const Gpu* by_alias(const Name& name) {
  for (const std::string& word : name.words) {
    for (const Alias& alias : kAliases) {
      if (word == alias.word) return &find_gpu(alias.key);
    }
  }
  return nullptr;
}

/// Of the same letter, the model with the nearest number: Mali-T880 is near T860, G78AE near G78.
const Gpu* by_nearest_model(const Name& name) {
  const Gpu* nearest = nullptr;
  int least = 0;
  for (const std::string& word : name.words) {
    const std::string_view digits = std::string_view(word).substr(1);
    const int wanted = number(digits.substr(0, digits.find_first_not_of("0123456789")));
    if (wanted < 10) continue;
    for (const Gpu& gpu : all_gpus()) {
      const int away = std::abs(wanted - number(std::string_view(gpu.model).substr(1)));
      if (word[0] == gpu.model[0] && (!nearest || away < least)) nearest = &gpu, least = away;
    }
  }
  return nearest;
}

/// `named` decides where one id has several names, else the number of cores does.
const Gpu* by_id(std::uint32_t vendor_id, std::int64_t cores, const Gpu* named) {
  // The GPU_ID register: architecture and product; up to Midgard the product alone.
  const std::uint32_t arch_major = vendor_id >> 28, upper = vendor_id >> 16;
  const std::uint32_t product = arch_major == 0 ? upper : upper & 0xf;
  const Gpu* found = nullptr;
  for (const Gpu& gpu : all_gpus()) {
    if (gpu.arch_major == arch_major && gpu.product == product) found = &gpu;
  }
  for (const OtherId& other : kOtherIds) {
    if (other.arch_major != arch_major || other.product != product) continue;
    const Gpu* gpu = &find_gpu(other.key);
    if (named && (named == gpu || named == found)) return named;
    if (cores <= other.most_cores) found = gpu;
  }
  return found;
}

/// A GPU of the same architecture, or of the one that came before. From arch 14 on the register
/// has 64 bits and says nothing here.
const Gpu* by_architecture(std::uint32_t vendor_id) {
  constexpr std::uint32_t kFirst = 6, kLast = 13;
  const std::uint32_t arch_major = vendor_id >> 28;
  if (arch_major < kFirst || arch_major > kLast) return nullptr;
  for (const Gpu& gpu : all_gpus()) {
    if (gpu.arch_major <= arch_major) return &gpu;
  }
  return nullptr;
}

}  // namespace

const char* name(Gpu::Family family) { return word_of(kGpuFamilyWords, family); }

const Gpu& find_gpu(std::string_view key) {
  return find_named(all_gpus(), key, "GPU", "clam", [](const Gpu& gpu) { return gpu.key; });
}

std::string Identity::text() const {
  if (!gpu) return "no Mali that clam knows";
  const std::string its_cores =
      cores == 0 ? "cores unknown" : fmt::format("{} core{}", cores, cores == 1 ? "" : "s");
  return fmt::format(
      "{}Mali-{}, {}, {}, {}, {:g} fp32 and {:g} fp16 multiply-adds a core and clock ({})",
      by == By::guess ? "perhaps like " : "", gpu->model, name(gpu->family), its_cores,
      gpu->warp == 1 ? "no warps" : fmt::format("warps of {}", gpu->warp), gpu->fma_f32,
      gpu->fma_f16, from);
}

Identity identify(const DeviceInfo& device) {
  using By = Identity::By;
  const Name name = read_name(device.name);
  const bool plausible = device.compute_units >= 1 && device.compute_units <= kMostCores;
  const std::int64_t cores = plausible ? device.compute_units : name.cores;
  const bool arm = device.vendor == "ARM" && device.platform == "ARM Platform";
  const std::string its_id = fmt::format("its id 0x{:08x}", device.vendor_id);
  const std::string its_name = "its name " + in_quotes(device.name);
  const Gpu *named = by_model(name), *coded = by_alias(name), *nearest = by_nearest_model(name);
  if (const Gpu* gpu = arm ? by_id(device.vendor_id, cores, named) : nullptr) {
    const Gpu* told = named ? named : coded;
    const bool differs = told && told != gpu;
    return {gpu, By::id, cores,
            "by " + its_id + (differs ? "; " + its_name + " says otherwise" : "")};
  }
  if (named) return {named, By::name, cores, "by " + its_name};
  // Midgard's ids know no architecture: that of a T604 would pass for a Bifrost's.
  const bool is_midgard = nearest && nearest->family == Gpu::Family::midgard;
  if (arm && !coded && !is_midgard) {
    const Gpu* kin = by_architecture(device.vendor_id);
    if (kin) return {kin, By::guess, cores, "a guess from " + its_id};
  }
  const Gpu* guess = coded ? coded : nearest;
  if (guess) return {guess, By::guess, cores, "a guess from " + its_name};
  return {nullptr, By::nothing, cores, ""};
}

nlohmann::json to_json(const Identity& who) {
  constexpr const char* kBy[] = {"id", "name", "guess", "nothing"};
  nlohmann::json json{{"gpu", nullptr},
                      {"by", kBy[static_cast<int>(who.by)]},
                      {"cores", who.cores},
                      {"quirks", nlohmann::json::array()},
                      {"text", who.text()}};
  if (!who.gpu) return json;
  json["gpu"] = who.gpu->key;
  json["family"] = name(who.gpu->family);
  json["warp"] = who.gpu->warp;
  json["fma_f32"] = who.gpu->fma_f32;
  json["fma_f16"] = who.gpu->fma_f16;
  for (const Quirk& quirk : who.gpu->quirks) {
    json["quirks"].push_back(
        {{"name", quirk.name}, {"about", quirk.about}, {"source", quirk.source}});
  }
  return json;
}

bool may_lose_context(const DeviceInfo& device) { return identify(device).gpu != nullptr; }

DeviceInfo gpu_device(const Gpu& gpu) {
  // What Mesa 25.0's driver answers, with fp16 switched on, where the chip is G610, G52, G31, T860.
  DeviceInfo info;
  info.name = fmt::format("Mali-{} (Panfrost)", gpu.model);
  info.vendor = "Arm";
  info.type = "gpu";
  info.platform = "rusticl";
  info.platform_version = info.device_version = "OpenCL 3.0 ";
  info.driver_version = "25.0.7";
  info.opencl_c_version = "OpenCL C 1.2 ";
  info.extensions =
      "cl_khr_byte_addressable_store cl_khr_create_command_queue cl_khr_expect_assume "
      "cl_khr_extended_versioning cl_khr_global_int32_base_atomics "
      "cl_khr_global_int32_extended_atomics cl_khr_il_program cl_khr_local_int32_base_atomics "
      "cl_khr_local_int32_extended_atomics cl_khr_integer_dot_product "
      "cl_khr_spirv_no_integer_wrap_decoration cl_khr_suggested_local_work_size cl_khr_fp16 "
      "cl_khr_3d_image_writes cl_khr_depth_images";
  info.compute_units = gpu.cores;
  info.max_work_group = gpu.family == Gpu::Family::midgard ? 128 : 256;
  info.max_work_items.assign(3, info.max_work_group);
  info.local_mem_bytes = 32768;
  info.global_mem_bytes = 4261412864;
  info.max_alloc_bytes = std::int64_t{1} << 31;
  info.mem_base_addr_align = 512;
  info.address_bits = 64;
  info.images = true;
  info.fp16 = true;
  info.denormals_f32 = info.fma_f32 = false;  // CL_FP_DENORM and CL_FP_FMA are not among its flags
  // Assumed: on a board clam measures it. Mali's SFU is good to 1 to 3 ulp.
  info.native_exp2_ulp = 3;
  return info;
}

}  // namespace clam
