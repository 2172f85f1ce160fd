// SPDX-License-Identifier: MIT
// slice.hpp - what the plans of slice share with its tests.
#pragma once

#include "shared/axes.hpp"

namespace clam {

struct Slice {
  std::int64_t first = 0;  ///< the element of src that is the first of dst
  std::vector<CopyAxis> axes;
  explicit Slice(const Problem& problem);
};

}  // namespace clam
