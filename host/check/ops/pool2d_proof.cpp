// SPDX-License-Identifier: MIT
// pool2d_proof.cpp - means and maxima of windows in double, and how far from them a device may
// be.
//
// Let u = 2^-24, and a window have n elements inside x. In whatever order they are added, a float
// sum is off by at most (n - 1) u sum|x_i| (Jeannerod and Rump, "Improved error bounds for inner
// products in floating-point arithmetic", 2013). A mean multiplies it by a rounded 1 / n, or
// divides it by n within 2.5 ulp: u |mean| and u |mean|, or 5 u |mean|. A largest element is exact.
#include "ops/pool2d.hpp"
#include "shared/proof.hpp"

namespace clam::pool2d {
namespace {

/// The elements of a window that lie in x.
struct Window {
  double sum = 0, magnitudes = 0, largest = -kInfinity;
  int elements = 0, counted = 0;  ///< counted: also those of the pads that the window meets

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
  const int top = oy * pool.stride_h - pool.pad_t, left = ox * pool.stride_w - pool.pad_l;
  window.counted = (std::min(top + pool.r, pool.h + pool.pad_b) - top) *
                   (std::min(left + pool.s, pool.w + pool.pad_r) - left);
  for (int r = 0; r < pool.r; ++r) {
    const std::int64_t iy = top + r;
    if (iy < 0 || iy >= pool.h) continue;
    for (int s = 0; s < pool.s; ++s) {
      const std::int64_t ix = left + s;
      if (ix >= 0 && ix < pool.w) window.add(x.get(first + (iy * pool.w + ix) * step));
    }
  }
  return window;
}

Bounded largest(const Pool2d& pool, const Window& window, const ReferenceOptions& options) {
  const bool flushes = pool.dtype == Dtype::f32 && !options.denormals;
  return {window.largest, flushes ? 0x1p-126 : 0};
}

Bounded mean(const Pool2d& pool, const Window& window, const ReferenceOptions& options) {
  const double n = pool.include_pad ? window.counted : window.elements;
  const double value = window.sum / n, size = std::fabs(value);
  if (!std::isfinite(value)) return {value, 0};
  if (window.magnitudes > kLargest) return {value, kInfinity};
  int exponent = 0;
  const bool whole = std::frexp(n, &exponent) == 0.5;                      // 1 / n is not rounded
  const double last = pool.counts() ? 5 : whole ? 0 : n > 0x1p24 ? 3 : 2;  // n itself may round
  // A sum that is exact leaves the last roundings alone: where 1 / n is rounded once they are
  // known.
  const bool exact = options.check == Check::exact && window.magnitudes < 0x1p24;
  if (exact && !pool.counts()) {
    const float rounded = static_cast<float>(window.sum) * pool.scale();
    return {rounded_to(pool.dtype, rounded), 0};
  }
  const double sum = exact ? 0 : (window.elements - 1) * kFloat * window.magnitudes / n;
  // In f32 the last rounding is that to the output.
  const double own = pool.dtype == Dtype::f32 && last > 0 ? last - 1 : last;
  // Where a device has no denormals, each element, the sum and the mean may be lost.
  const double lost = crumb(pool.dtype, options.denormals, 0x1p-149, 0x1p-125);
  return {value, sum + (own * kFloat + unit_roundoff(pool.dtype)) * size + lost};
}

Reference reference(const Problem& problem, const Tensors& inputs,
                    const ReferenceOptions& options) {
  const Pool2d pool(problem);
  const HostTensor& x = inputs.at("x");
  const std::int64_t oh = pool.oh(), ow = pool.ow(), outputs = oh * ow;
  return by_rows(problem, pool.maps(), [&](std::int64_t map, Expected& y) {
    for (std::int64_t i = 0; i < outputs; ++i) {
      const Window window =
          window_of(pool, x, map, static_cast<int>(i / ow), static_cast<int>(i % ow));
      const Bounded result =
          pool.max ? largest(pool, window, options) : mean(pool, window, options);
      const std::int64_t at =
          pool.nhwc ? (map / pool.c * outputs + i) * pool.c + map % pool.c : map * outputs + i;
      y.set(at, result);
    }
  });
}

// ---- data sets and cases ----

double exact(Random& random, std::int64_t) { return random.integer(-8, 8); }

double positive(Random& random, std::int64_t) { return 1 + random.uniform(); }

}  // namespace

OpProof proof() {
  return {
      "pool2d",
      {{"exact", Check::exact, "whole numbers up to 8: sums are exact, and the mean rounds twice",
        filled(exact)},
       {"zero_mean", Check::hard, "x of N(0,1); an all-zero or constant output fails",
        filled(normal)},
       {"positive", Check::hard, "x from 1 to 2; a half accumulator fails", filled(positive)},
       {"outliers", Check::hard, "N(0,1) with numbers of 1000 in between",
        filled(outliers(32, 1000))},
       {"special", Check::hard, "NaN, infinities and -0 in places", filled(special_at)}},
      reference,
      // A map has 16 to 256 lanes of vectors; a group has 4 maps of 16 lanes. Windows: 4
      // outputs below each other an item, groups 16 wide.
      {
          // What trackers and classifiers run.
          "n=1 c=384 h={31 w=31,26 w=26,16 w=16} global",
          "n=1 c=64 h=7 w=7 global layout=nhwc",
          "n=1 c=13 h=28 w=30 r=3 stride=2 pad=1 mode=max",
          "n=1 c=5 h=35 w=35 r=3 pad=1",
          // Whole maps: rows that start anywhere, of fewer elements than a vector, of 16 and
          // 256 lanes.
          "n=2 c=3 h=1 w=1 global",
          "n=1 c=7 h=1 w=2 global mode=max",
          "n=5 c=1 h=3 w=1 global",
          "n=1 c=9 h=5 w=1 global mode=max",
          "n=3 c=5 h=7 w=9 global",
          "n=1 c=17 h=8 w=8 global mode=max",
          "n=1 c=3 h=65 w=63 global",
          "n=1 c=2 h=128 w=129 global mode=max",
          "n=2 c=4 h=1 w=1 global layout=nhwc mode=max",
          "n=3 c=65 h=5 w=7 global layout=nhwc",
          "n=1 c=68 h=15 w=17 global layout=nhwc mode=max",
          "n=2 c=3 h=33 w=31 global layout=nhwc",
          // Windows: around 4 outputs a column and 16 a row.
          "n=1 c=1 h=1 w=1 r=1",
          "n=2 c=3 h=4 w=15 r=2 mode=max",
          "n=1 c=3 h=5 w=16 r=2 stride=2",
          "n=1 c=2 h=10 w=17 r=2 s=1",
          "n=2 c=2 h=13 w=33 r=3 stride=2",
          "n=1 c=3 h=9 w=18 r=3 {pad=1 count_include_pad=1,stride=3 pad=1 mode=max}",
          "n=2 c=2 h=11 w=20 r=3 s=5 stride_h=4 stride_w=3 pad_t=1 pad_l=4 pad_r=2",
          "n=1 c=4 h=4 w=4 r=3 pad=2",
          "n=1 c=2 h=6 w=5 r=7 s=7 stride_h=1 stride_w=2 pad=3",
          "n=1 c=2 h=2 w=3 r=7 pad=6 mode=max",
          "n=1 c=70 h=16 w=16 r=2 stride=2 mode=max",
          // Windows that reach beyond the pads: below, right, both; one that would begin behind x.
          "n=1 c=3 h=10 w=11 r=3 stride=2 ceil_mode=1",
          "n=2 c=2 h=11 w=18 r=3 stride=2 mode=max ceil_mode=1",
          "n=1 c=3 h=10 w=12 r=3 stride=2 pad=1 count_include_pad=1 ceil_mode=1",
          "n=1 c=3 h=5 w=9 r=2 stride=3 pad=1 count_include_pad=1 ceil_mode=1",
          "n=1 c=2 h=12 w=21 r=3 stride=4 pad=1 ceil_mode=1",
          "n=1 c=2 h=20 w=19 r=9 stride=5 {pad_t=3 count_include_pad=1,mode=max} ceil_mode=1",
          "n=1 c=9 h=10 w=12 r=3 stride=2 pad_b=1 count_include_pad=1 ceil_mode=1 layout=nhwc",
          "n=2 c=64 h=6 w=8 r=3 stride=2 mode=max ceil_mode=1 layout=nhwc",
          // Windows that no item unrolls.
          "n=1 c=3 h=13 w=13 r=13 stride=1 pad=6 mode=max",
          "n=2 c=3 h=20 w=19 r=9 s=2 stride=5 pad_t=3",
          "n=1 c=3 h=12 w=40 r=1 s=20 stride_h=5 stride_w=10",
          "n=1 c=2 h=17 w=17 r=8 stride=8 count_include_pad=1 pad=2",
          // Channels last: alone, in vectors, and around a group of 16.
          "n=2 c=1 h=5 w=4 r=2 layout=nhwc",
          "n=1 c=3 h=9 w=9 r=3 stride=2 pad=1 layout=nhwc",
          "n=2 c=4 h=6 w=7 r=3 mode=max layout=nhwc",
          "n=1 c=60 h=8 w=9 r=3 pad=1 mode=max layout=nhwc",
          "n=2 c=64 h=7 w=8 r=2 stride=2 layout=nhwc",
          "n=1 c=68 h=5 w=6 r=3 pad=1 count_include_pad=1 layout=nhwc",
          "n=1 c=258 h=4 w=3 r=3 pad=2 layout=nhwc",
          "n=1 c=8 h=13 w=13 r=13 pad=6 mode=max layout=nhwc",
      },
      {"n=1 c=3 h=5 w=5 global", "n=1 c=5 h=9 w=15 global mode=max",
       "n=1 c=5 h=5 w=7 global layout=nhwc", "n=2 c=8 h=3 w=6 global layout=nhwc mode=max",
       "n=1 c=2 h=6 w=17 r=3 pad=1", "n=1 c=2 h=11 w=9 r=3 stride=2 mode=max",
       "n=1 c=2 h=9 w=10 r=8 stride=3 pad=2 count_include_pad=1",
       "n=2 c=5 h=4 w=5 r=3 pad=1 layout=nhwc",
       "n=1 c=2 h=4 w=6 r=3 stride=2 pad=1 count_include_pad=1 ceil_mode=1",
       "n=1 c=8 h=4 w=5 r=2 stride=2 layout=nhwc mode=max"}};
}

}  // namespace clam::pool2d
