// SPDX-License-Identifier: MIT
// dense_plan.hpp - the extents of dense, and its variants.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clam/op.hpp"
#include "ops/shared/accumulator.hpp"
#include "ops/shared/launch.hpp"
#include "ops/shared/places.hpp"

namespace clam::dense_plan {

constexpr int kVector = 4;  ///< columns of a vector

/// Row stride and first element, in elements.
struct Matrix {
  int ld, offset;

  /// Every row starts on a multiple of four elements, so aligned 4-vectors can be loaded.
  bool aligned() const { return ld % 4 == 0 && offset % 4 == 0; }
};

inline Matrix matrix(const Problem& problem, const std::string& name, int row) {
  return {as_int(given_or(problem, "ld" + name, row)), problem.integer("off" + name)};
}

/// A matrix with rows of k, and the buffer that it is copied into where its rows are not whole,
/// aligned vectors. There is no second source where its k is 0.
struct Source {
  const char *name, *padded;
  int k;
  Matrix at;

  /// k filled up to whole vectors.
  int padded_k() const { return round_up(k, kVector); }
  bool needs_padding() const { return k % kVector != 0 || (k > 0 && !at.aligned()); }
  /// As the kernels of tiles read it.
  const char* read_from() const { return needs_padding() ? padded : name; }
  Matrix as_read() const { return needs_padding() ? Matrix{padded_k(), 0} : at; }
};

/// The extents, and where the matrices lie.
struct Dense {
  int m, n, k, k2;
  bool trans_w, bias, residual;
  Dtype dtype;
  Acc acc;
  float alpha;
  Source x, x2;
  Matrix w, r, y;

  explicit Dense(const Problem& problem)
      : m(problem.integer("m")),
        n(problem.integer("n")),
        k(problem.integer("k")),
        k2(problem.integer("k2")),
        trans_w(problem.integer("trans_w") == 1),
        bias(problem.flag("bias")),
        residual(problem.flag("residual")),
        dtype(problem.dtype()),
        acc(accumulator(problem)),
        alpha(problem.number("alpha")),
        x{"x", "x_padded", k, matrix(problem, "x", k)},
        x2{"x2", "x2_padded", k2, matrix(problem, "x2", k2)},
        w(matrix(problem, "w", trans_w ? k + k2 : n)),
        r(matrix(problem, "r", n)),
        y(matrix(problem, "y", n)) {}

  /// The k of all sources, filled up to whole vectors.
  int padded_k() const { return x.padded_k() + x2.padded_k(); }
  /// Of a source with such rows.
  std::int64_t padded_bytes(const Source& source) const {
    return std::int64_t{m} * source.padded_k() * size_of(dtype);
  }
  /// From a weight to the one of the next column, and of the next k.
  int step_n() const { return trans_w ? w.ld : 1; }
  int step_k() const { return trans_w ? 1 : w.ld; }
  double multiply_adds() const { return 1.0 * m * n * (1.0 * k + k2); }
};

/// In the order of preference.
std::vector<Variant> variants();

}  // namespace clam::dense_plan
