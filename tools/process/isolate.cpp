// SPDX-License-Identifier: MIT
#include "isolate.hpp"

#include <fmt/core.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "check/clock.hpp"
#include "clam/error.hpp"
#include "clean_end.hpp"
#include "process.hpp"
#include "runtime/text.hpp"

namespace clam {
namespace {

constexpr std::size_t kMostOutput = std::size_t{16} << 20;
constexpr int kSignal = 128;  // the code of a process that a signal ended is this and the signal
constexpr std::chrono::seconds kGrace(1);
constexpr std::chrono::milliseconds kPause(5);  // by no Clock, which may stand still meanwhile

bool is_program(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

/// Variables that name a folder from here, as it is called from elsewhere.
std::vector<std::string> folders_by_full_name() {
  namespace fs = std::filesystem;
  std::vector<std::string> settings;
  for (const char* name : {"CLAM_KERNEL_DIR", "CLAM_TUNED_DIR", "CLAM_PROBE_DIR", "CLAM_CACHE_DIR",
                           "OCL_ICD_VENDORS"}) {
    const std::string value = environment(name);
    std::error_code error;
    if (value.empty() || value[0] == '/' || !fs::is_directory(value, error)) continue;
    settings.push_back(fmt::format("{}={}", name, fs::absolute(value).string()));
  }
  return settings;
}

}  // namespace

Reason Fate::misfortune() const {
  if (hung) {
    return fmt::format(
        "its process gave no result for {:.0f} s and was ended: a hang, or work that "
        "takes longer (--limit gives it more)",
        std::chrono::duration<double>(limit).count());
  }
  if (code <= kSignal) return {};
  return fmt::format("its process was ended by signal {} ({})", code - kSignal,
                     ::strsignal(code - kSignal));
}

nlohmann::json Fate::answer() const {
  nlohmann::json answer = nlohmann::json::parse(out, nullptr, false);
  return answer.is_object() ? answer : nlohmann::json();
}

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

std::vector<std::string> own_command() {
  std::vector<std::string> words = words_of_command(environment("CLAM_EMULATOR"));
  words.push_back(own_program());
  return words;
}

Fate run_isolated(const std::vector<std::string>& words, std::chrono::milliseconds limit,
                  const Surroundings& around) {
  const Clock::time_point until = Clock::now() + limit;
  std::vector<std::string> environment = around.environment;
  if (!around.folder.empty()) {
    for (std::string& setting : folders_by_full_name()) environment.push_back(std::move(setting));
  }
  Process process(words, environment,
                  around.keeps_errors ? Process::Errors::kept : Process::Errors::own,
                  around.folder);
  Fate fate;
  fate.limit = limit;
  const auto read = [&] {
    std::string line;
    const Process::Read read = process.read_line(line, {});
    if (read == Process::Read::line && fate.out.size() < kMostOutput) fate.out += line + "\n";
    return read;
  };
  bool is_over = false;
  while (!is_over) {
    const Clock::duration left = until - Clock::now();
    const Process::Read last = read();
    if (last == Process::Read::end) break;
    // What never stops printing has always a line to read.
    is_over = left < (last == Process::Read::line ? -kGrace : Clock::duration(0)) ||
              (last == Process::Read::nothing && Interruption::came());
    if (last == Process::Read::nothing && !is_over) std::this_thread::sleep_for(kPause);
  }
  if (is_over) process.kill();
  fate.code = process.wait();
  // One that ended by itself while nobody looked was in time.
  fate.hung = is_over && !Interruption::came() && fate.code == kSignal + SIGKILL;
  while (is_over && fate.out.size() < kMostOutput && read() == Process::Read::line) {
  }
  fate.errors = process.errors();
  return fate;
}

std::string find_program(const std::string& name) {
  if (name.find('/') != name.npos) return is_program(name) ? name : "";
  std::istringstream folders(environment("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string program = folder + "/" + name;
    if (!folder.empty() && is_program(program)) return program;
  }
  return "";
}

std::vector<std::string> words_of_command(const std::string& command) {
  std::istringstream stream(command);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace clam
