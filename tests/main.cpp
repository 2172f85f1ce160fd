// SPDX-License-Identifier: MIT
// main.cpp - runs the tests and ends with the line "N passed, N failed, N skipped".
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>

#include "test_device.hpp"

namespace {

/// Names of all suites, without instance prefix and `_device`: the rooms.
std::string rooms() {
  std::set<std::string> names;
  const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
  for (int i = 0; i < tests.total_test_suite_count(); ++i) {
    std::string name = tests.GetTestSuite(i)->name();
    name = name.substr(name.find('/') == name.npos ? 0 : name.find('/') + 1);
    const std::size_t suffix = name.rfind("_device");
    names.insert(name.substr(0, suffix));
  }
  std::string text;
  for (const std::string& name : names) text += " " + name;
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) {
    std::fprintf(stderr, "clam-tests: unknown argument '%s'; see --help\n", argv[1]);
    return 2;
  }
  const int status = RUN_ALL_TESTS();
  const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
  if (testing::GTEST_FLAG(list_tests)) return status;
  if (tests.test_to_run_count() == 0) {
    std::fprintf(stderr, "clam-tests: no test is selected; there are the rooms%s\n",
                 rooms().c_str());
    return 2;
  }
  std::printf("seed %llu (CLAM_TEST_SEED repeats it)\n",
              static_cast<unsigned long long>(clam::test::seed()));
  std::printf("%d passed, %d failed, %d skipped\n", tests.successful_test_count(),
              tests.failed_test_count(), tests.skipped_test_count());
  if (status != 0) return 1;
  return tests.successful_test_count() == 0 ? 77 : 0;
}
