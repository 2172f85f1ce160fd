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

#include "bundle/bundle.hpp"
#include "clam/error.hpp"
#include "cli.hpp"
#include "process/clean_end.hpp"
#include "process/interruption.hpp"
#include "process/isolate.hpp"
#include "record.hpp"
#include "runtime/atomic_file.hpp"
#include "watch/recorded.hpp"

namespace clam::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kPatience = 250;  // looks, 5 s, until a program that is asked to end is ended
constexpr std::int64_t kLimit = std::int64_t{1} << 30;

struct WatchRequest {
  std::vector<std::string> words;  ///< the program with its arguments
  std::string kernel, target;
  std::int64_t launch = 0, limit = kLimit;
  int hang_s = 10;
  bool distinct = false;
};

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

[[noreturn]] void become(const WatchRequest& request, const std::string& raw, int output) {
  ::dup2(output, STDOUT_FILENO);
  json asked{{"folder", raw}, {"limit", request.limit}, {"launch", request.launch}};
  if (!request.kernel.empty()) asked["kernel"] = request.kernel;
  ::setenv("CLAM_WATCH", asked.dump().c_str(), 1);
  ::setenv("LD_PRELOAD", preload_text().c_str(), 1);
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

/// Its name alone: arguments may name people and their folders.
std::string program_name(const WatchRequest& request) {
  return fs::path(request.words[0]).filename().string();
}

std::vector<DeviceInfo> devices_here() {
  std::vector<DeviceInfo> devices;
  for (const DeviceEntry& entry : list_devices()) devices.push_back(query_device(entry.device));
  return devices;
}

void write_bundle(const std::string& folder, Bundle& bundle) {
  bundle.recorded = recording_date();
  StagedFolder staged(folder, true);
  write_case(staged.path(), bundle);
  finish_case(staged.path(), bundle, false);
  staged.publish();
}

/// A launch that has not ended for long is written while the program still runs: whoever ends this
/// program then has its bundle.
class HangWatch {
 public:
  HangWatch(Cli& cli, const WatchRequest& request, const std::string& raw)
      : cli_(cli), request_(request), raw_(raw) {}
  ~HangWatch() {
    std::error_code ignored;  // the bundles of the end have it, too
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }

  void look() {
    for (const watch::Recorded& each : watch::find_recorded(raw_)) {
      if (!each.in_flight) continue;
      if (each.folder != in_flight_) {
        in_flight_ = each.folder;
        since_ = std::chrono::steady_clock::now();
      } else if (hung_ != in_flight_ && std::chrono::steady_clock::now() - since_ >
                                            std::chrono::seconds(request_.hang_s)) {
        hung_ = in_flight_;
        try_to_write(each);
      }
    }
  }
  /// The folder of the last launch that had not ended for long.
  const std::string& hung() const { return hung_; }

 private:
  /// It may end meanwhile, and the program goes on whatever comes of this.
  void try_to_write(const watch::Recorded& each) {
    try {
      write(each);
    } catch (const std::exception& error) {
      cli_.out.note(error.what());
    }
  }

  void write(const watch::Recorded& each) {
    Bundle bundle = watch::read_recorded(each, program_name(request_), devices_here());
    bundle.seen.outcome = Seen::Outcome::hung;
    bundle.seen.reason = fmt::format("it has not ended for {} s", request_.hang_s);
    folder_ = (fs::path(request_.target) / ("in-flight-" + bundle.variant)).string();
    write_bundle(folder_, bundle);
    cli_.out.notice(fmt::format("kernel {} has not ended for {} s; it is in {}", bundle.variant,
                                request_.hang_s, folder_));
  }

  Cli& cli_;
  const WatchRequest& request_;
  std::string raw_, in_flight_, hung_, folder_;
  std::chrono::steady_clock::time_point since_;
};

/// Runs the program on this one's terminal; its exit code, or 128 and the signal that ended it.
int run_program(Cli& cli, const WatchRequest& request, const std::string& raw, HangWatch& hangs) {
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
    hangs.look();
    if (Interruption::came()) {
      if (patience == kPatience) ::kill(child, SIGTERM);
      if (--patience == 0) ::kill(child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

struct Written {
  std::string folder, problem, seen;
};

/// `hung`: the folder of a launch that had not ended for long.
std::vector<Written> write_bundles(Cli& cli, const WatchRequest& request, const std::string& raw,
                                   const std::string& hung) {
  std::vector<Written> written;
  const std::vector<watch::Recorded> all = watch::find_recorded(raw);
  if (all.empty()) return written;
  const std::vector<DeviceInfo> devices = devices_here();
  for (const watch::Recorded& each : all) {
    try {
      Bundle bundle = watch::read_recorded(each, program_name(request), devices);
      if (each.in_flight && each.folder == hung) bundle.seen.outcome = Seen::Outcome::hung;
      const std::string folder =
          (fs::path(request.target) / fmt::format("{:03}-{}", written.size() + 1, bundle.variant))
              .string();
      write_bundle(folder, bundle);
      written.push_back({folder, bundle.problem, bundle.seen_text()});
    } catch (const BadArgument& error) {
      cli.out.note(error.what());
    }
  }
  return written;
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
  refuse_bad_pattern(request.kernel);
  preload_text();  // where it cannot be said, nothing starts and no folder is made
  make_target(request.target);
  const std::string raw = (fs::path(fs::absolute(request.target)) / "raw.partial").string();
  fs::create_directory(raw);
  const PassingFolder passing(raw);
  int code = 0;
  std::vector<Written> written;
  {
    HangWatch hangs(cli, request, raw);
    code = run_program(cli, request, raw, hangs);
    written = write_bundles(cli, request, raw, hangs.hung());
  }
  tell_notes(cli, raw);
  const bool seen = saw_opencl(raw);
  std::error_code ignored;
  fs::remove_all(raw, ignored);
  json rows = json::array();
  for (const Written& each : written) {
    cli.out.line(fmt::format("{}  {}: {}", each.folder, each.problem, each.seen));
    rows.push_back({{"bundle", each.folder}, {"problem", each.problem}, {"seen", each.seen}});
  }
  std::string end = fmt::format("{} bundle{} recorded, not judged", written.size(),
                                written.size() == 1 ? "" : "s");
  if (!seen) {
    end = "no OpenCL launch was seen: it ran none, or it was linked statically";
  } else if (written.empty()) {
    end = "OpenCL was used, and no launch was recorded";
  }
  if (code != 0) end += fmt::format("; the program ended with {}", code);
  cli.out.line(end);
  cli.out.json(
      {{"clam_watch", 1}, {"version", CLAM_VERSION}, {"program", code}, {"bundles", rows}});
  if (written.empty()) return kNothingRan;
  return code == 0 ? kFine : kCheckFailed;
}

}  // namespace

void add_watch(CLI::App& app, Cli& cli) {
  auto request = std::make_shared<WatchRequest>();
  CLI::App* sub =
      app.add_subcommand("watch", "record the OpenCL launches of any program as bundles");
  sub->add_option("program", request->words, "the program and its arguments, behind --")
      ->required();
  sub->add_option("-o,--output", request->target, "the folder to write, one bundle a launch")
      ->required();
  sub->add_option("--kernel", request->kernel, "kernels whose name has this regular expression");
  sub->add_option("--launch", request->launch, "the launch of this number alone, from 1")
      ->check(CLI::PositiveNumber);
  sub->add_flag(
      "--distinct", request->distinct,
      "the first launch of each that differs in kernel, options, sizes or values (default)");
  sub->add_option("--limit", request->limit,
                  "most bytes of buffers that are written (default 1 GiB)")
      ->check(CLI::PositiveNumber);
  sub->add_option("--hang", request->hang_s,
                  "seconds after which a launch that has not ended is written (default 10)")
      ->check(CLI::PositiveNumber);
  on_run(sub, cli, request, run_watch);
}

}  // namespace clam::cli
