// SPDX-License-Identifier: MIT
// rotary.hpp - what the plans of rotary share with its reference.
#pragma once

#include "clam/op.hpp"

namespace clam {

/// The extents of a checked problem.
struct Rotary {
  const Problem& problem;
  int matrices = problem.integer("batch") * problem.integer("heads");
  int n = problem.integer("n"), d = problem.integer("d");
  int rotary_dim = problem.integer("rotary_dim") == 0 ? d : problem.integer("rotary_dim");
  bool halves = problem.choice("pairing") == "halves";

  explicit Rotary(const Problem& problem) : problem(problem) {}

  /// The element that element j of a row is rotated with, j < rotary_dim.
  int partner(int j) const { return halves ? (j + rotary_dim / 2) % rotary_dim : j ^ 1; }
  /// Whether j comes first of the two.
  bool is_first(int j) const { return j < partner(j); }
};

}  // namespace clam
