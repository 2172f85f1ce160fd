// SPDX-License-Identifier: MIT
// process_test.cpp - a process that does not end although it was ended, as one inside of a driver
// may: it is given up in time, and the program goes on.
#include <gtest/gtest.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>

#include "process/isolate.hpp"

namespace {

std::atomic<bool> nobody_ends{false};

}  // namespace

// The linker puts this in waitpid's place in this program (-Wl,--wrap).
extern "C" pid_t __real_waitpid(pid_t child, int* status, int options);
extern "C" pid_t __wrap_waitpid(pid_t child, int* status, int options) {
  return nobody_ends ? 0 : __real_waitpid(child, status, options);
}

namespace clam::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

TEST(process, what_cannot_be_ended_is_given_up) {
  const steady_clock::time_point start = steady_clock::now();
  nobody_ends = true;
  const Fate fate = run_isolated({"/bin/sleep", "1000"}, milliseconds(50));
  nobody_ends = false;
  EXPECT_GE(steady_clock::now() - start, seconds(10)) << "it was waited for";
  EXPECT_TRUE(fate.hung);
  EXPECT_EQ(fate.code, 128 + 9);
  ASSERT_TRUE(fate.misfortune());
  EXPECT_NE(fate.misfortune()->find("gave no result for 0 s and was ended"), std::string::npos)
      << *fate.misfortune();
  EXPECT_EQ(run_isolated({"/bin/true"}, seconds(600)).code, 0) << "the next one is as ever";
}

}  // namespace
}  // namespace clam::test
