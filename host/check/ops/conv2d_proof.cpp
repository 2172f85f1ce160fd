// SPDX-License-Identifier: MIT
// conv2d_proof.cpp - y[n,k,oy,ox] = act(sum_c,r,s w[k,c,r,s] * x[n,c,iy,ix] + b[k]) + r in
// double, with iy = oy * stride_h - pad_t + r * dilation_h and ix likewise; taps outside x are left
// out of the sum. With it, how far from it a device may be.
#include <array>
#include <set>
#include <type_traits>
#include <utility>

#include "conv2d_winograd_bound.hpp"
#include "ops/conv2d_problem.hpp"
#include "shared/epilogue.hpp"
#include "shared/product_sets.hpp"

namespace clam::conv2d {
namespace {

using std::size_t;

/// An order in which kernels of layout=nchw sum: places of w, in parts that end at `ends`. Each
/// part is summed from 0, and then the parts are added up.
struct Order {
  std::vector<std::int32_t> places;
  std::vector<size_t> ends;
};

/// `range` planes at a time, and of these tap after tap. A plane of one tap is a product; of
/// several, a channel and a column of the filter.
Order order_of(const Conv2d& conv, std::int64_t taps, std::int64_t range) {
  const std::int64_t planes = conv.products() / taps, columns = taps == 1 ? planes : conv.s;
  Order order;
  for (std::int64_t begin = 0; begin < planes; begin += range) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      for (std::int64_t i = begin; i < std::min(begin + range, planes); ++i) {
        const std::int64_t place = (i / columns * taps + tap) * columns + i % columns;
        order.places.push_back(static_cast<std::int32_t>(place));
      }
    }
    order.ends.push_back(order.places.size());
  }
  return order;
}

std::vector<Order> orders_of(const Conv2d& conv) {
  constexpr std::int64_t kTrip = 8;  // planes of conv2d_product's loop
  std::set<std::pair<std::int64_t, std::int64_t>> cuts{
      {1, conv.products()}, {1, std::int64_t{conv.part()} * conv.r * conv.s}};
  for (const std::int64_t taps : {1, conv.r}) {
    const std::int64_t planes = conv.products() / taps;
    for (const std::int64_t parts : Conv2d::kProductParts) {
      const std::int64_t range = (planes + kTrip * parts - 1) / (kTrip * parts) * kTrip;
      cuts.insert({taps, std::min(range, planes)});
    }
  }
  std::vector<Order> orders;
  for (const auto& [taps, range] : cuts) orders.push_back(order_of(conv, taps, range));
  return orders;
}

/// The problem's numbers, widened.
struct Operands {
  Conv2d conv;
  Epilogue epilogue;
  std::vector<double> x, w, b, r;  ///< b and r empty when absent
  std::vector<Order> orders;       ///< of sums

  Operands(const Problem& problem, const Tensors& inputs)
      : conv(problem),
        epilogue(problem),
        x(values(inputs.at("x"))),
        w(values(inputs.at("w"))),
        orders(conv.nhwc ? std::vector<Order>() : orders_of(conv)) {
    if (conv.bias) b = values(inputs.at("b"));
    if (conv.residual) r = values(inputs.at("r"));
  }

  /// What denormals may cost an output of channel k.
  double crumb(bool denormals, std::int64_t k) const {
    double magnitudes = 0;
    const std::int64_t products = conv.products();
    for (std::int64_t i = k * products; i < (k + 1) * products; ++i) {
      const double weight = std::fabs(w[i]);
      if (std::isfinite(weight)) magnitudes += weight;
    }
    return epilogue.crumb(denormals, magnitudes);
  }
};

/// Sums of outputs side by side, which a compiler adds in one instruction.
constexpr size_t kSums = 8;
using Lanes = std::array<double, kSums>;
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

/// Sums of any kind side by side.
template <typename Sum>
class Each {
 public:
  explicit Each(const Sum& zero) : sums_(kSums, zero) {}
  void add(const Lanes& terms) {
    for (size_t j = 0; j < kSums; ++j) sums_[j].add(terms[j]);
  }
  void add(size_t j, double term) { sums_[j].add(term); }
  void end_part() {
    for (Sum& sum : sums_) sum.end_part();
  }
  Sums totals(Check check) const {
    Sums totals;
    for (size_t j = 0; j < kSums; ++j) totals[j] = sums_[j].total(check);
    return totals;
  }

