// SPDX-License-Identifier: MIT
// window.hpp - which elements the windows of conv2d and pool2d meet.
#pragma once

#include "clam/problem.hpp"

namespace clam {

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
