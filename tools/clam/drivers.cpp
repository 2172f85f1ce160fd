// SPDX-License-Identifier: MIT
#include "drivers.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "case_child.hpp"
#include "check/npy.hpp"
#include "clam/error.hpp"
#include "process/isolate.hpp"
#include "process/scratch_folder.hpp"
#include "runtime/atomic_file.hpp"
#include "simulator.hpp"

namespace clam::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kToStart_s = 60;  // a command may have to unpack its driver, or to start an emulator

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

}  // namespace

void check_commands(const char* flag, const std::vector<std::string>& commands) {
  for (const std::string& command : commands) {
    const std::vector<std::string> words = words_of_command(command);
    if (words.empty() || find_program(words[0]).empty()) {
      throw BadArgument(fmt::format("{} '{}': there is no such program", flag, command));
    }
  }
}

std::vector<Driver> drivers_here(const std::string& but) {
  std::vector<Driver> all;
  for (const DeviceEntry& entry : list_devices()) {
    const DeviceInfo facts = query_device(entry.device);
    if (is_simulator(facts) || (!but.empty() && facts.platform == but)) continue;
    all.push_back({device_title(entry, facts), device_id(entry)});
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

}  // namespace clam::cli
