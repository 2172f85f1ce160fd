// SPDX-License-Identifier: MIT
// The folder of built programs: its bound, who goes first, several processes, and what is not ours.
#include "runtime/cache_folder.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>

#include "clam/error.hpp"
#include "runtime/atomic_file.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace {

int lock_error = 0;  ///< what flock() fails with here; 0: it does its work

}  // namespace

/// In place of the C library's, as the linker takes the first one that it finds.
extern "C" int flock(int file, int operation) noexcept {
  if (lock_error == 0) return static_cast<int>(::syscall(SYS_flock, file, operation));
  errno = lock_error;
  return -1;
}

namespace clam {
namespace {

struct LocksFail {
  explicit LocksFail(int error) { lock_error = error; }
  ~LocksFail() { lock_error = 0; }
};

namespace fs = std::filesystem;

constexpr std::int64_t kEntry = 3 * 4096;  ///< a folder and two files that fill a block each
constexpr auto kForEver = std::chrono::hours(1000);

std::string hash(int i) { return fmt::format("{:032x}", i); }

CacheFolder::Files files(int i) {
  return {{"source.cl", "source " + hash(i)},
          {"program.bin", std::string(4000, char('a' + i % 26))}};
}

/// As if the entry had last been used so many seconds after the epoch.
void set_used(const std::string& path, int seconds) {
  const struct timespec times[] = {{seconds, 0}, {seconds, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW), 0) << path;
}

int mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return static_cast<int>(status.st_mode & 07777);
}

class cache_folder : public testing::Test {
 protected:
  CacheFolder of(std::int64_t limit) const { return {dir_, limit, kForEver}; }
  /// Stores programs 0..count-1, each used a second after the one before.
  CacheFolder filled(int count, std::int64_t limit) const {
    CacheFolder folder = of(limit);
    for (int i = 0; i < count; ++i) {
      folder.store_program(hash(i), files(i));
      set_used(folder.program(hash(i)), 1000 + i);
    }
    return folder;
  }
  std::vector<int> programs() const {
    std::vector<int> there;
    for (int i = 0; i < 100; ++i) {
      if (fs::exists(dir_ + "/" + hash(i))) there.push_back(i);
    }
    return there;
  }

