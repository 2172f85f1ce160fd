// SPDX-License-Identifier: MIT
// pad_proof.cpp - pad, element by element: exact. Places are found by steps of one, as one would
// walk: a reflection turns at the first and at the last element.
#include "ops/shared/axes.hpp"
#include "shared/copy_sets.hpp"

namespace clam::pad {
namespace {

/// Where the element lies that is `at` from the first of n; -1: nowhere.
std::int64_t place(const std::string& mode, std::int64_t at, std::int64_t n) {
  if (at >= 0 && at < n) return at;
  if (mode == "edge") return at < 0 ? 0 : n - 1;
  if (mode == "reflect") return at < 0 ? -at : n - 1 - (at - (n - 1));
  if (mode == "wrap") return (at + n) % n;
  return -1;
}

Reference reference(const Problem& problem, const Tensors& inputs, const ReferenceOptions&) {
  const Shape shape = problem.shape("shape"), padded = problem.tensors().back().shape;
  const std::vector<int> before = per_axis(problem, "before", shape.size());
  const std::string& mode = problem.choice("mode");
  const HostTensor& src = inputs.at("src");
  HostTensor value(problem.dtype(), {1});
  value.set(0, problem.number("value"));
  return copied(problem, [&](std::int64_t i) {
    std::int64_t from = 0, elements = 1;
    for (std::size_t axis = shape.size(); axis-- > 0; i /= padded[axis]) {
      const std::int64_t at = place(mode, i % padded[axis] - before[axis], shape[axis]);
      if (at < 0) return value.bits(0);
      from += at * elements;
      elements *= shape[axis];
    }
    return src.bits(from);
  });
}

}  // namespace

OpProof proof() {
  return {"pad",
          copy_data::sets(),
          reference,
          {
              // What models run: maps before a convolution, and before a pool.
              "shape=1x32x56x56 before=0,0,1,1 after=0,0,1,1 mode={constant,edge,reflect}",
              "shape=1x3x64x64 after=0,0,1,1",
              "shape=1x28x28x24 before=0,1,1,0 after=0,1,1,0",
              "shape=1x16x15x15 before=0,0,1,1 after=0,0,1,1 value=-inf",
              "shape=1x64x80 before=0,0,3 after=0,0,3 mode=reflect",
              // Nothing; one axis in units of 1 to 8 elements, around groups.
              "shape=1 value=2",
              "shape=5x7",
              "shape=1 before=64 after=65 value=0.1",
              "shape=3x7 before=0,1 after=0,2 mode={constant,edge,reflect,wrap}",
              "shape={2x6,2x12,2x8} before=0,4 after=0,8 value=7",
              "shape=5x8 before=0,8 after=0,4 mode=wrap",
              "shape=3x8 before=2,0 after=2,0 mode={constant,edge,reflect,wrap}",
              "shape=65x24 before=1,0 after=2,0 mode=edge",
              // Four axes, in several orders of their extents; as much as there may be.
              "shape=2x3x4x5 before=1,2,3,4 after=1,0,2,1 mode={constant,edge,reflect,wrap}",
              "shape=5x2x4x3 before=4,1,3,2 after=4,1,3,2 mode={edge,reflect}",
              "shape=4x3x2x5 before=4,3,2,5 after=4,3,2,5 mode=wrap",
              // More axes, of which four are left.
              "shape=1x2x3x2x4x2 before=0,0,1,0,2,0 after=0,0,1,0,0,0",
              "shape=3x1x2x2x4 before=1,0,0,0,2 after=0 mode=edge",
          },
          {"shape=3x2x3x5 before=1,1,1,2 after=1,0,2,1 mode={constant,edge,reflect,wrap}",
           "shape=3x8 before=1,0 after=1,0 value=0.5 mode=constant"}};
}

}  // namespace clam::pad
