// SPDX-License-Identifier: MIT
#include "compile.hpp"

#include <fmt/core.h>
#include <fnmatch.h>

#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>

#include "check/parallel.hpp"
#include "clam/error.hpp"
#include "clam/program_cache.hpp"
#include "kernel_text.hpp"
#include "process/process.hpp"
#include "process/scratch_folder.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/cache_folder.hpp"
#include "runtime/refuse.hpp"
#include "runtime/text.hpp"
#include "runtime/words.hpp"
#include "tokens/letters.hpp"

namespace clam::mali {
namespace {

namespace fs = std::filesystem;
using Status = KernelCode::Status;

// Goes into every key of the cache and every fingerprint: a new one leaves all old entries aside.
// Raise it where listings are read or figures counted in another way.
constexpr int kFormat = 1;

// As much longer than for a kernel a compiler is waited for until it begins.
constexpr int kStartsIn = 3;

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

/// Of texts, told apart.
std::string hash_of(std::initializer_list<std::string> parts) {
  std::string key;
  for (const std::string& part : parts) {
    key += part;
    key += '\0';
  }
  return hash_text(key);
}

// ---- the cache ----

/// One file a kernel: its status, then its listing or reason.
class Cache {
 public:
  Cache(std::string dir, std::string driver)
      : folder_(std::move(dir), ProgramCache::limit_from_environment()),
        driver_(std::move(driver)) {
    folder_.trim();
  }

  bool load(const KernelSource& source, KernelCode& code) const {
    if (folder_.dir().empty()) return false;
    const std::string path = folder_.listing(key_of(source, code));
    std::string text;
    try {
      text = read_file(path);
    } catch (const Error&) {
      return false;
    }
    folder_.mark_used(path);
    const std::string line = first_line(text);
    const std::string rest = text.size() > line.size() ? text.substr(line.size() + 1) : "";
    if (line == name(Status::compiled)) return take_listing(rest, code);
    if (line != name(Status::refused)) return false;
    code.status = Status::refused;
    code.reason = first_line(rest);
    return true;
  }

  /// A process that ended early or took too long may say more about the machine than the kernel,
  /// and a listing that is not understood more about its reader.
  void store(const KernelSource& source, const KernelCode& code) {
    const bool is_sure = code.status == Status::compiled || code.status == Status::refused;
    if (!is_sure) return;
    const bool compiled = code.status == Status::compiled;
    try {
      folder_.store_listing(
          key_of(source, code),
          fmt::format("{}\n{}", name(code.status), compiled ? code.listing : code.reason));
    } catch (const IoError&) {
      // It only costs the next run its time.
    }
  }

  static bool take_listing(const std::string& listing, KernelCode& code) {
    try {
      code.shader = parse_listing(listing);
    } catch (const BadArgument&) {
      return false;
    }
    code.listing = listing;
    code.status = Status::compiled;
    return code.shader.kernel == code.kernel;
  }

 private:
  std::string key_of(const KernelSource& source, const KernelCode& code) const {
    return hash_of({code_of(source.text, code.kernel), source.options, code.options, code.kernel,
                    driver_, std::to_string(kFormat)});
  }

  CacheFolder folder_;
  std::string driver_;  ///< and GPU
};

// ---- a run of the compiler ----

/// One program to compile: a source text, and which results it fills.
struct Job {
  KernelSource source;
  std::string options;
  std::vector<KernelCode*> kernels;
};
using Jobs = std::deque<Job>;

std::string write_jobs(const ScratchFolder& folder, const Jobs& jobs) {
  std::string list;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Job& job = jobs[i];
    const std::string path = folder.file(fmt::format("{}.cl", i));
    std::vector<std::string> kernels;
    for (const KernelCode* code : job.kernels) kernels.push_back(code->kernel);
    write_file(path, only_kernels(job.source.text, kernels));
    list += fmt::format("{}\t{}\t{} {}\n", i, path, job.options, job.source.options);
  }
  const std::string path = folder.file("jobs");
  write_file(path, list);
  return path;
}

/// What the process printed since its last job began, read apart.
struct Transcript {
  struct Listing {
    std::string text;
    int times = 0;  ///< that it was printed; the last time counts
  };
  std::string dump;                         ///< of the shader that is being printed
  std::map<std::string, Listing> listings;  ///< by kernel
  std::string last_words;                   ///< the last line that belongs to no listing
  std::string unread;                       ///< why a listing could not be read

