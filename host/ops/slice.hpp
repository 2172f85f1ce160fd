// SPDX-License-Identifier: MIT
// slice.hpp - what the plans of slice share with its tests.
#pragma once

#include <vector>

#include "clam/op.hpp"

namespace clam {

/// An axis of dst: its extent, and the elements of src and of dst from one of it to the next.
struct SliceAxis {
  std::int64_t extent = 1, src = 0, dst = 0;
};

/// A slice without axes of one element. Axes that lie in src as one are one.
struct Slice {
  std::int64_t first = 0;       ///< the element of src that is the first of dst
  std::vector<SliceAxis> axes;  ///< from the innermost on, at least one
  explicit Slice(const Problem& problem);
};

}  // namespace clam