  test::TemporaryFolder scratch_;
  const std::string dir_ = scratch_.file("cache");
};

TEST_F(cache_folder, keeps_what_it_is_given) {
  CacheFolder folder = filled(2, 10 * kEntry);
  folder.store_listing(hash(7), "a listing");
  EXPECT_EQ(read_file(folder.program(hash(1)) + "/source.cl"), "source " + hash(1));
  EXPECT_EQ(read_file(folder.listing(hash(7))), "a listing");
  const CacheFolder::Contents contents = folder.contents();
  EXPECT_EQ(contents.programs, 2);
  EXPECT_EQ(contents.listings, 1);
  EXPECT_EQ(contents.bytes, 2 * kEntry + 4096);
}

TEST_F(cache_folder, an_entry_is_replaced) {
  CacheFolder folder = filled(1, 10 * kEntry);
  folder.store_program(hash(0), {{"source.cl", "another"}});
  EXPECT_EQ(read_file(folder.program(hash(0)) + "/source.cl"), "another");
  EXPECT_FALSE(fs::exists(folder.program(hash(0)) + "/program.bin"));
}

TEST_F(cache_folder, without_a_name_nothing_is_kept) {
  CacheFolder folder("", 10 * kEntry, kForEver);
  folder.store_program(hash(0), files(0));
  folder.store_listing(hash(0), "a listing");
  folder.trim();
  EXPECT_EQ(folder.contents().entries() + folder.clear().entries(), 0);
}

// ---- the bound ----

TEST_F(cache_folder, what_was_used_least_recently_goes_first) {
  CacheFolder folder = filled(8, 8 * kEntry);
  EXPECT_EQ(programs().size(), 8u);
  set_used(folder.program(hash(0)), 2000);
  folder.mark_used(folder.program(hash(2)));
  folder.store_program(hash(8), files(8));
  // An eighth more than needed is made free: of nine, two go.
  EXPECT_EQ(programs(), (std::vector<int>{0, 2, 4, 5, 6, 7, 8}));
}

TEST_F(cache_folder, listings_and_programs_share_the_bound) {
  CacheFolder folder = filled(2, 3 * kEntry);
  for (int i = 0; i < 3; ++i) {
    folder.store_listing(hash(i), std::string(4000, 'x'));
    set_used(folder.listing(hash(i)), 900 + i);
  }
  EXPECT_EQ(folder.contents().entries(), 5);
  folder.store_listing(hash(3), "newest");
  EXPECT_EQ(programs(), (std::vector<int>{0, 1}));
  EXPECT_FALSE(fs::exists(folder.listing(hash(0)))) << "the oldest of all";
  EXPECT_TRUE(fs::exists(folder.listing(hash(3))));
  EXPECT_LE(folder.contents().bytes, folder.limit());
}

TEST_F(cache_folder, the_bound_holds_at_every_moment) {
  CacheFolder folder = of(5 * kEntry + 1);
  for (int i = 0; i < 40; ++i) {
    folder.store_program(hash(i % 13), files(i % 13));
    EXPECT_LE(folder.contents().bytes, folder.limit());
    EXPECT_GE(folder.contents().programs, 1);
  }
}

TEST_F(cache_folder, what_is_larger_than_the_limit_is_not_kept) {
  CacheFolder folder = filled(2, 3 * kEntry);
  folder.store_program(hash(9), {{"program.bin", std::string(4 * kEntry, 'x')}});
  EXPECT_EQ(programs(), (std::vector<int>{0, 1}));
  folder.store_listing(hash(9), std::string(4 * kEntry, 'x'));
  EXPECT_EQ(folder.contents().listings, 0);
}

TEST_F(cache_folder, a_limit_of_nothing_keeps_nothing) {
  filled(3, 8 * kEntry);
  CacheFolder none = of(0);
  none.store_program(hash(9), files(9));
  EXPECT_EQ(none.contents().bytes, 0);
  EXPECT_EQ(programs(), std::vector<int>());
}

TEST_F(cache_folder, a_lower_limit_holds_from_the_next_start_on) {
  filled(8, 8 * kEntry);
  of(4 * kEntry).trim();
  EXPECT_EQ(programs(), (std::vector<int>{5, 6, 7}));
}

TEST_F(cache_folder, a_folder_that_was_never_counted_is) {
  filled(8, 8 * kEntry);
  fs::remove(dir_ + "/.clam-cache");
  of(8 * kEntry).trim();
  EXPECT_EQ(programs().size(), 8u);
  fs::remove(dir_ + "/.clam-cache");
  of(4 * kEntry).trim();
  EXPECT_EQ(programs(), (std::vector<int>{5, 6, 7}));
}

TEST_F(cache_folder, a_number_that_a_crash_left_wrong_is_counted_anew) {
  CacheFolder folder = filled(4, 8 * kEntry);
  // As when a process ends between the number and its entry, or the number is half written.
  for (const char* number : {"999999999 bytes\n", "", "12", "-5 bytes\n", "\0\0\0\0", "a b c"}) {
    write_file(dir_ + "/.clam-cache", number);
    folder.store_program(hash(3), files(3));
    EXPECT_EQ(programs(), (std::vector<int>{0, 1, 2, 3})) << number;
    EXPECT_EQ(read_file(dir_ + "/.clam-cache"), fmt::format("{} bytes\n", 5 * kEntry));
  }
}

// ---- what is not ours ----

TEST_F(cache_folder, only_entries_are_ever_removed) {
  CacheFolder folder = filled(3, 8 * kEntry);
  const test::TemporaryFolder outside;
  write_file(outside.file("program.bin"), "of somebody else");
  const std::string left[] = {dir_ + "/notes.txt",
                              dir_ + "/" + hash(50) + "/my.txt",
                              dir_ + "/" + hash(51) + "/program.bin/x",
                              dir_ + "/other/source.cl",
                              dir_ + "/" + hash(52),
                              dir_ + "/mali/notes.txt",
                              dir_ + "/" + hash(53) + ".abcdef/my.txt"};
  for (const std::string& path : left) {
    make_folder(fs::path(path).parent_path().string());
    write_file(path, "mine");
  }
  fs::create_directory_symlink(outside.path(), dir_ + "/" + hash(54));
  fs::create_directory(dir_ + "/" + hash(55));
  fs::create_symlink(outside.file("program.bin"), dir_ + "/" + hash(55) + "/program.bin");
  fs::create_symlink(outside.file("program.bin"), dir_ + "/mali/" + hash(56) + ".txt");
  EXPECT_EQ(folder.contents().entries(), 3);
  EXPECT_EQ(folder.clear().programs, 3);
  EXPECT_EQ(folder.contents().bytes, 0);
  EXPECT_THROWS_SAYING(folder.store_program(hash(54), files(54)), IoError, "cannot write");
  EXPECT_THROWS_SAYING(folder.store_program(hash(50), files(50)), IoError, "cannot write");
  of(0).store_program(hash(60), files(60));
  for (const std::string& path : left) EXPECT_EQ(read_file(path), "mine") << path;
  EXPECT_EQ(read_file(outside.file("program.bin")), "of somebody else");
  for (const int i : {54, 55}) EXPECT_TRUE(fs::exists(dir_ + "/" + hash(i))) << i;
  EXPECT_TRUE(fs::is_symlink(dir_ + "/mali/" + hash(56) + ".txt"));
}

TEST_F(cache_folder, a_link_in_the_place_of_the_listings_is_not_followed) {
  const test::TemporaryFolder outside;
  write_file(outside.file(hash(0) + ".txt"), "of somebody else");
  write_file(outside.file(hash(0) + ".txt.abcdef"), "of somebody else");
  fs::create_directory(dir_);
  fs::create_directory_symlink(outside.path(), dir_ + "/mali");
  CacheFolder folder = of(kEntry);
  EXPECT_THROWS_SAYING(folder.store_listing(hash(1), "a listing"), IoError, "cannot write in");
  folder.trim();
  EXPECT_EQ(folder.clear().entries(), 0);
  EXPECT_TRUE(fs::exists(outside.file(hash(0) + ".txt")));
  EXPECT_TRUE(fs::exists(outside.file(hash(0) + ".txt.abcdef")));
}

TEST_F(cache_folder, a_link_in_the_place_of_the_lock_is_not_followed) {
  const test::TemporaryFolder outside;
  write_file(outside.file("file"), "of somebody else");
  fs::create_directory(dir_);
  fs::create_symlink(outside.file("file"), dir_ + "/.clam-cache");
  EXPECT_THROWS_SAYING(of(kEntry).store_program(hash(0), files(0)), IoError, "cannot write in");
  EXPECT_EQ(read_file(outside.file("file")), "of somebody else");
}

TEST_F(cache_folder, what_a_crash_left_is_removed) {
  CacheFolder folder = filled(1, 8 * kEntry);
  const std::string left[] = {dir_ + "/" + hash(5) + ".Ab12Cd/source.cl",
                              dir_ + "/" + hash(5) + ".Ab12Cd/program.bin.x1y2z3",
                              dir_ + "/" + hash(6) + ".remove/source.cl",
                              dir_ + "/mali/" + hash(5) + ".txt.Ab12Cd"};
  for (const std::string& path : left) {
    make_folder(fs::path(path).parent_path().string());
    write_file(path, "half");
  }
  EXPECT_EQ(folder.contents().entries(), 1) << "half of an entry is none";
  fs::remove(dir_ + "/.clam-cache");
  folder.trim();
  for (const std::string& path : left) EXPECT_FALSE(fs::exists(path)) << path;
  EXPECT_FALSE(fs::exists(fs::path(left[0]).parent_path()));
  EXPECT_EQ(programs(), std::vector<int>{0});
}

TEST_F(cache_folder, an_entry_that_a_crash_left_half_removed_goes_with_the_next) {
  CacheFolder folder = filled(2, 8 * kEntry);
  const std::string left = folder.program(hash(1)) + ".remove";
  make_folder(left);
  write_file(left + "/source.cl", "half");
  EXPECT_EQ(folder.clear().programs, 2);
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(cache_folder, what_is_not_ours_in_the_place_of_a_removed_entry_stays) {
  const test::TemporaryFolder outside;
  write_file(outside.file("source.cl"), "of somebody else");
  CacheFolder folder = filled(1, 8 * kEntry);
  const std::string aside = folder.program(hash(0)) + ".remove";
  fs::create_directory_symlink(outside.path(), aside);
  EXPECT_THROWS_SAYING(folder.clear(), IoError, "cannot remove");
  EXPECT_TRUE(fs::exists(outside.file("source.cl")));
  fs::remove(aside);
  make_folder(aside);
  write_file(aside + "/letter.txt", "of somebody else");
  EXPECT_THROWS_SAYING(folder.clear(), IoError, "cannot remove");
  EXPECT_TRUE(fs::exists(aside + "/letter.txt"));
  EXPECT_EQ(programs(), std::vector<int>{0});
}

TEST_F(cache_folder, clear_empties_it) {
  CacheFolder folder = filled(3, 8 * kEntry);
  folder.store_listing(hash(1), "a listing");
  fs::remove(folder.program(hash(1)) + "/program.bin");  // damaged
  const CacheFolder::Contents removed = folder.clear();
  EXPECT_EQ(removed.programs, 3);
  EXPECT_EQ(removed.listings, 1);
  EXPECT_EQ(folder.contents().entries(), 0);
  int left = 0;
  for (const auto& file : fs::directory_iterator(dir_))
    left += file.path() != dir_ + "/.clam-cache";
  EXPECT_EQ(left, 0);
  folder.store_program(hash(4), files(4));
  EXPECT_EQ(programs(), std::vector<int>{4});
}

// ---- rights ----

TEST_F(cache_folder, folders_are_for_their_owner_alone) {
  const ::mode_t before = ::umask(0);
  CacheFolder folder(scratch_.file("a/b/cache"), 8 * kEntry, kForEver);
  folder.store_program(hash(0), files(0));
  folder.store_listing(hash(0), "a listing");
  ::umask(before);
  for (const char* made : {"a", "a/b", "a/b/cache", "a/b/cache/mali"}) {
    EXPECT_EQ(mode_of(scratch_.file(made)), 0700) << made;
  }
  EXPECT_EQ(mode_of(folder.program(hash(0))), 0700);
  EXPECT_EQ(mode_of(folder.dir() + "/.clam-cache"), 0600);
}

/// Runs `work` in a process of its own and gives its exit code: 1 after an exception, else work's.
int in_process(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      ::_exit(work());
    } catch (...) {
      ::_exit(1);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_F(cache_folder, a_folder_that_cannot_be_written_is_still_read) {
  filled(2, 8 * kEntry);
  fs::permissions(scratch_.path(), fs::perms(0755));
  fs::permissions(dir_, fs::perms(0555));
  const auto work = [&] {
    // Nobody may write what is root's; others may not either, for want of the right.
    if (::geteuid() == 0 && ::setuid(65534) != 0) return 2;
    CacheFolder folder = of(0);
    folder.trim();
    folder.mark_used(folder.program(hash(0)));
    if (folder.contents().programs != 2) return 3;
    for (const bool clears : {false, true}) {
      try {
        clears ? (void)folder.clear() : folder.store_program(hash(9), files(9));
        return 4;
      } catch (const IoError& error) {
        if (std::string(error.what()).find("cannot write in " + dir_) != 0) return 5;
      }
    }
    return 0;
  };
  fs::permissions(dir_ + "/" + hash(0), fs::perms(0755));
  fs::permissions(dir_ + "/" + hash(1), fs::perms(0755));
  EXPECT_EQ(in_process(work), 0);
  fs::permissions(dir_, fs::perms(0700));
  EXPECT_EQ(programs(), (std::vector<int>{0, 1}));
}

// ---- several processes ----

TEST_F(cache_folder, a_lock_that_stays_is_waited_for_once) {
  filled(1, 8 * kEntry);
  const int other = ::open((dir_ + "/.clam-cache").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  CacheFolder folder(dir_, 8 * kEntry, std::chrono::seconds(0));
  EXPECT_THROWS_SAYING(folder.store_program(hash(1), files(1)), IoError,
                       "another process holds " + dir_ + "/.clam-cache");
  folder.trim();
  EXPECT_EQ(folder.contents().programs, 1) << "what can be seen without the lock";
  CacheFolder patient(dir_, 8 * kEntry, std::chrono::seconds(1));
  EXPECT_THROWS_SAYING(patient.store_program(hash(1), files(1)), IoError, "another process holds");
  EXPECT_EQ(patient.patience(), std::chrono::seconds(0)) << "a second time it is not waited for";
  ::close(other);
  patient.store_program(hash(1), files(1));
  EXPECT_EQ(programs(), (std::vector<int>{0, 1}));
}

TEST_F(cache_folder, a_file_system_without_locks_keeps_it_too) {
  const LocksFail fail(ENOLCK);
  filled(2, 2 * kEntry);
  CacheFolder folder(dir_, 2 * kEntry, std::chrono::seconds(0));
  folder.store_program(hash(2), files(2));
  EXPECT_EQ(programs().size(), 1u) << "an eighth more than asked for goes";
  EXPECT_EQ(folder.clear().programs, 1);
}

TEST_F(cache_folder, a_lock_that_fails_otherwise_is_an_error) {
  filled(1, 8 * kEntry);
  const LocksFail fail(EIO);
  EXPECT_THROWS_SAYING(of(8 * kEntry).store_program(hash(1), files(1)), IoError, "cannot lock");
}

/// Stores, marks and reads entries; what it reads must be whole, or gone.
int use(CacheFolder folder, int from) {
  for (int step = 0; step < 24; ++step) {
    const int i = (from + 7 * step) % 40;
    if (step % 3 == 0) folder.store_listing(hash(i), "a listing of " + hash(i));
    folder.store_program(hash(i), files(i));
    const int other = (i + 11) % 40;
    folder.mark_used(folder.program(hash(other)));
    if (folder.contents().bytes > folder.limit()) return 2;
    if (from == 9 && step == 12) folder.clear();
    for (const auto& [name, text] : files(other)) {
      try {
        if (read_file(folder.program(hash(other)) + "/" + name) != text) return 3;
      } catch (const BadArgument&) {
        // Another process removed it.
      }
    }
  }
  return 0;
}

TEST_F(cache_folder, four_processes_at_once_keep_the_bound_and_every_entry_whole) {
  CacheFolder folder = of(20 * kEntry);
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    children.push_back(::fork());
    if (children.back() == 0) {
      int code = 1;
      try {
        code = use(folder, 9 * child);
      } catch (...) {
      }
      ::_exit(code);
    }
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << "exit code " << WEXITSTATUS(status);
  }
  EXPECT_LE(folder.contents().bytes, folder.limit());
  for (const int i : programs()) {
    for (const auto& [name, text] : files(i)) {
      EXPECT_EQ(read_file(folder.program(hash(i)) + "/" + name), text);
    }
  }
  for (const auto& file : fs::directory_iterator(dir_)) {
    const std::string name = file.path().filename().string();
    EXPECT_TRUE(name.size() == 32 || name == ".clam-cache" || name == "mali") << name;
  }
}

/// A process that is killed while it stores leaves nothing that anybody takes for an entry.
TEST_F(cache_folder, a_killed_process_leaves_no_half_entry) {
  CacheFolder folder = of(20 * kEntry);
  for (int kill_at = 0; kill_at < 8; ++kill_at) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (int i = 0;; ++i) folder.store_program(hash(i % 30), files(i % 30));
    }
    int status = 0;
    while (!fs::exists(folder.program(hash(kill_at)))) {
      ASSERT_EQ(::waitpid(child, &status, WNOHANG), 0) << "it ended by itself";
      ::usleep(100);
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    EXPECT_LE(folder.contents().bytes, folder.limit());
    for (const int i : programs()) {
      for (const auto& [name, text] : files(i)) {
        EXPECT_EQ(read_file(folder.program(hash(i)) + "/" + name), text);
      }
    }
    folder.clear();
    int left = 0;
    for (const auto& file : fs::directory_iterator(dir_)) {
      left += file.path() != dir_ + "/.clam-cache";
    }
    EXPECT_EQ(left, 0);
  }
}

// ---- the limit ----

TEST(cache_limit, is_128_megabytes_unless_the_environment_says) {
  const char* variable = std::getenv("CLAM_CACHE_MB");
  const std::string before = variable ? variable : "";
  ::unsetenv("CLAM_CACHE_MB");
  EXPECT_EQ(ProgramCache::limit_from_environment(), 128000000);
  const auto limit_of = [](const char* text) {
    ::setenv("CLAM_CACHE_MB", text, 1);
    return ProgramCache::limit_from_environment();
  };
  EXPECT_EQ(limit_of(""), 128000000);
  EXPECT_EQ(limit_of("0"), 0);
  EXPECT_EQ(limit_of("12"), 12000000);
  EXPECT_EQ(limit_of("1000000"), 1000000000000);
  for (const char* text : {"x", "12MB", "-1", "1.5", " 1", "1000001", "99999999999999999999"}) {
    EXPECT_THROWS_SAYING(
        limit_of(text), BadArgument,
        fmt::format("CLAM_CACHE_MB='{}': needs a whole number of megabytes, 0 ", text));
  }
  ::setenv("CLAM_CACHE_MB", before.c_str(), 1);
}

}  // namespace
}  // namespace clam
