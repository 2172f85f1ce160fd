// SPDX-License-Identifier: MIT
// conv_transpose_faults.hpp - a conv_transpose of another accumulator, or without some of its
// products, on the host.
#pragma once

#include "check/op_proof.hpp"
#include "check/ops/shared/activate.hpp"
#include "ops/conv_transpose.hpp"
#include "ops/shared/activation.hpp"

namespace clam::conv_transpose_faults {

/// Computed by adding the products of each pixel of x, tap by tap in the order of r, c, s, with the
/// sums in the accumulator's dtype.
inline HostTensor computed(const Problem& problem, const Tensors& inputs, Dtype accumulator) {
  const ConvTranspose conv(problem);
  const Act act(problem);
  const auto narrow = [&](double value) {
    return accumulator == Dtype::f16 ? round_to_half(value)
                                     : static_cast<double>(static_cast<float>(value));
  };
  const HostTensor &x = inputs.at("x"), &w = inputs.at("w");
  const std::int64_t oh = conv.oh(), ow = conv.ow();
  HostTensor y(problem.dtype(), conv.y_shape());
  std::vector<double> sums(static_cast<std::size_t>(y.size()));
  const auto add = [&](std::int64_t map, std::int64_t r, std::int64_t c, std::int64_t s) {
    const std::int64_t k = map % conv.k, from = k / conv.kg() * conv.cg() + c;
    const double weight = w.get(conv.w_at(k, c, r * conv.s + s));
    for (std::int64_t i = 0; i < std::int64_t{conv.h} * conv.w; ++i) {
      const std::int64_t oy = i / conv.w * conv.stride_h + r * conv.dilation_h - conv.pad_t;
      const std::int64_t ox = i % conv.w * conv.stride_w + s * conv.dilation_w - conv.pad_l;
      if (oy < 0 || oy >= oh || ox < 0 || ox >= ow) continue;
      double& sum = sums[static_cast<std::size_t>((map * oh + oy) * ow + ox)];
      sum = narrow(weight * x.get(conv.x_at(map / conv.k, from, i)) + sum);
    }
  };
  for (std::int64_t map = 0; map < std::int64_t{conv.n} * conv.k; ++map) {
    for (std::int64_t r = 0; r < conv.r; ++r) {
      for (std::int64_t c = 0; c < conv.cg(); ++c) {
        for (std::int64_t s = 0; s < conv.s; ++s) add(map, r, c, s);
      }
    }
  }
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const double bias = conv.bias ? inputs.at("b").get(i / (oh * ow) % conv.k) : 0;
    const auto z = static_cast<float>(sums[static_cast<std::size_t>(i)] + bias);
    y.set(i, static_cast<double>(static_cast<float>(activate(act, static_cast<double>(z)))));
  }
  return y;
}

/// The inputs with zeros for the weights of one channel of each group at taps from `first` on.
inline Tensors without_taps(const Problem& problem, Tensors inputs, std::int64_t channel,
                            std::int64_t first) {
  const ConvTranspose conv(problem);
  for (std::int64_t k = 0; k < conv.k; ++k) {
    for (std::int64_t tap = first; tap < std::int64_t{conv.r} * conv.s; ++tap) {
      inputs.at("w").set(conv.w_at(k, channel, tap), 0);
    }
  }
  return inputs;
}

}  // namespace clam::conv_transpose_faults
