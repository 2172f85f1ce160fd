// SPDX-License-Identifier: MIT
// readme_test.cpp - what the pages promise: their commands run, their flags exist, their links lead
// somewhere, and the first page is short.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "check/npy.hpp"
#include "check/op_proof.hpp"
#include "clam/op.hpp"
#include "contains.hpp"
#include "pages.hpp"
#include "pattern.hpp"
#include "run_clam.hpp"
#include "runtime/atomic_file.hpp"
#include "test_device.hpp"

namespace clam::test {
namespace {

namespace fs = std::filesystem;

const std::string kSource = CLAM_SOURCE_DIR;

TEST(readme, nothing_is_left_to_fill_in) {
  for (const std::string& page : pages()) {
    std::istringstream stream(page_text(page));
    for (std::string line; std::getline(stream, line);) {
      EXPECT_FALSE(has_pattern(line, "^@[A-Z]+@$")) << page << ": " << line;
    }
  }
}

TEST(readme, links_lead_somewhere) {
  for (const std::string& page : pages()) {
    for (const std::string& link : dead_links(page, page_text(page))) ADD_FAILURE() << link;
  }
}

TEST(readme, a_link_that_leads_nowhere_is_seen) {
  const std::string text =
      "# A heading\n[a](#a-heading) [b](README.md#facts) [c](https://example.org/x)\n"
      "[d](#another) [e](README.md#figs) [f](missing.md)\n";
  EXPECT_EQ(dead_links("CHANGELOG.md", text),
            (std::vector<std::string>{"CHANGELOG.md: #another", "CHANGELOG.md: README.md#figs",
                                      "CHANGELOG.md: missing.md"}));
}

/// Every page of a room stands in the first page, or in one that it links.
TEST(readme, every_page_is_linked) {
  std::string all;
  for (const std::string& page : pages()) all += page_text(page);
  for (const std::string& page : pages()) {
    if (page == "README.md") continue;
    const std::string name = fs::path(page).filename().string();
    const std::string folder = fs::path(page).parent_path().filename().string();
    EXPECT_TRUE(contains(all, folder.empty() ? name : folder + "/" + name)) << page;
  }
}

constexpr Limits kFirstPage{150, 120, 12000};

TEST(readme, the_first_page_is_short) {
  for (const std::string& over : over_limits(page_text("README.md"), kFirstPage))
    ADD_FAILURE() << over;
}

TEST(readme, a_page_over_its_limits_is_seen) {
  std::string text;
  for (std::size_t i = 0; i < kFirstPage.lines; ++i) text += "a\n";
  EXPECT_TRUE(over_limits(text, kFirstPage).empty());
  EXPECT_EQ(over_limits(text + "a\n", kFirstPage), std::vector<std::string>{"151 lines"});
  EXPECT_EQ(over_limits(std::string(121, 'a'), kFirstPage),
            std::vector<std::string>{"line 1: 121 columns"});
  std::string wide;
  for (int i = 0; i < 121; ++i) wide += std::string(99, 'a') + "\n";
  EXPECT_EQ(over_limits(wide, kFirstPage), std::vector<std::string>{"12100 characters"});
}

/// The line on which these words begin, from 1; 0 where they are not.
std::size_t line_of(const std::string& text, const std::string& words) {
  const std::size_t at = text.find(words);
  return at == text.npos ? 0 : 1 + std::count(text.begin(), text.begin() + at, '\n');
}

TEST(readme, the_first_screen_says_what_it_is_and_the_second_has_the_snippet) {
  const std::string text = page_text("README.md");
  for (const char* heading :
       {"## Does it run on my board?", "## What you type", "## What you see"}) {
    EXPECT_GT(line_of(text, heading), 0u) << heading;
    EXPECT_LE(line_of(text, heading), 40u) << heading;
  }
  EXPECT_GT(line_of(text, "```cpp"), 40u);
  EXPECT_LE(line_of(text, "```cpp"), 80u);
}

TEST(readme, every_op_has_a_row_and_a_contract) {
  const std::string readme = page_text("README.md"), contracts = page_text("kernels/README.md");
  for (const Op* op : all_ops()) {
    EXPECT_TRUE(has_pattern(readme, "\\b" + op->name + "\\b")) << op->name;
    EXPECT_TRUE(has_pattern(contracts, "\\b" + op->name + "\\b")) << op->name;
  }
}

// ---- flags ----

/// What a program says of itself, by the words that run it: "clam verify", "tools/bench".
class Helps {
 public:
  const std::string& of(const std::string& name) {
    auto found = texts_.find(name);
    if (found == texts_.end()) found = texts_.emplace(name, ask(name)).first;
    return found->second;
  }

