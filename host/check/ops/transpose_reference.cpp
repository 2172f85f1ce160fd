// SPDX-License-Identifier: MIT
// transpose_reference.cpp - transpose, element by element: exact.
#include "check/op_proof.hpp"
#include "ops/transpose.hpp"
#include "shared/copy_sets.hpp"

namespace clam {

Reference transpose_reference(const Problem& problem, const Tensors& inputs,
                              const ReferenceOptions&) {
  const Shape shape = problem.shape("shape");
  const std::vector<int> perm = problem.axes("perm");
  const TensorSpec spec = problem.tensors().back();
  const HostTensor& src = inputs.at("src");
  std::vector<std::int64_t> steps(shape.size(), 1);
  for (std::size_t axis = shape.size() - 1; axis > 0; --axis) {
    steps[axis - 1] = steps[axis] * shape[axis];
  }
  Expected dst = copied(spec.dtype, spec.shape, [&](std::int64_t i) {
    std::int64_t from = 0;
    for (std::size_t axis = shape.size(); axis-- > 0; i /= spec.shape[axis]) {
      from += i % spec.shape[axis] * steps[static_cast<std::size_t>(perm[axis])];
    }
    return src.bits(from);
  });
  return {{"dst", std::move(dst)}};
}

}  // namespace clam
