// SPDX-License-Identifier: MIT
// Boards in a bad state: each command says one sentence and ends with a code of the table, or works
// all the same; nothing is left half-written.
#include <filesystem>

#include "c_compiler.hpp"
#include "made_up_machine.hpp"
#include "run_clam.hpp"

namespace clam::test {
namespace {

namespace fs = std::filesystem;

const char* kProblem = "softmax shape=4x192 dtype=f32";

class bad_state_scripted : public testing::Test {
 protected:
  void SetUp() override {
    CLAM_NEEDS_DEVICE();
    if (!has_compiler()) GTEST_SKIP() << "no C compiler with OpenCL here";
  }
  /// Commands that need a device end so; nothing is on standard output.
  void expect_end(int code, const std::string& words) {
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"verify", kProblem},
          {"run", kProblem, "--fill", "zero_mean"},
          {"probe", "--all"},
          {"record", kProblem, "-o", folder.file("case")}}) {
      const Finished finished = run_clam(command, machine.on());
      EXPECT_EQ(finished.code, code) << command[0] << ": " << finished.err;
      EXPECT_TRUE(contains(finished.err, words)) << command[0] << ": " << finished.err;
    }
    const Finished bench = run_command(
        {CLAM_BENCH_BINARY, "--problem", kProblem, "--json", folder.file("r.json")}, machine.on());
    EXPECT_EQ(bench.code, code) << bench.err;
    EXPECT_FALSE(fs::exists(folder.file("case")));
    EXPECT_FALSE(fs::exists(folder.file("r.json")));
  }

  MadeUpMachine machine;
  TemporaryFolder folder;
};

TEST_F(bad_state_scripted, no_library_at_all) { expect_end(77, "no OpenCL device"); }

TEST_F(bad_state_scripted, a_driver_that_is_half_installed) {
  machine.fake_library(kLibs + "libOpenCL.so.1", "NO_PLATFORM");
  machine.file("/etc/OpenCL/vendors/mali.icd", "libmali.so.1");
  machine.file(kLibs + "libmali.so.1", "half of an ELF fi");
  expect_end(77, "no OpenCL device");
  const Finished info = run_clam({"info"}, machine.on());
  EXPECT_TRUE(contains(info.out, "tried libmali.so.1: ")) << info.out;
}

TEST_F(bad_state_scripted, a_user_who_is_not_in_the_group) {
  machine.fake_library(kLibs + "libOpenCL.so.1", "NO_PLATFORM");
  machine.link("/sys/devices/platform/fb000000.gpu/driver", "../../../bus/platform/drivers/mali");
  machine.file("/dev/mali0");
  machine.close_to_user("/dev/mali0");
  expect_end(77, "no OpenCL device");
  const Finished doctor = run_clam({"doctor"}, machine.on());
  EXPECT_EQ(doctor.code, 1);
  EXPECT_TRUE(contains(doctor.out, "type: sudo usermod -aG video $USER")) << doctor.out;
}

TEST_F(bad_state_scripted, a_driver_that_crashes_when_it_is_asked) {
  machine.fake_library(kLibs + "libmali.so.1", "ABORTS=\"a blob's last words\"");
  expect_end(3, "libmali.so.1 crashed while it looked for devices; `clam doctor` says why\n");
}

/// Root may write everywhere, but makes no folder below a file.
TEST_F(bad_state_scripted, a_home_that_cannot_be_written) {
  const std::vector<std::string> home = {"HOME=/dev/null/home",
                                         "XDG_CACHE_HOME=", "CLAM_CACHE_DIR="};
  const Finished verify = run_clam({"verify", kProblem}, home);
  EXPECT_EQ(verify.code, 0) << verify.err;
  EXPECT_NE(run_clam({"doctor"}, home).code, 2);
}

TEST_F(bad_state_scripted, no_folder_for_temporary_files) {
  const std::vector<std::string> nowhere = {"TMPDIR=/dev/null/tmp"};
  EXPECT_EQ(run_clam({"verify", kProblem, "--no-isolate"}, nowhere).code, 0);
  EXPECT_EQ(run_clam({"doctor"}, nowhere).code, 0);
  expect_refusal(run_clam({"record", kProblem, "-o", folder.file("case")}, nowhere), 2,
                 "temporary folder");
  EXPECT_FALSE(fs::exists(folder.file("case")));
}

TEST_F(bad_state_scripted, a_clock_in_1970) {
  const std::string library = folder.file("old_clock.so");
  ASSERT_EQ(run_command({"/usr/bin/env", "cc", "-shared", "-fPIC", "-o", library,
                         CLAM_SOURCE_DIR "/tests/support/fake_libraries/old_clock.c", "-ldl"})
                .code,
            0);
  const std::vector<std::string> early = {"LD_PRELOAD=" + library,
                                          "CLAM_CACHE_DIR=" + folder.file("cache")};
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run_clam({"verify", kProblem}, early).code, 0) << i;
  const Finished bench = run_command(
      {CLAM_BENCH_BINARY, "--quick", "--time", "0.01", "--problem", kProblem, "--json",
       folder.file("r.json")},
      early);
  EXPECT_EQ(bench.code, 0) << bench.err;
  EXPECT_TRUE(contains(read_file(folder.file("r.json")), "1970-01-01T"));
}

TEST_F(bad_state_scripted, a_disk_that_is_full) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"verify", kProblem, "--json", "/dev/full"},
        {"doctor", "--json", "/dev/full"},
        {"info", "--json", "/dev/full"}}) {
    const Finished finished = run_clam(command);
    EXPECT_EQ(finished.code, 2) << command[0];
    EXPECT_TRUE(contains(finished.err, "cannot write /dev/full: No space left")) << finished.err;
  }
}

}  // namespace
}  // namespace clam::test
