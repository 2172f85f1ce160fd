// SPDX-License-Identifier: MIT
// product_sets.hpp - data sets for ops that sum products.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "ops/shared/accumulator.hpp"
#include "random.hpp"

namespace clam::product_sets {

/// Fills every input by number(random, name, i), i counting the elements of a tensor.
template <typename Number>
void fill(std::uint64_t seed, Tensors& inputs, const Number& number) {
  Random random(seed);
  for (auto& [name, tensor] : inputs) {
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, number(random, name, i));
  }
}

inline void zero_mean(const Problem&, std::uint64_t seed, Tensors& inputs) {
  fill(seed, inputs,
       [](Random& random, const std::string&, std::int64_t) { return random.normal(); });
}

/// -1, 0 and 1, so that every partial sum is exact.
inline void ternary(std::uint64_t seed, Tensors& inputs) {
  fill(seed, inputs,
       [](Random& random, const std::string&, std::int64_t) { return random.integer(-1, 1); });
}

inline void positive(const Problem&, std::uint64_t seed, Tensors& inputs) {
  fill(seed, inputs,
       [](Random& random, const std::string&, std::int64_t) { return 0.5 + random.uniform(); });
}

/// The first operand holds one outlier in 64; elsewhere they would overflow the products of half
/// numbers.
inline void signed_outliers(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const std::string first = problem.tensors().front().name;
  fill(seed, inputs, [&](Random& random, const std::string& name, std::int64_t) {
    const double factor = name == first && random.integer(0, 63) == 0 ? 1000 : 1;
    return factor * random.normal();
  });
}

/// For sums in half: what outliers of both signs leave of each other, their worst case would hide,
/// so all are positive; and a sum holds 16 of them or one in 64, whichever is less, so that it
/// stays under 65504.
inline void positive_outliers(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const std::string first = problem.tensors().front().name;
  const std::int64_t one_in = std::max<std::int64_t>(64, products_of_sum(problem) / 16);
  fill(seed, inputs, [&](Random& random, const std::string& name, std::int64_t) {
    const bool is_outlier = name == first && random.integer(0, static_cast<int>(one_in) - 1) == 0;
    return (is_outlier ? 1000 : 1) * std::fabs(random.normal());
  });
}

inline void outliers(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const bool half = accumulator(problem) != Acc::f32;
  (half ? positive_outliers : signed_outliers)(problem, seed, inputs);
}

/// All four, with the op's own exact set: -1, 0 and 1 in places such that a product left out or in
/// the wrong place shows.
inline std::vector<DataSet> all(void (*exact)(const Problem&, std::uint64_t, Tensors&)) {
  return {
      {"zero_mean", Check::zero_mean, "N(0,1); an all-zero or constant output fails", zero_mean},
      {"exact", Check::exact,
       "-1, 0 and 1, so that the sum is exact. The result is exact too where nothing after the sum "
       "rounds (act none, relu or relu6, a factor that is a power of two)",
       exact},
      {"positive", Check::hard,
       "0.5 to 1.5; sums in half lose accuracy, and fail unless acc allows them", positive},
      {"outliers", Check::hard,
       "N(0,1) with one in 64 of the first operand a thousand times larger; for half sums "
       "positive, and at most 16 in a sum",
       outliers},
  };
}

}  // namespace clam::product_sets
