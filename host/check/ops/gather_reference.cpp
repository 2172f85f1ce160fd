// SPDX-License-Identifier: MIT
// gather_reference.cpp - gather, element by element: exact. Indices that name no slice are clamped.
#include <algorithm>

#include "check/op_proof.hpp"
#include "ops/gather.hpp"
#include "shared/copy_sets.hpp"

namespace clam {

Reference gather_reference(const Problem& problem, const Tensors& inputs, const ReferenceOptions&) {
  const Gather gather(problem);
  const TensorSpec spec = problem.tensors().back();
  const HostTensor &src = inputs.at("src"), &index = inputs.at("index");
  Expected dst = copied(spec.dtype, spec.shape, [&](std::int64_t i) {
    const std::int64_t inner = i % gather.inner, j = i / gather.inner % gather.count;
    const std::int64_t outer = i / gather.inner / gather.count;
    const auto named = static_cast<std::int64_t>(index.get(j));
    const std::int64_t slice = std::clamp<std::int64_t>(named, 0, gather.extent - 1);
    return src.bits((outer * gather.extent + slice) * gather.inner + inner);
  });
  return {{"dst", std::move(dst)}};
}

}  // namespace clam
