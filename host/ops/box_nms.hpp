// SPDX-License-Identifier: MIT
// box_nms.hpp - what the plans of box_nms share with its reference.
#pragma once

#include "clam/op.hpp"
#include "shared/suppression.hpp"

namespace clam {

Suppression box_nms_asks(const Problem& problem);
/// What becomes of the coordinates of a kept row.
BoxForm box_nms_form(const Problem& problem);

}  // namespace clam
