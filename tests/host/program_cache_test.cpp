// SPDX-License-Identifier: MIT
#include "clam/program_cache.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "clam/error.hpp"
#include "foreign_plan.hpp"
#include "runtime/cache_folder.hpp"
#include "scripted.hpp"
#include "test_errors.hpp"

namespace clam {
namespace {

namespace fs = std::filesystem;

/// On the driver that the tests run on.
class program_cache_device : public testing::Test {
 protected:
  void SetUp() override { CLAM_NEEDS_DEVICE(); }

  ProgramCache cache() { return cache(folder_.file("cache")); }
  ProgramCache cache(const std::string& dir) {
    const Runtime& runtime = test::runtime();
    return {runtime.context(), runtime.queue().getInfo<CL_QUEUE_DEVICE>(), runtime.device(), dir};
  }
  /// Fills the cache and returns the entry's folder.
  std::string filled() {
    ProgramCache first = cache();
    first.kernel(source_, "", "scale");
    EXPECT_EQ(first.counters().built, 1);
    return first.entry_dir(source_, "");
  }

  test::TemporaryFolder folder_;
  KernelSource source_{"scale.cl", test::kScaleSource, "test", ""};
};

/// On the scripted device, which takes each binary that it gave, and counts.
class program_cache_scripted : public program_cache_device {
 protected:
  /// A second start builds `built` programs and takes the others from disk.
  void expect_second_start(int built, int refused) {
    const std::int64_t before = test::scripted::counts()["built from source"];
    ProgramCache second = cache();
    second.kernel(source_, "", "scale");
    EXPECT_EQ(second.counters().built, built);
    EXPECT_EQ(second.counters().from_disk, 1 - built);
    EXPECT_EQ(second.counters().binaries_refused, refused);
    EXPECT_EQ(test::scripted::counts()["built from source"] - before, built);
  }
};

/// Whatever the driver makes of its binary, the kernel is had.
TEST_F(program_cache_device, a_second_start_has_the_kernel) {
  const std::string entry = filled();
  ProgramCache second = cache();
  EXPECT_NO_THROW(second.kernel(source_, "", "scale"));
  EXPECT_EQ(second.counters().built + second.counters().from_disk, 1);
  EXPECT_EQ(second.counters().binaries_refused, fs::exists(entry) ? second.counters().built : 0);
}

TEST_F(program_cache_scripted, a_second_start_builds_nothing) {
  CLAM_ON_SCRIPTED_DEVICE();
  const std::string entry = filled();
  for (const char* file : {"source.cl", "options.txt", "device.txt", "build.log", "program.bin"}) {
    EXPECT_TRUE(fs::exists(entry + "/" + file)) << file;
  }
  EXPECT_EQ(read_file(entry + "/source.cl"), source_.text);
  expect_second_start(0, 0);
}

TEST_F(program_cache_device, the_same_program_is_built_once_in_a_process) {
  ProgramCache one = cache("");
  one.kernel(source_, "", "scale");
  one.kernel(source_, "", "reverse");
  EXPECT_EQ(one.counters().built, 1);
  EXPECT_EQ(one.counters().from_memory, 1);
  one.kernel(source_, "-DUNUSED=1", "scale");
  EXPECT_EQ(one.counters().built, 2);
}

TEST_F(program_cache_scripted, a_binary_that_the_driver_refuses_is_built_from_source) {
  CLAM_ON_SCRIPTED_DEVICE();
  filled();
  test::scripted::play(
      test::scripted::lying("clCreateProgramWithBinary", "refuse", {{"status", -42}}));
  expect_second_start(1, 1);
}

TEST_F(program_cache_scripted, damaged_entries_are_rebuilt_and_mended) {
  CLAM_ON_SCRIPTED_DEVICE();
  const std::string entry = filled();
  const std::string good = read_file(entry + "/program.bin");
  std::string flipped = good;
  flipped[flipped.size() / 2] ^= 1;
  for (const std::string& damaged :
       {std::string(), good.substr(0, good.size() / 2), flipped, std::string("x")}) {
    write_file(entry + "/program.bin", damaged);
    expect_second_start(1, 1);
    expect_second_start(0, 0);
  }
  for (const char* file : {"source.cl", "options.txt", "device.txt"}) {
    write_file(entry + "/" + file, "something else");
    expect_second_start(1, 1);
    fs::remove(entry + "/" + file);
    expect_second_start(1, 1);
    expect_second_start(0, 0);
  }
}

TEST_F(program_cache_scripted, an_entry_that_goes_while_it_is_read_is_built) {
  CLAM_ON_SCRIPTED_DEVICE();
  const std::string entry = filled();
  const std::string good = read_file(entry + "/program.bin");
  fs::remove(entry + "/program.bin");
  ASSERT_EQ(::mkfifo((entry + "/program.bin").c_str(), 0600), 0);
  // Opening a pipe waits for its reader: he is in the middle of the entry when it is removed.
  std::thread other([&] {
    const int pipe = ::open((entry + "/program.bin").c_str(), O_WRONLY | O_CLOEXEC);
    fs::remove_all(entry);
    EXPECT_EQ(::write(pipe, good.data(), good.size()), static_cast<ssize_t>(good.size()));
    ::close(pipe);
  });
  expect_second_start(1, 0);
  other.join();
  expect_second_start(0, 0);
}

TEST_F(program_cache_scripted, a_start_that_reads_an_entry_marks_it_as_used) {
  CLAM_ON_SCRIPTED_DEVICE();
  const std::string entry = filled();
  const struct timespec old[] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, entry.c_str(), old, 0), 0);
  expect_second_start(0, 0);
  struct stat status {};
  ASSERT_EQ(::stat(entry.c_str(), &status), 0);
  EXPECT_GT(status.st_mtim.tv_sec, 1000);
}

