// SPDX-License-Identifier: MIT
#include "decode_box.hpp"

namespace clam {
namespace {

/// NaN and infinities have no error.
Bounded bounded(double value, double error) { return {value, std::isfinite(value) ? error : 0}; }

}  // namespace

std::array<Bounded, 4> decode_box(const BoxOperands& in) {
  const double own = in.from_corners ? 1 : 0;
  const double tiny = in.denormals ? 0x1p-149 : 0x1p-126;  // what is lost among denormals
  std::array<Bounded, 4> box{};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const double anchor = in.anchor[axis], size = in.anchor[axis + 2];
    const double shift = in_float(in.offsets[axis] * in.variances[axis]);
    const double stretch = in_float(in.offsets[axis + 2] * in.variances[axis + 2]);
    const double t = in_float(shift * size), centre = in_float(t + anchor);
    const double half = in_float(in_float(std::exp(stretch)) * size) / 2;
    const double error = (2 + own) * std::fabs(t) + own * std::fabs(anchor) + std::fabs(centre) +
                         (half == 0 ? 0 : (7 + own + std::fabs(stretch)) * std::fabs(half));
    for (const int side : {-1, 1}) {
      const double corner = in_float(centre + side * half);
      const double crumbs = 4 * tiny * (1 + std::fabs(size));
      box[axis + (side > 0 ? 2 : 0)] =
          bounded(corner, kFloat * (error + std::fabs(corner)) + crumbs);
    }
  }
  return box;
}

Bounded clipped(Bounded corner) {
  if (std::isnan(corner.value)) return {0, 0};
  const auto clip = [](double value) { return std::clamp(value, 0.0, 1.0); };
  const double value = clip(corner.value);
  const double low = clip(corner.value - corner.error), high = clip(corner.value + corner.error);
  return {value, std::max(high - value, value - low)};
}

Bounded stored(Bounded number, Dtype dtype) {
  if (dtype != Dtype::f16 || number.error + std::fabs(number.value) == 0) return number;
  const double rounding = unit_roundoff(dtype) * std::fabs(number.value) + 0x1p-25;
  return bounded(number.value, number.error + rounding);
}

std::array<double, 4> load4(const HostTensor& tensor, std::int64_t row) {
  std::array<double, 4> values{};
  for (std::size_t i = 0; i < 4; ++i) values[i] = tensor.get(4 * row + static_cast<int>(i));
  return values;
}

}  // namespace clam
