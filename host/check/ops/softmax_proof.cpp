// SPDX-License-Identifier: MIT
// softmax_proof.cpp - softmax and log-softmax in double, and how far from it a device may be.
//
// Let u = 2^-24, d_i = m - x_i, p_i the softmax. What a device computes in float is off by
//   d_i                  u * d_i from the difference; times log2(e) another u * d_i
//   exp                  e * u of its value; e is 6 for exp2 (3 ulp of up to 2 u each)
//   the sum              n * u of its value
//   x, where it rounds   u * |x_i|; all together move p_i by u * (|x_i| + sum_j p_j |x_j|)
// so p_i is within p_i * u * (2 d_i + e + n + rounding of x). The errors of the sum's terms are
// relative to the terms: the sum is off by their mean, sum_j p_j (2 d_j + e), of which the first
// part is at most 2 log(n). The logarithm of a sum turns its relative error into an absolute one:
//   u * (d_i + 2 sum_j p_j d_j + e + n + 6 log(sum) + rounding of x), with 3 ulp for log.
#include "ops/softmax.hpp"
#include "shared/softmax_sums.hpp"

namespace clam::softmax {
namespace {

/// Multiplying by it rounds nothing.
bool is_power_of_two(double factor) {
  int exponent = 0;
  return std::fabs(std::frexp(factor, &exponent)) == 0.5;
}

struct Operands {
  SoftmaxRows rows;
  const HostTensor &src, *mask;
  Dtype dtype;
  bool log;
  double scale;
  double exp_error;  ///< of exp2, in units of u
  bool exact_at_zero;
  double crumb;  ///< the least error allowed: what is lost among denormals

  Operands(const Problem& problem, const Tensors& inputs, const ReferenceOptions& options)
      : rows(problem),
        src(inputs.at("src")),
        mask(rows.mask > 0 ? &inputs.at("mask") : nullptr),
        dtype(problem.dtype()),
        log(problem.integer("log") == 1),
        scale(problem.number("scale")),
        exp_error(std::max(6.0, 2 * options.native_exp2_ulp)),
        exact_at_zero(options.native_exp2_ulp <= 0),
        crumb(clam::crumb(dtype, options.denormals, (1 + exp_error / 2) * 0x1p-149)) {}

  bool x_rounds() const { return mask || !(scale == 0 || is_power_of_two(scale)); }

