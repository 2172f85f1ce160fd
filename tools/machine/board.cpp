// SPDX-License-Identifier: MIT
#include "board.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <utility>

namespace clam {
namespace {

constexpr double kHertz = 1e6, kKilohertz = 1e3;  // what makes MHz of them
constexpr const char* kTop = "performance";       // the governor that stays at the top

/// The largest number of a file's list, as it stands there.
std::string largest(const std::string& list) {
  std::istringstream words(list);
  std::string best;
  double most = 0;
  for (std::string word; words >> word;) {
    const double value = std::strtod(word.c_str(), nullptr);
    if (value > most) most = value, best = word;
  }
  return best;
}

bool has_word(const std::string& list, const std::string& wanted) {
  return (" " + list + " ").find(" " + wanted + " ") != std::string::npos;
}

/// Held at its top by any governor that keeps to one frequency.
bool holds_top(const ClockDomain& domain) {
  constexpr double kNearly = 0.99;
  if (domain.governor == kTop) return true;
  return domain.governor == "userspace" && domain.mhz && domain.top_mhz &&
         *domain.mhz >= kNearly * *domain.top_mhz;
}

}  // namespace

std::string ClockDomain::text() const {
  const std::string clock = mhz && top_mhz ? fmt::format("at {:.0f} of {:.0f} MHz", *mhz, *top_mhz)
                            : mhz          ? fmt::format("at {:.0f} MHz", *mhz)
                                           : "at a clock that is not shown";
  if (governor.empty()) return fmt::format("the clock of {} is not held, {}", name, clock);
  return fmt::format("the governor of {} is {}, {}", name, governor, clock);
}

Board::Board(Machine machine) : machine_(std::move(machine)) {
  const auto find = [&](std::optional<Place>& place, double unit,
                        const std::vector<std::string>& patterns) {
    for (const std::string& pattern : patterns) {
      for (const std::string& folder : machine_.matching(pattern)) {
        if (!place && machine_.text(folder + "/cur_freq")) place = Place{folder, unit};
      }
    }
  };
  // Arm's own driver: where devfreq's folder has another name, the device itself knows it. Pixel
  // phones have no devfreq.
  find(gpu_, kHertz,
       {"/sys/class/devfreq/*gpu*", "/sys/class/devfreq/*mali*",
        "/sys/class/misc/mali0/device/devfreq/*"});
  find(gpu_, kKilohertz, {"/sys/devices/platform/*.mali"});
  find(memory_, kHertz, {"/sys/class/devfreq/*dmc*", "/sys/class/devfreq/*_mif"});
  policies_ = machine_.matching("/sys/devices/system/cpu/cpufreq/policy*");
}

ClockDomain Board::devfreq(const Place& place, ClockDomain::Part part,
                           const std::string& name) const {
  const auto text = [&](const char* file) {
    return machine_.text(place.folder + "/" + file).value_or("");
  };
  const auto mhz = [&](const std::string& value) -> std::optional<double> {
    const double number = std::strtod(value.c_str(), nullptr) / place.unit;
    return number > 0 ? std::optional(number) : std::nullopt;
  };
  const bool pixel = place.unit == kKilohertz;
  const std::string floor = pixel ? "scaling_min_freq" : "min_freq";
  ClockDomain domain{
      part, name, text("governor"), mhz(text("cur_freq")), mhz(text(floor.c_str())), {}, false, {}};
  std::string top = largest(text("available_frequencies"));
  if (top.empty()) top = text(pixel ? "scaling_max_freq" : "max_freq");
  domain.top_mhz = mhz(top);
  const bool at_floor =
      domain.lowest_mhz && domain.top_mhz && *domain.lowest_mhz >= *domain.top_mhz;
  domain.pinned = holds_top(domain) || at_floor;
  if (has_word(text("available_governors"), kTop)) {
    domain.pins = {{place.folder + "/governor", kTop}};
  } else if (!top.empty()) {
    domain.pins = {{place.folder + "/" + floor, top}};
  }
  return domain;
}

ClockDomain Board::policy(const std::string& folder) const {
  const auto mhz = [&](const char* file) {
    return machine_.number(folder + "/" + file, kKilohertz);
  };
  const std::string file = folder + "/scaling_governor";
  ClockDomain domain{ClockDomain::Part::cpu,
                     "the CPU's " + folder.substr(folder.rfind('/') + 1),
                     machine_.text(file).value_or(""),
                     mhz("scaling_cur_freq"),
                     mhz("scaling_min_freq"),
                     mhz("cpuinfo_max_freq"),
                     false,
                     {{file, kTop}}};
  domain.pinned = holds_top(domain);
  return domain;
}

std::vector<ClockDomain> Board::domains() const {
  std::vector<ClockDomain> all;
  if (gpu_) all.push_back(devfreq(*gpu_, ClockDomain::Part::gpu, "the GPU"));
  if (memory_) all.push_back(devfreq(*memory_, ClockDomain::Part::memory, "the memory"));
  for (const std::string& folder : policies_) {
    ClockDomain domain = policy(folder);
    if (!domain.governor.empty()) all.push_back(std::move(domain));
  }
  return all;
}

std::optional<double> Board::gpu_mhz() const {
  return gpu_ ? machine_.number(gpu_->folder + "/cur_freq", gpu_->unit) : std::nullopt;
}

std::optional<double> Board::gpu_celsius() const {
  constexpr double kDegree = 1e3;  // of what the files hold
  std::optional<double> hottest;
  for (const std::string& zone : machine_.matching("/sys/class/thermal/thermal_zone*")) {
    if (machine_.text(zone + "/type").value_or("").rfind("gpu", 0) != 0) continue;
    const auto degrees = machine_.number(zone + "/temp", kDegree);
    if (degrees) hottest = std::max(hottest.value_or(*degrees), *degrees);
  }
  return hottest;
}

std::vector<std::string> Board::unpinned() const {
  std::vector<std::string> sentences;
  for (const ClockDomain& domain : domains()) {
    const bool may_move = domain.mhz && (domain.top_mhz || !domain.governor.empty());
    if (gpu_ && may_move && !domain.pinned) sentences.push_back(domain.text());
  }
  return sentences;
}

nlohmann::json Board::state() const {
  nlohmann::json state = nlohmann::json::object();
  const auto put = [&](const char* key, const std::optional<double>& shown) {
    if (shown) state[key] = *shown;
  };
  std::set<std::string> governors;  // of the CPU, each once
  for (const ClockDomain& domain : domains()) {
    if (domain.part == ClockDomain::Part::gpu) {
      put("gpu_mhz", domain.mhz);
      put("gpu_min_mhz", domain.lowest_mhz);
      put("gpu_max_mhz", domain.top_mhz);
      if (!domain.governor.empty()) state["gpu_governor"] = domain.governor;
    }
    if (domain.part == ClockDomain::Part::memory) put("memory_mhz", domain.mhz);
    if (domain.part == ClockDomain::Part::cpu) governors.insert(domain.governor);
  }
  put("gpu_celsius", gpu_celsius());
  if (!governors.empty()) state["cpu_governor"] = fmt::format("{}", fmt::join(governors, ", "));
  if (const auto sentences = unpinned(); !sentences.empty()) state["unpinned"] = sentences;
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

}  // namespace clam
