// SPDX-License-Identifier: MIT
// fewest_flops.hpp - the arithmetic that no kernel can do without.
#pragma once

#include "problem.hpp"

namespace clam::bench {

/// As the op's nominal flops, less what a kernel may skip: products with the padding of a
/// convolution, and keys that causal attention hides. A row's GFLOP/s are nominal and may so exceed
/// the device's peak; these may not.
double fewest_flops(const Problem& problem);

}  // namespace clam::bench
