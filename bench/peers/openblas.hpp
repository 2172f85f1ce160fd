// SPDX-License-Identifier: MIT
// openblas.hpp - OpenBLAS as a side, on the cores of the host, where its library is found.
#pragma once

#include <memory>
#include <optional>

#include "side.hpp"

namespace clam::peers {

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
