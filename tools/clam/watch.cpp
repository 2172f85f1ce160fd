// SPDX-License-Identifier: MIT
// watch.cpp - `clam watch`: the launches of any OpenCL program as bundles.
#include <fmt/core.h>
#include <regex.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "clam/error.hpp"
#include "cli.hpp"
#include "process/clean_end.hpp"
#include "process/isolate.hpp"
#include "recordings.hpp"
#include "runtime/atomic_file.hpp"

namespace clam::cli {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Written, bundle, problem, seen)

namespace {

constexpr int kPatience = 250;  // looks, 5 s, until a program that is asked to end is ended

/// The library that the dynamic linker loads first: beside the program, or where it is installed.
std::string preloaded_library() {
  const fs::path folder = fs::path(own_program()).parent_path();
  for (const char* place : {"libclam_watch.so", "../lib/clam/libclam_watch.so"}) {
    std::error_code error;
    const fs::path path = fs::canonical(folder / place, error);
    if (!error) return path.string();
  }
  throw Unsupported(
      "libclam_watch.so lies neither beside clam nor in ../lib/clam: build it (ninja "
      "-C build clam_watch) or unpack the archive again");
}

/// With what the person preloads already behind it.
std::string preload_text() {
  const char* others = std::getenv("LD_PRELOAD");
  const std::string own = preloaded_library();
  if (own.find_first_of(" :") != own.npos) {
    throw BadArgument("the dynamic linker takes no path with a blank or a colon: move " + own);
  }
  return others && *others ? own + ":" + others : own;
}

/// The variable of the environment that has the library loaded, with its value.
std::pair<const char*, std::string> loading(const WatchRequest& request) {
  return request.layer ? std::pair("OPENCL_LAYERS", preloaded_library())
                       : std::pair("LD_PRELOAD", preload_text());
}

[[noreturn]] void become(const WatchRequest& request, const std::string& raw, int output) {
  ::dup2(output, STDOUT_FILENO);
  json asked{{"folder", raw}, {"limit", request.limit}, {"launch", request.launch}};
  if (request.check) asked["checker"] = ::getppid();
  if (!request.kernel.empty()) asked["kernel"] = request.kernel;
  ::setenv("CLAM_WATCH", asked.dump().c_str(), 1);
  const auto [variable, value] = loading(request);
  ::setenv(variable, value.c_str(), 1);
  // A program that comes from a cache has no source.
  ::setenv("CLAM_CACHE_DIR", "off", 1);
  ::setenv("PYOPENCL_NO_CACHE", "1", 1);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);  // this process keeps some for CleanEnd
  std::vector<char*> words;
  for (const std::string& word : request.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  fmt::print(stderr, "clam watch: {} cannot be started: {}\n", request.words[0],
             std::strerror(errno));
  ::_exit(127);
}

/// Runs the program on this one's terminal; its exit code, or 128 and the signal that ended it.
int run_program(Cli& cli, const WatchRequest& request, const std::string& raw,
                Recordings& recordings) {
  const Interruption interruption;  // Ctrl-C ends the program; what it launched is then written
  const pid_t child = ::fork();
  if (child < 0) throw IoError("no process can be started: " + std::string(std::strerror(errno)));
  if (child == 0) become(request, raw, cli.out.descriptor_for_programs());
  int status = 0, patience = kPatience;
  for (;;) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) break;
    if (ended < 0 && errno != EINTR) {
      throw IoError("the program was lost: " + std::string(std::strerror(errno)));
    }
    recordings.look();
    if (Interruption::came()) {
      if (patience == kPatience) ::kill(child, SIGTERM);
      if (--patience == 0) ::kill(child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void tell_notes(Cli& cli, const std::string& raw) {
  const fs::path notes = fs::path(raw) / "notes.txt";
  if (!fs::exists(notes)) return;
  std::istringstream lines(read_file(notes.string()));
  for (std::string line; std::getline(lines, line);) cli.out.note(line);
}

bool saw_opencl(const std::string& raw) {
  return std::any_of(fs::directory_iterator(raw), {},
                     [](const auto& entry) { return entry.path().extension() == ".seen"; });
}

void make_target(const std::string& target) {
  std::error_code error;
  if (fs::exists(target) && !fs::is_empty(target, error)) {
    throw BadArgument(target + " is there already: name a new folder with -o, or remove it");
  }
  if (!fs::create_directories(target, error) && error) {
    throw IoError(fmt::format("the folder {} cannot be made: {}", target, error.message()));
  }
}

void refuse_bad_pattern(const std::string& pattern) {
  regex_t compiled;
  const int code = ::regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB);
  if (code == 0) return ::regfree(&compiled);
  char why[256] = "";
  ::regerror(code, &compiled, why, sizeof why);
  throw BadArgument(fmt::format("--kernel {}: this is no regular expression ({})", pattern, why));
}

int run_watch(Cli& cli, const WatchRequest& request) {
  if (request.distinct && request.launch > 0) {
    throw BadArgument(
        "--distinct and --launch: the one writes each that differs, the other one; leave one out");
  }
  if (!request.check && !request.with.empty()) {
    throw BadArgument("--with names the drivers that --check compares with: add --check");
  }
  refuse_bad_pattern(request.kernel);
  check_commands("--with", request.with);
  loading(request);  // where it cannot be said, nothing starts and no folder is made
  make_target(request.target);
  const std::string raw = (fs::path(fs::absolute(request.target)) / "raw.partial").string();
  fs::create_directory(raw);
  const PassingFolder passing(raw);
  Recordings recordings(cli, request, raw);
  const int code = run_program(cli, request, raw, recordings);
  recordings.finish();
  tell_notes(cli, raw);
  const bool seen = saw_opencl(raw);
  std::error_code ignored;
  fs::remove_all(raw, ignored);
  for (const Written& each : recordings.written()) {
    cli.out.line(fmt::format("{}  {}: {}", each.bundle, each.problem, each.seen));
  }
  std::string end = recordings.summary();
  const bool nothing = recordings.written().empty() && recordings.checked() == 0;
  if (!seen) {
    end = "no OpenCL launch was seen: it ran none, or it was linked statically";
  } else if (nothing) {
    end = fmt::format("OpenCL was used, and no launch was {}",
                      request.check ? "checked" : "recorded");
  }
  if (code != 0) end += fmt::format("; the program ended with {}", code);
  cli.out.line(end);
  cli.out.report(
      "clam_watch",
      {{"program", code}, {"checked", recordings.checked()}, {"bundles", recordings.written()}});
  if (nothing) return kNothingRan;
  const bool bad = code != 0 || (request.check && !recordings.written().empty());
  return bad ? kCheckFailed : kFine;
}

}  // namespace

void add_watch(CLI::App& app, Cli& cli) {
  const auto [sub, request] = add_command<WatchRequest>(
      app, cli, "watch", "record the OpenCL launches of any program as bundles", run_watch);
  sub->add_option("program", request->words, "the program and its arguments, after --")->required();
  sub->add_option("-o,--output", request->target, "the folder to write, with one bundle per launch")
      ->required();
  sub->add_option("--kernel", request->kernel,
                  "only kernels whose name matches this regular expression");
  sub->add_option("--launch", request->launch, "only the launch with this number, counted from 1")
      ->check(CLI::PositiveNumber);
  sub->add_flag(
      "--distinct", request->distinct,
      "the first of all launches with the same kernel, options, sizes and values (default)");
  sub->add_option("--limit", request->limit,
                  "most bytes of buffers that are written (default 1 GiB)")
      ->check(CLI::PositiveNumber);
  sub->add_option("--hang", request->hang_s,
                  "seconds after which a launch that has not ended is written (default 10)")
      ->check(CLI::PositiveNumber);
  sub->add_flag("--layer", request->layer,
                "load the library as a layer of the ICD loader, not by LD_PRELOAD");
  sub->add_flag(
      "--check", request->check,
      "compare each launch with a second driver while the program runs; write those that differ");
  add_repeatable(sub, "--with", request->with,
                 "for --check: a command that runs a program on another driver, "
                 "\"tools/with-driver pocl\" (default: another platform of this machine, else "
                 "Oclgrind)");
}

}  // namespace clam::cli
