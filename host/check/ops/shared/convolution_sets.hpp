// SPDX-License-Identifier: MIT
// convolution_sets.hpp - exact data for conv2d and conv_transpose.
#pragma once

#include "product_sets.hpp"

namespace clam::product_sets {

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

}  // namespace clam::product_sets
