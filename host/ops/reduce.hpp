// SPDX-License-Identifier: MIT
// reduce.hpp - what the plans of reduce share with its reference.
#pragma once

#include <array>

#include "clam/op.hpp"

namespace clam {

/// A reduction without axes of one element, and with neighbours of a kind as one: src has the
/// extents outer, r1, blocks, r2, c, of which r1 and r2 are reduced. Those that are not there
/// are 1.
struct Reduction {
  std::int64_t outer, r1, blocks, r2, c;

  explicit Reduction(const Problem& problem) : Reduction(extents(problem)) {}
  std::int64_t elements() const { return r1 * r2; }  ///< of a result

 private:
  using Extents = std::array<std::int64_t, 5>;
  static Extents extents(const Problem& problem);
  explicit Reduction(const Extents& e) : outer(e[0]), r1(e[1]), blocks(e[2]), r2(e[3]), c(e[4]) {}
};

}  // namespace clam
