// SPDX-License-Identifier: MIT
// batch_matmul_plan.hpp - the extents of batch_matmul, and its variants.
#pragma once

#include <string>
#include <vector>

#include "clam/op.hpp"
#include "ops/shared/accumulator.hpp"
#include "ops/shared/launch.hpp"
#include "ops/shared/places.hpp"

namespace clam::batch_matmul_plan {

/// A stack of matrices in memory, in elements.
struct Stack {
  int items, rows, columns;
  int ld, stride, offset;  ///< stride 0: one matrix for all batch items

  /// Every row starts on a multiple of four elements, so aligned 4-vectors can be loaded.
  bool aligned() const { return ld % 4 == 0 && stride % 4 == 0 && offset % 4 == 0; }
};

/// The same from a problem's words, by the name of its tensor.
inline Stack stack(const Problem& problem, const std::string& name, int items, int rows,
                   int columns) {
  const std::int64_t ld = given_or(problem, "ld" + name, columns);
  const std::int64_t stride = items == 1 ? 0 : given_or(problem, "stride" + name, rows * ld);
  return {items, rows, columns, as_int(ld), as_int(stride), problem.integer("off" + name)};
}

inline int items_of(const Problem& problem, const char* field) {
  return as_int(given_or(problem, field, problem.integer("batch")));
}

/// The extents, and where the matrices lie.
struct BatchMatmul {
  int batch, m, n, k;
  bool ta, tb;
  Dtype dtype;
  Acc acc;
  float scale;
  std::string mask;
  Stack a, b, c;

  explicit BatchMatmul(const Problem& problem)
      : batch(problem.integer("batch")),
        m(problem.integer("m")),
        n(problem.integer("n")),
        k(problem.integer("k")),
        ta(problem.integer("ta") == 1),
        tb(problem.integer("tb") == 1),
        dtype(problem.dtype()),
        acc(accumulator(problem)),
        scale(problem.number("scale")),
        mask(problem.choice("mask")),
        a(stack(problem, "a", items_of(problem, "batch_a"), ta ? k : m, ta ? m : k)),
        b(stack(problem, "b", items_of(problem, "batch_b"), tb ? n : k, tb ? k : n)),
        c(stack(problem, "c", batch, m, n)) {}

  int mask_stride() const { return mask == "bmn" && batch > 1 ? m * n : 0; }
  double multiply_adds() const { return 1.0 * batch * m * n * k; }
};

/// In the order of preference.
std::vector<Variant> variants();

}  // namespace clam::batch_matmul_plan
