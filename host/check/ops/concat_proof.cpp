// SPDX-License-Identifier: MIT
// concat_proof.cpp - concat, element by element: exact.

#include <fmt/core.h>

#include "check/op_proof.hpp"
#include "ops/concat.hpp"
#include "shared/copy_sets.hpp"

namespace clam::concat {
namespace {

Reference reference(const Problem& problem, const Tensors& inputs, const ReferenceOptions&) {
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

std::string random_case(Random& random) {
  Shape a;
  for (int axes = random.integer(1, 4); axes > 0; --axes) a.push_back(random.integer(1, 20));
  const int axis = random.integer(0, static_cast<int>(a.size()) - 1);
  Shape b = a;
  b[static_cast<std::size_t>(axis)] = random.integer(1, 20);
  return fmt::format("concat axis={} shape_a={} shape_b={}", axis, to_string(a), to_string(b));
}

}  // namespace

OpProof proof() {
  OpProof proof{
      "concat",
      copy_data::sets(),
      reference,
      // In units of 1, 2, 4 and 8 elements; around groups along a row and across.
      {"axis=1 shape_a=192x256 shape_b=192x256", "axis=0 shape_a=1 shape_b=1",
       "axis=0 shape_a=5x7 shape_b=3x7", "axis=1 shape_a=17x6 shape_b=17x10",
       "axis=1 shape_a=3x4 shape_b=3x12", "axis=1 shape_a=65x8 shape_b=65x16",
       "axis=1 shape_a=2x129 shape_b=2x128", "axis=2 shape_a=4x192x32 shape_b=4x192x1",
       "axis=1 shape_a=2x3x5x7 shape_b=2x4x5x7", "axis=3 shape_a=2x3x5x1 shape_b=2x3x5x64",
       "axis=0 shape_a=1000x8 shape_b=24x8", "axis=1 shape_a=1x24528 shape_b=1x9216"},
      {"axis=1 shape_a=5x3 shape_b=5x4", "axis=1 shape_a=3x8 shape_b=3x12"}};
  proof.group_cases = {"concat axis=1 shape_a=65x8 shape_b=65x16"};
  proof.least_group = 1;
  proof.random_case = random_case;
  return proof;
}

}  // namespace clam::concat
