// SPDX-License-Identifier: MIT
// torchvision_nms.hpp - what the plans of torchvision_nms share with its reference.
#pragma once

#include "clam/op.hpp"
#include "shared/suppression.hpp"

namespace clam {

Suppression torchvision_nms_asks(const Problem& problem);

}  // namespace clam
