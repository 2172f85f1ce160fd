// SPDX-License-Identifier: MIT
#include "program_cache.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "error.hpp"
#include "foreign_plan.hpp"
#include "test_errors.hpp"

namespace clam {
namespace {

namespace fs = std::filesystem;

class program_cache_device : public testing::Test {
 protected:
  void SetUp() override { CLAM_NEEDS_DEVICE(); }

  ProgramCache cache() { return cache(folder_.file("cache")); }
  ProgramCache cache(const std::string& dir) {
    const Runtime& runtime = test::runtime();
    return {runtime.context(), runtime.queue().getInfo<CL_QUEUE_DEVICE>(), runtime.device(), dir};
  }
  /// Fills the cache and returns the entry's folder; skips where the driver keeps its binaries.
  std::string filled() {
    ProgramCache first = cache();
    first.kernel(source_, "", "scale");
    EXPECT_EQ(first.counters().built, 1);
    return first.entry_dir(source_, "");
  }
  /// A second start builds `built` programs and takes the others from disk.
  void expect_second_start(int built, int refused) {
    ProgramCache second = cache();
    second.kernel(source_, "", "scale");
    EXPECT_EQ(second.counters().built, built);
    EXPECT_EQ(second.counters().from_disk, 1 - built);
    EXPECT_EQ(second.counters().binaries_refused, refused);
  }

  test::TemporaryFolder folder_;
  KernelSource source_{"scale.cl", test::kScaleSource, "test", ""};
};

TEST_F(program_cache_device, a_second_start_builds_nothing) {
  const std::string entry = filled();
  if (!fs::exists(entry)) GTEST_SKIP() << "this driver gives no program binaries";
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

TEST_F(program_cache_device, damaged_entries_are_rebuilt_and_mended) {
  const std::string entry = filled();
  if (!fs::exists(entry)) GTEST_SKIP() << "this driver gives no program binaries";
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

TEST_F(program_cache_device, an_unwritable_folder_only_costs_speed) {
  write_file(folder_.file("file"), "a file where the folder should be");
  ProgramCache one = cache(folder_.file("file") + "/cache");
  EXPECT_NO_THROW(one.kernel(source_, "", "scale"));
  if (one.counters().writes_failed == 0) GTEST_SKIP() << "this driver gives no program binaries";
  EXPECT_EQ(one.counters().writes_failed, 1);
  EXPECT_FALSE(one.counters().write_error.empty());
}

TEST_F(program_cache_device, no_half_written_entry_is_left) {
  filled();
  for (const auto& entry : fs::directory_iterator(folder_.file("cache"))) {
    EXPECT_EQ(entry.path().filename().string().size(), 32u) << entry.path();
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
