// SPDX-License-Identifier: MIT
#include "board.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace clam::bench {
namespace {

namespace fs = std::filesystem;

/// The first line; nothing where there is none.
std::optional<std::string> line_of(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line) || line.empty()) return std::nullopt;
  return line;
}

/// The number of a file, in units of `unit`.
std::optional<double> number_of(const std::string& file, double unit) {
  const auto line = line_of(file);
  if (!line) return std::nullopt;
  try {
    return std::stod(*line) / unit;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

/// Entries of a folder, sorted; none where there is no folder.
std::vector<std::string> entries(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    found.push_back(it->path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool named(const std::string& path, const std::vector<std::string>& parts) {
  const std::string name = fs::path(path).filename().string();
  return std::any_of(parts.begin(), parts.end(),
                     [&](const std::string& part) { return name.find(part) != std::string::npos; });
}

bool has_clock(const std::string& folder) { return line_of(folder + "/cur_freq").has_value(); }

/// A governor for each policy, each once: "performance, schedutil".
std::optional<std::string> governors(const std::vector<std::string>& policies) {
  std::vector<std::string> found;
  for (const std::string& policy : policies) {
    if (const auto line = line_of(policy + "/scaling_governor")) found.push_back(*line);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::string text;
  for (const std::string& governor : found) text += (text.empty() ? "" : ", ") + governor;
  return found.empty() ? std::nullopt : std::optional(text);
}

}  // namespace

Board::Board(const std::string& root) {
  const std::string sys = (fs::path(root) / "sys").string();
  for (const std::string& folder : entries(sys + "/class/devfreq")) {
    if (gpu_.empty() && named(folder, {"gpu", "mali"}) && has_clock(folder)) gpu_ = folder;
    if (memory_.empty() && named(folder, {"dmc"}) && has_clock(folder)) memory_ = folder;
  }
  // Arm's own driver: where devfreq's folder has another name, the device itself knows it.
  for (const std::string& folder : entries(sys + "/class/misc/mali0/device/devfreq")) {
    if (gpu_.empty() && has_clock(folder)) gpu_ = folder;
  }
  for (const std::string& zone : entries(sys + "/class/thermal")) {
    const auto type = line_of(zone + "/type");
    if (named(zone, {"thermal_zone"}) && type && type->rfind("gpu", 0) == 0) {
      thermals_.push_back(zone);
    }
  }
  for (const std::string& policy : entries(sys + "/devices/system/cpu/cpufreq")) {
    if (named(policy, {"policy"})) policies_.push_back(policy);
  }
}

std::optional<double> Board::gpu_mhz() const {
  return gpu_.empty() ? std::nullopt : number_of(gpu_ + "/cur_freq", 1e6);
}

BoardState Board::state() const {
  constexpr double kMegahertz = 1e6, kDegree = 1e3;  // of what the files hold
  BoardState state;
  state.gpu_mhz = gpu_mhz();
  if (!gpu_.empty()) {
    state.gpu_min_mhz = number_of(gpu_ + "/min_freq", kMegahertz);
    state.gpu_max_mhz = number_of(gpu_ + "/max_freq", kMegahertz);
    state.gpu_governor = line_of(gpu_ + "/governor");
  }
  if (!memory_.empty()) state.memory_mhz = number_of(memory_ + "/cur_freq", kMegahertz);
  for (const std::string& zone : thermals_) {
    const auto degrees = number_of(zone + "/temp", kDegree);
    if (degrees) state.gpu_celsius = std::max(state.gpu_celsius.value_or(*degrees), *degrees);
  }
  state.cpu_governor = governors(policies_);
  return state;
}

double ClockWatch::moved_to(const std::optional<double>& now) {
  last_ = now;
  if (!now) return 0;
  if (!first_) first_ = now;
  double moved = 0;
  for (const std::optional<double>& other : {before_, first_}) {
    if (other && *other > 0) moved = std::max(moved, std::abs(*now - *other) / *other);
  }
  return moved;
}

std::optional<std::string> clock_mark(double moved) {
  constexpr double kHolds = 0.03;
  if (moved <= kHolds) return std::nullopt;
  return fmt::format("{} {:.1f} %", kClockMoved, 100 * moved);
}

nlohmann::json to_json(const BoardState& state) {
  nlohmann::json value = nlohmann::json::object();
  const auto put = [&](const char* key, const auto& shown) {
    if (shown) value[key] = *shown;
  };
  put("gpu_mhz", state.gpu_mhz);
  put("gpu_min_mhz", state.gpu_min_mhz);
  put("gpu_max_mhz", state.gpu_max_mhz);
  put("gpu_governor", state.gpu_governor);
  put("memory_mhz", state.memory_mhz);
  put("gpu_celsius", state.gpu_celsius);
  put("cpu_governor", state.cpu_governor);
  return value;
}

}  // namespace clam::bench
