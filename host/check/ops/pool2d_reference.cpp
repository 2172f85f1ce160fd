// SPDX-License-Identifier: MIT
// pool2d_reference.cpp - means and maxima of windows in double, and how far from them a device may
// be.
//
// Let u = 2^-24, and a window have n elements inside x. In whatever order they are added, a float
// sum is off by at most (n - 1) u sum|x_i| (Jeannerod and Rump, "Improved error bounds for inner
// products in floating-point arithmetic", 2013). A mean multiplies it by a rounded 1 / n, or
// divides it by n within 2.5 ulp: u |mean| and u |mean|, or 5 u |mean|. A largest element is exact.
#include <algorithm>
#include <cmath>
#include <limits>

#include "check/op_proof.hpp"
#include "check/parallel.hpp"
#include "ops/pool2d.hpp"
#include "shared/summation.hpp"

namespace clam {
namespace {

constexpr double kFloat = 0x1p-24;  ///< unit roundoff of everything in between
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The elements of a window that lie in x.
struct Window {
  double sum = 0, magnitudes = 0, largest = -std::numeric_limits<double>::infinity();
  int elements = 0;

  void add(double x) {
    sum += x;
    magnitudes += std::fabs(x);
    largest = std::isnan(x) || std::isnan(largest) ? kNan : std::max(largest, x);
    ++elements;
  }
};

Window window_of(const Pool2d& pool, const HostTensor& x, std::int64_t map, int oy, int ox) {
  const std::int64_t image = map / pool.c, channel = map % pool.c;
  const std::int64_t first =
      pool.nhwc ? image * pool.pixels() * pool.c + channel : map * pool.pixels();
  const std::int64_t step = pool.nhwc ? pool.c : 1;
  Window window;
  for (int r = 0; r < pool.r; ++r) {
    const std::int64_t iy = std::int64_t{oy} * pool.stride_h - pool.pad_t + r;
    if (iy < 0 || iy >= pool.h) continue;
    for (int s = 0; s < pool.s; ++s) {
      const std::int64_t ix = std::int64_t{ox} * pool.stride_w - pool.pad_l + s;
      if (ix >= 0 && ix < pool.w) window.add(x.get(first + (iy * pool.w + ix) * step));
    }
  }
  return window;
}

struct Result {
  double value, bound;
};

/// What is lost among f32 denormals, where the device has none: each element, the sum, the mean.
double crumb(const Pool2d& pool, const ReferenceOptions& options) {
  if (pool.dtype == Dtype::f16) return 0x1p-25;
  return options.denormals ? 0x1p-149 : 0x1p-125;
}

Result largest(const Pool2d& pool, const Window& window, const ReferenceOptions& options) {
  const bool flushes = pool.dtype == Dtype::f32 && !options.denormals;
  return {window.largest, flushes ? 0x1p-126 : 0};
}

Result mean(const Pool2d& pool, const Window& window, const ReferenceOptions& options) {
  constexpr double kMost = static_cast<double>(std::numeric_limits<float>::max());
  const double n = pool.include_pad ? double(pool.r) * pool.s : window.elements;
  const double value = window.sum / n, size = std::fabs(value);
  if (!std::isfinite(value)) return {value, 0};
  if (window.magnitudes > kMost) return {value, std::numeric_limits<double>::infinity()};
  int exponent = 0;
  const bool whole = std::frexp(n, &exponent) == 0.5;                      // 1 / n is not rounded
  const double last = pool.counts() ? 5 : whole ? 0 : n > 0x1p24 ? 3 : 2;  // n itself may round
  // A sum that is exact leaves the last roundings alone: where 1 / n is rounded once they are
  // known.
  const bool exact = options.check == Check::exact && window.magnitudes < 0x1p24;
  if (exact && !pool.counts()) {
    const float rounded = static_cast<float>(window.sum) * pool.scale();
    return {pool.dtype == Dtype::f16 ? round_to_half(static_cast<double>(rounded))
                                     : static_cast<double>(rounded),
            0};
  }
  const double sum = exact ? 0 : (window.elements - 1) * kFloat * window.magnitudes / n;
  // In f32 the last rounding is that to the output.
  const double own = pool.dtype == Dtype::f32 && last > 0 ? last - 1 : last;
  return {value, sum + (own * kFloat + unit_roundoff(pool.dtype)) * size + crumb(pool, options)};
}

}  // namespace

Reference pool2d_reference(const Problem& problem, const Tensors& inputs,
                           const ReferenceOptions& options) {
  const Pool2d pool(problem);
  const HostTensor& x = inputs.at("x");
  const std::int64_t oh = pool.oh(), ow = pool.ow(), outputs = oh * ow;
  Expected y;
  y.value.resize(static_cast<std::size_t>(pool.maps() * outputs));
  y.bound.resize(y.value.size());
  parallel_for(pool.maps(), [&](std::int64_t map) {
    for (std::int64_t i = 0; i < outputs; ++i) {
      const Window window =
          window_of(pool, x, map, static_cast<int>(i / ow), static_cast<int>(i % ow));
      const Result result = pool.max ? largest(pool, window, options) : mean(pool, window, options);
      const std::int64_t at =
          pool.nhwc ? (map / pool.c * outputs + i) * pool.c + map % pool.c : map * outputs + i;
      y.value[static_cast<std::size_t>(at)] = result.value;
      y.bound[static_cast<std::size_t>(at)] = result.bound;
    }
  });
  return {{"y", std::move(y)}};
}

}  // namespace clam
