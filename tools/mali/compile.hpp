// SPDX-License-Identifier: MIT
// compile.hpp - kernels through Mesa's Mali compilers: which programs plans need, and a process
// that compiles them for one GPU. A kernel that crashes the compiler or never ends is lost alone.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "clam/gpu.hpp"
#include "clam/kernels.hpp"
#include "clam/plan.hpp"
#include "listing.hpp"

namespace clam::mali {

/// A kernel of a file that is built with the options of a plan.
struct KernelId {
  std::string file, options, kernel;
};
/// The distinct kernels that the plans launch, packs included. Those of one program, a file with
/// its options, stand together and sorted, in the order of its first launch.
std::vector<KernelId> kernels_of(const std::vector<Plan>& plans);

/// Whether a pattern with * and ? is of the kernel, its file or the file's stem; "" is of all.
bool matches(const std::string& pattern, const std::string& file, const std::string& kernel);

/// What became of one kernel.
struct KernelCode : KernelId {
  /// unread: it built, but its listing is missing or not understood.
  enum class Status { compiled, refused, unread, crashed, hung };
  Status status = Status::compiled;
  std::string reason;         ///< unless compiled, one line; else why its time cannot be predicted
  std::string listing;        ///< if compiled: essence() of what the compiler printed
  Shader shader;              ///< of the listing
  std::string fingerprint{};  ///< Compiler::fingerprint
};
const char* name(KernelCode::Status status);
/// The one that a launch runs; null where it was not compiled.
template <typename Codes>
auto find_code(Codes& codes, const Launch& launch) {
  const auto found = std::find_if(codes.begin(), codes.end(), [&](const KernelCode& code) {
    return code.file == launch.file && code.options == launch.options &&
           code.kernel == launch.kernel && code.status == KernelCode::Status::compiled;
  });
  return found == codes.end() ? nullptr : &*found;
}

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
  std::string fingerprint(const KernelId& kernel) const;
  /// One entry a kernel, in this order. What is in the cache starts no process. Throws DeviceError
  /// when the compiler does not start.
  std::vector<KernelCode> compile(const std::vector<KernelId>& kernels);

 private:
  /// Version and GPU.
  std::string driver() const;

  const Gpu& gpu_;
  KernelFiles files_;
  CompilerOptions options_;
  std::string version_;
};

}  // namespace clam::mali
