// SPDX-License-Identifier: MIT
// in_your_tree_test.cpp - another project takes clam into its tree, or finds it installed, as
// host/README.md says.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "contains.hpp"
#include "runtime/atomic_file.hpp"
#include "test_device.hpp"

namespace clam::test {
namespace {

TEST(in_your_tree, a_host_of_another_project_links_the_library_alone_and_runs_an_op) {
  CLAM_NEEDS_DEVICE();
  if (!std::getenv("CLAM_TEST_FULL")) GTEST_SKIP() << "builds the library, which takes a minute";
  const TemporaryFolder build;
  const std::string source = CLAM_SOURCE_DIR;
  const Finished configured = run_command(
      {"/usr/bin/env", "cmake", "-G", "Ninja", "-S", source + "/tests/host/in_your_tree", "-B",
       build.path(), "-DCLAM_DIR=" + source, "-DCLAM_OPS=softmax", "-DCMAKE_CXX_FLAGS=-O0"});
  ASSERT_EQ(configured.code, 0) << configured.out << configured.err;
  const Finished built = run_command({"/usr/bin/env", "cmake", "--build", build.path(), "-j2"});
  ASSERT_EQ(built.code, 0) << built.out << built.err;
  EXPECT_EQ(built.err.find("warning"), std::string::npos) << built.err;
  const Finished ran = run_command({build.file("host")});
  EXPECT_EQ(ran.out, "right\n") << ran.err;
}

/// cmake, or another program, in an environment where libraries of `prefix` are found.
Finished run(const std::vector<std::string>& words, const std::string& prefix) {
  std::vector<std::string> command = {"/usr/bin/env", "LD_LIBRARY_PATH=" + prefix + "/lib",
                                      "PKG_CONFIG_PATH=" + prefix + "/lib/pkgconfig"};
  command.insert(command.end(), words.begin(), words.end());
  return run_command(command);
}

/// What is installed, elsewhere, as a user has it.
class installed : public testing::Test {
 protected:
  void SetUp() override {
    CLAM_NEEDS_DEVICE();
    if (!std::getenv("CLAM_TEST_FULL")) GTEST_SKIP() << "builds three programs";
    prefix_ = folder_.file("usr");
    for (const char* part : {"dev", "Unspecified"}) {
      const Finished done =
          run({"cmake", "--install", CLAM_BUILD_DIR, "--prefix", prefix_, "--component", part},
              prefix_);
      ASSERT_EQ(done.code, 0) << done.out << done.err;
    }
  }
  void expect_right(const std::string& program) {
    const Finished ran = run({program}, prefix_);
    EXPECT_EQ(ran.out, "right\n") << program << ran.err;
  }

  const TemporaryFolder folder_;
  const std::string source_ = CLAM_SOURCE_DIR "/tests/host/in_your_tree";
  std::string prefix_;
};

TEST_F(installed, find_package_gives_both_libraries) {
  const std::string build = folder_.file("build");
  const Finished configured =
      run({"cmake", "-G", "Ninja", "-S", source_, "-B", build, "-DCMAKE_PREFIX_PATH=" + prefix_,
           "-DCMAKE_CXX_FLAGS=-O0 -Wall -Wextra"},
          prefix_);
  ASSERT_EQ(configured.code, 0) << configured.out << configured.err;
  const Finished built = run({"cmake", "--build", build, "-j2"}, prefix_);
  ASSERT_EQ(built.code, 0) << built.out << built.err;
  EXPECT_EQ(built.err.find("warning"), std::string::npos) << built.err;
  expect_right(build + "/host");
  expect_right(build + "/host_of_shared");
}

TEST_F(installed, pkg_config_does) {
  if (run({"sh", "-c", "command -v pkg-config"}, prefix_).code != 0) {
    GTEST_SKIP() << "pkg-config is not here";
  }
  const Finished built = run({"sh", "-c",
                              "c++ -std=c++17 " + source_ + "/main.cpp -o " + folder_.file("host") +
                                  " $(pkg-config --cflags --libs clam)"},
                             prefix_);
  ASSERT_EQ(built.code, 0) << built.out << built.err;
  expect_right(folder_.file("host"));
}

TEST_F(installed, the_contracts_and_kernels_are_there_and_no_reference_is_in_the_library) {
  const nlohmann::json manifest =
      nlohmann::json::parse(read_file(prefix_ + "/share/clam/manifest.json"));
  EXPECT_GT(manifest.at("files").size(), 20u);
  for (const nlohmann::json& file : manifest.at("files")) {
    const std::string name = file.at("file");
    EXPECT_FALSE(read_file(prefix_ + "/share/clam/kernels/" + name).empty()) << name;
  }
  const Finished symbols = run({"nm", "-C", prefix_ + "/lib/libclam.a"}, prefix_);
  ASSERT_TRUE(contains(symbols.out, "clam::dense_op()"));
  for (const char* checks : {"reference_of(", "::proof()", "embedded_workloads"}) {
    EXPECT_FALSE(contains(symbols.out, checks)) << checks;
  }
}

}  // namespace
}  // namespace clam::test
