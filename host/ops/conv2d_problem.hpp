// SPDX-License-Identifier: MIT
// conv2d_problem.hpp - what the plans of conv2d share with its reference.
#pragma once

#include <array>

#include "clam/op.hpp"
#include "shared/window.hpp"

namespace clam {

/// The words of a checked problem.
struct Conv2d : Convolution {
  static constexpr int kTile = 4;    ///< channels of a tile, and pixels of a vector
  static constexpr int kParts = 16;  ///< work-items that may share the sums of a tile
  /// In how many parts conv2d_product may sum: numbers that divide most channels by 8.
  static constexpr std::array<int, 9> kProductParts{1, 2, 3, 4, 6, 8, 12, 16, 24};
  static constexpr std::array<int, 4> kWinogradParts{1, 2, 4, 8};  ///< of conv2d_winograd

  bool nhwc = problem.choice("layout") == "nhwc", residual = problem.flag("residual");

  using Convolution::Convolution;

  /// Input channels that each part of a sum takes, where it is summed in parts.
  int part() const { return ((cg() + kParts - 1) / kParts + kTile - 1) / kTile * kTile; }
  int oh() const { return steps(padded(h, pad_t, pad_b) - reach(r, dilation_h), stride_h) + 1; }
  int ow() const { return steps(padded(w, pad_l, pad_r) - reach(s, dilation_w), stride_w) + 1; }
  std::int64_t outputs() const { return std::int64_t{n} * k * oh() * ow(); }

  /// Where channel c of a pixel lies in x, and a tap of input channel c in w.
  std::int64_t x_at(std::int64_t image, std::int64_t channel, std::int64_t pixel) const {
    const std::int64_t map = std::int64_t{h} * w;
    return nhwc ? (image * map + pixel) * c + channel : (image * c + channel) * map + pixel;
  }
  std::int64_t w_at(std::int64_t out, std::int64_t channel, std::int64_t tap) const {
    const std::int64_t at = nhwc ? tap * cg() + channel : channel * r * s + tap;
    return out * products() + at;
  }
  Shape y_shape() const { return nhwc ? Shape{n, oh(), ow(), k} : Shape{n, k, oh(), ow()}; }

  WindowAxis rows() const { return {h, r, stride_h, dilation_h, pad_t, pad_b}; }
  WindowAxis columns() const { return {w, s, stride_w, dilation_w, pad_l, pad_r}; }

  static std::int64_t padded(int extent, int before, int after) {
    return std::int64_t{extent} + before + after;
  }
  static int steps(std::int64_t free, int stride) { return static_cast<int>(free / stride); }
  static std::int64_t reach(int taps, int dilation) { return (taps - 1LL) * dilation + 1; }
};

}  // namespace clam
