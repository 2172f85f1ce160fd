// SPDX-License-Identifier: MIT
// numbers.hpp - numbers that references and data sets share.
#pragma once

#include <cmath>
#include <limits>

namespace clam {

constexpr double kFloat = 0x1p-24;      ///< unit roundoff of float, in which kernels compute
constexpr double kSmallest = 0x1p-126;  ///< the smallest normal float: less may count as 0
constexpr double kLargest = 0x1.fffffep+127;  ///< the largest float
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Infinite where it is beyond the largest float.
inline double in_float(double value) {
  return std::fabs(value) > kLargest ? std::copysign(kInfinity, value) : value;
}

}  // namespace clam
