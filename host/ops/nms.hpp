// SPDX-License-Identifier: MIT
// nms.hpp - what the plans of nms share with its reference.
#pragma once

#include "clam/op.hpp"
#include "shared/suppression.hpp"

namespace clam {

Suppression nms_asks(const Problem& problem);

}  // namespace clam
