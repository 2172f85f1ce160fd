// SPDX-License-Identifier: MIT
// timing.hpp - tests whose verdict depends on real time: the suites timing_*. All others run on the
// scripted OpenCL, or do not look at the clock.
#pragma once

#include <gtest/gtest.h>

namespace clam::test {

/// Whether this process is the one that a timing test runs in. With CLAM_TEST_TIMING=1 every
/// process is, however busy the machine is.
bool is_timing();
/// Runs the current test in a process of its own. Skips, with the load, where other programs take
/// much of the processors before it, or while it fails.
void run_in_quiet();

}  // namespace clam::test

#define CLAM_NEEDS_QUIET() \
  if (!::clam::test::is_timing()) return ::clam::test::run_in_quiet()
