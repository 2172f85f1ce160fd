// SPDX-License-Identifier: MIT
#include "cache_folder.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <thread>
#include <tuple>

#include "atomic_file.hpp"
#include "refuse.hpp"

namespace clam {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kBlock = 4096;
constexpr const char* kLockFile = ".clam-cache";
constexpr const char* kListings = "mali";
constexpr const char* kListing = ".txt";
constexpr const char* kTemporary = ".XXXXXX";
constexpr const char* kRemoved = ".remove";  // as long: what a crash leaves of it is a left-over

// ---- what is ours ----

bool is_hash(std::string_view name) {
  return name.size() == 32 && name.find_first_not_of("0123456789abcdef") == name.npos;
}

bool is_file_of_entry(std::string_view name) {
  constexpr std::string_view kNames[] = {"source.cl", "options.txt", "device.txt", "build.log",
                                         "program.bin"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

/// The name that a temporary one is made of, or nothing where it is none.
std::string_view final_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot != name.npos && name.size() - dot == std::strlen(kTemporary) ? name.substr(0, dot)
                                                                          : "";
}

bool is_listing(std::string_view name) {
  constexpr std::size_t kHash = 32;
  return is_hash(name.substr(0, kHash)) && name.substr(kHash) == kListing;
}

// ---- what lies there ----

struct Entry {
  fs::path path;
  bool is_program;
  std::int64_t bytes;
  struct timespec used;

  bool operator<(const Entry& other) const {
    return std::tie(used.tv_sec, used.tv_nsec, path) <
           std::tie(other.used.tv_sec, other.used.tv_nsec, other.path);
  }
};

std::int64_t in_blocks(std::int64_t bytes) { return (bytes + kBlock - 1) / kBlock * kBlock; }

/// What is in a folder; nothing in one that is not there or cannot be read.
std::vector<fs::path> children(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  fs::directory_iterator at(folder, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    paths.push_back(at->path());
  }
  return paths;
}

/// Of the thing itself, where it is a symbolic link.
std::optional<struct stat> status_of(const fs::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

std::optional<Entry> file_at(const fs::path& path) {
  const auto status = status_of(path);
  if (!status || !S_ISREG(status->st_mode)) return std::nullopt;
  return Entry{path, false, in_blocks(status->st_size), status->st_mtim};
}

/// A folder with nothing in it but the files of an entry, whole or not.
std::optional<Entry> folder_at(const fs::path& path) {
  const auto status = status_of(path);
  if (!status || !S_ISDIR(status->st_mode)) return std::nullopt;
  Entry entry{path, true, kBlock, status->st_mtim};
  for (const fs::path& child : children(path)) {
    const std::string name = child.filename().string();
    const auto file = file_at(child);
    if (!file || !(is_file_of_entry(name) || is_file_of_entry(final_name(name)))) return {};
    entry.bytes += file->bytes;
  }
  return entry;
}

/// What is in the folder of listings; nothing where a symbolic link leads elsewhere.
std::vector<fs::path> listings_in(const fs::path& dir) {
  const auto status = status_of(dir / kListings);
  return status && S_ISDIR(status->st_mode) ? children(dir / kListings) : std::vector<fs::path>();
}

/// The entries; or else what was to become one, or had been one.
std::vector<Entry> find_entries(const fs::path& dir, bool left_overs = false) {
  std::vector<Entry> entries;
  const auto add = [&](const fs::path& path, auto is_name, auto entry_at) {
    const std::string name = path.filename().string();
    if (!is_name(left_overs ? final_name(name) : name)) return;
    if (const std::optional<Entry> entry = entry_at(path)) entries.push_back(*entry);
  };
  for (const fs::path& path : children(dir)) add(path, is_hash, folder_at);
  for (const fs::path& path : listings_in(dir)) add(path, is_listing, file_at);
  return entries;
}

CacheFolder::Contents sum_of(const std::vector<Entry>& entries) {
  CacheFolder::Contents sum;
  for (const Entry& entry : entries) {
    ++(entry.is_program ? sum.programs : sum.listings);
    sum.bytes += entry.bytes;
  }
  return sum;
}

// ---- removing ----

[[noreturn]] void fail(const std::string& what, const fs::path& path, int error) {
  throw IoError(fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(error)));
}

/// Returns whether it is gone; errno says why not.
bool remove_folder(const fs::path& folder) {
  for (const fs::path& file : children(folder)) ::unlink(file.c_str());
  return ::rmdir(folder.c_str()) == 0 || errno == ENOENT;
}

/// A reader finds a program whole or not at all: it goes in one step, and is removed then. What
/// somebody removed by hand meanwhile is gone as well. Nothing is made, so a full disk can be
/// emptied.
void remove_entry(const Entry& entry) {
  if (!entry.is_program) {
    if (::unlink(entry.path.c_str()) != 0 && errno != ENOENT) fail("remove", entry.path, errno);
    return;
  }
  const std::string aside = entry.path.string() + kRemoved;
  if (folder_at(aside)) remove_folder(aside);  // of a crash; rename refuses what is not ours
  if (::rename(entry.path.c_str(), aside.c_str()) != 0) {
    if (errno != ENOENT) fail("remove", entry.path, errno);
    return;
  }
  if (!remove_folder(aside)) fail("remove", aside, errno);
}

/// What a process left that ended while it wrote or removed. Under the lock there is no other.
void remove_left_overs(const fs::path& dir) {
  for (const Entry& entry : find_entries(dir, true)) {
    if (entry.is_program) {
      remove_folder(entry.path);
    } else {
      ::unlink(entry.path.c_str());
    }
  }
}

}  // namespace

// ---- the lock ----

/// Held from construction to destruction, by one process and one thread.
class CacheFolder::Lock {
 public:
  enum class Kind { write, read };

