// SPDX-License-Identifier: MIT
// reduce_proof.cpp - sums, products and extremes along axes in double, and how far from them a
// device may be.
//
// Let u = 2^-24, and a result be made of n terms. In whatever order they are added, a float sum is
// off by at most (n - 1) u sum|t_i| (Jeannerod and Rump, "Improved error bounds for inner products
// in floating-point arithmetic", 2013), and by n u of it where terms are rounded squares. For data
// of zero mean it is 6 u sqrt(sum p_k^2), over all orders; see summation.hpp. Then
//   mean  multiplies by a rounded 1 / n: u |y| and u |y|
//   l2    takes a root: half of the relative error, and 3 ulp, 6 u |y|
//   prod  rounds n - 1 times: (n - 1) u |y|
// Largest and smallest elements are exact. The result is rounded to its dtype.
#include "shared/proof.hpp"

namespace clam::reduce {
namespace {

/// The terms of a result.
struct Terms {
  double n = 0, sum = 0, squares = 0, magnitudes = 0;  ///< squares: of the terms
  double product = 1, grown = 1, shrunk = 1;  ///< of all, of those over 1 and under 1 alone
  double largest = -kInfinity, smallest = kInfinity;

  void add(double x) {
    n += 1;
    sum += x;
    squares += x * x;
    magnitudes += std::fabs(x);
    product *= x;
    if (std::isfinite(x) && x != 0) (std::fabs(x) > 1 ? grown : shrunk) *= std::fabs(x);
    const bool is_nan = std::isnan(x) || std::isnan(largest);
    largest = is_nan ? kNan : std::max(largest, x);
    smallest = is_nan ? kNan : std::min(smallest, x);
  }
};

struct Context {
  std::string op;
  Dtype dtype;
  Check check;
  bool denormals;

  bool squares() const { return op == "sum_square" || op == "l2"; }
  double term(double x) const { return squares() ? x * x : op == "l1" ? std::fabs(x) : x; }
  double crumb() const { return clam::crumb(dtype, denormals); }
};

Bounded extreme(const Context& context, double value) {
  return {value, context.dtype == Dtype::f32 && !context.denormals ? kSmallest : 0};
}

Bounded product(const Context& context, const Terms& terms) {
  const double value = terms.product;
  // A product on the way may be beyond the largest float, or be lost below the smallest.
  const bool lost = terms.shrunk < kSmallest;
  if (terms.grown > kLargest || (lost && !std::isfinite(value))) return {value, kInfinity};
  if (!std::isfinite(value)) return {value, 0};
  if (context.check == Check::exact) return {rounded_to(context.dtype, value), 0};
  return {value, ((terms.n - 1) * kFloat + unit_roundoff(context.dtype)) * std::fabs(value) +
                     (lost ? kSmallest * terms.grown : 0) + context.crumb()};
}

/// How far off the sum may be.
double sum_error(const Context& context, const Terms& terms) {
  const bool exact = context.check == Check::exact && terms.magnitudes < 0x1p24;
  if (exact) return 0;
  const double lost = terms.n * (context.denormals ? 0x1p-149 : kSmallest);
  if (context.check == Check::zero_mean) {
    const double rounded = context.squares() ? terms.squares : 0;
    return 6 * kFloat * std::sqrt(mean_of_squares(terms.n, terms.squares, terms.sum) + rounded) +
           lost;
  }
  return (terms.n - (context.squares() ? 0 : 1)) * kFloat * terms.magnitudes + lost;
}

Bounded root(const Context& context, double sum, double error) {
  const double value = std::sqrt(sum);
  const double off = value - std::sqrt(std::max(0.0, sum - error));
  return {value, std::max(off, std::sqrt(sum + error) - value) +
                     (6 * kFloat + unit_roundoff(context.dtype)) * value + context.crumb()};
}

Bounded total(const Context& context, const Terms& terms) {
  const bool mean = context.op == "mean";
  const float scale = mean ? 1.0f / static_cast<float>(terms.n) : 1.0f;
  const double value = mean ? terms.sum / terms.n : terms.sum;
  if (!std::isfinite(value)) return {value, 0};
  if (terms.magnitudes > kLargest) return {value, kInfinity};
  const double error = sum_error(context, terms);
  if (context.op == "l2") return root(context, value, error);
  if (error == 0) {
    const float rounded = static_cast<float>(terms.sum) * scale;
    return {rounded_to(context.dtype, rounded), 0};
  }
  // 1 / n, where n itself may round, and the product.
  const double roundings = !mean ? 0 : terms.n > 0x1p24 ? 3 : 2;
  return {value, error * (mean ? 1 / terms.n : 1) +
                     (roundings * kFloat + unit_roundoff(context.dtype)) * std::fabs(value) +
                     context.crumb()};
}

Bounded result(const Context& context, const Terms& terms) {
  if (context.op == "max") return extreme(context, terms.largest);
  if (context.op == "min") return extreme(context, terms.smallest);
  if (context.op == "prod") return product(context, terms);
  return total(context, terms);
}

Reference reference(const Problem& problem, const Tensors& inputs,
                    const ReferenceOptions& options) {
  const Shape shape = problem.shape("shape");
  const TensorSpec spec = problem.tensors().back();
  const HostTensor& src = inputs.at("src");
  const Context context{problem.choice("op"), problem.dtype(), options.check, options.denormals};
  std::vector<Terms> terms(count(spec.shape));
  for (std::int64_t i = 0; i < src.size(); ++i) {
    std::int64_t to = 0, rest = i, step = 1;
    for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) {
      if (spec.shape[axis] > 1) to += rest % shape[axis] * step;
      step *= spec.shape[axis];
    }
    terms[to].add(context.term(src.get(i)));
  }
  return by_rows(problem, count(spec.shape),
                 [&](std::int64_t i, Expected& dst) { dst.set(i, result(context, terms[i])); });
}

// ---- data sets and cases ----

/// Factors of a product are near 1, so that it stays a float; `value` is of the others.
template <typename Value>
DataSet::Fill fill(double spread, const Value& value) {
  return [=](const Problem& problem, std::uint64_t seed, Tensors& inputs) {
    const bool factors = problem.choice("op") == "prod";
    fill_all(seed, inputs, [&](Random& random, std::int64_t) -> double {
      const double sign = random.integer(0, 1) ? 1 : -1;
      return factors ? sign * std::exp(spread * random.normal()) : value(random);
    });
  };
}

double whole(Random& random) { return random.integer(-8, 8); }

double positive(Random& random) { return 1 + random.uniform(); }

void special(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  fill(0.1, normal)(problem, seed, inputs);
  HostTensor& src = inputs.at("src");
  for (std::int64_t i = 0; i < src.size(); ++i) {
    if (i % 97 == 11) src.set(i, kNan);
    if (i % 89 == 31) src.set(i, kInfinity);
    if (i % 53 == 23) src.set(i, -kInfinity);
    if (i % 37 == 3 && problem.choice("op") != "prod") src.set(i, -0.0);  // it hides the others
  }
}

}  // namespace

