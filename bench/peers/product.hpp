// SPDX-License-Identifier: MIT
// product.hpp - the matrix product that a problem is, for libraries that know products alone.
#pragma once

#include <optional>
#include <string>

#include "clam/problem.hpp"

namespace clam::peers {

/// A stack of row-major matrices in the buffer of a tensor, in elements.
struct Matrix {
  std::string tensor;
  std::size_t offset = 0, ld = 0;
  std::size_t stride = 0;   ///< from an item to the next; 0: one matrix for all
  bool transposed = false;  ///< as it lies there
};

/// c = alpha a b for every item; a is m x k, b is k x n.
struct Product {
  std::size_t batch = 1, m = 0, n = 0, k = 0;
  float alpha = 1;
  Matrix a, b, c;
};

/// Without bias, mask, residual and activation, which these libraries do not know. Parts of the sum
/// of a product are kept: alpha and scale.
Problem bare(Problem problem);

/// Of dense with one source, batch_matmul, and the convolution of single pixels; else nothing.
std::optional<Product> product_of(const Problem& problem);

}  // namespace clam::peers
