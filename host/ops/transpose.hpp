// SPDX-License-Identifier: MIT
// transpose.hpp - what the plans of transpose share with its reference.
#pragma once

#include "shared/axes.hpp"

namespace clam {

/// The axes of a transpose in the order of src, the innermost last.
std::vector<CopyAxis> transpose_axes(const Problem& problem);

}  // namespace clam
