// SPDX-License-Identifier: MIT
// slice_proof.cpp - slice, element by element: exact.
#include "ops/shared/axes.hpp"
#include "shared/copy_sets.hpp"

namespace clam::slice {
namespace {

Reference reference(const Problem& problem, const Tensors& inputs, const ReferenceOptions&) {
  const Shape shape = problem.shape("shape"), count = problem.shape("count");
  const std::vector<int> start = per_axis(problem, "start", shape.size()),
                         step = per_axis(problem, "step", shape.size());
  const HostTensor& src = inputs.at("src");
  return copied(problem, [&](std::int64_t i) {
    std::int64_t from = 0, elements = 1;
    for (std::size_t axis = shape.size(); axis-- > 0; i /= count[axis]) {
      from += (start[axis] + i % count[axis] * step[axis]) * elements;
      elements *= shape[axis];
    }
    return src.bits(from);
  });
}

}  // namespace

OpProof proof() {
  return {"slice",
          copy_data::sets(),
          reference,
          {
              // What models run: a half of the channels, every other pixel, reversed channels.
              "shape=1x64x80x80 start=0,32,0,0 count=1x32x80x80",
              "shape=1x3x64x64 start=0,0,0,1 count=1x3x32x32 step=1,1,2,2",
              "shape=1x3x20x20 start=0,2,0,0 count=1x3x20x20 step=1,-1,1,1",
              "shape=4x10x6 start=0,9,0 count=4x5x3 step=1,-2,2",
              // Copies; rows in units of 1 to 8 elements, around groups.
              "shape=1 count=1",
              "shape=5x7 count=5x7",
              "shape=300 start=299 count=300 step=-1",
              "shape=65x24 start=3,{1,2,4,8} count=61x16",
              "shape=9x130 count=9x129",
              "shape=3x70x8 start=1,2,0 count=2x67x4",
              "shape=5x6 start=2,0 count=3x6",
              // Four axes, in every order of their extents; repeated ones.
              "shape=5x6x7x8 start=4,1,6,0 count=2x3x4x4 step=-3,2,-2,1",
              "shape=9x5x12x4 start=0,4,1,3 count=9x3x5x4 step=1,-2,2,-1",
              "shape=3x1x5 start=0,0,1 count=2x7x3 step=2,0,1",
              "shape=1x1 count=17x9 step=0",
              // More axes, that lie as one.
              "shape=2x3x4x5x6 start=1,0,0,0,0 count=1x3x4x5x3",
              "shape=2x3x4x5x2x3 start=0,0,1,0,0,0 count=2x3x2x5x2x3",
          },
          {"shape=5x3x7 start=4,0,6 count=3x2x3 step=-2,1,-3",
           "shape=3x12x8 start=0,1,0 count=3x4x8 step=1,2,1"}};
}

}  // namespace clam::slice
