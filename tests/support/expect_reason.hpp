// SPDX-License-Identifier: MIT
// expect_reason.hpp - whether a condition holds, or says what is wrong.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "clam/op.hpp"

namespace clam::test {

inline void expect_says(const Reason& reason, const std::string& words) {
  ASSERT_TRUE(reason) << "nothing is said of: " << words;
  EXPECT_NE(reason->find(words), std::string::npos) << *reason;
}

inline void expect_holds(const Reason& reason) { EXPECT_FALSE(reason) << reason.value_or(""); }

}  // namespace clam::test
