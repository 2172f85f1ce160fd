// SPDX-License-Identifier: MIT
#include "window.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "counts.hpp"

namespace clam {

/// Calls `visit` with each place that a tap meets, inside of x or not.
template <typename Visit>
void WindowAxis::each_tap(const Visit& visit) const {
  const int reach = (taps - 1) * dilation + 1;
  for (int at = -before; at + reach <= extent + after; at += stride) {
    for (int tap = 0; tap < taps; ++tap) visit(at + tap * dilation);
  }
}

double WindowAxis::share_of_taps() const {
  std::int64_t met = 0, all = 0;
  each_tap([&](int place) { met += inside(place), ++all; });
  return all > 0 ? double(met) / double(all) : 1;
}

double WindowAxis::share_of_x() const {
  std::vector<char> met(static_cast<std::size_t>(extent), false);
  each_tap([&](int place) {
    if (inside(place)) met[static_cast<std::size_t>(place)] = true;
  });
  return double(std::count(met.begin(), met.end(), true)) / double(extent);
}

double bytes_that_windows_meet(const Problem& problem, const WindowAxis& rows,
                               const WindowAxis& columns) {
  double of_x = 0;
  for (const TensorSpec& spec : problem.tensors()) {
    if (spec.name == "x") of_x = double(count(spec.shape)) * double(size_of(spec.dtype));
  }
  return tensor_bytes(problem) - (1 - rows.share_of_x() * columns.share_of_x()) * of_x;
}

}  // namespace clam
