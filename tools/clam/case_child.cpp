// SPDX-License-Identifier: MIT
#include "case_child.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "atomic_file.hpp"
#include "error.hpp"
#include "process/isolate.hpp"
#include "process/scratch_folder.hpp"
#include "session.hpp"

namespace clam::cli {
namespace {

using nlohmann::json;
using Outcome = Seen::Outcome;

std::vector<std::string> words_of(const std::string& device,
                                  const std::vector<std::string>& command) {
  std::vector<std::string> words = own_command();
  words.insert(words.end(), {"--device", device, "--quiet", "--json", "-"});
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

/// The object that the process printed; null where it printed none.
json answer_of(const Fate& fate) {
  json answer = json::parse(fate.out, nullptr, false);
  return answer.is_object() ? answer : json();
}

constexpr std::size_t kMostOfDriver = std::size_t{1} << 20, kLongestWords = 200;

/// What the driver printed, among it the last words of one that crashed. It is kept as driver.log
/// of a folder, or passed on.
class DriverLog {
 public:
  explicit DriverLog(std::string keep) : keep_(std::move(keep)) {}
  /// In front of the words of a process: where its errors go.
  std::vector<std::string> words() const {
    // Mesa's Mali compilers print their listings then.
    const char* listing = keep_.empty() ? "" : "BIFROST_MESA_DEBUG=${BIFROST_MESA_DEBUG-shaders} ";
    return {"/bin/sh", "-c", fmt::format("{}exec \"$@\" 2>\"$0\"", listing), file()};
  }
  void take() {
    if (!std::filesystem::exists(file())) return;
    text_ = anonymous(read_file(file()).substr(0, kMostOfDriver));
    if (keep_.empty()) {
      std::fputs(text_.c_str(), stderr);
    } else if (!text_.empty()) {
      write_file(keep_ + "/driver.log", text_);
    }
  }
  /// "; panicked at core/program.rs:231:13", by which one crash is told from another.
  std::string last_words() const {
    std::istringstream lines(text_);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t panic = line.find("panicked at ");
      if (panic != line.npos) return "; " + line.substr(panic, kLongestWords);
      if (line.find("Assertion") != line.npos) return "; " + line.substr(0, kLongestWords);
    }
    return "";
  }

 private:
  std::string file() const { return scratch_.file("errors"); }

  ScratchFolder scratch_;
  std::string keep_, text_;
};

}  // namespace

std::string device_id(const DeviceEntry& entry) {
  return fmt::format("{}:{}", entry.platform, entry.index);
}

std::string device_title(const DeviceEntry& entry, const DeviceInfo& facts) {
  return fmt::format("{} {} ({}, driver {})", device_id(entry), facts.name, facts.platform,
                     facts.driver_version);
}

CaseRun try_case(const std::string& device, const std::string& folder, int limit_s,
                 const std::string& keep, const std::vector<std::string>& through) {
  std::vector<std::string> words = words_of(device, {"replay", folder, "--here"});
  words.insert(words.begin(), through.begin(), through.end());
  DriverLog log(keep);
  const std::vector<std::string> logged = log.words();
  words.insert(words.begin(), logged.begin(), logged.end());
  if (!keep.empty()) words.insert(words.end(), {"--keep", keep});
  const Fate fate = run_isolated(words, std::chrono::seconds(limit_s));
  log.take();
  if (const Reason misfortune = fate.misfortune()) {
    const std::string words = fate.hung ? "" : log.last_words();
    return {{fate.hung ? Outcome::hung : Outcome::crashed, *misfortune + words, {}, 0}, {}};
  }
  const json answer = answer_of(fate);
  if (answer.contains("error")) throw BadArgument(answer.at("error").get<std::string>());
  if (answer.contains("cannot")) return {{}, answer.at("cannot").get<std::string>()};
  if (answer.contains("seen")) return {seen_from_json(answer.at("seen")), {}};
  // A driver that ends the process with exit() is one that crashes it.
  return {{Outcome::crashed,
           fmt::format("its process ended with exit code {} and gave no result", fate.code),
           {},
           0},
          {}};
}

int serve_case(Cli& cli, const std::string& folder, const std::string& keep) {
  try {
    const Bundle bundle = read_bundle(folder);
    const CaseRun run = run_case(select_device(cli.device).device, bundle, folder, keep);
    cli.out.json(run.cannot ? json{{"cannot", *run.cannot}} : json{{"seen", to_json(run.seen)}});
  } catch (const std::exception& error) {
    cli.out.json({{"error", error.what()}});
  }
  return kFine;
}

Plan plan_in_child(const std::string& device, const DeviceInfo& facts, const Problem& problem,
                   const std::string& variant, int limit_s) {
  std::vector<std::string> words = words_of(device, {"record", problem.text(), "--plan-only"});
  if (!variant.empty()) words.insert(words.end(), {"--variant", variant});
  const Fate fate = run_isolated(words, std::chrono::seconds(limit_s));
  const json answer = fate.misfortune() ? json() : answer_of(fate);
  if (answer.contains("plan")) return plan_from_json(answer.at("plan"));
  if (answer.contains("cannot")) throw Unsupported(answer.at("cannot").get<std::string>());
  return make_plan(problem, facts, {variant, 0});
}

int serve_plan(Cli& cli, const Problem& problem, const std::string& variant) {
  try {
    Session session(cli);
    const Executable executable = session.runtime().prepare(problem, {variant, 0});
    cli.out.json({{"plan", to_json(executable.plan())}});
  } catch (const Unsupported& error) {
    cli.out.json({{"cannot", error.what()}});
  } catch (const std::exception& error) {
    cli.out.json({{"failed", error.what()}});
  }
  return kFine;
}

}  // namespace clam::cli
