// SPDX-License-Identifier: MIT
// golden.hpp - stored plans: a change of plan is seen in review.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>
#include <string>

#include "runtime/atomic_file.hpp"

namespace clam::test {

/// The file tests/ops/golden/NAME holds blocks of text, each under its heading. To add one, write
/// its heading after an empty line; CLAM_UPDATE_GOLDEN=1 writes the file anew. `block` makes a
/// block, heading included, of a heading.
template <typename Block>
void expect_golden(const std::string& name, Block&& block) {
  const std::string path = std::string(CLAM_SOURCE_DIR) + "/tests/ops/golden/" + name;
  std::istringstream lines(read_file(path));
  std::string anew;
  bool first_of_block = true;
  for (std::string line; std::getline(lines, line); first_of_block = line.empty()) {
    if (first_of_block && !line.empty()) anew += block(line) + "\n";
  }
  EXPECT_NE(anew, "") << path;
  const char* update = std::getenv("CLAM_UPDATE_GOLDEN");
  if (update && std::string(update) == "1") write_file(path, anew);
  EXPECT_EQ(read_file(path), anew) << "if this is meant: CLAM_UPDATE_GOLDEN=1 build/clam-tests";
}

}  // namespace clam::test
