// SPDX-License-Identifier: MIT
// onnx_nms.hpp - what the plans of onnx_nms share with its reference.
#pragma once

#include "clam/op.hpp"
#include "shared/suppression.hpp"

namespace clam {

Suppression onnx_nms_asks(const Problem& problem);
/// Most boxes that a class keeps, at least 1.
std::int64_t onnx_nms_most(const Problem& problem);

}  // namespace clam
