// SPDX-License-Identifier: MIT
// readme_test.cpp - what the READMEs promise: their commands run, their links lead somewhere.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <sstream>

#include "atomic_file.hpp"
#include "command.hpp"
#include "op.hpp"
#include "test_device.hpp"

namespace clam {
namespace {

namespace fs = std::filesystem;

const std::string kSource = CLAM_SOURCE_DIR;

std::vector<std::string> readmes() {
  return {kSource + "/README.md", kSource + "/kernels/README.md",
          kSource + "/bench/workloads/README.md", kSource + "/tests/probes/README.md",
          kSource + "/tests/bundles/README.md"};
}

/// The lines of all ```sh blocks, without comments.
std::vector<std::string> commands(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  bool inside = false;
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind("```", 0) == 0) {
      inside = line == "```sh";
    } else if (inside && !line.empty()) {
      lines.push_back(std::regex_replace(line, std::regex("\\s+# .*$"), ""));
    }
  }
  return lines;
}

/// GitHub's name for a heading: lower case, blanks to dashes, other signs dropped.
std::string anchor(const std::string& heading) {
  std::string name;
  for (const char c : heading) {
    if (c == ' ' || c == '-') name += '-';
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_')
      name += static_cast<char>(std::tolower(c));
  }
  return name;
}

bool has_heading(const std::string& text, const std::string& wanted) {
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind('#', 0) == 0 && anchor(line.substr(line.find_first_not_of("# "))) == wanted)
      return true;
  }
  return false;
}

TEST(readme, nothing_is_left_to_fill_in) {
  for (const std::string& path : readmes()) {
    std::istringstream stream(read_file(path));
    for (std::string line; std::getline(stream, line);) {
      EXPECT_FALSE(std::regex_search(line, std::regex("^@[A-Z]+@$"))) << path << ": " << line;
    }
  }
}

TEST(readme, links_lead_somewhere) {
  const std::regex link("\\]\\(([^)]+)\\)");
  for (const std::string& path : readmes()) {
    const std::string text = read_file(path);
    for (std::sregex_iterator it(text.begin(), text.end(), link), end; it != end; ++it) {
      const std::string target = (*it)[1];
      if (target.rfind("https://", 0) == 0) continue;
      const std::size_t hash = target.find('#');
      const std::string file = target.substr(0, hash);
      const std::string place =
          file.empty() ? path : (fs::path(path).parent_path() / file).string();
      EXPECT_TRUE(fs::exists(place)) << path << ": " << target;
      if (hash != target.npos && fs::exists(place)) {
        EXPECT_TRUE(has_heading(read_file(place), target.substr(hash + 1)))
            << path << ": " << target;
      }
    }
  }
}

/// A folder that looks like the project's, with the built programs, results of two boards and a
/// user's boxes in it: those that went into get_valid_counts, and what the user's runtime made of
/// them.
void furnish(const test::TemporaryFolder& folder) {
  for (const char* name : {"kernels", "tools", "bench", "tests"}) {
    fs::create_directory_symlink(fs::path(kSource) / name, folder.file(name));
  }
  fs::create_directory(folder.file("build"));
  fs::create_symlink(CLAM_BINARY, folder.file("build/clam"));
  fs::copy_file(kSource + "/tests/results/made-up-g1.json", folder.file("build/bench.json"));
  fs::copy_file(kSource + "/tests/results/made-up-g2.json", folder.file("other-board.json"));
  const Op& nms = find_op("nms");
  const HostTensor boxes =
      make_inputs(Problem::parse("nms n=1000 dtype=f32"), find_data_set(nms, "boxes"), test::seed())
          .at("data");
  const Problem counts = Problem::parse("get_valid_counts n=1000 dtype=f32 score_threshold=0.01");
  write_npy(folder.file("boxes.npy"), boxes);
  write_npy(folder.file("mine.npy"),
            counts.op().reference(counts, {{"data", boxes}}, {Check::exact}).at("out").exact);
}

TEST(readme_device, commands_run) {
  CLAM_NEEDS_DEVICE();
  const test::TemporaryFolder folder;
  furnish(folder);
  int run = 0;
  for (const std::string& path : readmes()) {
    for (std::string command : commands(read_file(path))) {
      // The scripts build, install and test: here they only have to be there and know their words.
      if (command.rfind("tools/", 0) == 0 && command.rfind("tools/with-driver", 0) != 0) {
        command = command.substr(0, command.find(' ')) + " --help";
      }
      std::vector<std::string> environment;
      if (command.rfind("build/clam mali", 0) == 0) {  // the real compilers take their time
        environment = {"CLAM_MALI_COMPILER=" + kSource + "/tests/fake_mali_compiler.sh",
                       "CLAM_CACHE_DIR=" + folder.file("cache")};
      }
      const test::Finished result = test::run_command(
          {"/bin/sh", "-c", "cd " + folder.path() + " && " + command}, environment);
      EXPECT_EQ(result.code, 0) << command << "\n" << result.out << result.err;
      ++run;
    }
  }
  EXPECT_GE(run, 10);
}

}  // namespace
}  // namespace clam
