// SPDX-License-Identifier: MIT
// opencl_findings.cpp - which OpenCL library shows the Mali, and why another does not.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "clam/gpu.hpp"
#include "clam/job_limit.hpp"
#include "findings.hpp"
#include "opencl/search.hpp"

namespace clam::doctor {
namespace {

using Level = Finding::Level;
using nlohmann::json;

constexpr const char* kTopic = "OpenCL";
constexpr const char* kVendors = "/etc/OpenCL/vendors/";

Finding fault(const std::string& id, const std::string& text, const std::string& command) {
  return {Level::fault, kTopic, id, text, command};
}

/// Arm's library for this chip.
std::string install_libmali(const Facts& facts) {
  if (facts.soc && *facts.soc->library)
    return fmt::format("sudo apt install {}", facts.soc->library);
  return "apt-cache search libmali";
}

constexpr const char* kInstallMesa = "sudo apt install mesa-opencl-icd";
constexpr const char* kEnableMesa = "export RUSTICL_ENABLE=panfrost";

bool holds(const std::string& text, const char* words) {
  return text.find(words) != std::string::npos;
}

/// Why a driver does not work, and what mends it.
struct Cause {
  std::string text, command;
};

/// By what it printed; without a text where that says nothing.
Cause cause_of(const std::string& errors, const Facts& facts) {
  struct Symptom {
    const char* words;
    const char* cause;
    const char* command;  ///< empty: the right libmali
  };
  static constexpr Symptom kSymptoms[] = {
      {"is not of a compatible version (user",
       "libmali and the kernel driver are of different releases", ""},
      {"is not compatible with this Mali GPU device", "libmali is for another GPU", ""},
      {"is not compatible with any of the Mali GPUs",
       "libmali is for another GPU or kernel driver, or may not open the device", ""},
      {"Failed creating base context during opening of kernel driver",
       "libmali cannot use the kernel driver: there are two libmali, or it is for another one",
       "sudo apt purge 'libmali*'"},
      {"Failed to load firmware image", "the GPU's firmware is missing",
       "sudo install -D mali_csffw.bin /lib/firmware/mali_csffw.bin && sudo reboot"},
  };
  for (const auto& [words, cause, command] : kSymptoms) {
    if (holds(errors, words)) return {cause, *command ? command : install_libmali(facts)};
  }
  return {"", install_libmali(facts)};
}

bool is_libmali(const std::string& file) { return holds(file, "mali") || holds(file, "Mali"); }

/// A libmali that is on the machine, whether it is used or not.
std::string libmali_of(const Machine& machine) {
  for (const char* name : {"libmali.so.1", "libmali.so", "libMali.so"}) {
    const std::vector<std::string> files = machine.libraries(name);
    if (!files.empty()) return files.front();
  }
  for (const std::string& file : machine.opencl_drivers()) {
    if (is_libmali(file)) return file;
  }
  return "";
}

bool is_there(const Machine& machine, const std::string& library) {
  return library[0] == '/' ? machine.exists(library) : !machine.libraries(library).empty();
}

/// Of the files that tell the ICD loader of drivers: those that it cannot follow.
Findings examine_icd_files(const Machine& machine) {
  Findings findings;
  for (const std::string& file : machine.matching(std::string(kVendors) + "*.icd")) {
    const std::string library = machine.text(file).value_or("");
    if (!library.empty() && is_there(machine, library)) continue;
    const std::string libmali = libmali_of(machine);
    const bool mends = !libmali.empty() && (library.empty() || is_libmali(library));
    findings.push_back(
        {Level::note, "OpenCL file", library.empty() ? "icd-empty" : "icd-names-nothing",
         library.empty() ? file + " is empty: it should hold the name of a driver's library"
                         : fmt::format("{} names {}, which is not here", file, library),
         mends ? fmt::format("echo {} | sudo tee {}", libmali, file) : "sudo rm " + file});
  }
  return findings;
}

/// Several loaders or drivers of one name: which of them a program gets is chance.
Findings examine_doubles(const Machine& machine) {
  Findings findings;
  for (const char* name : {"libOpenCL.so.1", "libmali.so.1"}) {
    const std::vector<std::string> files = machine.libraries(name);
    if (files.size() < 2) continue;
    findings.push_back({Level::note, "OpenCL file", "two-of-a-name",
                        fmt::format("there are two {}: {} and {}; programs take the first", name,
                                    files[0], files[1]),
                        fmt::format("export CLAM_OPENCL={}", files[1])});
  }
  return findings;
}

/// Whether a file was tried, and this came of it.
bool tried(const Looked& looked, const char* outcome) {
  if (!looked.info.contains("opencl")) return false;
  const json& all = looked.info["opencl"]["tried"];
  return std::any_of(all.begin(), all.end(), [&](const json& attempt) {
    return attempt["file"] != "" && holds(attempt["outcome"], outcome);
  });
}

Finding crashed(const Machine& machine, const Facts& facts, const Looked& looked) {
  if (facts.mesas_driver() && !libmali_of(machine).empty()) {
    return fault(
        "wrong-driver",
        fmt::format("a libmali ended the program: it needs Arm's kernel driver, but {} has the "
                    "GPU",
                    facts.driver),
        kInstallMesa);
  }
  const Cause cause = cause_of(looked.errors, facts);
  return fault(
      "crash",
      fmt::format("looking for devices failed: {} ({})",
                  cause.text.empty() ? "its driver ended the program" : cause.text, looked.end),
      cause.command);
}

/// Arm's kernel driver has the GPU, and no device is shown.
Finding without_arms_device(const Machine& machine, const Facts& facts, const Looked& looked) {
  const std::string libmali = libmali_of(machine);
  const Cause cause = cause_of(looked.errors, facts);
  if (!cause.text.empty()) return fault("driver-refuses", cause.text, cause.command);
  if (libmali.empty()) {
    return fault("no-libmali",
                 "Arm's kernel driver has the GPU, and Arm's library libmali is not here; Mesa's "
                 "libraries do not work with that kernel driver",
                 install_libmali(facts));
  }
  if (tried(looked, "has no functions of OpenCL")) {
    return fault("graphics-only", libmali + " is for graphics alone and has no OpenCL",
                 install_libmali(facts));
  }
  return fault("no-device", fmt::format("{} shows no device: is it for this GPU?", libmali),
               install_libmali(facts));
}

/// Mesa's kernel driver has the GPU, and no device is shown.
Finding without_mesas_device(const Machine& machine, const Facts& facts) {
  const bool rusticl = !machine.libraries("libRusticlOpenCL.so.1").empty();
  if (!rusticl) {
    const std::string libmali = libmali_of(machine);
    return fault(
        libmali.empty() ? "no-rusticl" : "wrong-driver",
        libmali.empty()
            ? facts.driver + " has the GPU, and Mesa's OpenCL (rusticl) is not here"
            : fmt::format("{} needs Arm's kernel driver, but {} has the GPU: use Mesa's OpenCL",
                          libmali, facts.driver),
        kInstallMesa);
  }
  const char* enabled = std::getenv("RUSTICL_ENABLE");
  if (!enabled || !(holds(enabled, "panfrost") || holds(enabled, "panthor"))) {
    return fault("rusticl-off",
                 "Mesa's OpenCL shows a Mali only where RUSTICL_ENABLE names its driver",
                 kEnableMesa);
  }
  return fault(
      "rusticl-old",
      "Mesa's OpenCL is here and enabled, but shows no Mali: GPUs such as the G610 need Mesa 24.2 "
      "or newer",
      "sudo apt install -t stable-backports mesa-opencl-icd");
}

bool is_mali(const json& device) {
  return device.contains("identity") && !device["identity"]["gpu"].is_null();
}

Finding shown(const Looked& looked, const json& device) {
  const std::string taken = looked.info["opencl"]["taken"];
  return ok(kTopic, fmt::format("{} shows {}", taken, device["name"].get<std::string>()));
}

/// Other programs look in the folder of .icd files alone.
Findings examine_taken(const Looked& looked) {
  const std::string taken = looked.info["opencl"]["taken"];
  if (!is_libmali(taken) || taken.find("libOpenCL") != taken.npos) return {};
  return {{Level::note, "OpenCL file", "no-icd",
           "clam found the driver itself; other programs need a file that names it",
           fmt::format("echo {} | sudo tee {}mali.icd", taken, kVendors)}};
}

bool node_is_closed(const Facts& facts) {
  for (const Node& node : facts.nodes) {
    if (node.may_open) return false;
  }
  return !facts.nodes.empty();
}

Finding without_mali(const Machine& machine, const Facts& facts, const Looked& looked) {
  if (node_is_closed(facts)) {
    return fault("node-closed", "no Mali is shown, since you may not open its device node",
                 "clam doctor  (once the device node is open)");
  }
  if (facts.arms_driver()) return without_arms_device(machine, facts, looked);
  if (facts.mesas_driver()) return without_mesas_device(machine, facts);
  return fault("no-opencl", "no OpenCL device is shown", "sudo apt install pocl-opencl-icd");
}

}  // namespace

const json* device_of(const Looked& looked) {
  if (!looked.info.contains("devices")) return nullptr;
  const json* chosen = nullptr;
  for (const json& device : looked.info["devices"]) {
    if (is_mali(device)) return &device;
    if (device.value("chosen", false)) chosen = &device;
  }
  return chosen;
}

Findings examine_opencl(const Machine& machine, const Facts& facts, const Looked& looked) {
  Findings findings;
  const json* device = device_of(looked);
  const bool found = device && (is_mali(*device) || facts.driver.empty());
  if (!looked.end.empty()) {
    findings.push_back(crashed(machine, facts, looked));
  } else if (found) {
    findings.push_back(shown(looked, *device));
    append(findings, examine_taken(looked));
  } else {
    findings.push_back(without_mali(machine, facts, looked));
  }
  append(findings, examine_icd_files(machine));
  append(findings, examine_doubles(machine));
  return findings;
}

Findings examine_device(const Looked& looked) {
  Findings findings;
  const json* device = device_of(looked);
  if (!device) return findings;
  const DeviceInfo facts = device_from_json(*device);
  const bool rusticl = holds(facts.platform, "rusticl");
  findings.push_back(facts.fp16 ? ok("fp16", "the driver has it")
                     : rusticl  ? Finding{Level::note, "fp16", "no-fp16",
                                         "Mesa before 25.2 has it only when it is asked",
                                         "export RUSTICL_FEATURES=fp16"}
                                : Finding{Level::note, "fp16", "no-fp16",
                                         "the driver has no cl_khr_fp16: clam runs in fp32 alone",
                                         "clam verify \"softmax shape=4x192 dtype=f32\""});
  const Identity who = identify(facts);
  if (!who.gpu) return findings;
  constexpr std::int64_t kLeastClock = 50;
  if (facts.max_clock_mhz > 0 && facts.max_clock_mhz < kLeastClock) {
    findings.push_back(
        {Level::note, "clocks", "clock-lies",
         fmt::format("the driver says that the GPU's clock is {} MHz, which is wrong: the "
                     "kernel shows none to it",
                     facts.max_clock_mhz),
         "clam probe info-lies"});
  }
  const JobLimit limit = job_limit(facts);
  if (limit.seconds > 0) {
    findings.push_back(ok(
        "time limit", fmt::format("{} ends a launch after {:.2g} s; clam stays below half of that",
                                  limit.driver, limit.seconds)));
  }
  if (who.gpu->quirks.empty()) return findings;
  std::vector<std::string> faults;
  for (const Quirk& quirk : who.gpu->quirks) faults.emplace_back(quirk.name);
  findings.push_back(
      {Level::note, "known faults", "known-faults",
       fmt::format("others have met these on drivers of this GPU: {}", fmt::join(faults, ", ")),
       "clam probe --all"});
  return findings;
}

Finding examine_self_test(const SelfTest& test) {
  if (test.right) {
    return ok("self-test", test.us ? fmt::format("{}: right, in {:.0f} us", test.problem, *test.us)
                                   : fmt::format("{}: right", test.problem));
  }
  return {Level::fault, "self-test", "self-test", fmt::format("{}: {}", test.problem, test.reason),
          fmt::format("clam record \"{}\" -o case", test.problem)};
}

}  // namespace clam::doctor
