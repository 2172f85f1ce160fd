// SPDX-License-Identifier: MIT
// conv2d_cases.cpp - the data sets and cases of conv2d, for tests and benches.
#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "ops/conv2d_problem.hpp"
#include "shared/product_sets.hpp"

namespace clam {

Reference conv2d_reference(const Problem&, const Tensors& inputs, const ReferenceOptions&);

namespace {

/// -1, 0 and 1, so that every partial sum is exact. In the last channel of every group neither x
/// nor w has a zero, so a tap of it that is left out changes the sum by one, a row of an odd number
/// of taps by an odd number, and so does the channel itself wherever an odd number of taps lies
/// inside. Output channels 2j and 2j+1 of a group differ in that channel alone, by sign: changed
/// places show.
void exact(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  product_sets::ternary(seed, inputs);
  const Conv2d conv(problem);
  const std::int64_t map = std::int64_t{conv.h} * conv.w, taps = std::int64_t{conv.r} * conv.s;
  HostTensor &x = inputs.at("x"), &w = inputs.at("w");
  const auto make_one = [](HostTensor& tensor, std::int64_t i) {
    tensor.set(i, tensor.bits(i) == 0 ? 1 : tensor.get(i));
  };
  for (std::int64_t c = conv.cg() - 1; c < conv.c; c += conv.cg()) {
    for (std::int64_t i = 0; i < conv.n * map; ++i) make_one(x, conv.x_at(i / map, c, i % map));
  }
  for (std::int64_t k = 0; k < conv.k; ++k) {
    const bool second = k % conv.kg() % 2 == 1;
    for (std::int64_t i = 0; i < conv.products(); ++i) {
      const std::int64_t c = i / taps, at = conv.w_at(k, c, i % taps);
      if (second) w.set(at, w.get(at - conv.products()));
      if (c + 1 < conv.cg()) continue;
      make_one(w, at);
      if (second) w.set(at, -w.get(at));
    }
  }
}

std::vector<DataSet> data_sets() { return product_sets::all(exact); }

/// Tiles are 4 channels x 4 pixels, or 4 x 8 in conv2d_1x1 and up to 4 x 4 pixels in
/// conv2d_depthwise; groups are 16 or 4 tiles along the map and 4 or 1 along the channels.
std::vector<std::string> cases() {
  return {
      // Small extents.
      "conv2d c=1 h=1 w=1 k=1 r=1",
      "conv2d c=2 h=3 w=3 k=3 r=1",
      "conv2d c=3 h=2 w=2 k=4 r=1",
      "conv2d n=2 c=3 h=3 w=5 k=5 r=3",
      // 1x1: around a group of 4 and 16 vectors, and around parts of 4 channels.
      "conv2d c=4 h=4 w=3 k=3 r=1",
      "conv2d n=2 c=5 h=4 w=4 k=7 r=1",
      "conv2d c=7 h=4 w=5 k=8 r=1",
      "conv2d c=13 h=6 w=10 k=9 r=1",
      "conv2d c=64 h=8 w=8 k=15 r=1",
      "conv2d c=65 h=4 w=17 k=17 r=1",
      "conv2d n=2 c=127 h=2 w=2 k=5 r=1",
      // 1x1 in tiles of two vectors: the last tile of a map whole, moved or missing.
      "conv2d c=3 h=4 w=32 k=501 r=1",
      "conv2d c=4 h=4 w=33 k=501 r=1",
      "conv2d c=5 h=4 w=49 k=501 r=1",
      "conv2d n=2 c=6 h=12 w=12 k=260 r=1",
      // 3x3, stride 1: around a tile, and around a group along the map and the channels.
      "conv2d c=1 h=1 w=4 k=1 r=3 pad=1",
      "conv2d c=3 h=2 w=4 k=4 r=3 pad=1",
      "conv2d n=2 c=5 h=3 w=8 k=5 r=3 pad=1",
      "conv2d c=4 h=5 w=12 k=63 r=3 pad=1",
      "conv2d c=5 h=16 w=16 k=13 r=3 pad=1",
      "conv2d c=5 h=17 w=16 k=17 r=3 pad=1",
      "conv2d c=3 h=33 w=32 k=149 r=3 pad=1",
      // 3x3, stride 2: the last tile of a row may need one vector only.
      "conv2d c=2 h=4 w=4 k=3 r=3 stride=2 pad=1",
      "conv2d c=3 h=7 w=12 k=5 r=3 stride=2 pad=1",
      "conv2d n=2 c=5 h=8 w=20 k=4 r=3 stride=2 pad=1",
      "conv2d c=3 h=64 w=64 k=156 r=3 stride=2 pad=1 bias act=relu",
      // 3x3 in parts.
      "conv2d c=63 h=4 w=4 k=6 r=3 pad=1",
      "conv2d c=64 h=5 w=8 k=5 r=3 pad=1",
      "conv2d n=2 c=65 h=4 w=4 k=7 r=3 stride=2 pad=1",
      // Pads that differ, and none where the kernels count on one.
      "conv2d c=3 h=6 w=8 k=5 r=3 pad_t=2 pad_l=1 pad_b=1",
      "conv2d c=3 h=6 w=8 k=5 r=3 pad_l=1 pad_r=1",
      "conv2d c=3 h=6 w=8 k=5 r=3 pad_l=1 pad_r=2",
      "conv2d c=3 h=6 w=8 k=5 r=3 stride=2 pad_b=1 pad_r=1",
      "conv2d c=3 h=4 w=5 k=5 r=2 pad=3",
      // Inputs smaller than the filter.
      "conv2d c=8 h=1 w=1 k=9 r=3 pad=1",
      "conv2d c=33 h=2 w=2 k=84 r=3 pad=1",
      "conv2d c=20 h=2 w=2 k=16 r=3 stride=2 pad=1",
      "conv2d c=3 h=2 w=3 k=4 r=7 pad=3",
      // Other filters, strides and dilations.
      "conv2d c=3 h=9 w=11 k=6 r=5 pad=2",
      "conv2d c=3 h=15 w=13 k=8 r=7 stride=2 pad=3",
      "conv2d c=5 h=6 w=9 k=7 r=1 s=3 pad_l=1 pad_r=1",
      "conv2d c=5 h=9 w=6 k=7 r=3 s=1",
      "conv2d c=5 h=9 w=10 k=7 r=1 stride=2",
      "conv2d c=3 h=11 w=13 k=5 r=2 stride=3",
      "conv2d c=3 h=11 w=13 k=5 r=3 stride_h=2 stride_w=3 pad=1",
      "conv2d c=3 h=9 w=12 k=5 r=3 pad=2 dilation=2",
      "conv2d c=3 h=9 w=12 k=5 r=3 pad=1 dilation_w=3",
      // Groups of channels.
      "conv2d c=6 h=5 w=8 k=10 r=3 pad=1 groups=2",
      "conv2d n=2 c=12 h=4 w=6 k=6 r=3 groups=3",
      "conv2d c=4 h=4 w=5 k=8 r=3 pad=1 groups=4",
      "conv2d c=70 h=4 w=4 k=14 r=1 groups=2",
      // Depthwise: tiles of 1, 2 and 4 rows, and their edges.
      "conv2d c=3 h=1 w=4 k=3 r=3 pad=1 groups=3",
      "conv2d n=2 c=5 h=6 w=8 k=5 r=3 pad=1 groups=5",
      "conv2d c=5 h=7 w=8 k=5 r=3 stride=2 pad=1 groups=5",
      "conv2d c=5 h=6 w=12 k=5 r=3 pad_l=1 groups=5",
      "conv2d c=40 h=17 w=20 k=40 r=3 pad=1 groups=40",
      "conv2d c=40 h=34 w=36 k=40 r=3 stride=2 pad=1 groups=40",
      "conv2d n=2 c=65 h=13 w=16 k=65 r=3 pad=1 groups=65",
      "conv2d c=130 h=23 w=32 k=130 r=3 stride=2 pad=1 groups=130",
      "conv2d c=6 h=5 w=7 k=6 r=3 pad=1 groups=6",
      // What models run, scaled down where they are large.
      "conv2d c=16 h=32 w=32 k=84 r=3 pad=1 bias",
      "conv2d c=96 h=8 w=8 k=126 r=3 pad=1 bias",
      "conv2d c=128 h=4 w=4 k=24 r=3 pad=1 bias",
      "conv2d c=256 h=1 w=1 k=16 r=3 pad=1 bias",
      "conv2d c=20 h=12 w=12 k=2084 r=1 bias act=silu",
      // What follows the sum.
      "conv2d n=2 c=5 h=4 w=4 k=7 r=3 pad=1 bias residual",
      "conv2d c=24 h=4 w=4 k=7 r=3 pad=1 bias residual act=relu6",
      "conv2d c=24 h=4 w=4 k=6 r=1 bias residual act=gelu",
      "conv2d c=5 h=6 w=8 k=5 r=3 pad=1 groups=5 bias residual act=tanh",
      "conv2d c=5 h=4 w=4 k=6 r=1 bias act=gelu_tanh",
      "conv2d c=5 h=4 w=4 k=6 r=1 bias act=sigmoid",
      // Sums in half: around a chunk, and all that follows.
      "conv2d c=31 h=4 w=4 k=7 r=1 acc=chunk",
      "conv2d n=2 c=33 h=4 w=5 k=9 r=1 acc=chunk bias act=silu",
      "conv2d c=64 h=8 w=8 k=15 r=1 acc=chunk residual",
      "conv2d c=3 h=5 w=8 k=5 r=3 pad=1 acc=chunk",
      "conv2d n=2 c=37 h=5 w=8 k=5 r=3 pad=1 acc=chunk bias act=silu",
      "conv2d c=65 h=8 w=8 k=7 r=3 stride=2 pad=1 acc=chunk",
      "conv2d c=5 h=6 w=8 k=5 r=3 pad=1 groups=5 acc=chunk",
      "conv2d c=12 h=9 w=11 k=6 r=5 pad=2 groups=3 acc=chunk",
      "conv2d c=33 h=4 w=5 k=9 r=1 acc=f16",
      "conv2d c=9 h=5 w=8 k=5 r=3 pad=1 acc=f16 bias act=relu",
      "conv2d c=5 h=6 w=8 k=5 r=3 pad=1 groups=5 acc=f16",
      // 3x3 in tiles of two vectors, with extents as constants; in chunks of 8, 4, 3, 2 and 1.
      "conv2d c=8 h=64 w=64 k=40 r=3 pad=1 bias act=relu",
      "conv2d c=6 h=66 w=80 k=65 r=3 stride=2 pad=1",
      "conv2d c=16 h=9 w=16 k=40 r=3 pad=1 acc=chunk",
      "conv2d n=2 c=12 h=8 w=12 k=9 r=3 stride=2 pad=1 acc=chunk",
      "conv2d c=14 h=5 w=8 k=5 r=3 pad=1 acc=chunk",
      "conv2d c=8 h=64 w=64 k=40 r=3 pad=1 acc=chunk",
      // layout=nhwc: around a tile of 4 channels x 4 pixels, a group of 16 tiles, the ends of rows.
      "conv2d c=1 h=1 w=1 k=1 r=1 layout=nhwc",
      "conv2d c=4 h=4 w=4 k=3 r=1 layout=nhwc",
      "conv2d n=2 c=8 h=5 w=7 k=9 r=1 layout=nhwc bias act=silu",
      "conv2d n=2 c=13 h=5 w=7 k=9 r=1 layout=nhwc bias residual act=gelu",
      "conv2d c=4 h=1 w=4 k=1 r=3 pad=1 layout=nhwc",
      "conv2d n=2 c=4 h=3 w=5 k=5 r=3 pad=1 layout=nhwc",
      "conv2d c=12 h=6 w=9 k=63 r=3 pad=1 layout=nhwc",
      "conv2d c=8 h=7 w=8 k=65 r=3 pad=1 layout=nhwc bias residual act=relu6",
      "conv2d c=8 h=8 w=13 k=17 r=3 stride=2 pad=1 layout=nhwc",
      "conv2d c=16 h=64 w=64 k=8 r=3 pad=1 layout=nhwc",
      "conv2d c=5 h=6 w=7 k=6 r=3 pad=1 layout=nhwc",
      "conv2d c=4 h=6 w=8 k=5 r=3 pad_l=1 pad_r=2 layout=nhwc",
      "conv2d c=8 h=1 w=1 k=9 r=3 pad=1 layout=nhwc",
      "conv2d c=4 h=15 w=13 k=8 r=7 stride=2 pad=3 layout=nhwc",
      "conv2d c=4 h=9 w=12 k=5 r=3 pad=2 dilation=2 layout=nhwc",
      "conv2d n=2 c=8 h=4 w=6 k=6 r=3 groups=2 pad=1 layout=nhwc",
      "conv2d c=12 h=5 w=8 k=8 r=2 s=3 stride_w=2 groups=2 layout=nhwc",
      // Depthwise: around a run of 8 pixels and a vector of channels.
      "conv2d c=8 h=2 w=3 k=8 r=3 pad=1 groups=8 layout=nhwc",
      "conv2d n=2 c=8 h=5 w=7 k=8 r=3 pad=1 groups=8 layout=nhwc bias act=relu",
      "conv2d c=68 h=4 w=9 k=68 r=3 pad=1 groups=68 layout=nhwc",
      "conv2d c=4 h=7 w=17 k=4 r=3 stride=2 pad=1 groups=4 layout=nhwc residual",
      "conv2d c=4 h=6 w=8 k=4 r=3 pad_r=2 groups=4 layout=nhwc",
      "conv2d c=5 h=6 w=8 k=5 r=3 pad=1 groups=5 layout=nhwc",
      "conv2d c=64 h=96 w=96 k=64 r=3 pad=1 groups=64 layout=nhwc",
      "conv2d c=32 h=5 w=7 k=9 r=3 pad=1 acc=chunk layout=nhwc",
      "conv2d n=2 c=12 h=5 w=6 k=9 r=3 pad=1 acc=chunk layout=nhwc bias act=silu",
      "conv2d n=2 c=37 h=5 w=6 k=9 r=1 acc=chunk layout=nhwc residual",
      "conv2d c=36 h=5 w=6 k=9 r=1 acc=f16 layout=nhwc bias",
      "conv2d c=8 h=6 w=9 k=8 r=3 pad=1 groups=8 acc=chunk layout=nhwc",
  };
}

std::vector<std::string> small_cases() {
  return {
      "conv2d c=1 h=1 w=1 k=1 r=1",
      "conv2d c=9 h=4 w=5 k=7 r=1 bias residual act=silu",
      "conv2d c=20 h=4 w=5 k=7 r=1",
      "conv2d c=5 h=3 w=8 k=5 r=3 pad=1 bias act=silu",
      "conv2d c=9 h=5 w=4 k=5 r=3 stride=2 pad=1",
      "conv2d n=2 c=4 h=5 w=7 k=6 r=3 s=2 stride_w=2 pad_t=1 groups=2 residual",
      "conv2d c=3 h=5 w=8 k=3 r=3 pad=1 groups=3 bias",
      "conv2d c=9 h=4 w=4 k=5 r=3 pad=1 acc=chunk bias",
      "conv2d c=35 h=4 w=4 k=5 r=1 acc=f16",
      "conv2d c=4 h=4 w=5 k=6 r=3 pad=1 layout=nhwc bias",
      "conv2d c=4 h=3 w=9 k=4 r=3 pad=1 groups=4 layout=nhwc",
  };
}

}  // namespace

const OpProof& conv2d_proof() {
  static const OpProof proof = [] {
    OpProof proof;
    proof.op = "conv2d";
    proof.data_sets = data_sets();
    proof.reference = conv2d_reference;
    proof.cases = cases();
    proof.small_cases = small_cases();
    return proof;
  }();
  return proof;
}

}  // namespace clam
