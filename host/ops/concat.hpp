// SPDX-License-Identifier: MIT
// concat.hpp - what the plans of concat share with its reference.
#pragma once

#include "clam/op.hpp"

namespace clam {

/// Rows of a and b, which alternate in dst.
struct Concat {
  std::int64_t rows, na, nb;
  explicit Concat(const Problem& problem);
};

}  // namespace clam
