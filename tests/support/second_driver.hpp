// SPDX-License-Identifier: MIT
// second_driver.hpp - Mesa's rusticl on a CPU for tests that ask for it, or for a second driver.
#pragma once

#include "run_clam.hpp"

namespace clam::test {

inline const std::string kWithDriver = CLAM_SOURCE_DIR "/tools/with-driver";

/// rusticl: the driver that the tests run on, or one that is made already.
class RusticlTest : public testing::Test {
 protected:
  void SetUp() override {
    CLAM_NEEDS_DEVICE();
    is_own_ = contains(runtime().device().platform, "rusticl");
    if (is_own_) return;
    const Finished made = run_command({kWithDriver, "--made", "llvmpipe"});
    if (made.code != 0) GTEST_SKIP() << "no rusticl here: " << made.err;
  }
  /// clam with these words on rusticl.
  Finished on_rusticl(std::vector<std::string> words) const {
    words.insert(words.begin(), CLAM_BINARY);
    if (!is_own_) words.insert(words.begin(), {kWithDriver, "llvmpipe"});
    return run_command(words);
  }
  bool is_own_ = false;
};

/// rusticl beside the driver that the tests run on.
class SecondDriverTest : public RusticlTest {
 protected:
  void SetUp() override {
    RusticlTest::SetUp();
    if (is_own_ && !IsSkipped()) GTEST_SKIP() << "no second driver: the tests run on rusticl";
  }
};

}  // namespace clam::test