OpProof proof() {
  return {
      "reduce",
      {{"exact", Check::exact, "whole numbers up to 8: sums are exact; factors of -1 and 1",
        fill(0, whole)},
       {"zero_mean", Check::zero_mean, "x of N(0,1)", fill(0.1, normal)},
       {"positive", Check::hard, "x from 1 to 2; a half accumulator fails", fill(0.05, positive)},
       {"outliers", Check::hard, "N(0,1) with numbers of 100 in between",
        fill(0.02, outliers(32, 100))},
       {"special", Check::hard, "NaN, infinities and -0 in places", special}},
      reference,
      // A group has 4 rows of 16 lanes, or up to 64 columns.
      {
          // What models run: means of maps, of channels, of tokens.
          "op=mean shape=1x384x31x31 axes=2-3",
          "op=mean shape={1x77x768,1x320x20x24} axes=1",
          "op=max shape=8x100x91 axes=2",
          "op=l2 shape=64x256 axes=1",
          "op=sum_square shape=4x3x40x40 axes=0-2-3",
          // Every form: what is reduced last, first, in two pieces, all, and where nothing is.
          "op={sum,mean,max,min,prod,l1,l2,sum_square} shape=4x3x5x7 axes={1-3,0-2,1-2,3}",
          "op=sum shape=5x6x7x8 axes={0,1,2,3,0-1,0-3,2-3,0-1-2,0-1-3,0-2-3,1-2-3,0-1-2-3}",
          "op=max shape=1 axes=0",
          "op=mean shape=1x5x1x6 axes={0,0-2,1,1-2}",
          // Pieces that start anywhere, around a vector and a group of lanes.
          "op=sum shape=5x{1,2,3,4,5,63,64,65,257} axes=1",
          "op=min shape=3x4097 axes=1",
          "op=mean shape=16384 axes=0",
          "op=prod shape=2x3x5x9 axes=1-3",
          // Columns alone and in vectors, around a group; lanes along them.
          "op=sum shape=9x{1,3,4,63,65,68,260} axes=0",
          "op=max shape=2x300x3 axes=1",
          "op=l1 shape=3x70x2x5 axes=0-2",
          "op=prod shape=500x8 axes=0",
      },
      {"op=sum shape=3x5 axes=1", "op=max shape=2x3x2x9 axes=1-3", "op=mean shape=6x3 axes=0",
       "op=l2 shape=3x4 axes=0", "op=prod shape=2x3x2x3 axes=0-2", "op=min shape=9x4 axes=0"}};
}

}  // namespace clam::reduce
