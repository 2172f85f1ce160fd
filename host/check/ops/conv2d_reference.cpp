// SPDX-License-Identifier: MIT
// conv2d_reference.cpp - y[n,k,oy,ox] = act(sum_c,r,s w[k,c,r,s] * x[n,c,iy,ix] + b[k]) + r in
// double, with iy = oy * stride_h - pad_t + r * dilation_h and ix likewise; taps outside x are left
// out of the sum. With it, how far from it a device may be.
#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "check/op_proof.hpp"
#include "check/parallel.hpp"
#include "clam/error.hpp"
#include "ops/conv2d_problem.hpp"
#include "shared/epilogue.hpp"

namespace clam {
namespace {

using std::size_t;

/// The problem's numbers, widened.
struct Operands {
  Conv2d conv;
  Epilogue epilogue;
  std::vector<double> x, w, b, r;  ///< b and r empty when absent

  Operands(const Problem& problem, const Tensors& inputs)
      : conv(problem),
        epilogue{"conv2d", 1, parse_activation(problem.choice("act")), problem.dtype(),
                 accumulator(problem)},
        x(values(inputs.at("x"))),
        w(values(inputs.at("w"))) {
    if (conv.bias) b = values(inputs.at("b"));
    if (conv.residual) r = values(inputs.at("r"));
  }

  /// What denormals may cost an output of channel k. A weight that is no number may belong to a tap
  /// that is left out.
  double crumb(bool denormals, std::int64_t k) const {
    double magnitudes = 0;
    const std::int64_t products = conv.products();
    for (std::int64_t i = k * products; i < (k + 1) * products; ++i) {
      const double weight = std::fabs(w[static_cast<size_t>(i)]);
      if (std::isfinite(weight)) magnitudes += weight;
    }
    return epilogue.crumb(denormals, magnitudes);
  }
};

/// Sums of outputs side by side, so few that they stay in registers.
constexpr int kSums = 4;
using Sums = std::array<Summation, kSums>;
constexpr int kDenseParts = 4;       ///< of a sum of nhwc 1x1, which the kernels of dense compute
constexpr std::int64_t kPiece = 32;  ///< outputs of a row that a thread takes at a time

/// A row of outputs; `w` is also the length of a row of x.
struct Extents {
  std::int64_t h, w, oh, ow;