TEST_F(program_cache_scripted, the_folder_holds_no_more_than_its_limit) {
  CLAM_ON_SCRIPTED_DEVICE();
  const std::string entry = filled();
  const std::string dir = folder_.file("cache");
  // Room for two such programs, and not for three.
  const std::int64_t limit = CacheFolder(dir, 0).contents().bytes * 5 / 2;
  for (int i = 0; i < 4; ++i) {
    const Runtime& runtime = test::runtime();
    ProgramCache one(runtime.context(), runtime.queue().getInfo<CL_QUEUE_DEVICE>(),
                     runtime.device(), dir, limit);
    const std::string options = "-DUNUSED=" + std::to_string(i);
    one.kernel(source_, options, "scale");
    EXPECT_EQ(one.counters().writes_failed, 0) << one.counters().write_error;
    EXPECT_TRUE(fs::exists(one.entry_dir(source_, options))) << "the newest stays";
    EXPECT_LE(CacheFolder(dir, 0).contents().bytes, limit);
  }
  EXPECT_FALSE(fs::exists(entry));
}

TEST_F(program_cache_scripted, an_unwritable_folder_only_costs_speed) {
  CLAM_ON_SCRIPTED_DEVICE();
  write_file(folder_.file("file"), "a file where the folder should be");
  ProgramCache one = cache(folder_.file("file") + "/cache");
  EXPECT_NO_THROW(one.kernel(source_, "", "scale"));
  EXPECT_EQ(one.counters().writes_failed, 1);
  EXPECT_FALSE(one.counters().write_error.empty());
}

TEST_F(program_cache_device, no_half_written_entry_is_left) {
  filled();
  for (const auto& entry : fs::directory_iterator(folder_.file("cache"))) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(name.size() == 32 || name == ".clam-cache") << entry.path();
  }
}

TEST_F(program_cache_device, a_kernel_that_does_not_build_shows_log_file_and_options) {
  ProgramCache one = cache();
  const KernelSource broken{"broken.cl", "__kernel void broken(__global float* x) { *x = nosuch; }",
                            "test", ""};
  try {
    one.kernel(broken, "-DSOMETHING=1", "broken");
    FAIL() << "it builds";
  } catch (const BuildFailure& failure) {
    EXPECT_EQ(failure.file, "broken.cl");
    EXPECT_EQ(failure.options, "-DSOMETHING=1");
    EXPECT_NE(failure.log.find("nosuch"), std::string::npos) << failure.log;
    EXPECT_NE(std::string(failure.what()).find("broken.cl does not build on"), std::string::npos);
  }
  EXPECT_FALSE(fs::exists(one.entry_dir(broken, "-DSOMETHING=1")));
}

TEST_F(program_cache_device, a_kernel_that_is_not_in_the_file_is_named) {
  ProgramCache one = cache();
  EXPECT_THROWS_SAYING(one.kernel(source_, "", "nosuch"), BadArgument,
                       "scale.cl has no kernel named 'nosuch'");
}

TEST_F(program_cache_device, progress_is_told_before_a_build) {
  ProgramCache one = cache("");
  std::vector<std::string> seen;
  one.on_build(
      [&](const std::string& file, int built) { seen.push_back(file + std::to_string(built)); });
  one.kernel(source_, "", "scale");
  one.kernel(source_, "-DUNUSED=2", "scale");
  EXPECT_EQ(seen, (std::vector<std::string>{"scale.cl0", "scale.cl1"}));
}

TEST(program_cache, folder_follows_the_environment) {
  const std::string cache = std::getenv("CLAM_CACHE_DIR") ? std::getenv("CLAM_CACHE_DIR") : "";
  ::setenv("CLAM_CACHE_DIR", "off", 1);
  EXPECT_EQ(ProgramCache::default_dir(), "");
  ::setenv("CLAM_CACHE_DIR", "/somewhere", 1);
  EXPECT_EQ(ProgramCache::default_dir(), "/somewhere");
  ::unsetenv("CLAM_CACHE_DIR");
  EXPECT_NE(ProgramCache::default_dir().find("clam/programs"), std::string::npos);
  if (!cache.empty()) ::setenv("CLAM_CACHE_DIR", cache.c_str(), 1);
}

}  // namespace
}  // namespace clam
