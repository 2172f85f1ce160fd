// SPDX-License-Identifier: MIT
// device_text.cpp - the device and what drives it, as reports to a driver's authors ask for it.
#include <fmt/core.h>
#include <sys/klog.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "bundle.hpp"
#include "clam/gpu.hpp"
#include "machine/machine.hpp"

namespace clam {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostLogLines = 40;

/// What the kernel says of faults of Arm's driver, of panfrost's and of panthor's.
constexpr std::array kFaults{"Unhandled Page fault in AS",
                             "TRANSLATION_FAULT",
                             "GPU fault 0x",
                             "Job Hard-Stopped",
                             "Resetting GPU",
                             "CS_FATAL",
                             "GROUP_ERROR_FATAL",
                             "gpu sched timeout",
                             "js fault",
                             "JOB_BUS_FAULT",
                             "Kernel DDK version",
                             "GPU identified as"};

std::string row(const std::string& key, const std::string& text) {
  return fmt::format("{:<20} {}\n", key + ":", text);
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// OpenCL's loader and the driver behind it, as they lie in this process.
std::string libraries_text() {
  std::set<std::string> paths;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t slash = line.find('/');
    if (slash == line.npos) continue;
    const std::string path = line.substr(slash), name = fs::path(path).filename().string();
    for (const char* part : {"OpenCL", "mali", "Mali", "pocl", "gallium", "oclgrind"}) {
      if (holds(name, part) && holds(name, ".so")) paths.insert(path);
    }
  }
  std::string text;
  for (const std::string& path : paths) text += row("library", path);
  for (const char* name : {"OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "RUSTICL_ENABLE",
                           "RUSTICL_FEATURES", "PAN_GPU_ID"}) {
    if (const char* value = std::getenv(name)) {
      text += row("environment", std::string(name) + "=" + value);
    }
  }
  return text;
}

std::string kernel_driver_text(const Machine& machine) {
  utsname system{};
  std::string text;
  if (::uname(&system) == 0) {
    text = row("system", fmt::format("{} {} {}", system.sysname, system.release, system.machine));
  }
  for (const std::string module : {"mali_kbase", "panfrost", "panthor"}) {
    const std::string folder = "/sys/module/" + module;
    if (!machine.exists(folder)) continue;
    text += row("kernel driver", module + " " + machine.text(folder + "/version").value_or(""));
  }
  const auto gpu = machine.text("/sys/class/misc/mali0/device/gpuinfo");
  return gpu ? text + row("gpuinfo", *gpu) : text;
}

/// What does not change while it is looked at: the steps and the governor.
std::string clocks_text(const Machine& machine) {
  std::string text;
  for (const std::string& folder : machine.matching("/sys/class/devfreq/*")) {
    const std::string name = fs::path(folder).filename().string();
    if (!holds(name, "gpu") && !holds(name, "mali") && !holds(name, "dmc")) continue;
    for (const std::string file : {"governor", "min_freq", "max_freq", "available_frequencies"}) {
      const auto line = machine.text(folder + "/" + file);
      if (line) text += row("clock", fmt::format("{} {}: {}", name, file, *line));
    }
  }
  return text.empty() ? row("clock", "not shown by this system") : text;
}

/// The kernel log, where it may be read.
std::string fault_lines() {
  constexpr int kReadAll = 3;
  std::string log(1 << 20, '\0');
  const int size = ::klogctl(kReadAll, log.data(), static_cast<int>(log.size()));
  if (size < 0) {
    return "kernel log:          not readable here; as root:\n"
           "  dmesg | grep -iE 'mali|panfrost|panthor|gpu fault|gpu sched'\n";
  }
  log.resize(static_cast<std::size_t>(size));
  std::vector<std::string> found;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    const auto is_in_line = [&](const char* fault) { return holds(line, fault); };
    if (std::any_of(kFaults.begin(), kFaults.end(), is_in_line)) found.push_back(line);
  }
  if (found.empty()) return "kernel log:          no line on a fault of a GPU\n";
  std::string text = "kernel log, its last lines on the GPU:\n";
  const std::size_t first = found.size() > kMostLogLines ? found.size() - kMostLogLines : 0;
  for (std::size_t i = first; i < found.size(); ++i) text += "  " + found[i] + "\n";
  return text;
}

}  // namespace

std::string device_text(const DeviceInfo& device) {
  const Machine machine;
  return row("identity", identify(device).text()) + to_text(device) +
         anonymous(libraries_text() + kernel_driver_text(machine) + clocks_text(machine) +
                   fault_lines());
}

}  // namespace clam
