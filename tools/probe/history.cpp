// SPDX-License-Identifier: MIT
#include "history.hpp"

#include <fmt/chrono.h>

#include <ctime>
#include <filesystem>

#include "clam/kernels.hpp"
#include "clam/program_cache.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/cache_folder.hpp"

namespace clam {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// Two builds of Arm's driver can differ in the device version's last digits alone.
std::string hash_of(const DeviceInfo& device) {
  return hash_text(fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n", device.name, device.vendor,
                               device.platform, device.platform_version, device.device_version,
                               device.driver_version));
}

/// Beside the folder of built programs, a file for each device and driver; "" where nothing is kept
/// (CLAM_CACHE_DIR=off).
std::string history_file(const DeviceInfo& device) {
  const fs::path programs = ProgramCache::default_dir();
  if (programs.empty()) return "";
  // A folder that somebody chose is all there is to write in; the default one has a parent of
  // clam's.
  const bool is_default = programs.filename() == "programs";
  const fs::path folder = (is_default ? programs.parent_path() : programs) / "probes";
  return (folder / (hash_of(device) + ".json")).string();
}

}  // namespace

json probe_history(const DeviceInfo& device) {
  try {
    const std::string path = history_file(device);
    if (path.empty() || !fs::exists(path)) return json::object();
    const json file = json::parse(read_file(path));
    json history = json::object();
    for (const auto& [probe, result] : file.at("probes").items()) {
      for (const char* key : {"verdict", "detail", "date"}) {
        history[probe][key] = result.at(key).get<std::string>();
      }
    }
    return history;
  } catch (const std::exception&) {
    return json::object();
  }
}

void remember(json& history, const std::string& probe, const ProbeResult& result) {
  if (result.verdict == ProbeResult::Verdict::skip) return;
  history[probe] = {{"verdict", word(result.verdict)},
                    {"detail", result.detail},
                    {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))}};
}

void keep_history(const DeviceInfo& device, const json& history) {
  const std::string path = history_file(device);
  if (path.empty() || history.empty()) return;
  const json file{{"clam_probe_history", 1},
                  {"device", device.name},
                  {"device_version", device.device_version},
                  {"driver_version", device.driver_version},
                  {"probes", history}};
  try {
    make_private_folder(fs::path(path).parent_path().string());
    write_file(path, json_text(file));
  } catch (const std::exception&) {
    // The next run gives the same.
  }
}

}  // namespace clam
