// SPDX-License-Identifier: MIT
#include "clam/kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

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

/// The string literal that stands at `at`, of one piece or several, and `at` behind it; "" of none.
std::string literal_at(const std::string& text, std::size_t& at) {
  std::string literal;
  while ((at = text.find_first_not_of(" \n", at)) != text.npos && text[at] == '"') {
    for (++at; text[at] != '"'; ++at) {
      if (text[at] == '\\') ++at;
      literal += text[at] == 'n' && text[at - 1] == '\\' ? '\n' : text[at];
    }
    ++at;
  }
  return literal;
}

/// Not every run plants every fault, and some need what few machines have.
TEST(kernels, what_tests_break_is_in_the_kernels) {
  int seen = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(CLAM_SOURCE_DIR "/tests")) {
    if (file.path().extension() != ".cpp" && file.path().extension() != ".hpp") continue;
    const std::string text = read_file(file.path().string());
    for (const std::string call : {"break_kernel(", "expect_report("}) {
      for (std::size_t at = text.find(call); at != text.npos; at = text.find(call, at)) {
        at += call.size();
        const std::size_t comma = text.find(',', at);
        if (text[at] != '"' && comma != text.npos) at = comma + 1;  // the folder stands before
        const std::string kernel = literal_at(text, at);
        if (kernel.find(".cl") == kernel.npos) continue;
        const std::string from = literal_at(text, ++at);
        if (from.empty()) continue;  // not written out there
        EXPECT_NE(KernelFiles().get(kernel).text.find(from), std::string::npos)
            << file.path() << ": " << kernel << " has no " << from;
        ++seen;
      }
    }
  }
  EXPECT_GT(seen, 15);
}

}  // namespace
}  // namespace clam
