// SPDX-License-Identifier: MIT
// fill.hpp - inputs of a data set, element by element.
#pragma once

#include "clam/tensor.hpp"
#include "random.hpp"

namespace clam {

/// Element i of every input becomes value(random, i).
template <typename Value>
void fill_all(std::uint64_t seed, Tensors& inputs, const Value& value) {
  Random random(seed);
  for (auto& [name, tensor] : inputs) {
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, value(random, i));
  }
}

}  // namespace clam
