// SPDX-License-Identifier: MIT
#include "clam/kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "clam/error.hpp"
#include "runtime/atomic_file.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace clam {
namespace {

TEST(kernels, embedded_bytes_are_the_files_own) {
  const std::vector<std::string> files = embedded_files();
  ASSERT_FALSE(files.empty());
  for (const std::string& file : files) {
    const KernelSource source = KernelFiles().get(file);
    EXPECT_EQ(source.text, read_file(std::string(CLAM_SOURCE_DIR) + "/kernels/" + file));
    EXPECT_EQ(source.origin, "embedded");
    EXPECT_EQ(source.hash().size(), 16u);
  }
}

TEST(kernels, kernel_files_are_ascii_and_licensed) {
  for (const std::string& file : embedded_files()) {
    const std::string text = KernelFiles().get(file).text;
    EXPECT_EQ(text.rfind("// SPDX-License-Identifier: MIT\n// " + file, 0), 0u) << file;
    EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) {
      return c == '\n' || (c >= ' ' && c <= '~');
    })) << file;
    EXPECT_EQ(text.find("#include"), std::string::npos) << file;
  }
}

TEST(kernels, a_folder_replaces_single_files_and_adds_options) {
  const test::TemporaryFolder folder;
  write_file(folder.file("dense.cl"), "// mine\n");
  write_file(folder.file("dense.options"), "-DMINE=1\n");
  const KernelFiles files(folder.path());
  EXPECT_EQ(files.get("dense.cl").text, "// mine\n");
  EXPECT_EQ(files.get("dense.cl").options, "-DMINE=1");
  EXPECT_EQ(files.get("dense.cl").origin, folder.file("dense.cl"));
  EXPECT_EQ(files.get("get_valid_counts.cl").origin, "embedded");
  ASSERT_EQ(files.overrides().size(), 1u);
  EXPECT_EQ(files.overrides()[0].rfind("dense.cl: " + folder.file("dense.cl"), 0), 0u);
  EXPECT_TRUE(KernelFiles().overrides().empty());
  write_file(folder.file("dnse.cl"), "// misspelt\n");
  ASSERT_EQ(files.overrides().size(), 2u);
  EXPECT_NE(files.overrides()[1].find("dnse.cl replaces nothing"), std::string::npos);
}

TEST(kernels, a_plans_own_folder_comes_first) {
  const test::TemporaryFolder over, plan;
  write_file(over.file("dense.cl"), "// over\n");
  write_file(plan.file("dense.cl"), "// plan\n");
  EXPECT_EQ(KernelFiles(over.path(), plan.path()).get("dense.cl").text, "// plan\n");
}

TEST(kernels, what_is_nowhere_is_named_with_the_places_looked_at) {
  const test::TemporaryFolder folder;
  EXPECT_THROWS_SAYING(KernelFiles(folder.path()).get("nosuch.cl"), BadArgument,
                       "'nosuch.cl' is not embedded and not in " + folder.path());
}

}  // namespace
}  // namespace clam
