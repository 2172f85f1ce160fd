// SPDX-License-Identifier: MIT
#include "prove.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "case_child.hpp"
#include "clam/error.hpp"
#include "process/isolate.hpp"
#include "process/scratch_folder.hpp"
#include "record.hpp"
#include "runtime/atomic_file.hpp"

namespace clam::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Outcome = Seen::Outcome;

constexpr std::size_t kMostReportLines = 60;
constexpr int kSimulatorLimit_s = 60;  // nobody asked for it by name, and it is slow

bool is_program(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

/// The path of a program as a shell finds it, or nothing.
std::string find_program(const std::string& name) {
  if (name.find('/') != name.npos) return is_program(name) ? name : "";
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string program = folder + "/" + name;
    if (!folder.empty() && is_program(program)) return program;
  }
  return "";
}

/// The path of Oclgrind, or nothing; it cannot be in a program that runs in an emulator.
std::string find_oclgrind() {
  if (std::getenv("CLAM_EMULATOR")) return "";
  const char* named = std::getenv("CLAM_OCLGRIND");
  if (!named) return find_program("oclgrind");
  if (std::string(named) == "off") return "";
  if (::access(named, X_OK) == 0) return named;
  throw BadArgument(fmt::format("CLAM_OCLGRIND={}: there is no such program", named));
}

