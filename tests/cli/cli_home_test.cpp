// SPDX-License-Identifier: MIT
// Tests leave the home alone: what they and their programs build is kept beside them.
#include <filesystem>

#include "run_clam.hpp"

namespace clam::test {
namespace {

namespace fs = std::filesystem;

/// Runs a program with a home in which nothing is yet, and without a word on where caches are.
Finished run_at_home(const std::string& home, std::vector<std::string> words) {
  std::vector<std::string> command{"/usr/bin/env"};
  for (const char* variable : {"CLAM_CACHE_DIR", "CLAM_CACHE_MB", "POCL_CACHE_DIR",
                               "MESA_SHADER_CACHE_DIR", "XDG_CACHE_HOME"}) {
    command.insert(command.end(), {"-u", variable});
  }
  command.insert(command.end(), words.begin(), words.end());
  return run_command(command, {"HOME=" + home, "GTEST_TOTAL_SHARDS=1", "GTEST_SHARD_INDEX=0"});
}

std::string files_in(const std::string& folder) {
  std::string files;
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    files += file.path().string() + "\n";
  }
  return files;
}

TEST(cli_home_device, stays_empty) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder home;
  // A test of each kind that builds programs or keeps something: in this process, by clam, by
  // clam-bench, of a probe, of a listing, by a host in Python.
  const Finished finished =
      run_at_home(home.path(), {fs::read_symlink("/proc/self/exe").string(),
                                "--gtest_filter=runtime_device.*:cli.info_shows_the_device:"
                                "probe_device.one_line_a_probe:native_exp2_device.*:"
                                "bench_device.every_variant_is_a_row:cli.mali_writes_listings:"
                                "drop_in.a_kernel_that_no_plan_launches_is_named"});
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  EXPECT_EQ(files_in(home.path()), "");
}

/// What the test above looks for: the default place of a person's own runs, for him alone.
TEST(cli_home_device, a_program_that_keeps_its_cache_there_is_seen) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder home;
  const Finished finished =
      run_at_home(home.path(), {CLAM_BINARY, "run", kCounts, "--fill", "mixed"});
  EXPECT_EQ(finished.code, 0) << finished.err;
  const std::string files = files_in(home.path());
  if (!contains(files, "/.cache/clam")) GTEST_SKIP() << "this driver gives no program binaries";
  EXPECT_TRUE(contains(files, "/.cache/clam/programs/")) << files;
  for (const char* folder : {".cache", ".cache/clam", ".cache/clam/programs"}) {
    EXPECT_EQ(fs::status(home.file(folder)).permissions(), fs::perms::owner_all) << folder;
  }
}

}  // namespace
}  // namespace clam::test
