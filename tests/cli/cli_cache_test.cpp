// SPDX-License-Identifier: MIT
// clam cache, what clam info says of it, and CLAM_CACHE_MB.
#include <filesystem>

#include "run_clam.hpp"

namespace clam::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class cli_cache : public testing::Test {
 protected:
  Finished clam(std::vector<std::string> words, std::vector<std::string> more = {}) const {
    more.push_back("CLAM_CACHE_DIR=" + dir_);
    return run_clam(std::move(words), more);
  }
  /// An entry as ProgramCache writes it, of 3 blocks of 4096 bytes.
  void add_entry(char digit) const {
    const std::string entry = dir_ + "/" + std::string(32, digit);
    make_folder(entry);
    write_file(entry + "/source.cl", "kernel");
    write_file(entry + "/program.bin", "binary");
  }

  TemporaryFolder scratch_;
  const std::string dir_ = scratch_.file("cache");
};

TEST_F(cli_cache, says_place_entries_size_and_limit) {
  const Finished none = clam({"cache"}, {"CLAM_CACHE_MB="});
  EXPECT_EQ(none.code, 0) << none.err;
  for (const std::string& words :
       {dir_, std::string("0 programs"), std::string("0.0 MB"), std::string("limit    128 MB")}) {
    EXPECT_TRUE(contains(none.out, words)) << none.out << "lacks: " << words;
  }
  EXPECT_FALSE(fs::exists(dir_)) << "looking makes no folder";
  add_entry('a');
  make_folder(dir_ + "/mali");
  write_file(dir_ + "/mali/" + std::string(32, 'b') + ".txt", "compiled");
  const Finished some = clam({"cache", "--json", "-"}, {"CLAM_CACHE_MB=7"});
  EXPECT_EQ(parse_out(some), (json{{"clam_cache", 1},
                                   {"version", CLAM_VERSION},
                                   {"dir", dir_},
                                   {"entries", 2},
                                   {"programs", 1},
                                   {"listings", 1},
                                   {"bytes", 4 * 4096},
                                   {"limit_bytes", 7000000}}));
  const Finished text = clam({"cache"});
  EXPECT_TRUE(contains(text.out, "1 program, 1 listing of Mali compilers")) << text.out;
}

TEST_F(cli_cache, clear_removes_entries_and_nothing_else) {
  add_entry('a');
  add_entry('b');
  write_file(dir_ + "/notes.txt", "mine");
  const Finished cleared = clam({"cache", "--clear"});
  EXPECT_EQ(cleared.code, 0) << cleared.err;
  EXPECT_TRUE(contains(cleared.out, "removed 2 programs, 0.0 MB, from " + dir_)) << cleared.out;
  EXPECT_EQ(read_file(dir_ + "/notes.txt"), "mine");
  add_entry('c');
  const json report = parse_out(clam({"cache", "--clear", "--json", "-"}));
  EXPECT_EQ(report["removed"]["entries"], 1);
  EXPECT_EQ(report["removed"]["bytes"], 3 * 4096);
  EXPECT_EQ(report["entries"], 0);
  EXPECT_EQ(report["bytes"], 0);
}

TEST_F(cli_cache, clear_that_cannot_says_so) {
  write_file(scratch_.file("file"), "no folder");
  make_folder(dir_);
  add_entry('a');
  fs::create_directory(dir_ + "/.clam-cache");  // the lock cannot be opened
  expect_refusal(clam({"cache", "--clear"}), 2, "cannot write in " + dir_);
  EXPECT_TRUE(fs::exists(dir_ + "/" + std::string(32, 'a')));
}

TEST_F(cli_cache, off_is_no_folder) {
  for (const char* word : {"--clear", "--quiet"}) {
    const Finished off = run_clam({"cache", word}, {"CLAM_CACHE_DIR=off"});
    EXPECT_EQ(off.code, 0) << off.err;
    EXPECT_TRUE(contains(off.out, "off (CLAM_CACHE_DIR=off")) << off.out;
  }
  const json report = parse_out(run_clam({"cache", "--json", "-"}, {"CLAM_CACHE_DIR=off"}));
  EXPECT_EQ(report["dir"], "");
  EXPECT_EQ(report["entries"], 0);
}

TEST_F(cli_cache, a_limit_that_is_no_number_is_one_sentence) {
  const std::string words = "CLAM_CACHE_MB='lots': needs a whole number of megabytes, 0";
  expect_refusal(clam({"cache"}, {"CLAM_CACHE_MB=lots"}), 2, words);
  expect_refusal(clam({"info"}, {"CLAM_CACHE_MB=lots"}), 2, words);
  CLAM_NEEDS_DEVICE();
  expect_refusal(clam({"run", kCounts, "--fill", "mixed"}, {"CLAM_CACHE_MB=lots"}), 2, words);
}

// ---- with programs ----

class cli_cache_device : public cli_cache {
 protected:
  void SetUp() override { CLAM_NEEDS_DEVICE(); }
  json counters(const std::string& megabytes) {
    const json report = parse_out(
        clam({"run", kCounts, "--fill", "mixed", "--json", "-"}, {"CLAM_CACHE_MB=" + megabytes}));
    return report.at("counters").at("programs");
  }
};

TEST_F(cli_cache_device, info_and_cache_show_what_a_run_left) {
  counters("128");
  const json cache = parse_out(clam({"cache", "--json", "-"}));
  if (cache["entries"] == 0) GTEST_SKIP() << "this driver gives no program binaries";
  EXPECT_GT(cache["bytes"], 0);
  const json info = parse_out(clam({"info", "--json", "-"}));
  for (const char* key : {"dir", "entries", "bytes", "limit_bytes"}) {
    EXPECT_EQ(info["cache"][key], cache[key]) << key;
  }
  const std::string text = clam({"info"}, {"CLAM_CACHE_MB=50"}).out;
  EXPECT_TRUE(contains(text, "program cache: " + dir_ + ", ")) << text;
  EXPECT_TRUE(contains(text, " MB of at most 50 MB\n")) << text;
  EXPECT_EQ(counters("128")["built"], 0);
  clam({"cache", "--clear"});
  EXPECT_GT(counters("128")["built"], 0);
}

TEST_F(cli_cache_device, a_limit_of_0_keeps_no_program) {
  EXPECT_GT(counters("0")["built"], 0);
  EXPECT_GT(counters("0")["built"], 0);
  EXPECT_EQ(parse_out(clam({"cache", "--json", "-"}))["entries"], 0);
}

TEST_F(cli_cache_device, a_killed_writer_costs_the_next_start_nothing_but_time) {
  counters("128");
  if (!fs::exists(dir_)) GTEST_SKIP() << "this driver gives no program binaries";
  // As a crash leaves it: half an entry under a temporary name, and no number.
  make_folder(dir_ + "/" + std::string(32, 'a') + ".abcdef");
  write_file(dir_ + "/" + std::string(32, 'a') + ".abcdef/source.cl", "half");
  write_file(dir_ + "/.clam-cache", "");
  EXPECT_EQ(counters("128")["built"], 0);
  EXPECT_FALSE(fs::exists(dir_ + "/" + std::string(32, 'a') + ".abcdef"));
}

}  // namespace
}  // namespace clam::test
