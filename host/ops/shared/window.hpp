// SPDX-License-Identifier: MIT
// window.hpp - what ops have in common that move a window over a map: conv2d, conv_transpose and
// pool2d. Words of a problem stand for several, one for each side: stride for stride_h and
// stride_w, pad for pad_t, pad_l, pad_b and pad_r.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "clam/problem.hpp"

namespace clam {

/// Pads, strides and dilations: kernels multiply them by indices, in int.
constexpr int kLargestStep = 1 << 20;

/// Fields behind those that are there.
void append(std::vector<Field>& fields, const std::vector<Field>& more);

/// A field of such steps, from 1 or, where that is the fallback, from 0 or -1 on.
Field step_field(const char* name, const char* about, const char* fallback);

/// `whole` stands for those of `parts` that are not given. Parts that are alike become the whole,
/// and parts with the default of the whole are left out.
void unite(Schema::Values& values, const std::string& whole,
           const std::vector<std::pair<std::string, int>>& parts, const std::string& absent,
           int fallback);

/// The words stride and pad of a checked problem, taken apart.
struct Sides {
  const Problem& problem;
  int stride_h = or_else("stride_h", 0, "stride"), stride_w = or_else("stride_w", 0, "stride");
  int pad_t = or_else("pad_t", -1, "pad"), pad_l = or_else("pad_l", -1, "pad");
  int pad_b = or_else("pad_b", -1, "pad"), pad_r = or_else("pad_r", -1, "pad");

  explicit Sides(const Problem& problem) : problem(problem) {}
  /// Afterwards what can be said in two ways has one text.
  void unite(Schema::Values& values) const;

 protected:
  /// The field's value, or where it is `absent`, that of the word which stands for it.
  int or_else(const char* field, int absent, const char* other) const;
};

/// stride and pad, each followed by its sides, and what the first of them says. `map`: what has the
/// pads, x or y.
std::vector<Field> stride_fields(const char* stride);
std::vector<Field> pad_fields(const char* pad, const char* map);

// ---- conv2d and conv_transpose ----

/// Those words of a checked problem, with each that stands for several taken apart.
struct Convolution : Sides {
  int n = problem.integer("n"), c = problem.integer("c");
  int h = problem.integer("h"), w = problem.integer("w");
  int k = problem.integer("k"), r = problem.integer("r"), s = or_else("s", 0, "r");
  int dilation_h = or_else("dilation_h", 0, "dilation");
  int dilation_w = or_else("dilation_w", 0, "dilation");
  int groups = problem.integer("groups");
  bool bias = problem.flag("bias");
  Dtype dtype = problem.dtype();

  using Sides::Sides;

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

// ---- what a window meets ----

/// A window along one axis of x.
struct WindowAxis {
  int extent, taps, stride, dilation, before, after;

  /// Of all taps, over all places of the window, the share that meets x.
  double share_of_taps() const;
  /// Of x, the share that a tap meets.
  double share_of_x() const;

 private:
  template <typename Visit>
  void each_tap(const Visit& visit) const;
  bool inside(int place) const { return place >= 0 && place < extent; }
};

/// The bytes of all tensors, of x only those that a window meets.
double bytes_that_windows_meet(const Problem& problem, const WindowAxis& rows,
                               const WindowAxis& columns);

}  // namespace clam
