// SPDX-License-Identifier: MIT
// The list of slow tests: a pattern that selects nothing is of a test that was renamed, and would
// run where it should not.
#include <fnmatch.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "test_device.hpp"

namespace clam::test {
namespace {

std::vector<std::string> all_tests() {
  std::vector<std::string> names;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      names.push_back(std::string(suite.name()) + "." + suite.GetTestInfo(j)->name());
    }
  }
  return names;
}

bool fits(const std::string& name, const std::string& pattern) {
  return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

/// The patterns of a list that no test fits, and lines that are not of its form.
std::vector<std::string> useless(std::istream& list, const std::vector<std::string>& tests) {
  const std::set<std::string> levels = {"full", "fifth", "weekly", "once"};
  std::vector<std::string> found;
  for (std::string line; std::getline(list, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string level, pattern;
    words >> level >> pattern;
    bool any = false;
    for (const std::string& test : tests) any = any || fits(test, pattern);
    if (!any || levels.count(level) == 0) found.push_back(line);
  }
  return found;
}

TEST(slow, a_pattern_of_no_test_is_seen) {
  const std::vector<std::string> tests = {"dense_device.every_case", "cli.run"};
  std::istringstream list("# why\nfull *_device.every_*  # 9\nweekly cli.walk\nsome cli.run\n");
  EXPECT_EQ(useless(list, tests), (std::vector<std::string>{"weekly cli.walk", "some cli.run"}));
}

TEST(slow, one_of_each_five_is_of_a_run_and_all_of_a_week) {
  const char* week = std::getenv("CLAM_TEST_WEEKLY");
  ::unsetenv("CLAM_TEST_WEEKLY");
  const std::vector<std::size_t> some = indices_of_this_run(13);
  ASSERT_EQ(some.size(), 3U);
  for (std::size_t i = 0; i < some.size(); ++i) EXPECT_EQ(some[i] / 5, i);
  EXPECT_LT(some.back(), 13U);
  EXPECT_TRUE(indices_of_this_run(0).empty());
  ::setenv("CLAM_TEST_WEEKLY", "1", 1);
  EXPECT_EQ(indices_of_this_run(4), (std::vector<std::size_t>{0, 1, 2, 3}));
  if (!week) ::unsetenv("CLAM_TEST_WEEKLY");
}

TEST(slow, every_pattern_of_the_list_is_of_a_test) {
  const std::vector<std::string> tests = all_tests();
  for (const char* room : {"readme.*", "bench.*", "match_assignment.*"}) {
    bool built = false;
    for (const std::string& test : tests) built = built || fits(test, room);
    if (!built) GTEST_SKIP() << "not all rooms are built: " << room;
  }
  std::ifstream list(CLAM_SOURCE_DIR "/tests/support/slow.txt");
  if (!list) GTEST_SKIP() << "the sources are not here";
  EXPECT_EQ(useless(list, tests), std::vector<std::string>{});
}

}  // namespace
}  // namespace clam::test