std::vector<std::string> words_of(const std::string& command) {
  std::istringstream stream(command);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
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

std::vector<std::string> lines_of(const std::string& file, const std::string& folder) {
  std::vector<std::string> lines;
  if (::access(file.c_str(), R_OK) != 0) return lines;
  std::string text = read_file(file);
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

void take_run(const CaseRun& run, ProofRow& row) {
  row.cannot = run.cannot;
  row.seen = run.seen;
}

/// A simulator that crashes or is too slow says nothing of the kernel; its report may.
void excuse_simulator(int limit_s, ProofRow& row) {
  if (row.seen.outcome == Outcome::hung) {
    row.cannot = fmt::format(
        "the simulator is slow: no end within {} s (replay --add-proof --limit in it "
        "gives it more)",
        limit_s);
  } else if (row.seen.outcome == Outcome::crashed) {
    row.cannot = "the simulator crashes: " + row.seen.reason;
  }
  if (row.cannot) row.seen = {};
}

/// In the simulator, which reads the case like any driver and reports beside it.
ProofRow simulate(const std::string& oclgrind, const std::string& device_id,
                  const DeviceInfo& device, const std::string& folder, const Bundle& bundle,
                  int limit_s) {
  const ScratchFolder scratch;
  const std::string log = scratch.file("report");
  ProofRow row = row_of(device, folder, bundle);
  row.is_simulator = true;
  take_run(try_case(device_id, folder, limit_s, "", simulator_words(oclgrind, log)), row);
  excuse_simulator(limit_s, row);
  row.report = lines_of(log, folder);
  return row;
}

/// What Oclgrind says that its device is; nothing where it does not start here.
std::optional<DeviceInfo> simulated_device(const std::string& oclgrind, int limit_s) {
  const ScratchFolder scratch;
  std::vector<std::string> words = simulator_words(oclgrind, scratch.file("report"));
  // Where it does not start, the loader's complaint is of no use to anyone.
  words.insert(words.begin(), {"/bin/sh", "-c", "exec \"$0\" \"$@\" 2>/dev/null"});
  for (const std::string& word : own_command()) words.push_back(word);
  words.insert(words.end(), {"--quiet", "--json", "-", "--device", "0:0", "info"});
  const Fate fate = run_isolated(words, std::chrono::seconds(limit_s));
  const json answer = fate.answer();
  if (!answer.contains("devices")) return std::nullopt;
  for (const json& device : answer.at("devices")) {
    const DeviceInfo facts = device_from_json(device);
    if (is_simulator(facts)) return facts;
  }
  return std::nullopt;
}

/// A further row; where none can be had, a note says why, and what was recorded stays.
template <typename MakeRow>
void add_row(Cli& cli, const std::string& where, Proof& proof, const MakeRow& make_row) {
  cli.out.progress("the same " + where);
  try {
    proof.add(make_row());
  } catch (const Error& error) {
    cli.out.note(fmt::format("the same {} gives no row: {}", where, error.what()));
  }
}

}  // namespace

bool is_simulator(const DeviceInfo& device) {
  return device.driver_version.rfind("Oclgrind", 0) == 0;
}

ProofRow row_of(const DeviceInfo& device, const std::string& folder, const Bundle& bundle) {
  ProofRow row;
  row.device = device;
  row.date = recording_date();
  row.files = hash_of_files(bundle, folder);
  return row;
}

ProofRow prove_on(const DeviceEntry& entry, const DeviceInfo& device, const std::string& folder,
                  const Bundle& bundle, int limit_s, const BeforeRun& before) {
  const std::string oclgrind = is_simulator(device) ? find_oclgrind() : "";
  if (!oclgrind.empty()) {
    return simulate(oclgrind, device_id(entry), device, folder, bundle, limit_s);
  }
  ProofRow row = row_of(device, folder, bundle);
  const int runs = runs_of_proof(bundle);
  for (row.runs = 1;; ++row.runs) {
    take_run(try_case(device_id(entry), folder, limit_s), row);
    if (row.cannot || !row.seen.right() || row.runs == runs) break;
    if (before && !before(row.runs + 1, runs)) break;
  }
  if (is_simulator(device)) excuse_simulator(limit_s, row);
  return row;
}

Proof prove_elsewhere(Cli& cli, const DeviceEntry& recorded_on, const std::string& folder,
                      const Bundle& bundle, int limit_s, const Stop& stop) {
  Proof proof = read_proof(folder);
  bool simulated = false;
  for (const DeviceEntry& entry : list_devices()) {
    const DeviceInfo device = query_device(entry.device);
    const bool is_same = device_id(entry) == device_id(recorded_on);
    simulated = simulated || is_simulator(device);
    if (is_same && !is_simulator(device)) continue;
    const std::string where = "on " + device_title(entry, device);
    const auto before = [&](int run, int runs) {
      cli.out.progress(fmt::format("run {} of {}, the same {}", run, runs, where));
      return !stop || !stop();
    };
    add_row(cli, where, proof,
            [&] { return prove_on(entry, device, folder, bundle, limit_s, before); });
  }
  const std::string oclgrind = simulated ? "" : find_oclgrind();
  if (!oclgrind.empty()) {
    const int limit = std::min(limit_s, kSimulatorLimit_s);
    if (const auto device = simulated_device(oclgrind, limit)) {
      add_row(cli, "in Oclgrind", proof,
              [&] { return simulate(oclgrind, "0:0", *device, folder, bundle, limit); });
    }
  }
  if (!proof.rows.empty()) write_proof(folder, proof);
  return proof;
}

void check_provers(const std::vector<std::string>& commands, bool elsewhere) {
  for (const std::string& command : commands) {
    const std::vector<std::string> words = words_of(command);
    if (words.empty() || find_program(words[0]).empty()) {
      throw BadArgument(fmt::format("--prove-with '{}': there is no such program", command));
    }
  }
  if (elsewhere) find_oclgrind();
}

void prove_with(Cli& cli, const std::string& command, const std::string& folder,
                const Bundle& bundle, int limit_s) {
  constexpr int kToStart_s = 60;  // an emulator takes its time
  std::vector<std::string> words = words_of(command);
  words.insert(words.end(), {own_program(), "--quiet", "--json", "-", "replay", folder,
                             "--add-proof", "--limit", std::to_string(limit_s)});
  cli.out.progress("the same through " + command);
  const int runs = runs_of_proof(bundle) + 1;  // a simulator's run is made again, with its report
  const Fate fate = run_isolated(words, std::chrono::seconds(runs * limit_s + kToStart_s));
  const json answer = fate.answer();
  if (answer.contains("results") && !answer.at("results").empty() &&
      answer.at("results").at(0).contains("proof")) {
    return;
  }
  cli.out.note(
      fmt::format("--prove-with '{}' added no row: {}; the bundle is written without it", command,
                  fate.misfortune() ? *fate.misfortune()
                                    : fmt::format("it ended with exit code {}", fate.code)));
}

}  // namespace clam::cli
