// SPDX-License-Identifier: MIT
// cache_folder.hpp - the folder of what can be built again: programs, and listings of `clam mali`.
//
//     HASH/            a program: a folder of files, see program_cache.hpp
//     mali/HASH.txt    a listing
//     .clam-cache      the lock of whoever writes, and a bound of the bytes that lie here
//
// Its size is bounded: before an entry is written, those that were used least recently go, until
// there is room. The mark of use is the time of the last change of HASH/ or HASH.txt. A
// reader sets it, so file systems need not keep a time of access.
//
// Any number of processes may use it. Whoever writes or removes holds the lock, so what lies here
// half-written under the lock was left by a crash, and is removed. Readers take no lock: an entry
// appears and goes by a rename, whole. Only what has the form of an entry is ever removed, and no
// symbolic link is followed.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace clam {

class CacheFolder {
 public:
  static constexpr std::int64_t kMegabyte = 1000000;

  /// What lies there, in bytes of blocks of 4 KiB, as it fills a disk.
  struct Contents {
    int programs = 0, listings = 0;
    std::int64_t bytes = 0;
    int entries() const { return programs + listings; }
  };
  /// Name and text of each file of an entry.
  using Files = std::vector<std::pair<std::string, std::string>>;

  /// `dir` empty: nothing is kept. `patience`: how long a lock that somebody else holds is waited
  /// for; once in vain, it is waited for no more.
  CacheFolder(std::string dir, std::int64_t limit,
              std::chrono::seconds patience = std::chrono::seconds(10));

  const std::string& dir() const { return dir_; }
  std::int64_t limit() const { return limit_; }
  std::chrono::seconds patience() const { return patience_; }
  /// Where the program or the listing of this hash lies.
  std::string program(const std::string& hash) const;
  std::string listing(const std::string& hash) const;

  Contents contents() const;
  /// Notes that an entry, given by its path, was of use just now.
  void mark_used(const std::string& path) const;
  /// Writes an entry, in place of what it had before. One that is larger than the limit is not
  /// kept. Throws IoError with one sentence.
  void store_program(const std::string& hash, const Files& files);
  void store_listing(const std::string& hash, const std::string& text);
  /// Makes room where more than the limit lies there; without the rights to do so, does nothing.
  void trim();
  /// Removes all entries, and says what it removed. Throws IoError when one stays.
  Contents clear();

 private:
  class Lock;
  bool make_room(Lock& lock, std::int64_t bytes) const;
  Lock locked();

  std::string dir_;
  std::int64_t limit_;
  std::chrono::seconds patience_;
};

/// The folder, and those above it, unless they are there: for their owner alone. Throws IoError.
void make_private_folder(const std::string& path);

}  // namespace clam