  /// x of an element of src; infinite where it is beyond the largest float.
  double x(std::int64_t at) const {
    return in_float(scale * src.get(at) + (mask ? mask->get(at % rows.mask) : 0));
  }
};

Bounded element(const Operands& in, const SoftmaxSums& row, double x) {
  if (std::isnan(row.m) || row.m == kInfinity) return {kNan, 0};
  if (x == -kInfinity) return {in.log ? -kInfinity : 0, 0};
  const double d = row.m - x, u_out = unit_roundoff(in.dtype);
  const double own = in.x_rounds() ? std::fabs(x) + row.mean_size : 0;
  const double terms = in.exp_error + in.rows.n;
  if (!in.log) {
    const double value = std::exp(-d) / row.sum;
    return {value, value * (kFloat * (2 * d + terms + own) + u_out) + in.crumb};
  }
  // x - x, exp(0) and log(1) are exact; native_exp2(0) need not be.
  if (row.numbers == 1 && in.exact_at_zero) return {0, 0};
  const double value = -d - std::log(row.sum);
  const double error = d + 2 * row.mean_difference + terms + 6 * std::log(row.sum) + own;
  return {value, kFloat * error + u_out * std::fabs(value) + in.crumb};
}

Reference reference(const Problem& problem, const Tensors& inputs,
                    const ReferenceOptions& options) {
  const Operands in(problem, inputs, options);
  const std::int64_t n = in.rows.n, inner = in.rows.inner;
  return by_rows(problem, in.rows.outer * inner, [&](std::int64_t row, Expected& dst) {
    const std::int64_t first = row / inner * n * inner + row % inner;
    std::vector<double> x(n);
    for (std::int64_t i = 0; i < n; ++i) x[i] = in.x(first + i * inner);
    const SoftmaxSums sums(x);
    for (std::int64_t i = 0; i < n; ++i) dst.set(first + i * inner, element(in, sums, x[i]));
  });
}

// ---- data sets and cases ----

/// Fills src so that scale * src is x(random, row, i), and the mask by mask(random, i).
template <typename X, typename Mask>
void fill(const Problem& problem, std::uint64_t seed, Tensors& inputs, const X& x,
          const Mask& mask) {
  constexpr double kMost = 16;  // so that a small scale does not take halves to their limit
  const SoftmaxRows rows(problem);
  const double scale = problem.number("scale");
  const double factor = scale == 0 ? 1 : std::clamp(1 / scale, -kMost, kMost);
  Random random(seed);
  fill_tensor(inputs.at("src"), random, [&](Random&, std::int64_t at) {
    const std::int64_t row = at / (rows.n * rows.inner) * rows.inner + at % rows.inner;
    return factor * x(random, row, at / rows.inner % rows.n);
  });
  if (rows.mask > 0) fill_tensor(inputs.at("mask"), random, mask);
}

void zero_mean(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  fill(problem, seed, inputs, normal, normal);
}

/// A row lies around a number of its own between 500 and 1000, or between their opposites.
void spread(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const auto middle = [seed](std::int64_t row) {
    Random of_row(seed ^ static_cast<std::uint64_t>(row + 1) << 20);
    return (row % 2 == 0 ? 1000 : -1000) * (1 - of_row.uniform() / 2);
  };
  fill(
      problem, seed, inputs,
      [&](Random& random, std::int64_t row, std::int64_t) {
        return middle(row) + 2 * random.normal();
      },
      normal);
}

/// One element of a row is as large as all others together: the last one in every other row,
/// elsewhere any. Every third row of f32 has it 20 higher still.
void peaked(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const SoftmaxRows rows(problem);
  const bool tiny = problem.dtype() == Dtype::f32 && problem.integer("log") == 0;
  const double peak = std::log(std::max<double>(2, rows.n));
  fill(
      problem, seed, inputs,
      [&](Random& random, std::int64_t row, std::int64_t i) {
        const std::int64_t at = row % 2 == 0 ? rows.n - 1 : row * 7919 % rows.n;
        const double x = 0.1 * random.normal();
        return i == at ? x + peak + (tiny && row % 3 == 1 ? 20 : 0) : x;
      },
      [](Random& random, std::int64_t) { return 0.1 * random.normal(); });
}

/// -inf in places, also in the mask; and of eight rows one of nothing but -inf, one with a NaN, one
/// with +inf, one with a single number. Where the scale is 0, src is finite.
void masked(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const SoftmaxRows rows(problem);
  const bool finite = problem.number("scale") == 0;
  fill(
      problem, seed, inputs,
      [&](Random& random, std::int64_t row, std::int64_t i) {
        const double x = random.normal();
        const bool out = random.integer(0, 3) == 0;
        const bool special = i == row * 31 % rows.n;
        if (finite) return x;
        if (row % 8 == 3) return -kInfinity;
        if (row % 8 == 4 && special) return kNan;
        if (row % 8 == 5 && special) return kInfinity;
        if (row % 8 == 6) return special ? x : -kInfinity;
        return out && rows.n > 1 ? -kInfinity : x;
      },
      [&](Random& random, std::int64_t) {
        const double x = random.normal();
        return random.integer(0, 7) == 0 && rows.n > 1 ? -kInfinity : x;
      });
}

}  // namespace

OpProof proof() {
  return {
      "softmax",
      {{"zero_mean", Check::hard, "x of N(0,1); an all-zero or constant output fails", zero_mean},
       {"spread", Check::hard,
        "rows around +-500 to 1000; an error that grows with the maximum shows", spread},
       {"peaked", Check::hard, "one element of a row weighs as much as all others together",
        peaked},
       {"masked", Check::hard, "-inf in places, rows of it, rows with NaN or +inf", masked}},
      reference,
      // A lane holds up to 4 vectors or 16 elements; 4 to 64 lanes share a row, 4 to 256 a long
      // one. A group has 64 items, across the memory up to 256.
      {
          // Rows in one piece, around what 4 lanes hold ...
          "shape={1x1,5x3,17x4,33x21,16x63,15x64,1x65}",
          // ... 16, 32 and 64 lanes, and a last unit that some lanes do not have.
          "shape={5x192,4x196,3x255,3x256,3x257,2x512,3x1024}",
          // Rows that are too long to be held.
          "shape={2x1025,2x1028,1x4999}",
          // What models run.
          "shape=1x4x192x192",
          "shape=192x192{, axis=0} log=1",
          "shape={1x6132x21,122640}",
          // Every axis, and rows across the memory around what lanes hold and groups are wide.
          "shape=2x3x4x5 axis={0,1,2}",
          "shape=2x3x4x5",
          "shape=64x15 axis=0",
          "shape=3x65x17 axis=1",
          "shape={256x16,257x33} axis=0",
          "shape={2x1000x3,7x9x1} axis=1",
          "shape=1x2x1x3x1x2x1x5 axis=3",
          // What is exponentiated.
          "shape=5x192 scale=0.125",
          "shape=5x192 scale=-1.7 log=1",
          "shape=3x21 scale=0",
          "shape=4x10x192 mask=10x192",
          "shape=4x10x192 mask=192 scale=0.125",
          "shape=4x10x21 mask=4x10x21 log=1",
          "shape=2x3x1028 mask=3x1028",
          "shape=2x3x64x15 axis=2 mask=3x64x15",
          "shape=2x3x64x15 axis=2 mask=64x15 scale=0.5",
          "shape=2x64x3x5 axis=1 mask=5",
          "shape=2x300x15 axis=1 mask=300x15 log=1",
      },
      {"shape=1x1", "shape=3x21 log=1", "shape=17x8 scale=0.5", "shape=2x3x20 mask=3x20",
       "shape=1x1100", "shape=2x7x5 axis=1 mask=7x5", "shape=260x3 axis=0"}};
}

}  // namespace clam::softmax