 private:
  std::vector<Sum> sums_;
};

/// A sum whose partial sums are taken as the mean over all orders: for data of zero mean.
class InMeanOrder {
 public:
  void add(double term) {
    sum_ += term;
    squares_ += term * term;
    ++count_;
  }
  Summation total(Check) const { return {sum_, mean_of_squares(count_, squares_, sum_), 0}; }

 private:
  double sum_ = 0, squares_ = 0, count_ = 0;
};

/// The magnitudes of all partial sums in an order, added up. Adding 0 does not round.
Lanes magnitudes(const std::vector<Lanes>& terms, const Order& order) {
  Lanes all{}, total{};
  size_t i = 0;
  for (const size_t end : order.ends) {
    Lanes part{};
    for (; i < end; ++i) {
      const Lanes& term = terms[order.places[i]];
      for (size_t j = 0; j < kSums; ++j) {
        part[j] += term[j];
        all[j] += term[j] == 0 ? 0 : std::fabs(part[j]);
      }
    }
    for (size_t j = 0; j < kSums; ++j) {
      total[j] += part[j];
      if (end != order.ends.front()) all[j] += std::fabs(total[j]);
    }
  }
  return all;
}

/// The worst case of sums in all orders that kernels use. Terms come in the order of w; those that
/// padding leaves out are 0.
class InAllOrders {
 public:
  explicit InAllOrders(const std::vector<Order>& orders) : orders_(&orders) {
    terms_.reserve(orders.front().places.size());
  }
  void add(const Lanes& terms) {
    terms_.push_back(terms);
    for (size_t j = 0; j < kSums; ++j) sums_[j] += terms[j];
  }
  Sums totals(Check) const {
    Lanes worst{};
    for (const Order& order : *orders_) {
      const Lanes all = magnitudes(terms_, order);
      for (size_t j = 0; j < kSums; ++j) worst[j] = std::max(worst[j], all[j]);
    }
    Sums totals;
    for (size_t j = 0; j < kSums; ++j) totals[j] = Summation(sums_[j], 0, worst[j]);
    return totals;
  }

 private:
  const std::vector<Order>* orders_;
  Lanes sums_{};
  std::vector<Lanes> terms_;
};

/// Channel k, row oy and columns from ox on of image n; `sums` has none of their terms yet.
template <typename SideBySide>
Sums sum(const Operands& in, const Extents& extents, Check check, SideBySide sums, std::int64_t n,
         std::int64_t k, std::int64_t oy, std::int64_t ox) {
  const Conv2d& conv = in.conv;
  const std::int64_t h = extents.h, w = extents.w, stride = conv.stride_w;
  const double* weight = in.w.data() + k * conv.products();
  // From a pixel, and from a channel, to the next.
  const std::int64_t pixel = conv.nhwc ? conv.c : 1, channel = conv.nhwc ? 1 : h * w;
  const std::int64_t first = n * conv.c * h * w + k / conv.kg() * conv.cg() * channel;
  // A kernel of layout=nchw may multiply padding by a weight that is not finite.
  std::array<bool, kSums> unknown{};
  const auto add = [&](std::int64_t c, std::int64_t r, std::int64_t s, double factor) {
    constexpr bool takes_all = std::is_same_v<SideBySide, InAllOrders>;
    const std::int64_t iy = oy * conv.stride_h - conv.pad_t + r * conv.dilation_h;
    const bool row_inside = iy >= 0 && iy < h;
    const bool asks = conv.nhwc || std::isfinite(factor);
    if (!row_inside && !takes_all && asks) return;
    const std::int64_t ix = ox * stride - conv.pad_l + s * conv.dilation_w;
    const double* x = in.x.data() + first + c * channel + (iy * w + ix) * pixel;
    const auto step = stride * pixel;
    Lanes terms{};
    if (row_inside && ix >= 0 && ix + (std::int64_t{kSums} - 1) * stride < w) {
      for (size_t j = 0; j < kSums; ++j) terms[j] = factor * x[j * step];
      return sums.add(terms);
    }
    for (size_t j = 0; j < kSums; ++j) {
      const std::int64_t at = ix + j * stride;
      const bool inside = row_inside && at >= 0 && at < w;
      if (inside) terms[j] = factor * x[j * step];
      if constexpr (!takes_all) {
        if (inside) sums.add(j, terms[j]);
      }
      if (!inside && !asks) unknown[j] = true;
    }
    if constexpr (takes_all) sums.add(terms);
  };
  // Channels are the innermost loop of nhwc, else the outermost.
  const std::int64_t channels = conv.cg(), outer = conv.nhwc ? 1 : channels,
                     inner = conv.nhwc ? channels : 1;
  for (std::int64_t i = 0; i < outer; ++i) {
    for (std::int64_t r = 0; r < conv.r; ++r) {
      for (std::int64_t s = 0; s < conv.s; ++s) {
        for (std::int64_t c = i; c < i + inner; ++c) {
          add(c, r, s, *weight++);
          if constexpr (std::is_same_v<SideBySide, Each<SumInParts>>) {
            if (ends_part(c, channels, kDenseParts, 4)) sums.end_part();
          }
        }
      }
    }
  }
  Sums result = sums.totals(check);
  for (size_t j = 0; j < kSums; ++j) {
    if (unknown[j]) result[j] = Summation(0, kInfinity);
  }
  return result;
}

