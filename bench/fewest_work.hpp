// SPDX-License-Identifier: MIT
// fewest_work.hpp - the arithmetic and the memory traffic that no kernel can do without. A row's
// GFLOP/s and GB/s are nominal and may so exceed the device's peaks; these may not.
#pragma once

#include "problem.hpp"

namespace clam::bench {

/// As the op's nominal flops, less what a kernel may skip: products with the padding of a
/// convolution, and keys that causal attention hides.
double fewest_flops(const Problem& problem);

/// As the op's nominal bytes, less the rows and columns of x that the windows of a convolution or
/// a pooling step over: a 1x1 filter with stride 2 needs a quarter of x.
double fewest_bytes(const Problem& problem);

}  // namespace clam::bench
