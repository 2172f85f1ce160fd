// SPDX-License-Identifier: MIT
// libraries.hpp - the libraries beside clam: CLBlast's Gemm, GemmStridedBatched and Convgemm, and
// OpenBLAS on the cores of the host, where its library is found.
#pragma once

#include <optional>

#include "side.hpp"

namespace clam::peers {

/// Without bias, mask, residual and activation, which these libraries do not know. Parts of the sum
/// of a product are kept: alpha and scale.
Problem bare(Problem problem);

/// Empty, or why CLBlast cannot compute the problem, which is bare().
Reason clblast_lacks(const Problem& problem);
/// The routine of CLBlast that computes it.
std::string clblast_routine(const Problem& problem);
std::unique_ptr<Side> make_clblast(Task& task);

/// The library, loaded at run time, so that the program also starts where it is missing.
struct OpenBlas {
  using Sgemm = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                         float alpha, const float* a, int lda, const float* b, int ldb, float beta,
                         float* c, int ldc);

  /// Nothing where it is not on this machine.
  static std::optional<OpenBlas> load();

  Sgemm sgemm = nullptr;
  std::string about;  ///< its version, kernels and threads
};

/// Null where the problem is no matrix product.
std::unique_ptr<Side> make_openblas(Task& task, const OpenBlas& library);

}  // namespace clam::peers