  Lock(const std::string& dir, Kind kind, std::chrono::milliseconds patience) {
    const int flags = kind == Kind::write ? O_RDWR | O_CREAT : O_RDONLY;
    const std::string path = (fs::path(dir) / kLockFile).string();
    file_ = ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file_ < 0) fail("write in", dir, errno);
    const auto end = std::chrono::steady_clock::now() + patience;
    while (::flock(file_, (kind == Kind::write ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0) {
      const int error = errno;
      // Some file systems know no locks, such as NFS without its lock service. Entries are renamed
      // into their places there too, so a reader finds them whole; the bound may be missed for a
      // while.
      if (error == ENOLCK || error == EOPNOTSUPP || error == ENOSYS || error == EINVAL) return;
      const bool is_held = error == EWOULDBLOCK || error == EINTR;
      if (is_held && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        continue;
      }
      ::close(file_);
      throw_if<IoError>(is_held, "cannot write in {}: another process holds {}", dir, path);
      fail("lock", path, error);
    }
  }
  ~Lock() { ::close(file_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  /// At least the bytes that lie there; nothing where nobody has counted, or a crash left no
  /// number.
  std::optional<std::int64_t> tally() const {
    char text[32];
    const ssize_t length = ::pread(file_, text, sizeof text, 0);
    std::int64_t bytes = 0;
    const char* const end = text + std::max<ssize_t>(length, 0);
    const auto [stop, error] = std::from_chars(text, end, bytes);
    const bool whole = error == std::errc() && std::string_view(stop, end - stop) == " bytes\n";
    return whole && bytes >= 0 ? std::optional(bytes) : std::nullopt;
  }
  /// Written before the entry that it counts: a crash in between leaves too high a bound, never one
  /// too low.
  void set_tally(std::int64_t bytes) {
    const std::string text = fmt::format("{} bytes\n", bytes);
    const auto length = static_cast<ssize_t>(text.size());
    if (::ftruncate(file_, 0) != 0 || ::pwrite(file_, text.data(), text.size(), 0) != length) {
      throw IoError(fmt::format("cannot write {}: {}", kLockFile, std::strerror(errno)));
    }
  }

 private:
  int file_ = -1;
};

// ---- the folder ----

CacheFolder::CacheFolder(std::string dir, std::int64_t limit, std::chrono::seconds patience)
    : dir_(std::move(dir)), limit_(limit), patience_(patience) {}

std::string CacheFolder::program(const std::string& hash) const {
  return (fs::path(dir_) / hash).string();
}

std::string CacheFolder::listing(const std::string& hash) const {
  return (fs::path(dir_) / kListings / (hash + kListing)).string();
}

CacheFolder::Contents CacheFolder::contents() const {
  if (dir_.empty()) return {};
  std::optional<Lock> lock;
  try {
    lock.emplace(dir_, Lock::Kind::read, patience_);
  } catch (const IoError&) {
    // Nobody has written here, or its lock is not for us: what can be seen is counted.
  }
  return sum_of(find_entries(dir_));
}

void CacheFolder::mark_used(const std::string& path) const {
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

void CacheFolder::store_program(const std::string& hash, const Files& files) {
  if (dir_.empty()) return;
  std::int64_t bytes = kBlock;
  for (const auto& [name, text] : files) bytes += in_blocks(static_cast<std::int64_t>(text.size()));
  make_private_folder(dir_);
  Lock lock = locked();
  if (!make_room(lock, bytes)) return;
  const std::string target = program(hash);
  std::string temporary = target + kTemporary;
  if (!::mkdtemp(temporary.data())) fail("write in", fs::path(target).parent_path(), errno);
  try {
    for (const auto& [name, text] : files) write_file((fs::path(temporary) / name).string(), text);
    if (const auto old = folder_at(target)) remove_entry(*old);
    if (::rename(temporary.c_str(), target.c_str()) != 0) fail("write", target, errno);
  } catch (...) {
    remove_folder(temporary);
    throw;
  }
}

void CacheFolder::store_listing(const std::string& hash, const std::string& text) {
  if (dir_.empty()) return;
  const fs::path folder = fs::path(dir_) / kListings;
  make_private_folder(dir_);
  Lock lock = locked();
  make_private_folder(folder.string());  // under the lock, for clear() removes it
  if (fs::is_symlink(folder)) fail("write in", folder, ELOOP);
  if (!make_room(lock, in_blocks(static_cast<std::int64_t>(text.size())))) return;
  write_file(listing(hash), text);
}

void CacheFolder::trim() {
  std::error_code error;
  if (dir_.empty() || !fs::is_directory(dir_, error)) return;
  try {
    Lock lock(dir_, Lock::Kind::write, std::chrono::milliseconds(0));
    make_room(lock, 0);
  } catch (const IoError&) {
    // Whoever holds the lock sees to it, or the next who may write here.
  }
}

CacheFolder::Contents CacheFolder::clear() {
  std::error_code error;
  if (dir_.empty() || !fs::is_directory(dir_, error)) return {};
  Lock lock = locked();
  const std::vector<Entry> entries = find_entries(dir_);
  for (const Entry& entry : entries) remove_entry(entry);
  remove_left_overs(dir_);
  ::rmdir((fs::path(dir_) / kListings).c_str());
  lock.set_tally(0);
  return sum_of(entries);
}

CacheFolder::Lock CacheFolder::locked() {
  try {
    return Lock(dir_, Lock::Kind::write, patience_);
  } catch (const IoError&) {
    patience_ = patience_.zero();
    throw;
  }
}

/// False where `bytes` are more than the limit. Counting all takes long, so it is done when the
/// tally says so alone, and an eighth more than asked for is then made free.
bool CacheFolder::make_room(Lock& lock, std::int64_t bytes) const {
  const bool fits = bytes <= limit_;
  const std::int64_t wanted = fits ? bytes : 0;
  const std::optional<std::int64_t> tally = lock.tally();
  if (tally && *tally + wanted <= limit_) {
    if (wanted > 0) lock.set_tally(*tally + wanted);
    return fits;
  }
  remove_left_overs(dir_);
  std::vector<Entry> entries = find_entries(dir_);
  std::sort(entries.begin(), entries.end());
  std::int64_t there = sum_of(entries).bytes;
  const std::int64_t room = there + wanted > limit_ ? limit_ - limit_ / 8 : limit_;
  for (const Entry& entry : entries) {
    if (there + wanted <= room) break;
    remove_entry(entry);
    there -= entry.bytes;
  }
  lock.set_tally(there + wanted);
  return fits;
}

void make_private_folder(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return;
  const fs::path parent = fs::path(path).parent_path();
  if (!parent.empty() && parent != path) make_private_folder(parent.string());
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) fail("make the folder", path, errno);
  if (!fs::is_directory(path, error)) fail("make the folder", path, ENOTDIR);
}

}  // namespace clam
