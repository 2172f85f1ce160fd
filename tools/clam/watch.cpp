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
#include "drivers.hpp"
#include "process/clean_end.hpp"
#include "process/isolate.hpp"
#include "process/scratch_folder.hpp"
#include "record.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"
#include "watch/recorded.hpp"

namespace clam::cli {
namespace {

struct WatchRequest {
  std::vector<std::string> words;  ///< the program with its arguments
  std::string kernel, target;
  std::int64_t launch = 0, limit = std::int64_t{1} << 30;
  int hang_s = 10;
  bool distinct = false, check = false;
  bool layer = false;             ///< of the ICD loader, not preloaded
  std::vector<std::string> with;  ///< of --check: commands that run a program on another driver
};

struct Written {
  std::string bundle, problem, seen;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Written, bundle, problem, seen)

// ---- the launches that the library writes ----

constexpr int kCheckLimit_s = 60;

/// Its name alone: arguments may name people and their folders.
std::string program_name(const WatchRequest& request) {
  return fs::path(request.words[0]).filename().string();
}

/// The place in the bundle's own program that a person looks for first.
std::string from_where(const Bundle& bundle) {
  return bundle.callers.empty() ? "" : ", launched from " + bundle.callers.front();
}

/// The first driver that gives something else, and what; empty: none does.
std::string difference(const Judged& judged) {
  for (std::size_t i = 0; i < judged.answers.size(); ++i) {
    const Seen& seen = judged.judgement.seen[i];
    if (judged.answers[i].cannot || seen.right()) continue;
    const std::string& platform = judged.answers[i].device.platform;
    const bool is_known = judged.judgement.decided || seen.outcome != Seen::Outcome::wrong;
    return is_known ? fmt::format("{} on {}: {}", name(seen.outcome), platform, seen.reason)
                    : fmt::format("{} gives something else: {}", platform, seen.reason);
  }
  return "";
}

/// Why no second driver has a result.
std::string why(const Judged& judged) {
  for (const Answer& answer : judged.answers) {
    if (answer.is_recorded) continue;
    if (answer.has_outputs()) return "the second driver is the same as the first";
    return answer.device.name + ": " + (answer.cannot ? *answer.cannot : answer.seen.text());
  }
  return "there is no second driver: name one with --with \"tools/with-driver pocl\", or install "
         "Oclgrind";
}

/// Makes bundles of the folders that the library writes into `raw`. With --check each is first held
/// against a second driver, while the program waits, and only those that differ become bundles.
class Recordings {
 public:
  Recordings(Cli& cli, const WatchRequest& request, std::string raw)
      : cli_(cli), request_(request), raw_(std::move(raw)) {}
  ~Recordings() {
    std::error_code ignored;  // the bundles of the end have it, too
    if (!hung_bundle_.empty()) fs::remove_all(hung_bundle_, ignored);
  }
  Recordings(const Recordings&) = delete;
  Recordings& operator=(const Recordings&) = delete;

  /// To be called again and again while the program runs. A launch that has not ended for long is
  /// written: whoever then ends this program has its bundle.
  void look() {
    constexpr std::chrono::milliseconds kPause(200);  // of a large folder each look takes time
    const auto now = std::chrono::steady_clock::now();
    if (!request_.check && now - looked_at_ < kPause) return;
    looked_at_ = now;
    each_recorded([this](const watch::Recorded& each) { look_at(each); });
  }

  /// After the program's end.
  void finish() {
    each_recorded([this](const watch::Recorded& each) {
      request_.check && !each.in_flight ? check(each) : write(each);
    });
  }

  const std::vector<Written>& written() const { return written_; }
  /// How many launches were held against a second driver.
  int checked() const { return checked_; }
  /// "2 bundles recorded, not judged"
  std::string summary() const {
    if (request_.check) {
      const std::string checked =
          fmt::format("{} checked, {} differ{}", counted(checked_, "launch", "es"), differ_,
                      differ_ == 1 ? "s" : "");
      return unchecked_ == 0 ? checked : fmt::format("{}, {} not checked", checked, unchecked_);
    }
    return counted(written_.size(), "bundle") + " recorded, not judged";
  }

 private:
  /// What it throws is a note.
  void each_recorded(const std::function<void(const watch::Recorded&)>& act) {
    for (const watch::Recorded& each : watch::find_recorded(raw_)) {
      try {
        act(each);
      } catch (const std::exception& error) {  // it may end meanwhile; the others are looked at
        cli_.out.note(error.what());
      }
    }
  }

  void look_at(const watch::Recorded& each) {
    if (!each.in_flight) {
      if (request_.check) check(each);
    } else if (each.folder != in_flight_) {
      in_flight_ = each.folder;
      since_ = std::chrono::steady_clock::now();
    } else if (hung_ != in_flight_ &&
               std::chrono::steady_clock::now() - since_ > std::chrono::seconds(request_.hang_s)) {
      hung_ = in_flight_;
      write_hung(each);
    }
  }

  void write_hung(const watch::Recorded& each) {
    Bundle bundle = read(each);
    bundle.seen =
        failed(Seen::Outcome::hung, fmt::format("it has not ended for {} s", request_.hang_s));
    hung_bundle_ = path_in(request_.target, "in-flight-" + bundle.variant);
    publish(hung_bundle_, bundle);
    cli_.out.notice(fmt::format("kernel {} has not ended for {} s; it is in {}", bundle.variant,
                                request_.hang_s, hung_bundle_));
  }

