// SPDX-License-Identifier: MIT
// gather_proof.cpp - gather, element by element: exact. Indices that name no slice are clamped.
#include "ops/gather.hpp"
#include "shared/copy_sets.hpp"

namespace clam::gather {
namespace {

Reference reference(const Problem& problem, const Tensors& inputs, const ReferenceOptions&) {
  const Gather gather(problem);
  const HostTensor &src = inputs.at("src"), &index = inputs.at("index");
  return copied(problem, [&](std::int64_t i) {
    const std::int64_t inner = i % gather.inner, j = i / gather.inner % gather.count;
    const std::int64_t outer = i / gather.inner / gather.count;
    const std::int64_t named = index.get(j);
    const std::int64_t slice = std::clamp<std::int64_t>(named, 0, gather.n - 1);
    return src.bits((outer * gather.n + slice) * gather.inner + inner);
  });
}

// ---- data sets and cases ----

/// The first and the last slice, then any, some of them again.
void fill_index(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const int last = static_cast<int>(Gather(problem).n) - 1;
  Random random(seed);
  HostTensor& index = inputs.at("index");
  for (std::int64_t j = 0; j < index.size(); ++j) {
    index.set(j, j == 0 ? last : j == 1 ? 0 : random.integer(0, last));
  }
}

/// Kernels clamp such an index; where the host has it, it is refused.
Reason bad_inputs(const Problem& problem, const Tensors& inputs) {
  const std::int64_t extent = Gather(problem).n;
  const HostTensor& index = inputs.at("index");
  for (std::int64_t j = 0; j < index.size(); ++j) {
    const double named = index.get(j);
    if (named >= 0 && named < extent) continue;
    return fmt::format("index[{}]={}, needs 0 to {}, the {} slices of src", j, named, extent - 1,
                       extent);
  }
  return {};
}

}  // namespace

OpProof proof() {
  return {
      "gather",
      copy_data::sets(fill_index),
      reference,
      // In units of 1, 2, 4 and 8 elements; around groups along a slice and across.
      {"shape=192x256 axis=0 count=100", "shape=1 axis=0 count=1", "shape=7 axis=0 count=33",
       "shape=5x6 axis=0 count=17", "shape=5x12 axis=0 count=3", "shape=9x8 axis=0 count=65",
       "shape=3x260 axis=0 count=2", "shape=2x5x7 axis=1 count=4", "shape=3x4x5x8 axis=2 count=9",
       "shape=6x50 axis=1 count=70", "shape=1000x3 axis=0 count=1001"},
      {"shape=2x5x3 axis=1 count=7", "shape={3x9x8,4x6} axis=1 count=5"},
      bad_inputs};
}

}  // namespace clam::gather
