// SPDX-License-Identifier: MIT
// in_your_tree_test.cpp - another project takes clam into its tree, or finds it installed, as
// host/README.md says.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "command.hpp"
#include "contains.hpp"
#include "runtime/atomic_file.hpp"
#include "test_device.hpp"

namespace clam::test {
namespace {

/// What `tools/package --here` makes of this build, once for all tests.
struct Packages {
  Packages() {
    made = run_command({CLAM_SOURCE_DIR "/tools/package", "--here", folder.file("packages")});
    std::istringstream lines(made.out);
    for (std::string line; std::getline(lines, line);) paths.push_back(line);
  }
  /// The one whose name ends so; "" where there is none.
  std::string path(const std::string& end) const {
    for (const std::string& path : paths) {
      if (path.size() > end.size() && path.substr(path.size() - end.size()) == end) return path;
    }
    return "";
  }
  TemporaryFolder folder;
  Finished made;
  std::vector<std::string> paths;
};

const Packages& packages() {
  static const Packages all;
  return all;
}

#define CLAM_NEEDS_PACKAGES()                                                       \
  CLAM_NEEDS_DEVICE();                                                              \
  if (!std::getenv("CLAM_TEST_FULL")) GTEST_SKIP() << "packs and builds a program"; \
  if (packages().made.code == 77) GTEST_SKIP() << packages().made.err;              \
  ASSERT_EQ(packages().made.code, 0) << packages().made.err

TEST(in_your_tree, a_host_of_another_project_links_the_library_alone_and_runs_an_op) {
  CLAM_NEEDS_PACKAGES();
  const TemporaryFolder build;
  const std::string archive = packages().path("-source.tar.gz");
  if (archive.empty()) GTEST_SKIP() << packages().made.err;
  ASSERT_EQ(run_command(
                {"/usr/bin/env", "tar", "-C", build.path(), "--strip-components=1", "-xf", archive})
                .code,
            0);
  const Finished configured =
      run_command({"/usr/bin/env", "cmake", "-G", "Ninja", "-S",
                   build.path() + "/tests/host/in_your_tree", "-B", build.file("build"),
                   "-DCLAM_DIR=" + build.path(), "-DCLAM_OPS=softmax", "-DCMAKE_CXX_FLAGS=-O0"});
  ASSERT_EQ(configured.code, 0) << configured.out << configured.err;
  const Finished built =
      run_command({"/usr/bin/env", "cmake", "--build", build.file("build"), "-j2"});
  ASSERT_EQ(built.code, 0) << built.out << built.err;
  EXPECT_EQ(built.err.find("warning"), std::string::npos) << built.err;
  const Finished ran = run_command({build.file("build/host")});
  EXPECT_EQ(ran.out, "right\n") << ran.err;
}

TEST(installed_packages, the_same_build_gives_the_same_bytes) {
  CLAM_NEEDS_PACKAGES();
  const TemporaryFolder other;
  const Finished again = run_command({CLAM_SOURCE_DIR "/tools/package", "--here", other.path()},
                                     {"TZ=Asia/Tokyo", "HOME=" + other.path()});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_GE(packages().paths.size(), 3u);
  for (const std::string& path : packages().paths) {
    const std::string name = std::filesystem::path(path).filename().string();
    EXPECT_TRUE(read_file(path) == read_file(other.file(name))) << name;
  }
}

TEST(installed_packages, the_wheel_computes) {
  CLAM_NEEDS_PACKAGES();
  const std::string wheel = packages().path(".whl");
  if (wheel.empty()) GTEST_SKIP() << packages().made.err;
  const std::string python = "/usr/bin/python3";
  if (run_command({python, "-c", "import pyopencl, cffi"}).code != 0) {
    GTEST_SKIP() << "pyopencl or cffi is not here (tools/setup python)";
  }
  const TemporaryFolder site;
  ASSERT_EQ(run_command({python, "-m", "zipfile", "-e", wheel, site.path()}).code, 0);
  const Finished ran = run_command({python, CLAM_SOURCE_DIR "/tests/ops/drop_in/through_clam.py"},
                                   {"PYTHONPATH=" + site.path(), "PYTHONDONTWRITEBYTECODE=1",
                                    "PYOPENCL_NO_CACHE=1", "XDG_CACHE_HOME=" + site.path()});
  EXPECT_EQ(ran.out,
            "pass threads\npass examples\npass arrays\npass buffers\npass lifetimes\n"
            "pass refusals\n")
      << ran.err;
}

/// cmake, or another program, in an environment where libraries of `prefix` are found.
Finished run(const std::vector<std::string>& words, const std::string& prefix) {
  std::vector<std::string> command = {"/usr/bin/env", "LD_LIBRARY_PATH=" + prefix + "/lib",
                                      "PKG_CONFIG_PATH=" + prefix + "/lib/pkgconfig"};
  command.insert(command.end(), words.begin(), words.end());
  return run_command(command);
}

/// What the .deb holds, elsewhere, as a user has it.
class installed : public testing::Test {
 protected:
  void SetUp() override {
    CLAM_NEEDS_PACKAGES();
    prefix_ = folder_.file("usr");
    const Finished unpacked =
        run_command({"/usr/bin/env", "dpkg-deb", "-x", packages().path(".deb"), folder_.path()});
    ASSERT_EQ(unpacked.code, 0) << unpacked.err;
  }
  void expect_right(const std::string& program) {
    const Finished ran = run({program}, prefix_);
    EXPECT_EQ(ran.out, "right\n") << program << ran.err;
  }

  const TemporaryFolder folder_;
  const std::string source_ = CLAM_SOURCE_DIR "/tests/host/in_your_tree";
  std::string prefix_;
};

TEST_F(installed, find_package_gives_the_library_of_cpp_and_that_of_c) {
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
  expect_right(build + "/host_in_c");
}

TEST_F(installed, pkg_config_does) {
  if (run({"sh", "-c", "command -v pkg-config"}, prefix_).code != 0) {
    GTEST_SKIP() << "pkg-config is not here";
  }
  for (const char* build :
       {"c++ -std=c++17 $source/main.cpp $(pkg-config --cflags --libs clam-cpp)",
        "cc -std=c99 $source/main.c $(pkg-config --cflags --libs clam) -lpthread"}) {
    const Finished built = run(
        {"sh", "-c", "source=" + source_ + "; " + build + " -o " + folder_.file("host")}, prefix_);
    ASSERT_EQ(built.code, 0) << built.out << built.err;
    expect_right(folder_.file("host"));
  }
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
