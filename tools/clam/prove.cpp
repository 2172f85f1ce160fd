// SPDX-License-Identifier: MIT
#include "prove.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "case_child.hpp"
#include "clam/error.hpp"
#include "drivers.hpp"
#include "process/isolate.hpp"
#include "process/scratch_folder.hpp"
#include "record.hpp"

namespace clam::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Outcome = Seen::Outcome;

constexpr int kSimulatorLimit_s = 60;  // nobody asked for it by name, and it is slow

/// A simulator that crashes or is too slow says nothing of the kernel; its report may. What cannot
/// run in it has its own reason.
void excuse_simulator(int limit_s, ProofRow& row) {
  if (!row.cannot) row.cannot = excuse_of_simulator(row.seen, limit_s);
  if (row.cannot) row.seen = {};
}

void take_run(const CaseRun& run, ProofRow& row) {
  row.cannot = run.cannot;
  row.seen = run.seen;
}

/// In the simulator, which reads the case like any driver and reports beside it.
ProofRow simulate(const std::string& oclgrind, const std::string& device_id,
                  const DeviceInfo& device, const std::string& folder, const Bundle& bundle,
                  int limit_s) {
  const ScratchFolder scratch;
  const std::string log = scratch.file("report");
  ProofRow row = row_of(device, folder, bundle);
  row.is_simulator = true;
  take_run(try_case(device_id, folder, limit_s, {"", "", 0, simulator_words(oclgrind, log)}), row);
  excuse_simulator(limit_s, row);
  row.report = simulator_report(log, folder);
  return row;
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
  check_commands("--prove-with", commands);
  if (elsewhere) find_oclgrind();
}

void prove_with(Cli& cli, const std::string& command, const std::string& folder,
                const Bundle& bundle, int limit_s) {
  constexpr int kToStart_s = 60;  // an emulator takes its time
  std::vector<std::string> words = words_of_command(command);
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
  cli.out.note(fmt::format("'{}' added no row: {}; the bundle is written without it", command,
                           fate.misfortune()
                               ? *fate.misfortune()
                               : fmt::format("it ended with exit code {}", fate.code)));
}

}  // namespace clam::cli