 private:
  static std::string ask(const std::string& name) {
    std::istringstream stream(name);
    std::string program, command;
    stream >> program >> command;
    std::vector<std::string> words{program == "clam"         ? CLAM_BINARY
                                   : program == "clam-bench" ? CLAM_BENCH_BINARY
                                                             : kSource + "/" + program};
    if (!command.empty()) words.push_back(command);
    words.emplace_back("--help");
    const Finished finished = run_command(words);
    return finished.code == 0 ? finished.out : "";
  }

  std::map<std::string, std::string> texts_;
};

/// The helps in which the flags of a command line may stand; empty where it is none of ours.
std::vector<std::string> programs_of(const std::string& code) {
  std::istringstream stream(code);
  std::string program, command, rest;
  while (stream >> program && program.find('=') != program.npos) {  // of the environment
  }
  stream >> command;
  if (program.rfind("build/", 0) == 0) program = program.substr(6);
  if (program == "clam" && std::islower(command[0])) return {"clam " + command, "clam"};
  if (program == "clam" || program == "clam-bench") return {program};
  if (program == "tools/bench") return {program, "clam-bench"};
  if (program == "tools/with-driver" && std::islower(command[0]) && std::getline(stream, rest))
    return programs_of(rest);
  const bool is_script = program.rfind("tools/", 0) == 0 &&
                         fs::is_regular_file(kSource + "/" + program) &&
                         fs::path(program).extension().empty();
  return is_script ? std::vector<std::string>{program} : std::vector<std::string>{};
}

/// clam answers an unknown command that is followed by --help with its own help.
bool exists(const std::string& program, Helps& helps) {
  if (program.rfind("clam ", 0) != 0) return !helps.of(program).empty();
  return contains(helps.of("clam"), "\n  " + program.substr(5) + " ");
}

/// Flags of the command line that no help of its program has, or the program if that is unknown.
std::vector<std::string> unknown_words(const std::string& code, Helps& helps) {
  const std::vector<std::string> programs = programs_of(code);
  if (programs.empty()) return {};
  if (!exists(programs[0], helps)) return {programs[0]};
  std::string all;
  for (const std::string& program : programs) all += helps.of(program);
  std::vector<std::string> unknown;
  const std::string own = code.substr(0, code.find("\"tools/"));  // a command in a command
  for (const Groups& flag : matches(own, "(^| )(--[a-z][a-z-]*)")) {
    const std::string& word = flag[2];
    if (word != "--help" && !has_pattern(all, word + "\\b")) unknown.push_back(word);
  }
  return unknown;
}

TEST(readme, commands_in_the_text_exist_with_their_flags) {
  Helps helps;
  int asked = 0;
  for (const std::string& page : pages()) {
    for (const std::string& code : quoted_code(page_text(page))) {
      asked += !programs_of(code).empty();
      for (const std::string& word : unknown_words(code, helps))
        ADD_FAILURE() << page << ": `" << code << "`: " << word;
    }
  }
  EXPECT_GE(asked, 50);
}

TEST(readme, a_command_or_a_flag_that_is_gone_is_seen) {
  Helps helps;
  using Words = std::vector<std::string>;
  EXPECT_EQ(unknown_words("build/clam list dense", helps), Words{});
  EXPECT_EQ(unknown_words("CLAM_DEVICE=0:0 clam verify --set all --json -", helps), Words{});
  EXPECT_EQ(unknown_words("clam verify --sets all", helps), Words{"--sets"});
  EXPECT_EQ(unknown_words("clam verfy", helps), Words{"clam verfy"});
  EXPECT_EQ(unknown_words("tools/bench --quick --pears", helps), Words{"--pears"});
  EXPECT_EQ(unknown_words("tar --zstd -xf", helps), Words{});
}

// ---- commands ----

/// A folder that looks like the project's, with the built programs, results of boards, a prediction
/// and a user's boxes in it: those that went into get_valid_counts, and what the user's runtime
/// made of them.
void furnish(const TemporaryFolder& folder) {
  for (const char* name : {"kernels", "tools", "bench", "tests"}) {  // commands may write there
    fs::copy(fs::path(kSource) / name, folder.file(name), fs::copy_options::recursive);
  }
  fs::create_directory(folder.file("build"));
  fs::create_symlink(CLAM_BINARY, folder.file("build/clam"));
  fs::create_symlink(CLAM_BENCH_BINARY, folder.file("build/clam-bench"));
  fs::copy_file(kSource + "/tests/cli/results/made-up-g1.json", folder.file("build/bench.json"));
  fs::copy_file(kSource + "/tests/cli/results/made-up-g2.json", folder.file("other-board.json"));
  std::string mali = read_file(kSource + "/tests/cli/results/made-up-g1.json");
  mali.replace(mali.find("Made-up-G1"), 10, "Mali-G610");
  write_file(folder.file("board.json"), mali);
  write_file(folder.file("mali.json"), R"({"clam_mali": 1, "gpus": [{"gpu": "g610", "problems": [
      {"problem": "softmax shape=1x4x192x192 dtype=f32", "variant": "softmax_row",
       "predicted_us": [20, 30]}]}]})");
  const Op& nms = find_op("nms");
  const HostTensor boxes =
      make_inputs(Problem::parse("nms n=1000 dtype=f32"), find_data_set(nms, "boxes"), seed())
          .at("data");
  const Problem counts = Problem::parse("get_valid_counts n=1000 dtype=f32 score_threshold=0.01");
  write_npy(folder.file("boxes.npy"), boxes);
  write_npy(folder.file("mine.npy"),
            reference_of(counts, {{"data", boxes}}, {Check::exact}).at("out").exact);
}

