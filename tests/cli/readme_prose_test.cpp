// SPDX-License-Identifier: MIT
// readme_prose_test.cpp - pages, helps, public headers and kernel files have short sentences.
#include <gtest/gtest.h>

#include <filesystem>

#include "command.hpp"
#include "pages.hpp"
#include "pattern.hpp"
#include "runtime/atomic_file.hpp"

namespace clam::test {
namespace {

namespace fs = std::filesystem;
using Sentences = std::vector<std::string>;

const fs::path kTree = CLAM_SOURCE_DIR;

void expect_none(const std::string& where, const Sentences& sentences) {
  for (const std::string& sentence : sentences) ADD_FAILURE() << where << ": " << sentence;
}

TEST(readme, pages_have_short_sentences) {
  for (const std::string& page : pages())
    expect_none(page, long_sentences_of_page(page_text(page)));
}

/// What a program says when it is asked for help.
std::string help_of(std::vector<std::string> words) {
  words.emplace_back("--help");
  const Finished finished = run_command(words);
  EXPECT_EQ(finished.code, 0) << words[0] << ": " << finished.err;
  return finished.out;
}

TEST(readme, helps_have_short_sentences) {
  for (const char* command :
       {"info", "list", "plan", "manifest", "verify", "bisect", "run", "diagnose", "record",
        "replay", "shrink", "probe", "mali", "report"}) {
    expect_none(command, long_sentences_of_help(help_of({CLAM_BINARY, command})));
  }
  expect_none("clam", long_sentences_of_help(help_of({CLAM_BINARY})));
  expect_none("clam-bench", long_sentences_of_help(help_of({CLAM_BENCH_BINARY})));
  for (const char* script : {"tools/bench", "tools/test", "tools/setup", "tools/with-driver",
                             "tools/package", "tools/new-op", "tests/weekly"}) {
    expect_none(script, long_sentences_of_help(help_of({(kTree / script).string()})));
  }
}

TEST(readme, public_headers_and_kernels_have_short_sentences) {
  for (const char* folder : {"host", "kernels"}) {
    for (const auto& entry : fs::directory_iterator(kTree / folder)) {
      const std::string kind = entry.path().extension().string();
      if (kind != ".hpp" && kind != ".cl") continue;
      expect_none(entry.path().filename().string(),
                  long_sentences_of_comments(read_file(entry.path().string())));
    }
  }
}

/// Words for people in the project's own data: workloads, probes, and the schema of results.
TEST(readme, data_files_have_short_sentences) {
  const char* words = "\"(?:about|advice|symptom|description|what)\": \"((?:[^\"\\\\]|\\\\.)*)\"";
  int asked = 0;
  for (const char* folder : {"bench", "tests/tools/probes"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kTree / folder)) {
      if (entry.path().extension() != ".json") continue;
      const std::string text = read_file(entry.path().string());
      for (const Groups& string : matches(text, words)) {
        expect_none(entry.path().string(), long_sentences_of_page(string[1]));
        ++asked;
      }
    }
  }
  EXPECT_GT(asked, 100);
}

// ---- the check itself ----

/// "one two three ... ." of so many words.
std::string sentence_of(int words) {
  std::string sentence = "One";
  for (int i = 1; i < words; ++i) sentence += i % 2 ? " word" : " .25";
  return sentence + ".";
}

TEST(readme, a_long_sentence_of_a_page_is_seen) {
  const std::string fine = sentence_of(25), wrong = sentence_of(26);
  const auto found = [](const std::string& text) { return long_sentences_of_page(text).size(); };
  EXPECT_EQ(found(fine + " " + fine), 0u);
  EXPECT_EQ(found(fine + " " + wrong), 1u);
  EXPECT_EQ(found(wrong + "\n\n- " + wrong + "\n  " + fine + "\n1. " + wrong), 3u);
  EXPECT_EQ(found("A line\n" + wrong), 1u) << "a paragraph is one text";
  EXPECT_EQ(found("```sh\n" + wrong + "\n```\n| " + wrong + " |\n# " + wrong), 0u);
  EXPECT_EQ(found("`" + wrong + "` is code."), 0u);
  EXPECT_EQ(found("Lower case after a point. " + sentence_of(20) + " x starts one."), 0u);
}

TEST(readme, a_long_sentence_of_a_help_is_seen) {
  const std::string fine = sentence_of(20), wrong = sentence_of(26);
  const auto found = [](const std::string& text) { return long_sentences_of_help(text).size(); };
  EXPECT_EQ(found("  --one TEXT    " + fine + "\n  --two    " + fine), 0u);
  EXPECT_EQ(found("  --one TEXT    " + wrong), 1u);
  EXPECT_EQ(found("  --one\n                 " + wrong + "\n  --two    " + fine), 1u);
  EXPECT_EQ(found("One two three\n" + wrong), 1u);
}

TEST(readme, a_long_sentence_of_a_comment_is_seen) {
  const std::string fine = sentence_of(20), wrong = sentence_of(26);
  const auto found = [](const std::string& text) {
    return long_sentences_of_comments(text).size();
  };
  EXPECT_EQ(found("/// " + fine + "\nint a;  ///< " + fine + "\n// " + fine), 0u);
  EXPECT_EQ(found("/// One\n/// " + wrong + "\nint a;  ///< " + wrong), 2u);
  EXPECT_EQ(found("int a;  ///< One two three four five\n        ///< six " + fine), 1u);
  EXPECT_EQ(found("int a;  ///< " + sentence_of(20) + "\n/// " + fine), 0u) << "two comments";
  EXPECT_EQ(found("//@needs " + wrong + "\n//  " + wrong), 0u);
}

}  // namespace
}  // namespace clam::test
