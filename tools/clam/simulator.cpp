// SPDX-License-Identifier: MIT
#include "simulator.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "case_child.hpp"
#include "clam/error.hpp"
#include "process/isolate.hpp"
#include "process/scratch_folder.hpp"
#include "runtime/atomic_file.hpp"

namespace clam::cli {
namespace {

constexpr std::size_t kMostReportLines = 60;

}  // namespace

bool is_simulator(const DeviceInfo& device) {
  return device.driver_version.rfind("Oclgrind", 0) == 0;
}

std::string find_oclgrind() {
  if (std::getenv("CLAM_EMULATOR")) return "";
  const char* named = std::getenv("CLAM_OCLGRIND");
  if (!named) return find_program("oclgrind");
  if (std::string(named) == "off") return "";
  if (::access(named, X_OK) == 0) return named;
  throw BadArgument(fmt::format("CLAM_OCLGRIND={}: there is no such program", named));
}

/// Kernels are built as they are written: Oclgrind 21.10 crashes on the half-filled vectors that
/// optimisers make. One thread reports in the same order every time.
std::vector<std::string> simulator_words(const std::string& oclgrind, const std::string& log) {
  return {oclgrind,
          "--build-options",
          "-cl-opt-disable",
          "--data-races",
          "--uninitialized",
          "--num-threads",
          "1",
          "--max-errors",
          "20",
          "--log",
          log};
}

std::vector<std::string> simulator_report(const std::string& log, const std::string& folder) {
  std::vector<std::string> lines;
  if (::access(log.c_str(), R_OK) != 0) return lines;
  std::string text = read_file(log);
  for (std::size_t at; (at = text.find(folder)) != text.npos;) text.replace(at, folder.size(), "");
  std::istringstream stream(anonymous(text));
  for (std::string line; std::getline(stream, line);) {
    if (lines.size() == kMostReportLines) {
      lines.push_back("... and more");
      break;
    }
    if (!line.empty() || !lines.empty()) lines.push_back(line);
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

Reason excuse_of_simulator(const Seen& seen, int limit_s) {
  if (seen.outcome == Seen::Outcome::hung) {
    return fmt::format(
        "the simulator is slow: no end within {} s (replay --add-proof --limit in it "
        "gives it more)",
        limit_s);
  }
  if (seen.outcome == Seen::Outcome::crashed) return "the simulator crashes: " + seen.reason;
  return std::nullopt;
}

/// What Oclgrind says that its device is; nothing where it does not start here.
std::optional<DeviceInfo> simulated_device(const std::string& oclgrind, int limit_s) {
  const ScratchFolder scratch;
  std::vector<std::string> words = simulator_words(oclgrind, scratch.file("report"));
  // Where it does not start, the loader's complaint is of no use to anyone.
  words.insert(words.begin(), {"/bin/sh", "-c", "exec \"$0\" \"$@\" 2>/dev/null"});
  for (const std::string& word : child_words("0:0", {"info"})) words.push_back(word);
  const Fate fate = run_isolated(words, std::chrono::seconds(limit_s));
  const nlohmann::json answer = fate.answer();
  if (!answer.contains("devices")) return std::nullopt;
  for (const nlohmann::json& device : answer.at("devices")) {
    const DeviceInfo facts = device_from_json(device);
    if (is_simulator(facts)) return facts;
  }
  return std::nullopt;
}

}  // namespace clam::cli
