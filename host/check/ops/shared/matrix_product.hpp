// SPDX-License-Identifier: MIT
// matrix_product.hpp - stacks of matrix products in double, and how far from them a device may be:
// the reference of dense and of batch_matmul.
#pragma once

#include "epilogue.hpp"

namespace clam {

/// c[batch][m][n] = epilogue(a b). Where an operand has fewer elements than that needs, such as one
/// matrix for all of the batch or one row for all of a matrix, they are used over and over.
struct MatrixProduct {
  std::size_t batch = 1, m, n, k;
  std::size_t first_k;  ///< of k: those of the first of two sources; else k
  Epilogue epilogue;
  std::vector<double> a, b;              ///< matrices of [m][k], and of [k][n]
  std::vector<double> addend, residual;  ///< of [n], [m][n] or [batch][m][n]; empty when absent

  /// One product, with m, n and k of the problem.
  MatrixProduct(const Problem& problem, const char* factor, const HostTensor& a,
                const HostTensor& b);

  /// `inputs`: for Check::exact, to be sure that they are -1, 0 and 1. `shape`: that of c.
  Expected expected(const Tensors& inputs, const ReferenceOptions& options,
                    const Shape& shape) const;

 private:
  std::vector<double> crumbs(bool denormals) const;
  std::vector<Summation> sums_of_row(std::size_t row, Check check) const;
  template <typename Sum>
  std::vector<Summation> sums_of_row(std::size_t row, Check check, Sum zero) const;
  template <typename Sum>
  void add_products(std::size_t row, std::size_t kk, std::vector<Sum>& sums) const;
};

/// Each matrix of rows x columns in the stack, transposed.
std::vector<double> transposed(const std::vector<double>& stack, std::size_t rows,
                               std::size_t columns);

}  // namespace clam
