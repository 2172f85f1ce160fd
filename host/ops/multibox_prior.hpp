// SPDX-License-Identifier: MIT
// multibox_prior.hpp - what the plans of multibox_prior share with its reference.
#pragma once

#include "clam/op.hpp"

namespace clam {

/// Boxes of a cell.
int multibox_prior_boxes(const Problem& problem);

}  // namespace clam