  /// Where no tap reaches beyond its own pixel, a map is one long row.
  explicit Extents(const Conv2d& conv) : h(conv.h), w(conv.w), oh(conv.oh()), ow(conv.ow()) {
    const bool pointwise = conv.r == 1 && conv.s == 1 && conv.stride_h == 1 && conv.stride_w == 1;
    if (!pointwise || oh != h || ow != w || conv.pad_t > 0 || conv.pad_l > 0) return;
    w = ow = h * w;
    h = oh = 1;
  }
};

/// Channel k, row oy and columns from ox on of image n; each sum begun as `zero`.
template <typename Sum>
Sums sum(const Operands& in, const Extents& extents, Check check, const Sum& zero, std::int64_t n,
         std::int64_t k, std::int64_t oy, std::int64_t ox) {
  const Conv2d& conv = in.conv;
  const std::int64_t h = extents.h, w = extents.w, stride = conv.stride_w;
  const double* weight = in.w.data() + k * conv.products();
  // From a pixel, and from a channel, to the next.
  const std::int64_t pixel = conv.nhwc ? conv.c : 1, channel = conv.nhwc ? 1 : h * w;
  const std::int64_t first = n * conv.c * h * w + k / conv.kg() * conv.cg() * channel;
  std::array<Sum, kSums> sums{zero, zero, zero, zero};
  const auto add = [&](std::int64_t c, std::int64_t r, std::int64_t s, double factor) {
    const std::int64_t iy = oy * conv.stride_h - conv.pad_t + r * conv.dilation_h;
    if (iy < 0 || iy >= h) return;
    const std::int64_t ix = ox * stride - conv.pad_l + s * conv.dilation_w;
    const double* x = in.x.data() + first + c * channel + (iy * w + ix) * pixel;
    const bool all_inside = ix >= 0 && ix + (kSums - 1) * stride < w;
    for (int j = 0; j < kSums; ++j) {
      const bool inside = all_inside || (ix + j * stride >= 0 && ix + j * stride < w);
      if (inside) sums[j].add(factor * x[j * stride * pixel]);
    }
  };
  if (conv.nhwc) {
    for (std::int64_t r = 0; r < conv.r; ++r) {
      for (std::int64_t s = 0; s < conv.s; ++s) {
        for (std::int64_t c = 0; c < conv.cg(); ++c) {
          add(c, r, s, *weight++);
          if constexpr (std::is_same_v<Sum, SumInParts>) {
            if (!ends_part(c, conv.cg(), kDenseParts, 4)) continue;
            for (Sum& each : sums) each.end_part();
          }
        }
      }
    }
  } else {
    for (std::int64_t c = 0; c < conv.cg(); ++c) {
      for (std::int64_t r = 0; r < conv.r; ++r) {
        for (std::int64_t s = 0; s < conv.s; ++s) add(c, r, s, *weight++);
      }
      if constexpr (std::is_same_v<Sum, SumInParts>) {
        if ((c + 1) % conv.part() != 0 && c + 1 != conv.cg()) continue;
        for (Sum& each : sums) each.end_part();
      }
    }
  }
  Sums result;
  for (size_t j = 0; j < kSums; ++j) result[j] = sums[j].total(check);
  return result;
}

/// The same with the accumulator that the problem asks for. Only the worst case asks for parts.
Sums sum(const Operands& in, const Extents& extents, Check check, std::int64_t n, std::int64_t k,
         std::int64_t oy, std::int64_t ox) {
  const Acc acc = in.epilogue.acc;
  if (acc != Acc::f32) {
    return sum(in, extents, check, HalfSummation(products_in_half(acc)), n, k, oy, ox);
  }
  const bool as_dense = in.conv.nhwc && in.conv.r == 1 && in.conv.s == 1;
  const bool in_parts =
      check == Check::hard && (as_dense || (!in.conv.nhwc && in.conv.part() < in.conv.cg()));
  if (in_parts) return sum(in, extents, check, SumInParts(), n, k, oy, ox);
  return sum(in, extents, check, Summation(), n, k, oy, ox);
}

}  // namespace

Reference conv2d_reference(const Problem& problem, const Tensors& inputs,
                           const ReferenceOptions& options) {
  if (const Reason reason = conv2d_not_offered(problem)) throw Unsupported("conv2d: " + *reason);
  const Operands in(problem, inputs);
  const Conv2d& conv = in.conv;
  const Extents extents(conv);
  if (options.check == Check::exact) in.epilogue.require_exact_operands(inputs, conv.products());
  std::vector<double> crumbs;
  for (std::int64_t k = 0; k < conv.k; ++k) crumbs.push_back(in.crumb(options.denormals, k));
  Expected y;
  y.value.resize(static_cast<size_t>(conv.outputs()));
  y.bound.resize(y.value.size());
  // All channels of a few pixels in turn: what they read of x stays in the cache.
  const std::int64_t pieces = (extents.ow + kPiece - 1) / kPiece, rows = conv.n * extents.oh;
  parallel_for(rows * pieces, [&](std::int64_t task) {
    const std::int64_t n = task / pieces / extents.oh, oy = task / pieces % extents.oh;
    const std::int64_t begin = task % pieces * kPiece, end = std::min(begin + kPiece, extents.ow);
    for (std::int64_t k = 0; k < conv.k; ++k) {
      for (std::int64_t ox = begin; ox < end; ox += kSums) {
        const Sums sums = sum(in, extents, options.check, n, k, oy, ox);
        for (std::int64_t j = 0; j < std::min<std::int64_t>(kSums, end - ox); ++j) {
          const std::int64_t pixel = (n * extents.oh + oy) * extents.ow + ox + j;
          const std::int64_t map = (n * conv.k + k) * extents.oh + oy;
          const auto i =
              static_cast<size_t>(conv.nhwc ? pixel * conv.k + k : map * extents.ow + ox + j);
          const Epilogue::Result result = in.epilogue.finish(
              sums[static_cast<size_t>(j)], in.b.empty() ? nullptr : &in.b[static_cast<size_t>(k)],
              in.r.empty() ? nullptr : &in.r[i], options.check, crumbs[static_cast<size_t>(k)]);
          y.value[i] = result.value;
          y.bound[i] = result.bound;
        }
      }
    }
  });
  if (options.check == Check::exact && in.epilogue.stays_exact(conv.products())) {
    Epilogue::make_exact(y, problem.dtype(), conv.y_shape());
  }
  return {{"y", std::move(y)}};
}

}  // namespace clam