  /// A compiler prints each kernel twice; the one without a global offset comes last.
  void add(const std::string& line) {
    if (starts_with(line, "shader: ")) dump.clear();
    const bool in_dump = !dump.empty() || starts_with(line, "shader: ");
    if (!in_dump && line.find_first_not_of(" \t") != line.npos) last_words = line;
    if (in_dump) dump += line + "\n";
    if (!ends_listing(line)) return;
    try {
      const std::string text = essence(dump);
      Listing& listing = listings[parse_listing(text).kernel];
      listing.text = text;
      ++listing.times;
    } catch (const BadArgument& error) {
      unread = error.what();
    }
    dump.clear();
  }

  /// Gives a kernel its listing, if it was printed so often and is understood.
  bool give(KernelCode& code, int times) const {
    const auto found = listings.find(code.kernel);
    return found != listings.end() && found->second.times >= times &&
           Cache::take_listing(found->second.text, code);
  }
};

/// Compiles jobs one after the other in as many processes as it takes.
class Run {
 public:
  using OnDone = std::function<void(const KernelCode&)>;

  Run(const CompilerOptions& options, const Gpu& gpu, Jobs jobs, OnDone on_done)
      : options_(options), gpu_(gpu), jobs_(std::move(jobs)), on_done_(std::move(on_done)) {}

  void finish_all() {
    while (!jobs_.empty()) run_process();
  }

 private:
  /// Why kernels have no listing.
  struct Loss {
    Status status;
    std::string reason;
    int code = 0;  ///< how the process ended
  };

  void run_process() {
    const ScratchFolder folder;
    std::vector<std::string> words = options_.command;
    words.push_back(write_jobs(folder, jobs_));
    Process process(words,
                    {fmt::format("PAN_GPU_ID={:#x}", gpu_.mesa_id),
                     "BIFROST_MESA_DEBUG=shaders,shaderdb", "MIDGARD_MESA_DEBUG=shaders,shaderdb"});
    Transcript transcript;
    bool in_job = false, any_done = false;
    std::string line;
    Process::Read read;
    // Before its first job a compiler reads its library of functions: a minute of work in Mesa 26.
    std::chrono::seconds patience = kStartsIn * options_.patience;
    while ((read = process.read_line(line, patience)) == Process::Read::line) {
      if (starts_with(line, "clam: begin ")) {
        patience = options_.patience;
        in_job = true;
        transcript = {};
      } else if (starts_with(line, "clam: end ")) {
        in_job = false;
        any_done = true;
        conclude(read_end(process, line, transcript), transcript, 1);
        if (jobs_.empty()) return;
      } else {
        transcript.add(line);
      }
    }
    const Loss loss = loss_of(process, read, patience, transcript);
    // What was printed twice was compiled before whatever happened then: a driver that runs nothing
    // may stumble over the constants of a program.
    if (in_job) return conclude(loss, transcript, 2);
    if (any_done) return;
    if (loss.code == 77) throw Unsupported(transcript.last_words);
    throw DeviceError(
        fmt::format("the Mali compiler for {} does not start: {}", gpu_.key, loss.reason));
  }

