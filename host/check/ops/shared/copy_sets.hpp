// SPDX-License-Identifier: MIT
// copy_sets.hpp - for ops that only move elements: data whose every bit counts, and results made
// element by element.
#pragma once

#include "proof.hpp"

namespace clam {

namespace copy_data {

/// Every input of `inputs` in `dtype` gets the bits of value(random, i).
template <typename Value>
void fill(Dtype dtype, std::uint64_t seed, Tensors& inputs, const Value& value) {
  Random random(seed);
  for (auto& [name, tensor] : inputs) {
    if (tensor.dtype() != dtype) continue;
    const std::uint32_t mask = dtype == Dtype::f16 ? 0xFFFF : 0xFFFFFFFF;
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set_bits(i, value(random, i) & mask);
  }
}

inline std::uint32_t any_bits(Random& random, std::int64_t) {
  return static_cast<std::uint32_t>(random.bits());
}

inline void nothing(const Problem&, std::uint64_t, Tensors&) {}

/// rest() fills the inputs that are not moved, such as indices.
inline std::vector<DataSet> sets(const DataSet::Fill& rest = nothing) {
  const auto set = [rest](const char* name, const char* about, const auto& value) -> DataSet {
    return {name, Check::exact, about,
            [=](const Problem& problem, std::uint64_t seed, Tensors& inputs) {
              fill(problem.dtype(), seed, inputs, value);
              rest(problem, seed, inputs);
            }};
  };
  return {set("bits", "any bits, NaN and denormals among them", any_bits),
          set("numbered", "element i has the bits of i: a wrong place shows",
              [](Random&, std::int64_t i) { return static_cast<std::uint32_t>(i); })};
}

}  // namespace copy_data

/// The result of a copy: element i of the op's output is `from(i)`'s bits.
template <typename From>
Reference copied(const Problem& problem, const From& from) {
  const TensorSpec spec = problem.tensors().back();
  HostTensor dst(spec.dtype, spec.shape);
  for (std::int64_t i = 0; i < dst.size(); ++i) dst.set_bits(i, from(i));
  return {{spec.name, {std::move(dst)}}};
}

}  // namespace clam
