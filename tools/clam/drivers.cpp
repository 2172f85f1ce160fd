// SPDX-License-Identifier: MIT
#include "drivers.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "check/npy.hpp"
#include "process/isolate.hpp"
#include "process/scratch_folder.hpp"
#include "record.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"

namespace clam::cli {
namespace {

constexpr int kToStart_s = 60;  // a command may have to unpack its driver, or to start an emulator

// ---- the simulator ----

/// Its first words, before those of the program; it writes its report to `log`.
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

/// The lines of that report, without the name of `folder`.
std::vector<std::string> simulator_report(const std::string& log, const std::string& folder) {
  constexpr std::size_t kMost = 60;
  std::vector<std::string> lines;
  if (::access(log.c_str(), R_OK) != 0) return lines;
  std::string text = read_file(log);
  for (std::size_t at; (at = text.find(folder)) != text.npos;) text.replace(at, folder.size(), "");
  std::istringstream stream(anonymous(text));
  for (std::string line; std::getline(stream, line);) {
    if (lines.size() == kMost) {
      lines.push_back("... and more");
      break;
    }
    if (!line.empty() || !lines.empty()) lines.push_back(line);
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

/// Why one that ended so says nothing of the kernel; its report may.
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

/// What Oclgrind says that its device is, 0:0 of those there; nothing where it does not start here.
std::optional<LocalDevice> simulated_device(const std::string& oclgrind, int limit_s) {
  const ScratchFolder scratch;
  std::vector<std::string> words = simulator_words(oclgrind, scratch.file("report"));
  // Where it does not start, the loader's complaint is of no use to anyone.
  words.insert(words.begin(), {"/bin/sh", "-c", "exec \"$0\" \"$@\" 2>/dev/null"});
  for (const std::string& word : child_words("0:0", {"info"})) words.push_back(word);
  const Fate fate = run_isolated(words, std::chrono::seconds(limit_s));
  const json answer = fate.answer();
  if (!answer.contains("devices")) return std::nullopt;
  for (const json& device : answer.at("devices")) {
    const DeviceInfo facts = device_from_json(device);
    if (is_simulator(facts)) return LocalDevice{{}, facts};
  }
  return std::nullopt;
}

// ---- what a driver gave ----

/// The runs that are there; of one that was cut off, and of those behind it, there is nothing.
std::vector<Tensors> read_runs(const std::string& folder, const Bundle& bundle, int runs) {
  std::vector<Tensors> all;
  for (int run = 0; run < runs; ++run) {
    Tensors outputs;
    for (const TensorSpec& spec : bundle.plan->tensors) {
      const std::string file = fmt::format("{}/{}.{}.npy", folder, run, spec.name);
      if (spec.role == TensorSpec::Role::output && fs::exists(file)) {
        outputs[spec.name] = read_npy(file);
      }
    }
    if (outputs.empty()) break;
    all.push_back(std::move(outputs));
  }
  return all;
}

DeviceInfo read_device(const Driver& driver, const std::string& folder) {
  const std::string file = folder + "/device.json";
  if (fs::exists(file)) return device_from_json(json::parse(read_file(file)));
  DeviceInfo unknown;
  const std::vector<std::string>& words = driver.through;
  unknown.name = anonymous(words.empty() ? driver.name : fs::path(words[0]).filename().string());
  return unknown;
}

/// How the run on the inputs as they are ended.
Seen read_seen(const std::string& folder) {
  const std::string file = folder + "/seen.json";
  return fs::exists(file) ? seen_from_json(json::parse(read_file(file))) : Seen{};
}

constexpr int kNudges = 3;

/// What the driver gave where it was recorded; of a bundle that nobody has judged yet, that is what
/// it has as expected.
Tensors given_in(const Bundle& bundle) {
  Tensors outputs;
  const auto& held = !bundle.given.empty() ? bundle.given : bundle.expected;
  if (bundle.given.empty() && bundle.judged) return outputs;
  for (const TensorSpec& spec : bundle.plan->tensors) {
    const auto found = held.find(spec.name);
    if (found != held.end()) outputs[spec.name] = from_buffer(spec, found->second);
  }
  return outputs;
}

bool ended_badly(const Seen& seen) { return !seen.right() && seen.outcome != Seen::Outcome::wrong; }

// ---- rows of a proof ----

constexpr int kSimulatorLimit_s = 60;  // nobody asked for it by name, and it is slow

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

// ---- drivers ----

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

void check_commands(const char* flag, const std::vector<std::string>& commands) {
  for (const std::string& command : commands) {
    const std::vector<std::string> words = words_of_command(command);
    throw_if(words.empty() || find_program(words[0]).empty(), "{} '{}': there is no such program",
             flag, command);
  }
}

std::vector<Driver> drivers_here(const std::string& but) {
  std::vector<Driver> all;
  for (const DeviceEntry& entry : list_devices()) {
    const LocalDevice here{entry, query_device(entry.device)};
    if (is_simulator(here.facts) || (!but.empty() && here.facts.platform == but)) continue;
    all.push_back({here.title(), here.id()});
  }
  return all;
}

std::vector<Driver> drivers_through(const std::vector<std::string>& commands) {
  std::vector<Driver> all;
  for (const std::string& command : commands) {
    all.push_back({command, "", words_of_command(command)});
  }
  return all;
}

std::vector<Driver> simulators() {
  const std::string oclgrind = find_oclgrind();
  if (oclgrind.empty()) return {};
  return {{"Oclgrind", "0:0", {}, oclgrind}};
}

Answer ask(const Driver& driver, const std::string& folder, const Bundle& bundle, int limit_s,
           int nudges) {
  const ScratchFolder outputs, report;
  const bool simulates = !driver.simulator.empty();
  CaseWishes wishes{"", outputs.path(), simulates ? 0 : nudges, driver.through};
  const std::string log = report.file("report");
  if (simulates) wishes.through = simulator_words(driver.simulator, log);
  Answer answer;
  answer.is_simulator = simulates;
  try {
    const int limit = (wishes.nudges + 1) * limit_s + (driver.through.empty() ? 0 : kToStart_s);
    const CaseRun run = try_case(driver.device, folder, limit, wishes);
    answer.cannot = run.cannot;
    answer.seen = run.seen;
    if (simulates && !answer.cannot) answer.cannot = excuse_of_simulator(run.seen, limit_s);
    answer.device = read_device(driver, outputs.path());
    answer.runs = read_runs(outputs.path(), bundle, wishes.nudges + 1);
  } catch (const Error& error) {
    answer.device = read_device(driver, outputs.path());
    answer.cannot = error.what();
  }
  const bool ran = !answer.runs.empty();
  if (ran) {  // what befell a nudged run later is nothing that the program ever did
    answer.cannot.reset();
    answer.seen = read_seen(outputs.path());
  } else if (!answer.cannot && !driver.through.empty() && answer.device.platform.empty()) {
    answer.cannot = "its command did not start clam: " + answer.seen.reason;
  }
  if (!answer.cannot && !ran && answer.seen.right()) answer.cannot = "it gave no result";
  if (simulates) answer.report = simulator_report(log, folder);
  return answer;
}

// ---- a bundle put before several of them ----

Judged put_before(const std::vector<Driver>& drivers, const Bundle& bundle,
                  const std::string& folder, const Tensors& reference, int limit_s,
                  const OnDriver& on_driver) {
  if (bundle.build_only()) throw BadArgument(folder + ": it builds a file and runs nothing");
  Judged judged;
  const Tensors given = given_in(bundle);
  if (!given.empty() || ended_badly(bundle.seen)) {
    Answer recorded;
    recorded.device = bundle.device;
    recorded.is_recorded = true;
    if (ended_badly(bundle.seen)) recorded.seen = bundle.seen;
    if (!given.empty()) recorded.runs = {given};
    judged.answers.push_back(recorded);
  }
  ask_more(drivers, bundle, folder, reference, limit_s, judged, on_driver);
  return judged;
}

void ask_more(const std::vector<Driver>& drivers, const Bundle& bundle, const std::string& folder,
              const Tensors& reference, int limit_s, Judged& judged, const OnDriver& on_driver) {
  for (const Driver& driver : drivers) {
    if (on_driver) on_driver(driver);
    judged.answers.push_back(ask(driver, folder, bundle, limit_s, kNudges));
  }
  judged.judgement = judge(bundle, judged.answers, reference);
}

Bundle with_verdict(const Bundle& bundle, const Judged& judged) {
  Bundle result = bundle;
  if (result.given.empty() && !result.judged) result.given = result.expected;
  result.expected = judged.judgement.expected;
  result.bounds = judged.judgement.bounds;
  result.judged = true;
  result.noted = judged.judgement.basis;
  if (judged.answers.front().is_recorded) result.seen = judged.judgement.seen.front();
  return result;
}

Proof proof_of(const Bundle& bundle, const Judged& judged, const std::string& folder) {
  Proof proof;
  for (std::size_t i = 0; i < judged.answers.size(); ++i) {
    const Answer& answer = judged.answers[i];
    if (answer.is_recorded) continue;
    ProofRow row = row_of(answer.device, folder, bundle);
    row.seen = judged.judgement.seen[i];
    row.cannot = answer.cannot;
    row.is_simulator = answer.is_simulator;
    row.report = answer.report;
    proof.add(row);
  }
  return proof;
}

// ---- a bundle proved ----

ProofRow row_of(const DeviceInfo& device, const std::string& folder, const Bundle& bundle) {
  ProofRow row;
  row.device = device;
  row.date = recording_date();
  row.files = hash_of_files(bundle, folder);
  return row;
}

ProofRow prove_on(const LocalDevice& device, const std::string& folder, const Bundle& bundle,
                  int limit_s, const BeforeRun& before) {
  const bool simulates = is_simulator(device.facts);
  const std::string oclgrind = simulates ? find_oclgrind() : "";
  const ScratchFolder scratch;
  const std::string log = scratch.file("report");
  ProofRow row = row_of(device.facts, folder, bundle);
  row.is_simulator = !oclgrind.empty();
  CaseWishes wishes;
  if (row.is_simulator) wishes.through = simulator_words(oclgrind, log);
  const int runs = row.is_simulator ? 1 : runs_of_proof(bundle);
  for (row.runs = 1;; ++row.runs) {
    const CaseRun run = try_case(device.id(), folder, limit_s, wishes);
    row.seen = run.seen, row.cannot = run.cannot;
    if (row.cannot || !row.seen.right() || row.runs == runs) break;
    if (before && !before(row.runs + 1, runs)) break;
  }
  // A simulator that crashes or is too slow says nothing of the kernel; its report may. What cannot
  // run in it has its own reason.
  if (simulates && !row.cannot) row.cannot = excuse_of_simulator(row.seen, limit_s);
  if (simulates && row.cannot) row.seen = {};
  if (row.is_simulator) row.report = simulator_report(log, folder);
  return row;
}

void prove_elsewhere(Cli& cli, const LocalDevice& recorded_on, const std::string& folder,
                     const Bundle& bundle, int limit_s) {
  Proof proof = read_proof(folder);
  bool simulated = false;
  for (const DeviceEntry& entry : list_devices()) {
    const LocalDevice device{entry, query_device(entry.device)};
    const bool simulates = is_simulator(device.facts);
    simulated = simulated || simulates;
    if (device.id() == recorded_on.id() && !simulates) continue;
    const std::string where = "on " + device.title();
    const auto before = [&](int run, int runs) {
      cli.out.progress(fmt::format("run {} of {}, the same {}", run, runs, where));
      return !Interruption::came();
    };
    add_row(cli, where, proof, [&] { return prove_on(device, folder, bundle, limit_s, before); });
  }
  const std::string oclgrind = simulated ? "" : find_oclgrind();
  if (!oclgrind.empty()) {
    const int limit = std::min(limit_s, kSimulatorLimit_s);
    if (const auto device = simulated_device(oclgrind, limit)) {
      add_row(cli, "in Oclgrind", proof, [&] { return prove_on(*device, folder, bundle, limit); });
    }
  }
  if (!proof.rows.empty()) write_proof(folder, proof);
}

void prove_with(Cli& cli, const std::string& command, const std::string& folder,
                const Bundle& bundle, int limit_s) {
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
