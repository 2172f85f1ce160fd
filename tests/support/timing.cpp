// SPDX-License-Identifier: MIT
#include "timing.hpp"

#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "command.hpp"
#include "process/isolate.hpp"
#include "process/other_load.hpp"

namespace clam::test {
namespace {

constexpr double kMuch = 0.1;

bool is_busy(const OtherLoad& load) { return load.share().value_or(0) > kMuch; }

std::string sentence(const OtherLoad& load, const std::string& when) {
  return fmt::format("the machine is busy: {} other programs take {:.0f} % of the processors", when,
                     100 * load.share().value_or(0));
}

}  // namespace

bool is_timing() { return std::getenv("CLAM_TEST_TIMING") != nullptr; }

void run_in_quiet() {
  const OtherLoad before;
  std::this_thread::sleep_for(std::chrono::seconds(1));
  if (is_busy(before)) GTEST_SKIP() << sentence(before, "before the test");
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::vector<std::string> words = own_command();
  words.push_back(fmt::format("--gtest_filter={}.{}", test->test_suite_name(), test->name()));
  const OtherLoad load;
  const Finished finished =
      run_command(words, {"CLAM_TEST_TIMING=1", "GTEST_TOTAL_SHARDS=1", "GTEST_SHARD_INDEX=0"});
  if (finished.code == 77) GTEST_SKIP() << finished.out;
  if (finished.code != 0 && is_busy(load)) GTEST_SKIP() << sentence(load, "while it failed");
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
}

}  // namespace clam::test
