// SPDX-License-Identifier: MIT
// gather.hpp - what the plans of gather share with its reference.
#pragma once

#include "clam/op.hpp"

namespace clam {

/// Element (o, j, i) of dst is element (o, index[j], i) of src.
struct Gather {
  std::int64_t outer, extent, inner, count;
  explicit Gather(const Problem& problem);
};

}  // namespace clam
