// SPDX-License-Identifier: MIT
// transpose.hpp - what the plans of transpose share with its reference.
#pragma once

#include <vector>

#include "clam/op.hpp"

namespace clam {

/// A transpose without axes of one element, and with axes that stay together as one.
struct Turn {
  Shape extents;          ///< of src, in its order
  std::vector<int> perm;  ///< axes of src in the order of dst
  explicit Turn(const Problem& problem);

  bool keeps_innermost() const {
    return perm.empty() || perm.back() == static_cast<int>(perm.size()) - 1;
  }
  /// Elements from one of an axis to the next, by axis of src.
  std::vector<std::int64_t> src_steps() const;
  std::vector<std::int64_t> dst_steps() const;
};

}  // namespace clam