  Loss loss_of(Process& process, Process::Read read, std::chrono::seconds patience,
               const Transcript& transcript) {
    if (read == Process::Read::nothing) {
      return {Status::hung,
              fmt::format("nothing came from the compiler for {} s", patience.count())};
    }
    const int code = process.wait();
    const std::string& words = transcript.last_words;
    const std::string end =
        code > 128 ? fmt::format("signal {}", code - 128) : fmt::format("exit code {}", code);
    return {Status::crashed,
            fmt::format("the compiler ended with {}{}{}", end, words.empty() ? "" : ": ", words),
            code};
  }

  /// After "failed" the log follows; of it the first error is kept.
  Loss read_end(Process& process, const std::string& line, const Transcript& transcript) {
    if (ends_with(line, " ok")) {
      return {Status::unread, transcript.unread.empty()
                                  ? "the compiler printed no listing of it"
                                  : "its listing is not understood: " + transcript.unread};
    }
    std::string error, log;
    while (process.read_line(log, options_.patience) == Process::Read::line &&
           log != "clam: log end") {
      if (error.empty() && log.find("error") != log.npos) error = log;
    }
    return {Status::refused,
            "it does not build: " + (error.empty() ? "the compiler gives no reason" : error)};
  }

  /// Ends the job in hand, whose kernels have their listings where these were printed so often. Of
  /// several others it is not known which one is at fault, so each gets a job of its own.
  void conclude(const Loss& loss, const Transcript& transcript, int times) {
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    std::vector<KernelCode*> lost;
    for (KernelCode* code : job.kernels) {
      if (transcript.give(*code, times)) {
        on_done_(*code);
      } else {
        lost.push_back(code);
      }
    }
    for (KernelCode* code : lost) {
      if (lost.size() > 1) {
        jobs_.push_back({job.source, job.options, {code}});
        continue;
      }
      code->status = loss.status;
      code->reason = loss.reason;
      on_done_(*code);
    }
  }

  const CompilerOptions& options_;
  const Gpu& gpu_;
  Jobs jobs_;
  OnDone on_done_;
};

std::string version_of(const std::vector<std::string>& command, std::chrono::seconds patience) {
  std::vector<std::string> words = command;
  words.push_back("--version");
  Process process(words, {}, Process::Errors::own);
  std::string line, last;
  Process::Read read;
  while ((read = process.read_line(line, patience)) == Process::Read::line) last = line;
  throw_if<DeviceError>(read == Process::Read::nothing, "{} --version says nothing for {} s",
                        command[0], patience.count());
  const int code = process.wait();
  if (code == 0 && !last.empty()) return last;
  throw_if<Unsupported>(code == 77, "the Mali compilers cannot be had here, for the reason above");
  throw DeviceError(fmt::format("{} --version failed (exit code {}): {}", command[0], code, last));
}

}  // namespace

const char* name(KernelCode::Status status) {
  static constexpr Words<5> kStatuses{"compiled", "refused", "unread", "crashed", "hung"};
  return word_of(kStatuses, status);
}

std::vector<KernelId> kernels_of(const std::vector<Plan>& plans) {
  using Build = std::pair<std::string, std::string>;  // file, options
  std::vector<Build> builds;
  std::map<Build, std::set<std::string>> launched;
  for (const Plan& plan : plans) {
    for (const Launch* launch : launches_of(plan)) {
      const Build build(launch->file, launch->options);
      std::set<std::string>& kernels = launched[build];
      if (kernels.empty()) builds.push_back(build);
      kernels.insert(launch->kernel);
    }
  }
  std::vector<KernelId> all;
  for (const Build& build : builds) {
    for (const std::string& kernel : launched[build]) {
      all.push_back({build.first, build.second, kernel});
    }
  }
  return all;
}

bool matches(const std::string& pattern, const std::string& file, const std::string& kernel) {
  const std::string stem = file.substr(0, file.rfind(".cl"));
  for (const std::string& text : {kernel, file, stem}) {
    if (pattern.empty() || ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0) return true;
  }
  return false;
}

