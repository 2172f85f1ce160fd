// SPDX-License-Identifier: MIT
// lrn_proof.cpp - lrn in double, and how far from it a device may be.
//
// Let u = 2^-24, of which an ulp has up to 2, n the channels in the window, and
// A = alpha / size * sum x^2. What a device computes in float is off by
//   A    (n + 2) u A    n - 1 sums in any order and the squares (n u), alpha / size, their product
//   s    that + u s     the sum with bias
//   f    relative beta times that of s, and for its own power
//          beta = .75: rsqrt(s) * sqrt(rsqrt(s)): 2 ulp, half of them again and 3 ulp, a product
//          else exp2(-beta * log2(s)): 3 ulp and a product of the exponent P, 7 u |P| log(2) of f,
//          and 3 ulp
//   y    a product, then the rounding to the dtype
#include "ops/lrn.hpp"
#include "shared/proof.hpp"

namespace clam::lrn {
namespace {

/// x / s^beta. `squares`: the sum of those of `channels` elements.
Bounded element(const Lrn& lrn, Dtype dtype, double x, double squares, int channels,
                bool denormals) {
  const double alpha = lrn.alpha, beta = lrn.beta;
  const double mean = alpha / lrn.size * squares, s = lrn.bias + mean;
  const double factor = std::pow(s, -beta), value = x * factor;
  if (!std::isfinite(value) || std::isinf(squares)) return {value, 0};
  // Squares, scale and bias below the smallest normal float may count as 0.
  const double lost = kSmallest * (channels * alpha / lrn.size + squares + 2);
  const double of_s = ((channels + 2) * kFloat * mean + kFloat * s + lost) / s;
  if (std::max(squares, s) > kLargest || factor > kLargest || of_s > 0.5) return {value, kInfinity};
  const double exponent = std::fabs(beta * std::log2(s));
  const double own = lrn.three_quarters() ? 13 : 7 * std::log(2) * exponent + 6;
  const double of_factor = std::expm1(-beta * std::log1p(-of_s)) + own * kFloat;
  const double last = kFloat + unit_roundoff(dtype);
  const double lost_at_end = crumb(dtype, denormals, 0x1p-149, 2 * kSmallest);
  return {value, (of_factor + last) * std::fabs(value) + std::fabs(x) * kSmallest + lost_at_end};
}

Reference reference(const Problem& problem, const Tensors& inputs,
                    const ReferenceOptions& options) {
  const Lrn lrn(problem);
  const HostTensor& x = inputs.at("x");
  return by_rows(problem, std::int64_t{lrn.n} * lrn.c, [&](std::int64_t map, Expected& y) {
    const int channel = static_cast<int>(map % lrn.c), first = channel - lrn.before();
    const int begin = std::max(first, 0), end = std::min(first + lrn.size, lrn.c);
    for (std::int64_t pixel = 0; pixel < lrn.pixels; ++pixel) {
      double squares = 0;
      for (int i = begin; i < end; ++i) {
        const double v = x.get((map - channel + i) * lrn.pixels + pixel);
        squares += v * v;
      }
      const std::int64_t at = map * lrn.pixels + pixel;
      y.set(at, element(lrn, problem.dtype(), x.get(at), squares, end - begin, options.denormals));
    }
  });
}

// ---- data sets and cases ----

/// Of such numbers the mean of the squares counts as much as bias. Halves hold them all.
double large(const Problem& problem) {
  const Lrn lrn(problem);
  return std::min(1000.0, std::sqrt(static_cast<double>(lrn.bias / lrn.alpha)));
}

/// x is value(random, such a number).
template <typename Value>
DataSet::Fill fill(const Value& value) {
  return [value](const Problem& problem, std::uint64_t seed, Tensors& inputs) {
    const double size = large(problem);
    fill_all(seed, inputs, [&](Random& random, std::int64_t) { return value(random, size); });
  };
}

double balanced(Random& random, double size) { return size * random.normal(); }

double positive(Random& random, double size) { return size * (1 + random.uniform()); }

double outliers(Random& random, double size) {
  return (random.integer(0, 31) == 0 ? 30 * size : size / 30) * random.normal();
}

}  // namespace

OpProof proof() {
  return {"lrn",
          {{"balanced", Check::hard, "zero mean; squares count as much as bias", fill(balanced)},
           {"zero_mean", Check::hard, "x of N(0,1): mostly bias counts", filled(normal)},
           {"positive", Check::hard, "squares of 1 to 4 times bias; a half accumulator fails",
            fill(positive)},
           {"outliers", Check::hard,
            "large numbers among small ones: nothing of them may stay behind", fill(outliers)},
           {"special", Check::hard, "NaN, infinities and -0 in places", filled(special_at)}},
          reference,
          {
              // What AlexNet and GoogLeNet run.
              "n=1 c=96 h=55 w=55",
              "n=1 c=256 h=13 w=13",
              "n=1 c=64 h=28 w=28",
              // Every window that an item holds, and longer ones; more channels than there are.
              "n=1 c=19 h=3 w=7 size={1,2,3,4,5,6,7,8,9,10,11}",
              "n=2 c=3 h=4 w=5 size={5,9,40}",
              "n=1 c=1 h=1 w=1 size={1,3,15}",
              "n=1 c=67 h=2 w=4 size={3,64}",
              // Pixels around a group, alone and in vectors.
              "n=1 c=5 h=1 w={63,64,65} size=3",
              "n=3 c=9 h=16 w={15,16,17}",
              // Other powers.
              "n=1 c=11 h=5 w=8 beta={0.5,1,2}",
              "n=2 c=7 h=3 w=3 alpha=1 beta=0.3 bias=2",
              "n=1 c=13 h=4 w=6 size=12 alpha=0.5 beta=1.25 bias=0.01",
          },
          {"n=2 c=6 h=3 w=3", "n=1 c=7 h=2 w=4 size=4 beta=0.5", "n=1 c=13 h=3 w=3 size=11",
           "n=1 c=12 h=2 w=2 size=10 beta=0.5"}};
}

}  // namespace clam::lrn
