// SPDX-License-Identifier: MIT
// softmax_reference.cpp - softmax and log-softmax in double, and how far from it a device may be.
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
#include <cmath>

#include "check/op_proof.hpp"
#include "check/parallel.hpp"
#include "ops/softmax.hpp"
#include "shared/summation.hpp"

namespace clam {
namespace {

constexpr double kFloat = 0x1p-24;  ///< unit roundoff of everything in between
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

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
        scale(static_cast<double>(problem.number("scale"))),
        exp_error(std::max(6.0, 2 * options.native_exp2_ulp)),
        exact_at_zero(options.native_exp2_ulp <= 0),
        crumb(dtype == Dtype::f16 ? 0x1p-25
              : options.denormals ? (1 + exp_error / 2) * 0x1p-149
                                  : 0x1p-126) {}

  bool x_rounds() const { return mask || !(scale == 0 || is_power_of_two(scale)); }

  /// x of an element of src; infinite where it is beyond the largest float.
  double x(std::int64_t at) const {
    constexpr double kLargest = static_cast<double>(std::numeric_limits<float>::max());
    double x = scale * src.get(at);
    if (mask) x += mask->get(at % rows.mask);
    return std::fabs(x) > kLargest ? std::copysign(kInfinity, x) : x;
  }
};

/// What the bounds of a row's elements share.
struct RowSums {
  double m = -kInfinity, sum = 0;
  double mean_difference = 0, mean_size = 0;  ///< of d and |x|, weighted by p
  std::int64_t numbers = 0;                   ///< elements that are not -inf

  explicit RowSums(const std::vector<double>& x) {
    for (const double value : x) m = std::isnan(value) ? kNan : value > m ? value : m;
    if (!std::isfinite(m)) return;
    for (const double value : x) {
      if (std::isinf(value)) continue;
      const double e = std::exp(value - m);
      ++numbers;
      sum += e;
      mean_difference += e * (m - value);
      mean_size += e * std::fabs(value);
    }
    mean_difference /= sum;
    mean_size /= sum;
  }
};

struct Result {
  double value, bound;
};

Result element(const Operands& in, const RowSums& row, double x) {
  if (std::isnan(row.m) || row.m == kInfinity) return {kNan, 0};
  if (x == -kInfinity) return {in.log ? -kInfinity : 0, 0};
  const double d = row.m - x, u_out = unit_roundoff(in.dtype);
  const double own = in.x_rounds() ? std::fabs(x) + row.mean_size : 0;
  const double terms = in.exp_error + static_cast<double>(in.rows.n);
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

}  // namespace

Reference softmax_reference(const Problem& problem, const Tensors& inputs,
                            const ReferenceOptions& options) {
  const Operands in(problem, inputs, options);
  const std::int64_t n = in.rows.n, inner = in.rows.inner;
  Expected dst;
  dst.value.resize(static_cast<std::size_t>(in.src.size()));
  dst.bound.resize(dst.value.size());
  parallel_for(in.rows.outer * inner, [&](std::int64_t row) {
    const std::int64_t first = row / inner * n * inner + row % inner;
    std::vector<double> x(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = in.x(first + i * inner);
    const RowSums sums(x);
    for (std::int64_t i = 0; i < n; ++i) {
      const Result result = element(in, sums, x[static_cast<std::size_t>(i)]);
      const auto at = static_cast<std::size_t>(first + i * inner);
      dst.value[at] = result.value;
      dst.bound[at] = result.bound;
    }
  });
  return {{"dst", std::move(dst)}};
}

}  // namespace clam
