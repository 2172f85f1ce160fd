// SPDX-License-Identifier: MIT
// compile.hpp - kernels through Mesa's Mali compilers: which programs plans need, and a process
// that compiles them for one GPU. A kernel that crashes the compiler or never ends is lost alone.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "clam/gpu.hpp"
#include "clam/kernels.hpp"
#include "clam/plan.hpp"
#include "listing.hpp"

namespace clam::mali {

/// A kernel file with the options of a plan, and those of its kernels that plans launch.
struct Program {
  std::string file, options;
  std::vector<std::string> kernels;  ///< sorted
};
/// The distinct programs of the plans, in the order of their first launch, packs included.
std::vector<Program> programs_of(const std::vector<Plan>& plans);

/// Whether a pattern with * and ? is of the kernel, its file or the file's stem; "" is of all.
bool matches(const std::string& pattern, const std::string& file, const std::string& kernel);
using Keeps = std::function<bool(const Program& program, const std::string& kernel)>;
/// The programs with those of their kernels that `keeps` is true for, or that match. A program
/// without any is left out.
std::vector<Program> kept(const std::vector<Program>& programs, const Keeps& keeps);
std::vector<Program> matching(const std::vector<Program>& programs, const std::string& pattern);

/// What became of one kernel.
struct KernelCode {
  /// unread: it built, but its listing is missing or not understood.
  enum class Status { compiled, refused, unread, crashed, hung };
  std::string file, options, kernel;
  Status status = Status::compiled;
  std::string reason;         ///< unless compiled: one line
  std::string listing;        ///< if compiled: essence() of what the compiler printed
  Shader shader;              ///< of the listing
  std::string fingerprint{};  ///< Compiler::fingerprint
};
const char* name(KernelCode::Status status);
/// The one that a launch runs; null where it was not compiled.
const KernelCode* find_code(const std::vector<KernelCode>& codes, const Launch& launch);

struct CompilerOptions {
  /// Runs the compiler: `WORDS... --version` prints which it is, `WORDS... JOBS` compiles (the form
  /// of JOBS is loader.c's) for the GPU that PAN_GPU_ID names.
  std::vector<std::string> command;
  std::string cache_dir;               ///< where listings are kept; empty: none is
  std::chrono::seconds patience{180};  ///< with a compiler that prints nothing
  /// Called from the thread that compiles: kernels done, and kernels in all.
  std::function<void(int done, int total)> progress;
};

/// Whose Mesa: Debian 13's, or the newer one of Debian testing.
enum class Mesa { debian13, testing };
/// Throws BadArgument for a word that is neither.
Mesa parse_mesa(const std::string& word);

/// The command and the folder that the environment and the place of this program give:
/// CLAM_MALI_COMPILER, else mali/compile beside with-driver; --testing is a word of the command.
/// Throws Unsupported where neither is.
CompilerOptions default_compiler(Mesa mesa = Mesa::debian13);

class Compiler {
 public:
  /// Asks the command for its version. Throws Unsupported with its sentence when it cannot run
  /// here, or when Mesa knows no such GPU.
  Compiler(const Gpu& gpu, KernelFiles files, CompilerOptions options);

  /// "Mesa 25.0.7-2+deb13u1"
  const std::string& version() const { return version_; }
  /// A hash of what a kernel's figures follow from: its code, the tags of its file, options,
  /// compiler and GPU, and how listings are read. The arguments of a plan are not in it.
  std::string fingerprint(const Program& program, const std::string& kernel) const;
  /// One entry a kernel, in the order of the programs. What is in the cache starts no process.
  /// Throws DeviceError when the compiler does not start.
  std::vector<KernelCode> compile(const std::vector<Program>& programs);

 private:
  /// Version and GPU.
  std::string driver() const;

  const Gpu& gpu_;
  KernelFiles files_;
  CompilerOptions options_;
  std::string version_;
};

}  // namespace clam::mali