/// The same with the accumulator that the problem asks for. Only the worst case asks for parts.
Sums sum(const Operands& in, const Extents& extents, Check check, std::int64_t n, std::int64_t k,
         std::int64_t oy, std::int64_t ox) {
  const auto with = [&](auto sums) {
    return sum(in, extents, check, std::move(sums), n, k, oy, ox);
  };
  const Acc acc = in.epilogue.acc;
  if (acc != Acc::f32) return with(Each(HalfSummation(products_in_half(acc))));
  if (in.conv.nhwc) {
    const bool in_parts = check == Check::hard && in.conv.r == 1 && in.conv.s == 1;
    return in_parts ? with(Each(SumInParts())) : with(Each(Summation()));
  }
  return check == Check::hard ? with(InAllOrders(in.orders)) : with(Each(InMeanOrder()));
}

Reference reference(const Problem& problem, const Tensors& inputs,
                    const ReferenceOptions& options) {
  const Operands in(problem, inputs);
  const Conv2d& conv = in.conv;
  const Extents extents(conv);
  if (options.check == Check::exact) in.epilogue.require_exact_operands(inputs, conv.products());
  std::vector<double> crumbs;
  for (std::int64_t k = 0; k < conv.k; ++k) crumbs.push_back(in.crumb(options.denormals, k));
  const bool winograd =
      options.variant == "conv2d_winograd" || problem.choice("algo") == "winograd";
  std::vector<double> own;  // the bounds of Winograd's sums; where they are exact there are none
  if (winograd && options.check != Check::exact) own = winograd_bound(conv, in.x, in.w, options);
  Expected y = Expected::of_size(conv.outputs());
  // All channels of a few pixels in turn: what they read of x stays in the cache.
  const std::int64_t pieces = (extents.ow + kPiece - 1) / kPiece, rows = conv.n * extents.oh;
  parallel_for(rows * pieces, [&](std::int64_t task) {
    const std::int64_t n = task / pieces / extents.oh, oy = task / pieces % extents.oh;
    const std::int64_t begin = task % pieces * kPiece, end = std::min(begin + kPiece, extents.ow);
    for (std::int64_t k = 0; k < conv.k; ++k) {
      for (std::int64_t ox = begin; ox < end; ox += std::int64_t{kSums}) {
        Sums sums = sum(in, extents, options.check, n, k, oy, ox);
        for (std::int64_t j = 0; j < std::min<std::int64_t>(kSums, end - ox); ++j) {
          const std::int64_t pixel = (n * extents.oh + oy) * extents.ow + ox + j;
          const std::int64_t map = (n * conv.k + k) * extents.oh + oy;
          const std::int64_t i = conv.nhwc ? pixel * conv.k + k : map * extents.ow + ox + j;
          const double* bias = in.b.empty() ? nullptr : &in.b[k];
          const double* residual = in.r.empty() ? nullptr : &in.r[i];
          Summation& sum_of_k = sums[j];
          const double* own_bound = own.empty() ? nullptr : &own[i];
          if (own_bound) sum_of_k = Summation(sum_of_k.value(), *own_bound);
          Bounded finished = in.epilogue.finish(sum_of_k, bias, residual, options.check, crumbs[k]);
          if (own_bound && std::isinf(*own_bound)) finished.error = *own_bound;
          y.set(i, finished);
        }
      }
    }
  });
  in.epilogue.make_exact(y, options.check, conv.products(), conv.y_shape());
  return {{"y", std::move(y)}};
}

}  // namespace

