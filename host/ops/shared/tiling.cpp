// SPDX-License-Identifier: MIT
#include "tiling.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <tuple>

#include "clam/gpu.hpp"
#include "runtime/embedded.hpp"
#include "runtime/refuse.hpp"
#include "runtime/text.hpp"

namespace clam {
namespace {

constexpr const char* kMesa25 = "Mesa 25";
constexpr const char* kMesa26 = "Mesa 26";
constexpr const char* kOther = "other";

/// A kernel with a dtype and an accumulator, and the compiler that its rows are of.
using Key = std::tuple<std::string, std::string, std::string, std::string>;
using Table = std::map<Key, std::vector<Cost>>;

const Table& table() {
  static const Table rows = [] {
    Table rows;
    const nlohmann::json file = nlohmann::json::parse(embedded_costs().front().text);
    for (const nlohmann::json& row : file.at("costs")) {
      for (std::size_t i = 4; i < row.size(); ++i) {
        if (row[i].is_null()) continue;
        const std::string compiler = file.at("columns")[i];
        rows[{row[0], row[1], row[2], compiler}].push_back({row[3], row[i], compiler});
      }
    }
    return rows;
  }();
  return rows;
}

/// Whose rows tell what the device's compiler does; Arm's has none.
std::string own_compiler(const DeviceInfo& device) {
  if (!is_mali(device)) return kOther;
  if (device.platform != "rusticl") return "Arm";
  return std::atoi(device.driver_version.c_str()) < 26 ? kMesa25 : kMesa26;
}

bool is_word_of(const std::string& words, const std::string& word) {
  return ("," + words + ",").find("," + word + ",") != std::string::npos;
}

bool has_words(const std::string& words, const std::string& wanted) {
  const std::vector<std::string_view> each = split(wanted, ',');
  return wanted.empty() || std::all_of(each.begin(), each.end(), [&](std::string_view word) {
           return is_word_of(words, std::string(word));
         });
}

[[noreturn]] void no_such_tile(const std::vector<const Tiling*>& candidates,
                               const std::string& wanted) {
  std::string known, refused;
  for (const Tiling* one : candidates) {
    known += "\n  " + one->words;
    if (has_words(one->words, wanted))
      refused += fmt::format("\n  {}: {}", one->words, *one->refused);
  }
  throw_if(refused.empty(), "there is no tile '{}'; there are{}", wanted, known);
  throw Unsupported("no tile can be taken:" + refused);
}

}  // namespace

const Gpu* gpu_of(const DeviceInfo& device) {
  const auto facts = [](const DeviceInfo& of) {
    return std::tie(of.name, of.vendor, of.platform, of.vendor_id, of.compute_units);
  };
  thread_local DeviceInfo last;
  thread_local const Gpu* gpu = identify(last).gpu;
  if (facts(last) != facts(device)) {
    gpu = identify(device).gpu;
    last = device;
  }
  return gpu;
}

Clocks clocks_of(const Work& work, const DeviceInfo& device) {
  constexpr double kLatency = 25, kLineBytes = 64;
  const Gpu* gpu = gpu_of(device);
  const double warp = gpu && gpu->warp > 1 ? gpu->warp : 16;
  const double warps_per_clock = gpu && gpu->warp > 1 ? gpu->fma_f32 / gpu->warp : 4;
  const auto cores = static_cast<double>(device.compute_units);
  const double warps = work.group > 0 ? work.items / work.group * std::ceil(work.group / warp)
                                      : std::ceil(work.items / warp);
  constexpr double kBytesPerClock = 27.2;
  Clocks clocks;
  clocks.issue = work.instructions * warps / (warps_per_clock * cores);
  clocks.latency = work.instructions * (gpu ? kLatency : kLatency / 2);
  clocks.loads = warps * work.bytes * warp / kLineBytes / cores;
  clocks.dram = work.dram / (gpu ? gpu->gb_per_s : kBytesPerClock);
  // Of tilings that are as fast, the one of fewer instructions.
  clocks.predicted =
      std::max({clocks.issue, clocks.latency, clocks.loads, clocks.dram}) + clocks.issue / 1000;
  return clocks;
}

double predicted_clocks(double items, double instructions, const DeviceInfo& device) {
  return clocks_of({items, instructions}, device).predicted;
}

bool is_mali(const DeviceInfo& device) {
  const Gpu* gpu = gpu_of(device);
  return gpu && gpu->family != Gpu::Family::midgard;
}

bool splits_addresses(const DeviceInfo& device) {
  return device.platform == "rusticl" && is_mali(device);
}

int Cost::operator[](const char* name) const {
  const std::string start = std::string(name) + "=";
  const std::size_t at = ("," + tile).find("," + start);
  if (at == std::string::npos) throw std::logic_error("the tile " + tile + " has no " + name);
  return std::atoi(tile.c_str() + at + start.size());
}

const std::vector<Cost>& costs_of(std::string_view kernel, Dtype dtype, Acc acc,
                                  const DeviceInfo& device) {
  const std::string own = own_compiler(device);
  for (const std::string& compiler :
       {own, std::string(own == kOther ? kMesa25 : kMesa26), std::string(kMesa25)}) {
    const auto rows = table().find({std::string(kernel), name(dtype), name(acc), compiler});
    if (rows != table().end()) return rows->second;
  }
  throw std::logic_error(fmt::format("costs.json has no row of {}", kernel));
}

Tiling tiling_of(const Cost& cost, const DeviceInfo& device) {
  const bool own = cost.compiler == own_compiler(device);
  return {cost.tile, own ? cost.compiler : cost.compiler + ", borrowed", {}, {}};
}

std::size_t choose_tiling(const std::vector<const Tiling*>& candidates, const std::string& wanted) {
  std::size_t best = candidates.size();
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Tiling& one = *candidates[i];
    if (one.refused || !has_words(one.words, wanted)) continue;
    if (best == candidates.size() || one.clocks.predicted < candidates[best]->clocks.predicted) {
      best = i;
    }
  }
  if (best == candidates.size()) no_such_tile(candidates, wanted);
  return best;
}

}  // namespace clam
