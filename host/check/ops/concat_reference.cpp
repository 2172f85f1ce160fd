// SPDX-License-Identifier: MIT
// concat_reference.cpp - concat, element by element: exact.
#include "check/op_proof.hpp"
#include "ops/concat.hpp"
#include "shared/copy_sets.hpp"

namespace clam {

Reference concat_reference(const Problem& problem, const Tensors& inputs, const ReferenceOptions&) {
  const Concat concat(problem);
  const TensorSpec spec = problem.tensors().back();
  const HostTensor &a = inputs.at("a"), &b = inputs.at("b");
  const std::int64_t n = concat.na + concat.nb;
  Expected dst = copied(spec.dtype, spec.shape, [&](std::int64_t i) {
    const std::int64_t row = i / n, in_row = i % n;
    return in_row < concat.na ? a.bits(row * concat.na + in_row)
                              : b.bits(row * concat.nb + in_row - concat.na);
  });
  return {{"dst", std::move(dst)}};
}

}  // namespace clam
