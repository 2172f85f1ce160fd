// SPDX-License-Identifier: MIT
// includes_test.cpp - which file of host/ may include which.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "pattern.hpp"
#include "runtime/atomic_file.hpp"

namespace clam::test {
namespace {

namespace fs = std::filesystem;

/// Files by their path below a folder, and their text.
using Files = std::map<std::string, std::string>;

void add_files(const fs::path& folder, const fs::path& below, Files& files) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".hpp" && extension != ".cpp" && extension != ".in") continue;
    files[entry.path().lexically_relative(below).string()] = read_file(entry.path().string());
  }
}

Files files_of_host() {
  const fs::path host = fs::path(CLAM_SOURCE_DIR) / "host";
  Files files;
  add_files(host, host, files);
  return files;
}

/// All that is linked into one program.
Files files_of_the_tree() {
  const fs::path tree = CLAM_SOURCE_DIR;
  Files files;
  for (const char* folder : {"host", "tools", "bench", "tests"}) {
    add_files(tree / folder, tree, files);
  }
  return files;
}

bool begins(const std::string& text, const std::string& with) { return text.rfind(with, 0) == 0; }

/// The files of `files` that one of them includes, as the compiler finds them.
std::vector<std::string> included(const Files& files, const std::string& file) {
  std::vector<std::string> found;
  for (const Groups& line : matches(files.at(file), "(?:^|\\n)#include [\"<]([^\">]+)[\">]")) {
    for (const fs::path& folder : {fs::path(file).parent_path(), fs::path(), fs::path("include")}) {
      const std::string path = (folder / line[1]).lexically_normal().string();
      if (files.count(path) == 0) continue;
      found.push_back(path);
      break;
    }
  }
  return found;
}

/// Includes that cross the line from what a runtime needs to what checks it, or from a public
/// header to one that is not.
std::vector<std::string> forbidden(const Files& files) {
  std::vector<std::string> found;
  for (const auto& [file, text] : files) {
    for (const std::string& other : included(files, file)) {
      const bool checks = begins(other, "check/") && !begins(file, "check/");
      const bool hidden = begins(file, "include/") && !begins(other, "include/");
      if (checks || hidden) found.push_back(file + " includes " + other);
    }
  }
  return found;
}

/// A header and its source file are one.
std::string unit_of(const std::string& file) {
  const fs::path path = begins(file, "include/clam/") ? "runtime/" + file.substr(13) : file;
  return (path.parent_path() / path.stem()).string();
}

/// Walks from unit to unit until one comes again.
class Circles {
 public:
  explicit Circles(const Files& files) {
    for (const auto& [file, text] : files) {
      for (const std::string& other : included(files, file)) {
        if (unit_of(file) != unit_of(other)) next_[unit_of(file)].insert(unit_of(other));
      }
    }
    for (const auto& [unit, others] : next_) walk(unit);
  }
  const std::vector<std::string>& found() const { return found_; }

 private:
  void walk(const std::string& unit) {
    if (done_.count(unit) > 0) return;
    if (const auto at = std::find(path_.begin(), path_.end(), unit); at != path_.end()) {
      std::string circle;
      for (auto it = at; it != path_.end(); ++it) circle += *it + " > ";
      found_.push_back(circle + unit);
      return;
    }
    path_.push_back(unit);
    for (const std::string& other : next_[unit]) walk(other);
    path_.pop_back();
    done_.insert(unit);
  }

  std::map<std::string, std::set<std::string>> next_;
  std::vector<std::string> path_, found_;
  std::set<std::string> done_;
};

/// Types outside unnamed namespaces that two files define by one name. They share their inline
/// functions, destructors too: the linker keeps those of one.
std::vector<std::string> defined_twice(const Files& files) {
  const char* defines = "(?:struct|class|enum class|enum) (\\w+)(?: :.*| final.*)? \\{.*";
  std::map<std::string, std::set<std::string>> files_of;
  for (const auto& [file, text] : files) {
    std::vector<std::string> inside;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const Groups opens = match(line, "namespace(?: ([\\w:]+))? \\{");
      const Groups type = match(line, defines);
      if (!opens.empty()) {
        inside.push_back(opens[1]);
      } else if (!inside.empty() && begins(line, "}  // namespace")) {
        inside.pop_back();
      } else if (!type.empty() && std::count(inside.begin(), inside.end(), "") == 0) {
        files_of[fmt::format("{}::{}", fmt::join(inside, "::"), type[1])].insert(file);
      }
    }
  }
  std::vector<std::string> twice;
  for (const auto& [name, where] : files_of) {
    if (where.size() > 1) twice.push_back(fmt::format("{}: {}", name, fmt::join(where, ", ")));
  }
  return twice;
}

TEST(includes, no_type_is_defined_twice) {
  const Files files = files_of_the_tree();
  ASSERT_GT(files.size(), 400u);
  EXPECT_EQ(defined_twice(files), std::vector<std::string>());
}

TEST(includes, a_type_that_is_defined_twice_is_seen) {
  const std::string one = "namespace clam {\nstruct Product {\n};\n}  // namespace clam\n";
  const std::string own =
      "namespace clam {\nnamespace {\nclass Product : public Base {\n};\n}  // namespace\n"
      "struct Product;\n}  // namespace clam\n";
  EXPECT_EQ(defined_twice({{"host/check/a.hpp", one}, {"host/ops/b.hpp", one}, {"c.cpp", own}}),
            (std::vector<std::string>{"clam::Product: host/check/a.hpp, host/ops/b.hpp"}));
}

TEST(includes, the_runtime_and_the_ops_know_nothing_of_what_checks_them) {
  const Files files = files_of_host();
  ASSERT_GT(files.size(), 100u);
  EXPECT_EQ(forbidden(files), std::vector<std::string>());
}

TEST(includes, no_two_files_include_each_other) {
  EXPECT_EQ(Circles(files_of_host()).found(), std::vector<std::string>());
}

TEST(includes, an_include_that_is_not_allowed_is_seen) {
  const Files files = {{"include/clam/plan.hpp", "#include \"device.hpp\"\n"},
                       {"include/clam/device.hpp", "#include \"runtime/text.hpp\"\n"},
                       {"runtime/text.hpp", ""},
                       {"ops/dense.cpp", "// why\n#include \"check/verify.hpp\"\n"},
                       {"check/verify.hpp", "#include <clam/plan.hpp>\n"}};
  EXPECT_EQ(forbidden(files),
            (std::vector<std::string>{"include/clam/device.hpp includes runtime/text.hpp",
                                      "ops/dense.cpp includes check/verify.hpp"}));
}

TEST(includes, a_circle_is_seen_also_through_a_source_file) {
  const Files files = {{"check/graph.hpp", ""},
                       {"check/graph.cpp", "#include \"graph.hpp\"\n#include \"fill.hpp\"\n"},
                       {"check/fill.hpp", "#include \"graph.hpp\"\n"}};
  EXPECT_EQ(Circles(files).found(),
            std::vector<std::string>{"check/fill > check/graph > check/fill"});
}

}  // namespace
}  // namespace clam::test
