// SPDX-License-Identifier: MIT
// pool2d.hpp - what the plans of pool2d share with its reference.
#pragma once

#include <algorithm>

#include "clam/op.hpp"
#include "shared/window.hpp"

namespace clam {

/// The extents of a checked problem, with every word that stands for several taken apart.
struct Pool2d : Sides {
  int n = problem.integer("n"), c = problem.integer("c");
  int h = problem.integer("h"), w = problem.integer("w");
  bool global = problem.flag("global");
  int r = global ? h : problem.integer("r"), s = global ? w : or_else("s", 0, "r");
  bool max = problem.choice("mode") == "max";
  bool include_pad = problem.integer("count_include_pad") == 1;
  bool ceil = problem.integer("ceil_mode") == 1, nhwc = problem.choice("layout") == "nhwc";
  Dtype dtype = problem.dtype();

  using Sides::Sides;

  bool pads() const { return pad_t > 0 || pad_l > 0 || pad_b > 0 || pad_r > 0; }
  /// Some windows reach beyond the pads.
  bool overhangs() const { return below() > pad_b || right() > pad_r; }
  /// What a mean divides by: 0: as much for all windows, 1: the elements inside x, 2: those inside
  /// x and its pads. It is POOL2D_COUNT.
  int counts() const {
    if (max || !(pads() || overhangs())) return 0;
    return !include_pad ? 1 : overhangs() ? 2 : 0;
  }
  int oh() const { return outputs(h, pad_t, pad_b, r, stride_h); }
  int ow() const { return outputs(w, pad_l, pad_r, s, stride_w); }
  /// Rows below x, and columns right of it, that windows may reach over.
  int below() const { return std::max(pad_b, (oh() - 1) * stride_h + r - pad_t - h); }
  int right() const { return std::max(pad_r, (ow() - 1) * stride_w + s - pad_l - w); }
  WindowAxis rows() const { return {h, r, stride_h, 1, pad_t, below()}; }
  WindowAxis columns() const { return {w, s, stride_w, 1, pad_l, right()}; }
  std::int64_t maps() const { return std::int64_t{n} * c; }
  std::int64_t pixels() const { return std::int64_t{h} * w; }
  /// What a sum is multiplied by where every mean is over as many elements.
  float scale() const { return 1.0f / (static_cast<float>(r) * static_cast<float>(s)); }
  Shape shape(int rows, int columns) const {
    return nhwc ? Shape{n, rows, columns, c} : Shape{n, c, rows, columns};
  }

 private:
  /// With ceil_mode also the last window that overhangs, if it begins no later than x ends.
  int outputs(std::int64_t extent, int before, int after, int taps, int stride) const {
    const std::int64_t steps = (extent + before + after - taps + (ceil ? stride - 1 : 0)) / stride;
    return static_cast<int>(steps) + (ceil && steps * stride >= extent + before ? 0 : 1);
  }
};

}  // namespace clam
