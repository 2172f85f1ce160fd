// SPDX-License-Identifier: MIT
// concat_proof.cpp - concat, element by element: exact.
#include "ops/concat.hpp"
#include "shared/copy_sets.hpp"

namespace clam::concat {
namespace {

Reference reference(const Problem& problem, const Tensors& inputs, const ReferenceOptions&) {
  const Concat concat(problem);
  const std::int64_t n = count(problem.tensors().back().shape) / concat.rows;
  return copied(problem, [&](std::int64_t i) {
    std::int64_t at = i % n;
    std::size_t input = 0;
    while (at >= concat.widths[input]) at -= concat.widths[input++];
    return inputs.at(std::string(1, "abcd"[input])).bits(i / n * concat.widths[input] + at);
  });
}

}  // namespace

OpProof proof() {
  return {"concat",
          copy_data::sets(),
          reference,
          // In units of 1, 2, 4 and 8 elements; around groups along a row and across.
          {"axis=1 shape_a=192x256 shape_b=192x256", "axis=0 shape_a=1 shape_b=1",
           "axis=0 shape_a=5x7 shape_b=3x7", "axis=1 shape_a=17x6 shape_b=17x10",
           "axis=1 shape_a=3x4 shape_b=3x12", "axis=1 shape_a=65x8 shape_b=65x16",
           "axis=1 shape_a=2x129 shape_b=2x128", "axis=2 shape_a=4x192x32 shape_b=4x192x1",
           "axis=1 shape_a=2x3x5x7 shape_b=2x4x5x7", "axis=3 shape_a=2x3x5x1 shape_b=2x3x5x64",
           "axis=0 shape_a=1000x8 shape_b=24x8", "axis=1 shape_a=1x24528 shape_b=1x9216",
           // Three inputs and four.
           "axis=1 shape_a=1x256x20x20 shape_b=1x256x20x20 shape_c=1x256x20x20 shape_d=1x256x20x20",
           "axis=1 shape_a=17x6 shape_b=17x10 shape_c=17x4", "axis=0 shape_a=1 shape_b=2 shape_c=3",
           "axis=1 shape_a=65x8 shape_b=65x16 shape_c=65x24 shape_d=65x{8,4,2,1}",
           "axis=1 shape_a=2x3x5x7 shape_b=2x4x5x7 shape_c=2x1x5x7 shape_d=2x2x5x7"},
          {"axis=1 shape_a=5x3 shape_b=5x4", "axis=1 shape_a=3x8 shape_b=3x12",
           "axis=1 shape_a=5x3 shape_b=5x4 shape_c=5x2",
           "axis=1 shape_a=3x8 shape_b=3x4 shape_c=3x4 shape_d=3x12"}};
}

}  // namespace clam::concat
