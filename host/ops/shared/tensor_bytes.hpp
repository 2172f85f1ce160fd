// SPDX-License-Identifier: MIT
// tensor_bytes.hpp - what most ops say for Op::bytes.
#pragma once

#include "../../op.hpp"

namespace clam {

/// The bytes of all tensors of a problem, each moved once; gaps between rows are not.
inline double tensor_bytes(const Problem& problem) {
  double bytes = 0;
  for (const TensorSpec& spec : problem.op().tensors(problem)) {
    bytes += static_cast<double>(count(spec.shape)) * size_of(spec.dtype);
  }
  return bytes;
}

}  // namespace clam
