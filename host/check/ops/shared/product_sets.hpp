// SPDX-License-Identifier: MIT
// product_sets.hpp - data sets for ops that sum products.
#pragma once

#include "ops/shared/accumulator.hpp"
#include "proof.hpp"

namespace clam::product_sets {

/// -1, 0 and 1, so that every partial sum is exact.
inline void ternary(std::uint64_t seed, Tensors& inputs) {
  fill_all(seed, inputs, [](Random& random, std::int64_t) { return random.integer(-1, 1); });
}

/// -1, 0 and 1, so that every partial sum is exact. In the last channel of every group neither x
/// nor w has a zero, so a tap of it that is left out changes the sum by one, a row of an odd number
/// of taps by an odd number, and so does the channel itself wherever an odd number of taps is
/// summed. Output channels 2j and 2j+1 of a group differ in that channel alone, by sign: changed
/// places show.
template <typename Conv>
void exact_convolution(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  ternary(seed, inputs);
  const Conv conv(problem);
  const std::int64_t map = std::int64_t{conv.h} * conv.w, taps = std::int64_t{conv.r} * conv.s;
  HostTensor &x = inputs.at("x"), &w = inputs.at("w");
  const auto make_one = [](HostTensor& tensor, std::int64_t i) {
    tensor.set(i, tensor.bits(i) == 0 ? 1 : tensor.get(i));
  };
  for (std::int64_t c = conv.cg() - 1; c < conv.c; c += conv.cg()) {
    for (std::int64_t i = 0; i < conv.n * map; ++i) make_one(x, conv.x_at(i / map, c, i % map));
  }
  for (std::int64_t k = 0; k < conv.k; ++k) {
    const bool second = k % conv.kg() % 2 == 1;
    for (std::int64_t i = 0; i < conv.cg() * taps; ++i) {
      const std::int64_t c = i / taps, at = conv.w_at(k, c, i % taps);
      if (second) w.set(at, w.get(conv.w_at(k - 1, c, i % taps)));
      if (c + 1 < conv.cg()) continue;
      make_one(w, at);
      if (second) w.set(at, -w.get(at));
    }
  }
}

inline double positive(Random& random, std::int64_t) { return 0.5 + random.uniform(); }

/// The first operand holds one outlier in 64; elsewhere they would overflow the products of half
/// numbers. For sums in half: what outliers of both signs leave of each other, their worst case
/// would hide, so all are positive; and a sum holds 16 of them or one in 64, whichever is less, so
/// that it stays under 65504.
inline void outliers(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const bool half = accumulator(problem) != Acc::f32;
  const std::string first = problem.tensors().front().name;
  const std::int64_t one_in = half ? std::max<std::int64_t>(64, products_of_sum(problem) / 16) : 64;
  Random random(seed);
  for (auto& [name, tensor] : inputs) {
    fill_tensor(tensor, random, [&, is_first = name == first](Random&, std::int64_t) {
      const bool is_outlier = is_first && random.integer(0, static_cast<int>(one_in) - 1) == 0;
      const double number = random.normal();
      return (is_outlier ? 1000 : 1) * (half ? std::fabs(number) : number);
    });
  }
}

/// All four, with the op's own exact set: -1, 0 and 1 in places such that a product left out or in
/// the wrong place shows.
inline std::vector<DataSet> all(const DataSet::Fill& exact) {
  return {
      {"zero_mean", Check::zero_mean, "N(0,1); an all-zero or constant output fails",
       filled(normal)},
      {"exact", Check::exact,
       "-1, 0 and 1, so that the sum is exact. The result is exact too where nothing after the sum "
       "rounds (act none, relu or relu6, a factor that is a power of two)",
       exact},
      {"positive", Check::hard,
       "0.5 to 1.5; sums in half lose accuracy, and fail unless acc allows them", filled(positive)},
      {"outliers", Check::hard,
       "N(0,1) with one in 64 of the first operand a thousand times larger; for half sums "
       "positive, and at most 16 in a sum",
       outliers},
  };
}

}  // namespace clam::product_sets
