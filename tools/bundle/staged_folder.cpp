// SPDX-License-Identifier: MIT
// staged_folder.cpp - a folder that is either whole or not there.
#include <fcntl.h>
#include <fmt/core.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "bundle.hpp"
#include "clam/error.hpp"
#include "runtime/refuse.hpp"

namespace clam {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTemporary = ".tmp.";

void sync_folder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

std::string path_in(const std::string& folder, const std::string& file) {
  return (fs::path(folder) / file).string();
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

StagedFolder::StagedFolder(const std::string& target, bool force, const char* known_by)
    : target_(without_slash(target)), known_by_(known_by) {
  std::error_code error;
  if (fs::exists(target_, error)) {
    throw_if(!force, "{} is there already; --force replaces it", target_);
    throw_if(!fs::exists(fs::path(target_) / known_by_, error),
             "{} has no {}, so it is not replaced: name another folder", target_, known_by_);
  }
  path_ = target_ + kTemporary + "XXXXXX";
  if (!::mkdtemp(path_.data())) {
    const std::string why = std::strerror(errno);
    const fs::path above = fs::absolute(target_).parent_path();
    if (fs::exists(above, error)) throw IoError(fmt::format("cannot write {}: {}", target_, why));
    throw IoError(
        fmt::format("cannot write {}: make the folder {} first", target_, above.string()));
  }
  passing_.emplace(fs::absolute(path_).string());
  ::chmod(path_.c_str(), 0755);
}

StagedFolder::~StagedFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

void StagedFolder::clear() {
  for (const auto& entry : fs::directory_iterator(path_)) fs::remove_all(entry.path());
}

/// A bundle that is there steps aside first and goes last: whatever happens between, one is whole.
void StagedFolder::publish() {
  sync_folder(path_);
  std::error_code error, ignored;
  const std::string old = path_ + ".old";
  const auto held = hold_end();
  const bool replaces = fs::exists(fs::path(target_) / known_by_, error);
  if (replaces) fs::rename(target_, old, error);
  if (!error) fs::rename(path_, target_, error);
  if (error) {
    if (replaces) fs::rename(old, target_, ignored);
    throw IoError(fmt::format("cannot write {}: {}", target_, error.message()));
  }
  path_.clear();
  sync_folder(fs::absolute(target_).parent_path().string());
  if (replaces) fs::remove_all(old, ignored);
}

std::vector<std::string> bundles_for(const char* command, const std::vector<std::string>& folders,
                                     const std::string& all) {
  throw_if(folders.empty() == all.empty(), "{} what? Give bundles, or --all FOLDER, one of the two",
           command);
  if (all.empty()) return folders;
  std::error_code error;
  if (!fs::is_directory(all, error)) throw BadArgument(all + " is no folder");
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(all)) {
    // What a process that was killed has left is none.
    if (entry.path().filename().string().find(kTemporary) != std::string::npos) continue;
    if (fs::exists(entry.path() / "case.json", error)) found.push_back(entry.path().string());
  }
  throw_if(found.empty() && fs::exists(fs::path(all) / "case.json", error),
           "{0} is a bundle itself: clam {1} {0}", all, command);
  if (found.empty()) throw BadArgument(all + " has no bundles in it");
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace clam
