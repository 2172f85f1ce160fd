// SPDX-License-Identifier: MIT
// main.cpp - runs the tests and ends with the line "N passed, N failed, N skipped".
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "test_device.hpp"

namespace {

/// Names of all suites, without `_device`: the rooms.
std::string rooms() {
  std::set<std::string> names;
  const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
  for (int i = 0; i < tests.total_test_suite_count(); ++i) {
    std::string name = tests.GetTestSuite(i)->name();
    const std::size_t suffix = name.rfind("_device");
    names.insert(name.substr(0, suffix));
  }
  std::string text;
  for (const std::string& name : names) text += " " + name;
  return text;
}

/// The CPU time of this process and of those that it waited for, in seconds.
double cpu_seconds() {
  double seconds = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage use{};
    ::getrusage(who, &use);
    for (const timeval& time : {use.ru_utime, use.ru_stime}) {
      seconds += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    }
  }
  return seconds;
}

/// Appends a line a test to a file: CPU seconds, wall seconds, name. Another process may do the
/// same.
class Costs : public testing::EmptyTestEventListener {
 public:
  explicit Costs(const char* file) : file_(file, std::ios::app) {}

 private:
  void OnTestStart(const testing::TestInfo&) override { start_ = cpu_seconds(); }
  void OnTestEnd(const testing::TestInfo& test) override {
    char line[400];
    std::snprintf(line, sizeof line, "%.2f %.2f %s.%s\n", cpu_seconds() - start_,
                  1e-3 * static_cast<double>(test.result()->elapsed_time()), test.test_suite_name(),
                  test.name());
    file_ << line << std::flush;
  }

  std::ofstream file_;
  double start_ = 0;
};

/// What the tests and their programs build is kept beside this program, in build/, unless the
/// caller says where: the home is left alone. They build more than the limit of a person's cache.
void keep_caches_here() {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path() / "test-cache";
  if (!std::getenv("CLAM_CACHE_DIR")) {
    ::setenv("CLAM_CACHE_DIR", (here / "programs").c_str(), 1);
    ::setenv("CLAM_CACHE_MB", "1000", 0);
  }
  for (const char* variable : {"POCL_CACHE_DIR", "MESA_SHADER_CACHE_DIR"}) {
    if (std::getenv(variable)) continue;
    const fs::path folder = here / (variable[0] == 'P' ? "pocl" : "mesa");
    fs::create_directories(folder, ignored);  // Mesa does not make the folders above its own
    ::setenv(variable, folder.c_str(), 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  keep_caches_here();
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) {
    std::fprintf(stderr, "clam-tests: unknown argument '%s'; see --help\n", argv[1]);
    return 2;
  }
  if (const char* file = std::getenv("CLAM_TEST_COSTS")) {
    testing::UnitTest::GetInstance()->listeners().Append(new Costs(file));
  }
  const int status = RUN_ALL_TESTS();
  const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
  if (testing::GTEST_FLAG(list_tests)) return status;
  if (tests.test_to_run_count() == 0) {
    std::fprintf(stderr, "clam-tests: no test is selected; there are the parts%s\n",
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
