// SPDX-License-Identifier: MIT
// conv2d_faults.hpp - a conv2d of another accumulator, or without some of its products, on the
// host.
#pragma once

#include "check/op_proof.hpp"
#include "check/ops/shared/activate.hpp"
#include "ops/conv2d_problem.hpp"
#include "ops/shared/activation.hpp"

namespace clam::conv2d_faults {

/// A conv2d computed like a kernel, with the sum in the accumulator's dtype.
inline HostTensor computed(const Problem& problem, const Tensors& inputs, Dtype accumulator) {
  const Conv2d conv(problem);
  const Act act(problem);
  const auto narrow = [&](double value) {
    return accumulator == Dtype::f16 ? round_to_half(value)
                                     : static_cast<double>(static_cast<float>(value));
  };
  const HostTensor &x = inputs.at("x"), &w = inputs.at("w");
  const int oh = conv.oh(), ow = conv.ow();
  HostTensor y(problem.dtype(), conv.y_shape());
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const std::int64_t map = std::int64_t{oh} * ow, image = i / conv.k / map;
    const std::int64_t k = conv.nhwc ? i % conv.k : i / map % conv.k;
    const std::int64_t pixel = conv.nhwc ? i / conv.k % map : i % map;
    const std::int64_t taps = std::int64_t{conv.r} * conv.s;
    double sum = 0;
    for (std::int64_t j = 0; j < conv.products(); ++j) {
      const std::int64_t c = conv.nhwc ? j % conv.cg() : j / taps;
      const std::int64_t tap = conv.nhwc ? j / conv.cg() : j % taps;
      const std::int64_t iy =
          pixel / ow * conv.stride_h - conv.pad_t + tap / conv.s * conv.dilation_h;
      const std::int64_t ix =
          pixel % ow * conv.stride_w - conv.pad_l + tap % conv.s * conv.dilation_w;
      if (iy < 0 || iy >= conv.h || ix < 0 || ix >= conv.w) continue;
      const std::int64_t at = conv.x_at(image, k / conv.kg() * conv.cg() + c, iy * conv.w + ix);
      sum = narrow(x.get(at) * w.get(conv.w_at(k, c, tap)) + sum);
    }
    const double bias = conv.bias ? inputs.at("b").get(k) : 0;
    const double z = static_cast<double>(static_cast<float>(sum + bias));
    const double residual = conv.residual ? inputs.at("r").get(i) : 0;
    y.set(i, static_cast<double>(static_cast<float>(activate(act, z))) + residual);
  }
  return y;
}

/// The weights of every output channel from the one at `first` on, in the order of c, r, s, become
/// zero.
inline Tensors without_products_from(const Problem& problem, Tensors inputs, std::int64_t first) {
  const Conv2d conv(problem);
  HostTensor& w = inputs.at("w");
  const std::int64_t taps = std::int64_t{conv.r} * conv.s;
  for (std::int64_t k = 0; k < conv.k; ++k) {
    for (std::int64_t j = first; j < conv.products(); ++j)
      w.set(conv.w_at(k, j / taps, j % taps), 0);
  }
  return inputs;
}

/// Whether tap t of `taps`, at least, lies inside x for some of `outputs` outputs.
inline bool is_ever_inside(int t, int stride, int pad, int dilation, int extent, int outputs) {
  for (std::int64_t o = 0; o < outputs; ++o) {
    const std::int64_t i = o * stride - pad + std::int64_t{t} * dilation;
    if (i >= 0 && i < extent) return true;
  }
  return false;
}

/// Output channels 2j and 2j+1 of a group change places.
inline HostTensor swapped_channels(const Problem& problem, const HostTensor& y) {
  const Conv2d conv(problem);
  const std::int64_t step = conv.nhwc ? 1 : std::int64_t{conv.oh()} * conv.ow();
  HostTensor result(y.dtype(), y.shape());
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const std::int64_t in_group = i / step % conv.k % conv.kg(), other = in_group ^ 1;
    result.set_bits(i, y.bits(other < conv.kg() ? i + (other - in_group) * step : i));
  }
  return result;
}

}  // namespace clam::conv2d_faults
