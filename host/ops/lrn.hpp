// SPDX-License-Identifier: MIT
// lrn.hpp - what the plans of lrn share with its reference.
#pragma once

#include "clam/op.hpp"

namespace clam {

/// The extents of a checked problem.
struct Lrn {
  const Problem& problem;
  int n = problem.integer("n"), c = problem.integer("c"), size = problem.integer("size");
  int pixels = problem.integer("h") * problem.integer("w");
  float alpha = problem.number("alpha"), beta = problem.number("beta");
  float bias = problem.number("bias");

  explicit Lrn(const Problem& problem) : problem(problem) {}

  /// Channels of a window before its own; an even window has one more behind it.
  int before() const { return (size - 1) / 2; }
  float scale() const { return alpha / static_cast<float>(size); }
  bool three_quarters() const { return beta == 0.75f; }
};

}  // namespace clam
