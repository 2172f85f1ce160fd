// SPDX-License-Identifier: MIT
// conv_transpose.hpp - what the plans of conv_transpose share with its reference.
#pragma once

#include "clam/op.hpp"
#include "shared/window.hpp"

namespace clam {

/// The words of a checked problem. Pixel (iy, ix) of x adds its product with tap (r, s) to pixel
/// (iy * stride_h + r * dilation_h - pad_t, ix * stride_w + s * dilation_w - pad_l) of y.
struct ConvTranspose : Convolution {
  int out_pad_h = or_else("out_pad_h", -1, "out_pad");
  int out_pad_w = or_else("out_pad_w", -1, "out_pad");

  using Convolution::Convolution;

  /// Rows and columns of y before its pads are cut off.
  std::int64_t whole_h() const { return whole(h, stride_h, r, dilation_h, out_pad_h); }
  std::int64_t whole_w() const { return whole(w, stride_w, s, dilation_w, out_pad_w); }
  int oh() const { return static_cast<int>(whole_h() - pad_t - pad_b); }
  int ow() const { return static_cast<int>(whole_w() - pad_l - pad_r); }
  std::int64_t outputs() const { return std::int64_t{n} * k * oh() * ow(); }
  Shape y_shape() const { return {n, k, oh(), ow()}; }

  /// Where a pixel lies in x, and a tap of input channel `channel` of the group of `out` in w.
  std::int64_t x_at(std::int64_t image, std::int64_t channel, std::int64_t pixel) const {
    return (image * c + channel) * h * w + pixel;
  }
  std::int64_t w_at(std::int64_t out, std::int64_t channel, std::int64_t tap) const {
    return ((out / kg() * cg() + channel) * kg() + out % kg()) * r * s + tap;
  }

  /// The filter as a window that moves over y, a step for each pixel of x.
  WindowAxis rows() const { return {oh(), r, stride_h, dilation_h, pad_t, pad_b - out_pad_h}; }
  WindowAxis columns() const { return {ow(), s, stride_w, dilation_w, pad_l, pad_r - out_pad_w}; }

 private:
  static std::int64_t whole(int extent, int stride, int taps, int dilation, int more) {
    return (extent - 1LL) * stride + (taps - 1LL) * dilation + 1 + more;
  }
};

}  // namespace clam
