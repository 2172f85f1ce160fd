// SPDX-License-Identifier: MIT
// random_place.hpp - random problems of matrices within larger ones.
#pragma once

#include <fmt/core.h>

#include <string>

#include "check/ops/shared/random.hpp"

namespace clam::test {

/// Words that lay rows of a matrix `name` into wider ones, half of the time, and of these half with
/// aligned rows. `rows`: of each matrix of a stack, which then has a stride; 0: there is no stack.
inline std::string random_place(Random& random, const std::string& name, int row, int rows = 0) {
  if (random.integer(0, 1) == 0) return "";
  const int step = random.integer(0, 1) == 0 ? 4 : 1;
  const auto whole = [step](int elements) { return (elements + step - 1) / step * step; };
  const int ld = whole(row) + step * random.integer(0, 3);
  const int stride = rows == 0 ? 0 : whole(rows * ld) + step * random.integer(0, 3);
  std::string place = fmt::format(" ld{0}={1} off{0}={2}", name, ld, step * random.integer(0, 5));
  return rows == 0 ? place : place + fmt::format(" stride{}={}", name, stride);
}

}  // namespace clam::test
