// SPDX-License-Identifier: MIT
// boxes.hpp - what problems say of SSD's boxes.
#pragma once

#include "clam/op.hpp"

namespace clam {

/// "variances": factors of a box's four offsets. check_variances throws BadArgument.
Field variances_field();
void check_variances(const Problem& problem);
/// In half, class numbers over 2048 have no number of their own. Throws BadArgument.
void check_classes(const Problem& problem);

}  // namespace clam
