// SPDX-License-Identifier: MIT
// pad.hpp - what the plans of pad share with its tests.
#pragma once

#include <vector>

#include "clam/op.hpp"

namespace clam {

/// An axis: its extent in src, what is added before and after, and the elements of src and of dst
/// from one of it to the next.
struct PadAxis {
  std::int64_t extent = 1, before = 0, after = 0, src = 0, dst = 0;
  std::int64_t padded() const { return before + extent + after; }
};

/// A pad without axes of one element in dst. Axes that are not padded are one with the axis before
/// them, where that one's elements may be taken in runs.
struct Pad {
  std::vector<PadAxis> axes;  ///< from the innermost on, at least one
  explicit Pad(const Problem& problem);
};

}  // namespace clam
