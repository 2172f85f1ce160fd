// SPDX-License-Identifier: MIT
// conv_transpose_proof.cpp - y[n,k,oy,ox] = act(sum_r,c,s w[c,k,r,s] * x[n,c,iy,ix] + b[k]) in
// double, over the taps with oy = iy * stride_h - pad_t + r * dilation_h and ox likewise. With it,
// how far from it a device may be: kernels sum in the order of r, c, s.
#include <optional>

#include "ops/conv_transpose.hpp"
#include "shared/epilogue.hpp"
#include "shared/product_sets.hpp"

namespace clam::conv_transpose {
namespace {

/// The problem's numbers, widened.
struct Operands {
  ConvTranspose conv;
  Epilogue epilogue;
  std::vector<double> x, w, b;  ///< b empty when absent

  Operands(const Problem& problem, const Tensors& inputs)
      : conv(problem), epilogue(problem), x(values(inputs.at("x"))), w(values(inputs.at("w"))) {
    if (conv.bias) b = values(inputs.at("b"));
  }

  double weight(std::int64_t k, std::int64_t c, std::int64_t tap) const {
    return w[conv.w_at(k, c, tap)];
  }

  /// What denormals may cost an output of channel k.
  double crumb(bool denormals, std::int64_t k) const {
    double magnitudes = 0;
    for (std::int64_t i = 0; i < conv.products(); ++i) {
      const std::int64_t taps = std::int64_t{conv.r} * conv.s;
      const double of_tap = std::fabs(weight(k, i / taps, i % taps));
      if (std::isfinite(of_tap)) magnitudes += of_tap;
    }
    return epilogue.crumb(denormals, magnitudes);
  }
};

/// The row or column of x from which tap `tap` reaches `at`, which counts what is cut off before
/// it; it may lie outside x. Nothing where there is none.
std::optional<std::int64_t> reached_from(std::int64_t at, std::int64_t tap, int stride,
                                         int dilation) {
  const std::int64_t distance = at - tap * dilation;
  if (distance % stride != 0) return {};
  return distance / stride;
}

Summation sum(const Operands& in, std::int64_t n, std::int64_t k, std::int64_t oy,
              std::int64_t ox) {
  const ConvTranspose& conv = in.conv;
  Summation sum;
  bool unknown = false;  // a kernel may multiply what lies left or right of x by no finite weight
  for (std::int64_t r = 0; r < conv.r; ++r) {
    const auto iy = reached_from(oy + conv.pad_t, r, conv.stride_h, conv.dilation_h);
    if (!iy || *iy < 0 || *iy >= conv.h) continue;
    for (std::int64_t c = 0; c < conv.cg(); ++c) {
      for (std::int64_t s = 0; s < conv.s; ++s) {
        const auto ix = reached_from(ox + conv.pad_l, s, conv.stride_w, conv.dilation_w);
        if (!ix) continue;
        const double weight = in.weight(k, c, r * conv.s + s);
        if (*ix >= 0 && *ix < conv.w) {
          const std::int64_t channel = k / conv.kg() * conv.cg() + c;
          const std::int64_t at = conv.x_at(n, channel, *iy * conv.w + *ix);
          sum.add(weight * in.x[at]);
        } else {
          unknown = unknown || !std::isfinite(weight);
        }
      }
    }
  }
  return unknown ? Summation(0, kInfinity) : sum;
}

Reference reference(const Problem& problem, const Tensors& inputs,
                    const ReferenceOptions& options) {
  const Operands in(problem, inputs);
  const ConvTranspose& conv = in.conv;
  if (options.check == Check::exact) in.epilogue.require_exact_operands(inputs, conv.products());
  Expected y = Expected::of_size(conv.outputs());
  const std::int64_t oh = conv.oh(), ow = conv.ow();
  std::vector<double> crumbs;
  for (std::int64_t k = 0; k < conv.k; ++k) crumbs.push_back(in.crumb(options.denormals, k));
  parallel_for(conv.n * conv.k * oh, [&](std::int64_t row) {
    const std::int64_t k = row / oh % conv.k;
    const double* bias = in.b.empty() ? nullptr : &in.b[k];
    for (std::int64_t ox = 0; ox < ow; ++ox) {
      const Summation total = sum(in, row / oh / conv.k, k, row % oh, ox);
      y.set(row * ow + ox, in.epilogue.finish(total, bias, nullptr, options.check, crumbs[k]));
    }
  });
  in.epilogue.make_exact(y, options.check, conv.products(), conv.y_shape());
  return {{"y", std::move(y)}};
}

}  // namespace

OpProof proof() {
  return {
      "conv_transpose",
      product_sets::all(product_sets::exact_convolution<ConvTranspose>),
      reference,
      {
          // Small extents.
          "c=1 h=1 w=1 k=1 r=1",
          "c=2 h=1 w=1 k=3 r=3",
          "n=2 c=3 h=3 w=5 k=5 r=3 s=2 stride_w=2 bias",
          // Stride = filter: around a tile of 4 pixels and 4 channels, four of c, and a group.
          "c=1 h=1 w=4 k=1 r=2 stride=2",
          "n=2 c=3 h=2 w=4 k=2 r=2 stride=2 bias act=sigmoid",
          "c=4 h=3 w=8 k=3 r=2 stride=2",
          "n=2 c=5 h=4 w=12 k=5 r=2 stride=2 bias act=relu",
          "c=9 h=9 w=64 k=4 r=2 stride=2 bias",
          "c=24 h=16 w=20 k=24 r=2 stride=2 bias act=relu",
          "c=65 h=4 w=16 k=17 r=2 stride=2",
          "c=6 h=4 w=8 k=5 r=3 stride=3 bias",
          "c=7 h=3 w=8 k=5 r=4 stride=4",
          "c=3 h=3 w=4 k=2 r=2 s=4 stride_h=2 stride_w=4",
          "c=3 h=3 w=4 k=6 r=8 stride=8",
          // Rows of x, and of y, that are no whole vectors.
          "c=5 h=3 w={1,2,3,5,7} k=5 r=2 stride=2",
          "n=2 c=4 h=3 w=8 k=5 r=2 stride=2 pad_r=1 bias",
          "c=4 h=3 w=8 k=5 r=2 stride=2 pad_t=1 pad_l=1",
          // Neighbours on both sides, on one, and beyond the last.
          "c=64 h=8 w=8 k=16 r=4 stride=2 pad=1",
          "n=2 c=5 h=5 w=12 k=6 r=4 stride=2 pad=1 bias act=relu6",
          "c=5 h=5 w=7 k=6 r=4 stride=2 pad=1",
          "c=128 h=4 w=4 k=8 r=3 stride=2 pad=1 out_pad=1",
          "n=2 c=6 h=4 w=12 k=9 r=3 stride=2 pad=1 out_pad=1 bias",
          "c=6 h=4 w=12 k=9 r=3 stride=2 out_pad=1",
          "c=6 h=5 w=8 k=4 r={5 stride=2 pad=2 out_pad_h=1,3 stride=2}",
          "c=3 h=4 w=8 k=4 r=3 {pad=1,s=8 stride_w=4 pad_l=2 pad_r=2}",
          "c=3 h=4 w=9 k=3 r=6 stride=3 pad_l=3 pad_r=1 bias",
          // Outputs that no tap reaches.
          "c=3 h=4 w=4 k=5 r=1 stride=2 out_pad=1 bias",
          "c=3 h=3 w=5 k=5 r=2 stride=4 bias act=silu",
          "c=3 h=3 w=4 k=5 r=2 stride=3 out_pad=2",
          // More of y is cut off than a pixel adds.
          "c=3 h=6 w=8 k=4 r=2 stride=2 pad_t=3 pad_l=4 pad_b=2 pad_r=5",
          "c=3 h=8 w=9 k=4 r=7 pad=6",
          // Other filters, strides and dilations.
          "c=5 h=4 w=6 k=3 r=3 dilation=2",
          "c=5 h=5 w=4 k=3 r=3 stride={2 dilation=3 pad=2 out_pad=2,4 dilation=2}",
          "n=2 c=4 h=4 w=5 k=6 r=4 s=2 stride_h=3 stride_w=2 pad_l=1 pad_b=2 dilation_h=2 groups=2",
          "c=3 h=3 w=4 k=4 r=9 stride=5 pad=2",
          // Groups of channels, and one for each.
          "c=6 h=5 w=8 k=10 r=2 stride=2 groups=2",
          "n=2 c=12 h=4 w=6 k=6 r=3 stride=2 pad=1 groups=3 bias",
          "n=2 c=5 h=4 w=8 k=5 r=4 stride=2 pad=1 groups=5",
          // What models run, scaled down.
          "c=24 h=20 w=20 k=1 r=2 stride=2 bias act=sigmoid",
          "c=512 h=4 w=4 k=8 r=2 stride=2",
          "c=8 h=4 w=4 k=6 r=2 stride=2 bias act={gelu,gelu_tanh,tanh}",
      },
      {"c=1 h=1 w=1 k=1 r=1", "n=2 c=5 h=2 w=4 k=5 r=2 stride=2 bias act=silu",
       "c=3 h=3 w=5 k=3 r=3 stride=2 pad=1 out_pad=1", "c=5 h=2 w=5 k=2 r=4 stride=2 pad=1 bias",
       "n=2 c=4 h=3 w=4 k=2 r=3 s=2 stride_h=2 dilation_w=2 groups=2"}};
}

}  // namespace clam::conv_transpose
