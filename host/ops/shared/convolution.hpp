// SPDX-License-Identifier: MIT
// convolution.hpp - the words that conv2d and conv_transpose have in common.
#pragma once

#include <vector>

#include "sides.hpp"

namespace clam {

/// Those words of a checked problem, with each that stands for several taken apart.
struct Convolution : Sides {
  int n, c, h, w, k, r, s;
  int dilation_h, dilation_w, groups;
  bool bias;
  Dtype dtype;

  explicit Convolution(const Problem& problem);

  /// Channels of a group of channels.
  int cg() const { return c / groups; }
  int kg() const { return k / groups; }
  /// Products of an output, those that padding leaves out included.
  std::int64_t products() const { return std::int64_t{cg()} * r * s; }
};

/// n, c, h, w, k, r and s.
std::vector<Field> convolution_extents();
/// dilation, followed by its sides, and what the first of them says.
std::vector<Field> dilation_fields(const char* dilation);

/// Rules of the problem, for an op's `check`: groups divide c and k. Afterwards what can be said in
/// two ways has one text.
void check_convolution(const Problem& problem, Schema::Values& values);

}  // namespace clam
