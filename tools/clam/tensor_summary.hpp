// SPDX-License-Identifier: MIT
// tensor_summary.hpp - the numbers of a tensor in a line.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "check/compare.hpp"

namespace clam::cli {

/// What is in an output, for people who gave no file for it; `iteration` of the poison in it.
struct Summary {
  double least = INFINITY, most = -INFINITY, sum = 0;
  std::int64_t finite = 0, not_finite = 0, unwritten = 0;

  Summary(const HostTensor& tensor, int iteration) {
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      const double value = tensor.get(i);
      unwritten += tensor.bits(i) == poison_bits(tensor.dtype(), iteration);
      if (!std::isfinite(value)) {
        ++not_finite;
        continue;
      }
      ++finite;
      sum += value;
      least = std::min(least, value);
      most = std::max(most, value);
    }
  }
  double mean() const { return sum / static_cast<double>(finite); }
  std::string text() const {
    std::string text = finite
                           ? fmt::format("min {:.6g}, mean {:.6g}, max {:.6g}", least, mean(), most)
                           : "no finite element";
    if (not_finite) text += fmt::format(", {} NaN or inf", not_finite);
    if (unwritten) text += fmt::format(", {} never written", unwritten);
    return text;
  }
};

}  // namespace clam::cli