/// Those that install, build and test only have to be there and know their words.
std::string as_tried(const std::string& command) {
  const bool script = command.rfind("tools/", 0) == 0 || command.rfind("tests/weekly", 0) == 0 ||
                      command.rfind("cmake --install", 0) == 0;
  const bool runs = !script || command.rfind("tools/with-driver", 0) == 0;
  return runs ? command : command.substr(0, command.find(' ')) + " --help";
}

TEST(readme_device, commands_run) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  furnish(folder);
  std::set<std::string> done;
  for (const std::string& page : pages()) {
    for (const std::string& written : commands_of(page_text(page))) {
      const std::string command = as_tried(written);
      if (!done.insert(command).second) continue;
      std::vector<std::string> environment;
      if (command.rfind("build/clam mali", 0) == 0) {  // the real compilers take their time
        environment = {"CLAM_MALI_COMPILER=" + kSource + "/tests/mali/fake_mali_compiler.sh",
                       "CLAM_CACHE_DIR=" + folder.file("cache")};
      }
      const Finished result =
          run_command({"/bin/sh", "-c", "cd " + folder.path() + " && " + command}, environment);
      EXPECT_EQ(result.code, 0) << page << ": " << command << "\n" << result.out << result.err;
    }
  }
  EXPECT_GE(done.size(), 30u);
}

}  // namespace
}  // namespace clam::test
