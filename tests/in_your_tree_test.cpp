// SPDX-License-Identifier: MIT
// in_your_tree_test.cpp - another project takes clam into its tree, as README says.
#include <gtest/gtest.h>

#include <cstdlib>

#include "command.hpp"
#include "test_device.hpp"

namespace clam::test {
namespace {

TEST(in_your_tree, a_host_of_another_project_links_the_library_alone_and_runs_an_op) {
  CLAM_NEEDS_DEVICE();
  if (!std::getenv("CLAM_TEST_FULL")) GTEST_SKIP() << "builds the library, which takes a minute";
  const TemporaryFolder build;
  const std::string source = CLAM_SOURCE_DIR;
  const Finished configured = run_command(
      {"/usr/bin/env", "cmake", "-S", source + "/tests/in_your_tree", "-B", build.path(),
       "-DCLAM_DIR=" + source, "-DCLAM_OPS=softmax", "-DCMAKE_CXX_FLAGS=-O0"});
  ASSERT_EQ(configured.code, 0) << configured.out << configured.err;
  const Finished built = run_command({"/usr/bin/env", "cmake", "--build", build.path(), "-j2"});
  ASSERT_EQ(built.code, 0) << built.out << built.err;
  EXPECT_EQ(built.err.find("warning"), std::string::npos) << built.err;
  const Finished ran = run_command({build.file("host")});
  EXPECT_EQ(ran.out, "right\n") << ran.err;
}

}  // namespace
}  // namespace clam::test
