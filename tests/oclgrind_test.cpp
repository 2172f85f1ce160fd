// SPDX-License-Identifier: MIT
// oclgrind_test.cpp - every kernel under a simulator that sees races, reads of what nobody wrote,
// misaligned vectors and accesses outside a buffer: what processors forgive and a GPU does not.
#include <gtest/gtest.h>

#include "run_clam.hpp"

namespace clam {
namespace {

const std::string kWithDriver = CLAM_SOURCE_DIR "/tools/with-driver";

/// Holds a problem against its reference in the simulator. One variant and data set a process: the
/// simulator takes memory that is used again for uninitialised.
test::Finished simulate(const std::string& problem, const std::string& variant,
                        const std::string& kernels = "") {
  const std::string set = Problem::parse(problem).op().data_sets.front().name;
  return test::run_command(
      {kWithDriver, "oclgrind", CLAM_BINARY, "verify", problem, "--variant", variant, "--set", set},
      {"CLAM_KERNEL_DIR=" + kernels});
}

class oclgrind : public testing::Test {
 protected:
  void SetUp() override {
    const test::Finished check = test::run_command({kWithDriver, "--check", "oclgrind"});
    if (check.code == 77) GTEST_SKIP() << check.err;
  }

  static void expect_report(const char* file, const char* from, const char* to,
                            const std::string& problem, const std::string& variant,
                            const std::string& words) {
    const test::TemporaryFolder folder;
    test::break_kernel(folder, file, from, to);
    const test::Finished finished = simulate(problem, variant, folder.path());
    EXPECT_NE(finished.code, 0);
    EXPECT_TRUE(test::contains(finished.err, words)) << finished.out << finished.err;
  }
};

TEST_F(oclgrind, says_nothing_about_any_kernel) {
  for (const Op* op : all_ops()) {
    for (const std::string& line : op->small_cases) {
      const Problem problem = Problem::parse(line + " dtype=f32");
      for (const Variant& variant : op->variants) {
        if (variant.supports(problem, generic_device())) continue;
        const test::Finished finished = simulate(problem.text(), variant.name);
        EXPECT_EQ(finished.code, 0) << variant.name << ": " << problem.text() << "\n"
                                    << finished.out << finished.err;
      }
    }
  }
}

TEST_F(oclgrind, finds_a_race) {
  expect_report("get_valid_counts.cl", "if (lane == GVC_WORDS - 1) counts[group] = word.y",
                "counts[group] = word.y", "get_valid_counts n=513 dtype=f32",
                "get_valid_counts_two", "data race");
}

/// A race or a read of what nobody wrote yet, in some work-item. Processors run the items of a
/// group in turn, so most of these give the right result there.
TEST_F(oclgrind, finds_a_missing_barrier) {
  const char* barrier = "barrier(CLK_LOCAL_MEM_FENCE);";
  expect_report("get_valid_counts.cl", barrier, "", "get_valid_counts n=513 dtype=f32",
                "get_valid_counts_two", "Entity: ");
  expect_report("softmax.cl", barrier, "", "softmax shape=5x70 dtype=f32", "softmax_row",
                "Entity: ");
  expect_report("conv2d_1x1.cl", barrier, "", "conv2d c=64 h=4 w=8 k=5 r=1 dtype=f32", "conv2d_1x1",
                "Entity: ");
  expect_report("conv2d.cl", barrier, "", "conv2d c=64 h=2 w=8 k=5 r=3 dtype=f32 pad=1",
                "conv2d_3x3", "Entity: ");
  expect_report("nms.cl", barrier, "", "nms n=129 dtype=f32", "nms_mask", "Entity: ");
}

TEST_F(oclgrind, finds_a_misaligned_vector) {
  expect_report("dense.cl", "(offx + tile.row * x_stride) * SIZE",
                "(offx + tile.row * x_stride + 1) * SIZE", "dense m=9 n=9 k=8 ldx=12 dtype=f32",
                "dense_packed", "not aligned");
}

TEST_F(oclgrind, finds_a_read_outside) {
  expect_report("dense.cl", "low(x + k * SIZE)", "low(x + (k + 4) * SIZE)",
                "dense m=9 n=9 k=8 dtype=f32", "dense_packed", "Invalid read");
}

TEST_F(oclgrind, finds_a_read_of_what_nobody_wrote) {
  expect_report("dense.cl", "if (i >= k4 || row >= m) return;",
                "if (i >= k4 - 1 || row >= m) return;", "dense m=9 n=9 k=11 dtype=f32",
                "dense_packed", "ninitialized");
}

}  // namespace
}  // namespace clam
