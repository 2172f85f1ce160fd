// SPDX-License-Identifier: MIT
// program_cache.hpp - built programs, in memory and on disk.
//
// A disk entry is a folder {source.cl, options.txt, device.txt, build.log, program.bin}. It is
// written under a temporary name, synced and renamed, so a reader never sees half of one. Its name
// is a hash of source, options, device, driver, platform and format. If a binary is damaged,
// refused or removed while it is read, the source is built and the entry written again. If the
// folder cannot be written, programs are only built more often. The total size is bounded: the
// least recently used entries are removed first. Several processes may share a folder.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "device.hpp"
#include "kernels.hpp"
#include "opencl.hpp"

namespace clam {

class CacheFolder;

class ProgramCache {
 public:
  struct Counters {
    int built = 0;      ///< compiled from source
    int from_disk = 0;  ///< loaded as a binary
    int from_memory = 0;
    int binaries_refused = 0;  ///< damaged, or not taken by the driver
    int writes_failed = 0;
    std::string write_error;  ///< of the first failed write: one sentence
  };
  /// Called before a build from source with the file's name and how many were built before it.
  using OnBuild = std::function<void(const std::string& file, int built)>;

  static constexpr std::int64_t kDefaultLimit = 128000000;

  /// `dir` empty: memory only. `limit`: the most bytes in the folder; 0: nothing is kept there.
  ProgramCache(cl::Context context, cl::Device device, DeviceInfo info, const std::string& dir,
               std::int64_t limit = kDefaultLimit);
  ~ProgramCache();
  /// CLAM_CACHE_DIR (`off` = memory only), else $XDG_CACHE_HOME/clam/programs, else
  /// ~/.cache/clam/programs.
  static std::string default_dir();
  /// CLAM_CACHE_MB, in bytes; without it kDefaultLimit. 0: nothing is kept. Throws BadArgument.
  static std::int64_t limit_from_environment();

  /// Builds or finds the program, and creates a kernel of it. The binary is stored after the first
  /// kernel was created, because drivers of Mali compile then. Throws BuildFailure, and BadArgument
  /// when the file has no kernel of this name.
  cl::Kernel kernel(const KernelSource& source, const std::string& options,
                    const std::string& kernel);

  const Counters& counters() const { return counters_; }
  void on_build(OnBuild callback) { on_build_ = std::move(callback); }
  /// Where the entry of this source and these options lies on disk; "" without a disk cache.
  std::string entry_dir(const KernelSource& source, const std::string& options) const;

 private:
  struct Entry {
    cl::Program program;
    bool stored = false;
  };
  Entry load_or_build(const KernelSource& source, const std::string& options,
                      const std::string& key);
  bool load(const KernelSource& source, const std::string& options, const std::string& dir,
            Entry& entry);
  void store(const KernelSource& source, const std::string& options, Entry& entry);
  std::string key(const KernelSource& source, const std::string& options) const;

  cl::Context context_;
  cl::Device device_;
  DeviceInfo info_;
  std::unique_ptr<CacheFolder> disk_;
  OnBuild on_build_;
  Counters counters_;
  std::map<std::string, Entry> entries_;
};

nlohmann::json to_json(const ProgramCache::Counters& counters);

}  // namespace clam