  void write(const watch::Recorded& each) {
    Bundle bundle = read(each);
    bundle.callers = watch::callers_of(each);
    if (each.in_flight && each.folder == hung_) bundle.seen.outcome = Seen::Outcome::hung;
    const std::string folder = next_folder(bundle);
    publish(folder, bundle);
    written_.push_back({folder, bundle.problem + from_where(bundle), bundle.seen_text()});
  }

  /// The folder goes in any case: the program waits for that.
  void check(const watch::Recorded& each) {
    try {
      compare(each);
    } catch (const std::exception& error) {
      cli_.out.note(error.what());
    }
    std::error_code ignored;
    fs::remove_all(each.folder, ignored);
  }

  // ---- against a second driver ----

  void compare(const watch::Recorded& each) {
    Bundle bundle = read(each);
    const ScratchFolder scratch;
    write_case(scratch.path(), bundle);
    const std::vector<Driver> seconds = second_drivers(bundle.device);
    Judged judged = put_before(seconds, bundle, scratch.path(), {}, kCheckLimit_s);
    const auto is_second = [&](const Answer& answer) {
      return answer.has_outputs() && !same_driver(answer.device, bundle.device);
    };
    if (std::none_of(judged.answers.begin(), judged.answers.end(), is_second)) {
      ++unchecked_;
      return cli_.out.note(
          fmt::format("kernel {} is not checked: {}", bundle.variant, why(judged)));
    }
    ++checked_;
    // Of two that differ, a third says which one is wrong.
    if (!judged.judgement.decided && seconds[0].simulator.empty()) {
      ask_more(simulators(), bundle, scratch.path(), {}, kCheckLimit_s, judged);
    }
    const std::string different = difference(judged);
    if (different.empty()) return;
    ++differ_;
    const bool decided = judged.judgement.decided;
    if (decided) bundle = with_verdict(bundle, judged);
    if (!decided)
      bundle.noted += fmt::format(" Two drivers differ: {}. `clam judge` asks more.", different);
    bundle.callers = watch::callers_of(each);
    const std::string folder = next_folder(bundle);
    publish(folder, bundle, decided ? &judged : nullptr);
    if (differ_ == 1) {
      cli_.out.notice(fmt::format("kernel {}{}: {}; it is in {}", bundle.variant,
                                  from_where(bundle), different, folder));
    }
    written_.push_back({folder, bundle.problem + from_where(bundle), different});
  }

  Bundle read(const watch::Recorded& each) {
    return watch::read_recorded(each, program_name(request_), devices());
  }

  void publish(const std::string& folder, Bundle& bundle, const Judged* judged = nullptr) {
    bundle.recorded = recording_date();
    StagedFolder staged(folder, true);
    write_case(staged.path(), bundle);
    if (judged) write_proof(staged.path(), proof_of(bundle, *judged, staged.path()));
    finish_case(staged.path(), bundle, false);
    staged.publish();
  }

  std::string next_folder(const Bundle& bundle) const {
    return path_in(request_.target, fmt::format("{:03}-{}", written_.size() + 1, bundle.variant));
  }

  const std::vector<DeviceInfo>& devices() {
    if (!devices_.empty()) return devices_;
    for (const DeviceEntry& entry : list_devices()) devices_.push_back(query_device(entry.device));
    return devices_;
  }

  std::vector<Driver> second_drivers(const DeviceInfo& first) const {
    if (!request_.with.empty()) return drivers_through(request_.with);
    const std::vector<Driver> here = drivers_here(first.platform);
    return here.empty() ? simulators() : here;
  }

  Cli& cli_;
  const WatchRequest& request_;
  std::string raw_;
  std::chrono::steady_clock::time_point looked_at_{};
  std::vector<DeviceInfo> devices_;
  std::vector<Written> written_;
  int checked_ = 0, unchecked_ = 0, differ_ = 0;

  std::string in_flight_, hung_, hung_bundle_;  ///< folders; hung_: it had not ended for long
  std::chrono::steady_clock::time_point since_;
};

// ---- the program ----

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
  throw_if(own.find_first_of(" :") != own.npos,
           "the dynamic linker takes no path with a blank or a colon: move {}", own);
  return others && *others ? own + ":" + others : own;
}

/// The variable of the environment that has the library loaded, with its value.
std::pair<const char*, std::string> loading(const WatchRequest& request) {
  return request.layer ? std::pair("OPENCL_LAYERS", preloaded_library())
                       : std::pair("LD_PRELOAD", preload_text());
}

[[noreturn]] void become(const WatchRequest& request, const std::string& raw, int output) {
  ::dup2(output, STDOUT_FILENO);
  const json asked{{"folder", raw},
                   {"kernel", request.kernel},
                   {"limit", request.limit},
                   {"launch", request.launch},
                   {"checker", request.check ? ::getppid() : 0}};
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
    throw_if<IoError>(ended < 0 && errno != EINTR, "the program was lost: {}",
                      std::strerror(errno));
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
  throw_if(fs::exists(target) && !fs::is_empty(target, error),
           "{} is there already: name a new folder with -o, or remove it", target);
  make_folder(target);
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
  throw_if(
      request.distinct && request.launch > 0,
      "--distinct and --launch: the one writes each that differs, the other one; leave one out");
  throw_if(!request.check && !request.with.empty(),
           "--with names the drivers that --check compares with: add --check");
  refuse_bad_pattern(request.kernel);
  check_commands("--with", request.with);
  loading(request);  // where it cannot be said, nothing starts and no folder is made
  make_target(request.target);
  const std::string raw = (fs::path(fs::absolute(request.target)) / "raw.partial").string();
  fs::create_directory(raw);
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
