// SPDX-License-Identifier: MIT
// epilogue.hpp - what follows a sum of products, in double: act(factor * sum + addend) + residual,
// and how far from it a device may be.
#pragma once

#include "activate.hpp"
#include "ops/shared/accumulator.hpp"
#include "proof.hpp"

namespace clam {

struct Epilogue {
  std::string op;  ///< for messages
  double factor;
  Act act;
  Dtype dtype;
  Acc acc;  ///< of the sum; what follows it is float

  /// Throws Unsupported where no kernel sums as the problem asks.
  explicit Epilogue(const Problem& problem, double factor = 1);

  /// An absent addend or residual is a null pointer. `crumb` is what denormals may cost: see below.
  /// Where a sum of halves may overflow on its way, the bound is infinite.
  Bounded finish(Summation sum, const double* addend, const double* residual, Check check,
                 double crumb) const;

  /// The least error allowed: half the smallest number of dtype; for f32 on a device that takes
  /// denormals for zero, 2^-126 * (1 + magnitudes), the sum of the magnitudes of one operand. What
  /// denormals cost inside a sum of halves, 2^-25 a product, comes with the sum (HalfSummation).
  double crumb(bool denormals, double magnitudes) const;

  /// Throws BadArgument unless all numbers are -1, 0 or 1 and every partial sum of `products`
  /// products is exact in the accumulator.
  void require_exact_operands(const Tensors& inputs, std::int64_t products) const;

  /// For an exact check, turns values into bits where nothing rounds: `output` becomes bit-exact.
  void make_exact(Expected& output, Check check, std::int64_t products, const Shape& shape) const;

 private:
  /// Nothing that follows an exact sum of `products` products of -1, 0 and 1 rounds.
  bool stays_exact(std::int64_t products) const;
};

}  // namespace clam
