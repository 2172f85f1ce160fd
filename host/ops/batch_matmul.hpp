// SPDX-License-Identifier: MIT
// batch_matmul.hpp - what the plans of batch_matmul share with its reference.
#pragma once

#include "clam/op.hpp"

namespace clam {

/// Why no kernel computes the problem, on any device; empty when one does.
Reason batch_matmul_not_offered(const Problem& problem);

}  // namespace clam
