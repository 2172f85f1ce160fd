// SPDX-License-Identifier: MIT
// binary.hpp - what the plans of binary share with its reference.
#pragma once

#include <array>
#include <vector>

#include "clam/op.hpp"

namespace clam {

/// An axis of c and how far an operand's elements are apart along it; 0 where it repeats.
struct BinaryAxis {
  std::int64_t extent = 1, step_a = 0, step_b = 0;
};

/// The axes of c, the last one first, without those of one element.
struct BinaryAxes {
  Shape shape;  ///< of c, as a problem says it: the first axis first
  std::vector<BinaryAxis> all;
  /// Neighbours along which the same operands repeat made one; four, of which `rank` count.
  std::array<BinaryAxis, 4> merged;
  int rank = 1;
  /// Of shapes that agree: binary's check has seen to that.
  explicit BinaryAxes(const Problem& problem);
  /// Element of a and b for element i of c.
  std::array<std::int64_t, 2> operands(std::int64_t i) const;
};

}  // namespace clam
