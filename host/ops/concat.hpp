// SPDX-License-Identifier: MIT
// concat.hpp - what the plans of concat share with its reference.
#pragma once

#include <vector>

#include "clam/op.hpp"

namespace clam {

/// Rows of the inputs, which follow each other in those of dst.
struct Concat {
  std::int64_t rows = 1;
  std::vector<std::int64_t> widths;  ///< elements of a row of each input
  explicit Concat(const Problem& problem);
};

}  // namespace clam
