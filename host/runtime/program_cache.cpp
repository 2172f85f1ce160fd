// SPDX-License-Identifier: MIT
#include "clam/program_cache.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "atomic_file.hpp"
#include "cache_folder.hpp"
#include "refuse.hpp"
#include "text.hpp"

namespace clam {
namespace {

namespace fs = std::filesystem;

constexpr int kFormat = 1;

/// What device.txt holds: who the entry is for, and what its binary must look like.
std::string device_text(const DeviceInfo& info, const std::string& binary) {
  return fmt::format("format: {}\nprogram.bin: {} bytes, xxh3 {}\n{}", kFormat, binary.size(),
                     hash_text(binary), to_text(info));
}

/// The binary for one of the program's devices; empty when the driver keeps it to itself.
std::string binary_of(const cl::Program& program, const cl::Device& device) {
  const std::vector<cl::Device> devices = program.getInfo<CL_PROGRAM_DEVICES>();
  const std::vector<std::vector<unsigned char>> binaries = program.getInfo<CL_PROGRAM_BINARIES>();
  for (std::size_t i = 0; i < std::min(devices.size(), binaries.size()); ++i) {
    if (devices[i]() == device()) return {binaries[i].begin(), binaries[i].end()};
  }
  return "";
}

std::string build_log(const cl::Program& program, const cl::Device& device) {
  try {
    return program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device);
  } catch (const cl::Error&) {
    return "(the driver gave no build log)";
  }
}

std::string joined(const std::string& options, const std::string& more) {
  return more.empty() ? options : options.empty() ? more : options + " " + more;
}

}  // namespace

ProgramCache::ProgramCache(cl::Context context, cl::Device device, DeviceInfo info,
                           const std::string& dir, std::int64_t limit)
    : context_(std::move(context)),
      device_(std::move(device)),
      info_(std::move(info)),
      disk_(std::make_unique<CacheFolder>(dir, limit)) {
  disk_->trim();
}

ProgramCache::~ProgramCache() = default;

std::int64_t ProgramCache::limit_from_environment() {
  constexpr std::int64_t kMostMegabytes = 1000000;
  const std::string text = environment("CLAM_CACHE_MB");
  if (text.empty()) return kDefaultLimit;
  std::int64_t megabytes = -1;
  const std::errc error = read_number(text, megabytes);
  throw_if(error != std::errc() || megabytes < 0 || megabytes > kMostMegabytes,
           "CLAM_CACHE_MB='{}': needs a whole number of megabytes, 0 (keep nothing) to {}", text,
           kMostMegabytes);
  return megabytes * CacheFolder::kMegabyte;
}

std::string ProgramCache::default_dir() {
  const std::string own = environment("CLAM_CACHE_DIR"), cache = environment("XDG_CACHE_HOME"),
                    home = environment("HOME");
  if (own == "off") return "";
  if (!own.empty()) return own;
  if (!cache.empty()) return cache + "/clam/programs";
  return home.empty() ? "" : home + "/.cache/clam/programs";
}

std::string ProgramCache::key(const KernelSource& source, const std::string& options) const {
  // Two builds of Arm's driver can differ in the device version's last digits alone: all strings
  // that the driver gives about itself are in the key.
  std::string text;
  for (const std::string& part :
       {source.text, options, info_.name, info_.device_version, info_.driver_version,
        info_.platform, info_.platform_version, info_.vendor, std::to_string(kFormat)}) {
    text += part;
    text += '\0';
  }
  return hash_text(text);
}

std::string ProgramCache::entry_dir(const KernelSource& source, const std::string& options) const {
  return disk_->dir().empty() ? "" : disk_->program(key(source, joined(options, source.options)));
}