namespace {

/// The program that runs the compilers.
std::string compiler_script() {
  if (std::string own = environment("CLAM_MALI_COMPILER"); !own.empty()) return own;
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"../share/clam/tools", "../tools"}) {
    const fs::path script = here / place / "mali" / "compile";
    if (fs::exists(script, error)) return fs::weakly_canonical(script, error).string();
  }
  throw Unsupported(
      "tools/mali/compile, which runs Mesa's Mali compilers, is not beside this program: set "
      "CLAM_MALI_COMPILER to its path");
}

}  // namespace

Mesa parse_mesa(const std::string& word) {
  if (const auto mesa = find_word<Mesa>(Words<2>{"debian13", "testing"}, word)) return *mesa;
  refuse("there is no Mesa {}: there are debian13 and testing", in_quotes(word));
}

CompilerOptions default_compiler(Mesa mesa) {
  CompilerOptions options;
  options.cache_dir = ProgramCache::default_dir();
  options.command = {compiler_script()};
  if (mesa == Mesa::testing) options.command.push_back("--testing");
  return options;
}

Compiler::Compiler(const Gpu& gpu, KernelFiles files, CompilerOptions options)
    : gpu_(gpu), files_(std::move(files)), options_(std::move(options)) {
  throw_if<Unsupported>(gpu.mesa_id == 0, "Mesa's compiler knows no id for the Mali-{}", gpu.model);
  version_ = version_of(options_.command, options_.patience);
}

std::string Compiler::driver() const { return fmt::format("{} {:#x}", version_, gpu_.mesa_id); }

std::string Compiler::fingerprint(const KernelId& kernel) const {
  const KernelSource source = files_.get(kernel.file);
  return hash_of({code_of(source.text, kernel.kernel), tags_of(source.text), source.options,
                  kernel.options, kernel.kernel, driver(), std::to_string(kFormat)});
}

std::vector<KernelCode> Compiler::compile(const std::vector<KernelId>& kernels) {
  Cache cache(options_.cache_dir, driver());
  std::vector<KernelCode> codes;
  codes.reserve(kernels.size());  // jobs point to them
  Jobs jobs;
  int done = 0;
  for (const KernelId& kernel : kernels) {
    KernelCode& code = codes.emplace_back();
    static_cast<KernelId&>(code) = kernel;
    code.fingerprint = fingerprint(kernel);
    const KernelSource source = files_.get(kernel.file);
    const bool known = cache.load(source, code);
    done += known;
    if (known) continue;
    const bool goes_on = !jobs.empty() && jobs.back().source.file == kernel.file &&
                         jobs.back().options == kernel.options;
    if (!goes_on) jobs.push_back({source, kernel.options, {}});
    jobs.back().kernels.push_back(&code);
  }
  const auto report = [&] {
    if (options_.progress) options_.progress(done, static_cast<int>(codes.size()));
  };
  report();
  std::mutex one_at_a_time;
  const auto on_done = [&](const KernelCode& fresh) {
    const std::lock_guard<std::mutex> lock(one_at_a_time);
    cache.store(files_.get(fresh.file), fresh);
    ++done;
    report();
  };
  // A compiler uses one core, and takes seconds to start.
  constexpr std::size_t kMany = 50;
  std::vector<Jobs> shares(jobs.size() > kMany ? 2 : 1);
  for (std::size_t i = 0; i < jobs.size(); ++i)
    shares[i % shares.size()].push_back(std::move(jobs[i]));
  parallel_for(static_cast<std::int64_t>(shares.size()), [&](std::int64_t i) {
    Run(options_, gpu_, std::move(shares[static_cast<std::size_t>(i)]), on_done).finish_all();
  });
  // The first Bifrost GPUs share their registers out in one way only: no kernel has more warps.
  for (KernelCode& each : codes) {
    if (gpu_.arch_major == 6) each.shader.full_threads = 1;
  }
  return codes;
}

}  // namespace clam::mali
