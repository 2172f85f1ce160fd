// SPDX-License-Identifier: MIT
// transpose_proof.cpp - transpose, element by element: exact.
#include <numeric>

#include "shared/copy_sets.hpp"

namespace clam::transpose {
namespace {

Reference reference(const Problem& problem, const Tensors& inputs, const ReferenceOptions&) {
  const Shape shape = problem.shape("shape");
  const std::vector<int> perm = problem.axes("perm");
  const Shape to = problem.tensors().back().shape;
  const HostTensor& src = inputs.at("src");
  std::vector<std::int64_t> steps(shape.size(), 1);
  for (std::size_t axis = shape.size() - 1; axis > 0; --axis) {
    steps[axis - 1] = steps[axis] * shape[axis];
  }
  return copied(problem, [&](std::int64_t i) {
    std::int64_t from = 0;
    for (std::size_t axis = shape.size(); axis-- > 0; i /= to[axis]) {
      from += i % to[axis] * steps[perm[axis]];
    }
    return src.bits(from);
  });
}

}  // namespace

OpProof proof() {
  return {"transpose",
          copy_data::sets(),
          reference,
          // Blocks of 4 x 4, groups of 4 x 16 of them; tiles of 16 x 16; rows in units of 1
          // to 8 elements.
          {
              // What models run: heads split and merged, and layouts.
              "shape=192x4x64 perm=1-0-2",
              "shape=4x192x64 perm=0-2-1",
              "shape=1x64x56x56 perm=0-2-3-1",
              "shape=1x13x13x18 perm=0-3-1-2",
              // Channels shuffled, pixels shuffled: more axes, of which up to four are left.
              "shape=1x4x34x28x28 perm=0-2-1-3-4",
              "shape=1x1x2x3x7x9 perm=0-1-4-2-5-3",
              "shape=2x3x4x1x5x3 perm=4-5-0-3-2-1",
              // Copies.
              "shape=1 perm=0",
              "shape=5x7 perm=0-1",
              "shape=1x300x1 perm=2-1-0",
              "shape=2x3x4x8 perm=0-1-2-3",
              // Rows: in every unit, around groups; three axes and four.
              "shape={3x5x7,17x3x6,3x65x4,16x17x8} perm=1-0-2",
              "shape=3x4x5x6 perm=2-1-0-3",
              "shape=2x3x4x5 perm=0-2-1-3",
              "shape=5x6x7x9 perm=2-1-0-3",
              // Blocks: one, around a group, three axes and four.
              "shape={4x4,64x16,68x20,12x60} perm=1-0",
              "shape=3x8x12 perm=2-1-0",
              "shape=8x5x12 perm={2-0-1,1-2-0}",
              "shape=8x3x5x12 perm=3-2-1-0",
              "shape=2x8x3x12 perm=0-3-2-1",
              // Tiles: around one, thin ones, three axes and four.
              "shape={2x3,15x16,17x33} perm=1-0",
              "shape=1x1000x3 perm=0-2-1",
              "shape=3x1001 perm=1-0",
              "shape=5x7x9 perm={2-1-0,1-2-0}",
              "shape=3x18x5x19 perm=3-2-1-0",
              "shape=7x2x5x3 perm=2-3-0-1",
              "shape=2x17x3x18 perm=1-3-2-0",
          },
          {"shape=3x4x5 perm=1-0-2", "shape={8x2x3x12,17x2x3x18} perm=3-2-1-0",
           "shape=3x2x2x8 perm=2-1-0-3"}};
}

}  // namespace clam::transpose