OpProof proof() {
  return {
      "conv2d",
      product_sets::all(product_sets::exact_convolution<Conv2d>),
      reference,
      // Tiles are 4 channels x 4 pixels, or 8 x 4 in conv2d_product and up to 4 x 4 pixels in
      // conv2d_depthwise; groups are 16 or 4 tiles along the map and 4 or 1 along the
      // channels.
      {
          // Small extents.
          "c=1 h=1 w=1 k=1 r=1",
          "c=2 h=3 w=3 k=3 r=1",
          "c=3 h=2 w=2 k=4 r=1",
          "n=2 c=3 h=3 w=5 k=5 r=3",
          // 1x1: around a group of 4 and 16 vectors, and around parts of 4 channels.
          "c=4 h=4 w=3 k=3 r=1",
          "n=2 c=5 h=4 w=4 k=7 r=1",
          "c=7 h=4 w=5 k=8 r=1",
          "c=13 h=6 w=10 k=9 r=1",
          "c=64 h=8 w=8 k=15 r=1",
          "c=65 h=4 w=17 k=17 r=1",
          "n=2 c=127 h=2 w=2 k=5 r=1",
          // 1x1 with many channels, whose last tile has some of them.
          "c={3 h=4 w=32,4 h=4 w=33,5 h=4 w=49} k=501 r=1",
          "n=2 c=6 h=12 w=12 k=260 r=1",
          // 3x3, stride 1: around a tile, and around a group along the map and the channels.
          "{c=1 h=1 w=4 k=1,c=3 h=2 w=4 k=4,n=2 c=5 h=3 w=8 k=5} r=3 pad=1",
          "c={4 h=5 w=12 k=63,5 h=16 w=16 k=13,5 h=17 w=16 k=17,3 h=33 w=32 k=149} r=3 pad=1",
          // 3x3, stride 2: the last tile of a row may need one vector only.
          "{c=2 h=4 w=4 k=3,c=3 h=7 w=12 k=5,n=2 c=5 h=8 w=20 k=4} r=3 stride=2 pad=1",
          "c=3 h=64 w=64 k=156 r=3 stride=2 pad=1 bias act=relu",
          // 3x3 in parts.
          "c={63 h=4 w=4 k=6,64 h=5 w=8 k=5} r=3 pad=1",
          "n=2 c=65 h=4 w=4 k=7 r=3 stride=2 pad=1",
          // Pads that differ, and none where the kernels count on one.
          "c=3 h=6 w=8 k=5 r=3 pad_t=2 pad_l=1 pad_b=1",
          "c=3 h=6 w=8 k=5 r=3 pad_l=1 pad_r={1,2}",
          "c=3 h=6 w=8 k=5 r=3 stride=2 pad_b=1 pad_r=1",
          "c=3 h=4 w=5 k=5 r=2 pad=3",
          // Inputs smaller than the filter.
          "c={8 h=1 w=1 k=9,33 h=2 w=2 k=84} r=3 pad=1",
          "c=20 h=2 w=2 k=16 r=3 stride=2 pad=1",
          "c=3 h=2 w=3 k=4 r=7 pad=3",
          // Other filters, strides and dilations.
          "c=3 h=9 w=11 k=6 r=5 pad=2",
          "c=3 h=15 w=13 k=8 r=7 stride=2 pad=3",
          "c=5 h=6 w=9 k=7 r=1 s=3 pad_l=1 pad_r=1",
          "c=5 h=9 w=6 k=7 r=3 s=1",
          "c=5 h=9 w=10 k=7 r=1 stride=2",
          "c=3 h=11 w=13 k=5 r=2 stride=3",
          "c=3 h=32 w={32,64} k=5 r=2 pad_r=1 pad_b=1",
          "c=3 h=11 w=13 k=5 r=3 stride_h=2 stride_w=3 pad=1",
          "c=3 h=9 w=12 k=5 r=3 pad={2 dilation=2,1 dilation_w=3}",
          // Groups of channels.
          "c=6 h=5 w=8 k=10 r=3 pad=1 groups=2",
          "n=2 c=12 h=4 w=6 k=6 r=3 groups=3",
          "c=4 h=4 w=5 k=8 r=3 pad=1 groups=4",
          "c=70 h=4 w=4 k=14 r=1 groups=2",
          // Depthwise: tiles of 1 to 4 rows, and their edges.
          "c=3 h=1 w=4 k=3 r=3 pad=1 groups=3",
          "n=2 c=5 h=6 w=8 k=5 r=3 pad=1 groups=5",
          "c=5 h=7 w=20 k=5 r=3 stride=2 pad=1 groups=5",
          "c=5 h=6 w=12 k=5 r=3 pad_l=1 groups=5",
          "c=40 h=34 w=36 k=40 r=3 stride=2 pad=1 groups=40",
          "n=2 c=65 h=13 w=16 k=65 r=3 pad=1 groups=65",
          "c=130 h=23 w=32 k=130 r=3 stride=2 pad=1 groups=130",
          // Rows that are no whole vectors, and rows that are one tile.
          "c=6 h=5 w=7 k=6 r=3 pad=1 groups=6",
          "c=3 h=5 w={14,17,18,19} k=3 r=5 pad=2 groups=3",
          "c=3 h=8 w=37 k=3 r=3 stride=2 pad=1 groups=3",
          // Other filters, strides, dilations and pads, one after the other and together.
          "c=5 h=7 w=7 k=5 r=7 pad=3 groups=5",
          "c=3 h=9 w=24 k=3 r=7 pad=3 groups=3",
          "c=3 h=11 w=20 k=3 r=5 stride=2 pad=2 groups=3",
          "c=3 h=9 w=22 k=3 r=3 stride={3,4} groups=3",
          "c=3 h=9 w=24 k=3 r=3 pad=2 dilation=2 groups=3",
          "c=3 h=17 w=30 k=3 r=3 pad=9 dilation=9 groups=3",
          "c=3 h=6 w=20 k=3 r=1 s=7 pad_l=6 groups=3",
          "c=3 h=5 w=20 k=3 r=6 s=4 pad_t=4 pad_r=5 pad_b=2 groups=3",
          "n=2 c=3 h=9 w=11 k=6 r=4 s=2 stride_h=3 stride_w=2 pad_l=3 pad_b=2 dilation_h=2 "
          "groups=3",
          // What models run, scaled down where they are large.
          "c={16 h=32 w=32 k=84,96 h=8 w=8 k=126,128 h=4 w=4 k=24,256 h=1 w=1 k=16} r=3 pad=1 bias",
          "c=20 h=12 w=12 k=2084 r=1 bias act=silu",
          // What follows the sum.
          "n=2 c=5 h=4 w=4 k=7 r=3 pad=1 bias residual",
          "c=24 h=4 w=4 k=7 r=3 pad=1 bias residual act=relu6",
          "c=24 h=4 w=4 k=6 r=1 bias residual act=gelu",
          "c=5 h=6 w={8,18,19} k=5 r=3 pad=1 groups=5 bias residual act=tanh",
          "c=5 h=4 w=4 k=6 r=1 bias act={gelu_tanh,sigmoid}",
          "c=24 h=4 w=4 k=6 r=1 bias act={hard_swish,leaky_relu act_alpha=0.3,hard_sigmoid}",
          "c=24 h=4 w=4 k=7 r=1 bias residual act=hard_swish act_scale=-1.3 act_shift=0.7",
          "c=70 h=4 w=4 k=7 r=3 pad=1 residual act=hard_swish act_scale=-1.3 act_shift=0.7",
          "c=5 h=6 w={8,18} k=5 r=3 pad=1 groups=5 bias act=hard_swish act_scale=0.7 act_shift=0.4",
          "c=9 h=5 w=6 k=7 r=3 pad=1 bias algo={auto,winograd} act=clip act_alpha=-2.5 act_beta=3",
          "c=9 h=5 w=6 k=7 r=3 pad=1 bias algo=winograd act=silu act_scale=1.7 act_shift=0.4",
          "n=2 c=8 h=5 w=7 k=9 r={1,3} layout=nhwc bias residual act=hard_swish act_scale=-1.3 "
          "act_shift=0.7",
          "c=8 h=5 w=7 k=8 r=3 pad=1 groups=8 layout=nhwc act=leaky_relu act_scale=-1.3",
          // Sums in half: around a chunk, and all that follows.
          "c=31 h=4 w=4 k=7 r=1 acc=chunk",
          "n=2 c=33 h=4 w=5 k=9 r=1 acc=chunk bias act=silu",
          "c=64 h=8 w=8 k=15 r=1 acc=chunk residual",
          "c=3 h=5 w=8 k=5 r=3 pad=1 acc=chunk",
          "n=2 c=37 h=5 w=8 k=5 r=3 pad=1 acc=chunk bias act=silu",
          "c=65 h=8 w=8 k=7 r=3 stride=2 pad=1 acc=chunk",
          "c=5 h=6 w=8 k=5 r=3 pad=1 groups=5 acc=chunk",
          "c=12 h=9 w=11 k=6 r=5 pad=2 groups=3 acc=chunk",
          "c=33 h=4 w=5 k=9 r=1 acc=f16",
          "c=9 h=5 w=8 k=5 r=3 pad=1 acc=f16 bias act=relu",
          "c=5 h=6 w=8 k=5 r=3 pad=1 groups=5 acc=f16",
          "c=3 h=9 w=18 k=3 r=7 pad=3 groups=3 acc={chunk,f16}",
          // 3x3 in tiles of two vectors, with extents as constants; in chunks of 8, 4, 3, 2 and 1.
          "c=8 h=64 w=64 k=40 r=3 pad=1 bias act=relu",
          "c=6 h=66 w=80 k=65 r=3 stride=2 pad=1",
          "c=16 h=9 w=16 k=40 r=3 pad=1 acc=chunk",
          "n=2 c=12 h=8 w=12 k=9 r=3 stride=2 pad=1 acc=chunk",
          "c={14 h=5 w=8 k=5,8 h=64 w=64 k=40} r=3 pad=1 acc=chunk",
          // Winograd: maps around a tile of 2x2 pixels and a vector of 4 tiles, of one image and of
          // two; pads that differ; around four channels, a trip of eight, and a group.
          "c={1 h=1 w=1 k=1,3 h=2 w=1 k=4} r=3 pad=1 algo=winograd",
          "c=7 h=3 w=3 k=5 r=3 algo=winograd",
          "n=2 c=8 h=3 w=2 k=3 r=3 pad=1 algo=winograd bias residual act=relu",
          "c=9 h=4 w=5 k=9 r=3 pad=2 algo=winograd bias",
          "n=2 c=17 h=5 w=4 k=6 r=3 pad_t=2 pad_r=1 algo=winograd residual",
          "n=3 c=5 h=7 w=7 k=17 r=3 pad=1 algo=winograd act=silu",
          "c=4 h=6 w=7 k=8 r=3 pad_l=1 pad_b=2 algo=winograd",
          "c=3 h=18 w=35 k=33 r=3 pad=1 algo=winograd",
          "n=2 c=12 h=9 w=6 k=10 r=3 pad=1 groups=2 algo=winograd bias",
          "c=5 h=6 w=7 k=6 r=3 pad=1 algo=direct",
          // layout=nhwc: around a tile of 4 channels x 4 pixels, a group of 16 tiles, the ends of
          // rows.
          "c={1 h=1 w=1 k=1,4 h=4 w=4 k=3} r=1 layout=nhwc",
          "n=2 c=8 h=5 w=7 k=9 r=1 layout=nhwc bias act=silu",
          "n=2 c=13 h=5 w=7 k=9 r=1 layout=nhwc bias residual act=gelu",
          "{c=4 h=1 w=4 k=1,n=2 c=4 h=3 w=5 k=5,c=12 h=6 w=9 k=63} r=3 pad=1 layout=nhwc",
          "c=8 h=7 w=8 k=65 r=3 pad=1 layout=nhwc bias residual act=relu6",
          "c=8 h=8 w=13 k=17 r=3 stride=2 pad=1 layout=nhwc",
          "c={16 h=64 w=64 k=8,5 h=6 w=7 k=6} r=3 pad=1 layout=nhwc",
          "c=4 h=6 w=8 k=5 r=3 pad_l=1 pad_r=2 layout=nhwc",
          "c=8 h=1 w=1 k=9 r=3 pad=1 layout=nhwc",
          "c=4 h=15 w=13 k=8 r=7 stride=2 pad=3 layout=nhwc",
          "c=4 h=9 w=12 k=5 r=3 pad=2 dilation=2 layout=nhwc",
          "n=2 c=8 h=4 w=6 k=6 r=3 groups=2 pad=1 layout=nhwc",
          "c=12 h=5 w=8 k=8 r=2 s=3 stride_w=2 groups=2 layout=nhwc",
          // Depthwise: around a run of 8 pixels and a vector of channels.
          "c=8 h=2 w=3 k=8 r=3 pad=1 groups=8 layout=nhwc",
          "n=2 c=8 h=5 w=7 k=8 r=3 pad=1 groups=8 layout=nhwc bias act=relu",
          "c=68 h=4 w=9 k=68 r=3 pad=1 groups=68 layout=nhwc",
          "c=4 h=7 w=17 k=4 r=3 stride=2 pad=1 groups=4 layout=nhwc residual",
          "c=4 h=6 w=8 k=4 r=3 pad_r=2 groups=4 layout=nhwc",
          "c=5 h=6 w=8 k=5 r=3 pad=1 groups=5 layout=nhwc",
          "c=64 h=96 w=96 k=64 r=3 pad=1 groups=64 layout=nhwc",
          "c=32 h=5 w=7 k=9 r=3 pad=1 acc=chunk layout=nhwc",
          "n=2 c=12 h=5 w=6 k=9 r=3 pad=1 acc=chunk layout=nhwc bias act=silu",
          "n=2 c=37 h=5 w=6 k=9 r=1 acc=chunk layout=nhwc residual",
          "c=36 h=5 w=6 k=9 r=1 acc=f16 layout=nhwc bias",
          "c=8 h=6 w=9 k=8 r=3 pad=1 groups=8 acc=chunk layout=nhwc",
      },
      {"c=1 h=1 w=1 k=1 r=1", "c=9 h=4 w=5 k=7 r=1 bias residual act=silu", "c=20 h=4 w=5 k=7 r=1",
       "c=5 h=3 w=8 k=5 r=3 pad=1 bias act=silu", "c=9 h=5 w=4 k=5 r=3 stride=2 pad=1",
       "n=2 c=4 h=5 w=7 k=6 r=3 s=2 stride_w=2 pad_t=1 groups=2 residual",
       "c=3 h=5 w=8 k=3 r=3 pad=1 groups=3 bias", "c=9 h=4 w=4 k=5 r=3 pad=1 acc=chunk bias",
       "c=35 h=4 w=4 k=5 r=1 acc=f16",
       "n=2 c=5 h=3 w=4 k=5 r=3 pad=1 algo=winograd bias residual act=relu",
       "c=4 h=4 w=5 k=6 r=3 pad=1 layout=nhwc bias",
       "c=4 h=3 w=9 k=4 r=3 pad=1 groups=4 layout=nhwc"},
      nullptr,
      {"conv2d_winograd"}};
}

}  // namespace clam::conv2d
