// SPDX-License-Identifier: MIT
#include "clam/kernels.hpp"

#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "atomic_file.hpp"
#include "embedded.hpp"
#include "refuse.hpp"
#include "text.hpp"
#include "words.hpp"

namespace clam {
namespace {

bool is_file(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

/// The .cl files of a folder that have no embedded namesake: perhaps misspelt.
std::set<std::string> strangers(const std::string& dir) {
  std::set<std::string> names;
  if (dir.empty()) return names;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    const std::string name = entry.path().filename().string();
    const bool is_known = find_by_name(embedded_kernels(), name);
    if (entry.path().extension() == ".cl" && !is_known) names.insert(name);
  }
  return names;
}

/// Options files may end in a newline; a build option may not.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

std::string hash_text(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string KernelSource::hash() const {
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

std::vector<std::string> embedded_files() { return names_of(embedded_kernels()); }

KernelFiles::KernelFiles(std::string override_dir, std::string plan_dir)
    : override_dir_(std::move(override_dir)), plan_dir_(std::move(plan_dir)) {}

KernelFiles KernelFiles::from_environment() {
  const std::string dir = environment("CLAM_KERNEL_DIR");
  std::error_code error;
  throw_if(!dir.empty() && !std::filesystem::is_directory(dir, error),
           "CLAM_KERNEL_DIR={} is no folder", dir);
  return KernelFiles(dir);
}

KernelFiles KernelFiles::with_plan_dir(std::string plan_dir) const {
  return KernelFiles(override_dir_, std::move(plan_dir));
}

KernelSource KernelFiles::get(const std::string& file) const {
  for (const std::string& dir : {plan_dir_, override_dir_}) {
    const std::filesystem::path path = std::filesystem::path(dir) / file;
    if (dir.empty() || !is_file(path)) continue;
    const std::string options = std::filesystem::path(path).replace_extension(".options").string();
    return {file, read_file(path.string()), path.string(),
            is_file(options) ? one_line(read_file(options)) : ""};
  }
  if (const EmbeddedFile* embedded = find_by_name(embedded_kernels(), file)) {
    return {file, std::string(embedded->text), "embedded", ""};
  }
  const bool has_folder = file.find('/') != file.npos;
  throw BadArgument(
      fmt::format("kernel file '{}' is not embedded{}{}", file,
                  plan_dir_.empty() ? "" : " and not in " + plan_dir_,
                  override_dir_.empty() || has_folder ? "" : " and not in " + override_dir_));
}

std::vector<std::string> KernelFiles::overrides() const {
  std::vector<std::string> lines;
  for (const std::string& file : embedded_files()) {
    const KernelSource source = get(file);
    if (source.origin == "embedded") continue;
    lines.push_back(fmt::format("{}: {} {}{}{}", file, source.origin, source.hash(),
                                source.options.empty() ? "" : " options ", source.options));
  }
  for (const std::string& file : strangers(override_dir_)) {
    lines.push_back(fmt::format("{}: {}/{} replaces nothing, as no kernel file has this name", file,
                                override_dir_, file));
  }
  return lines;
}

}  // namespace clam
