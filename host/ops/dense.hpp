// SPDX-License-Identifier: MIT
// dense.hpp - what the plans of dense share with its reference.
#pragma once

#include "clam/op.hpp"

namespace clam {

/// Why no kernel computes the problem, on any device; empty when one does.
Reason dense_not_offered(const Problem& problem);

}  // namespace clam