cl::Kernel ProgramCache::kernel(const KernelSource& source, const std::string& options,
                                const std::string& kernel) {
  const std::string all_options = joined(options, source.options);
  const std::string name = key(source, all_options);
  auto found = entries_.find(name);
  if (found != entries_.end()) {
    ++counters_.from_memory;
  } else {
    found = entries_.emplace(name, load_or_build(source, all_options, name)).first;
  }
  Entry& entry = found->second;
  try {
    cl::Kernel created(entry.program, kernel.c_str());
    if (!entry.stored) store(source, all_options, entry);
    return created;
  } catch (const cl::Error& error) {
    throw_if(error.err() == CL_INVALID_KERNEL_NAME, "{} has no kernel named '{}'", source.file,
             kernel);
    throw BuildFailure(
        source.file, all_options, info_.name,
        fmt::format("creating kernel {} failed\n{}", kernel, build_log(entry.program, device_)),
        error.err());
  }
}

ProgramCache::Entry ProgramCache::load_or_build(const KernelSource& source,
                                                const std::string& options,
                                                const std::string& key) {
  Entry entry;
  if (!disk_->dir().empty() && load(source, options, disk_->program(key), entry)) return entry;
  if (on_build_) on_build_(source.file, counters_.built);
  try {
    entry.program = cl::Program(context_, source.text);
  } catch (const cl::Error& error) {
    throw BuildFailure(source.file, options, info_.name, "", error.err());
  }
  // Not cl::Program::build: where the driver has no log, that throws the log's status, not its own.
  const cl_device_id device = device_();
  const cl_int status =
      ::clBuildProgram(entry.program(), 1, &device, options.c_str(), nullptr, nullptr);
  if (status != CL_SUCCESS) {
    throw BuildFailure(source.file, options, info_.name, build_log(entry.program, device_), status);
  }
  ++counters_.built;
  entry.stored = disk_->dir().empty();
  return entry;
}

bool ProgramCache::load(const KernelSource& source, const std::string& options,
                        const std::string& dir, Entry& entry) {
  std::error_code error;
  if (!fs::exists(dir, error)) return false;
  try {
    const std::string binary = read_file(dir + "/program.bin");
    const bool whole = !binary.empty() && read_file(dir + "/source.cl") == source.text &&
                       read_file(dir + "/options.txt") == options + "\n" &&
                       read_file(dir + "/device.txt") == device_text(info_, binary);
    if (whole) {
      entry.program = cl::Program(context_, {device_}, {{binary.begin(), binary.end()}});
      entry.program.build({device_}, options.c_str());
      entry.stored = true;
      disk_->mark_used(dir);
      ++counters_.from_disk;
      return true;
    }
  } catch (const Error&) {
    // One of its files cannot be read.
  } catch (const cl::Error&) {
    // The driver refuses its own binary: built from source instead, and rewritten.
  }
  // Another process may have removed it since: then nothing was wrong with it.
  counters_.binaries_refused += fs::exists(dir, error);
  return false;
}

void ProgramCache::store(const KernelSource& source, const std::string& options, Entry& entry) {
  entry.stored = true;  // one attempt a process, whatever comes of it
  try {
    const std::string binary = binary_of(entry.program, device_);
    if (binary.empty()) return;
    disk_->store_program(key(source, options), {{"source.cl", source.text},
                                                {"options.txt", options + "\n"},
                                                {"build.log", build_log(entry.program, device_)},
                                                {"program.bin", binary},
                                                {"device.txt", device_text(info_, binary)}});
  } catch (const std::exception& error) {
    // Only speed is lost; the reason is kept for whoever asks.
    if (counters_.writes_failed++ == 0) counters_.write_error = error.what();
  }
}

nlohmann::json to_json(const ProgramCache::Counters& counters) {
  return {{"built", counters.built},
          {"from_disk", counters.from_disk},
          {"from_memory", counters.from_memory},
          {"binaries_refused", counters.binaries_refused},
          {"writes_failed", counters.writes_failed},
          {"write_error", counters.write_error}};
}

}  // namespace clam
