// SPDX-License-Identifier: MIT
// layer_norm_reference.cpp - layer_norm in double, and how far from it a device may be.
//
// Let u = 2^-24, m the mean, v the variance, d = x - m, r = 1 / sqrt(v + eps), A the mean of |x|,
// and h = 4 log2(n): no term of a kernel's sum goes through more additions, or a compensated sum
// makes up for them (Kahan: 2 u, however many). What a device computes in float is off by
//   m    e_m = (h + 5) u A           the sum, and a quotient of 2.5 ulp
//   d    e_m + u |d|
//   v    (h + 9) u v + e_m^2         a square of d is off by 3 u; e_m itself sums up to 0 over a
//   row r    relative (that / (v + eps) + u) / 2 + 4 u: the sum with eps, and 2 ulp of rsqrt y    r
//   |gamma| (e_m + |d| (2 u + the relative error of r)) + u |y|, for two products and a sum
// The activation passes that on, and the result is rounded to its dtype.
#include <cmath>
#include <limits>

#include "check/op_proof.hpp"
#include "check/parallel.hpp"
#include "shared/activate.hpp"
#include "shared/summation.hpp"

namespace clam {
namespace {

constexpr double kFloat = 0x1p-24;      ///< unit roundoff of everything in between
constexpr double kSmallest = 0x1p-126;  ///< less than it may count as 0
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Operands {
  const HostTensor &src, &gamma, &beta;
  std::int64_t n;
  double eps;
  Activation act;
  Dtype dtype;
  bool denormals;

  Operands(const Problem& problem, const Tensors& inputs, const ReferenceOptions& options)
      : src(inputs.at("src")),
        gamma(inputs.at("gamma")),
        beta(inputs.at("beta")),
        n(problem.integer("n")),
        eps(static_cast<double>(problem.number("eps"))),
        act(parse_activation(problem.choice("act"))),
        dtype(problem.dtype()),
        denormals(options.denormals) {}
};

/// What the elements of a row share.
struct Row {
  double mean = 0, factor;
  double mean_error, factor_error;  ///< the latter relative
  bool overflows;                   ///< a sum or a square may be beyond the largest float

  Row(const Operands& in, std::int64_t first) {
    const auto n = static_cast<double>(in.n);
    double magnitudes = 0, variance = 0;
    for (std::int64_t i = 0; i < in.n; ++i) {
      mean += in.src.get(first + i) / n;
      magnitudes += std::fabs(in.src.get(first + i)) / n;
    }
    for (std::int64_t i = 0; i < in.n; ++i) {
      const double difference = in.src.get(first + i) - mean;
      variance += difference * difference / n;
    }
    const double additions = 4 * std::log2(n);
    mean_error = (additions + 5) * kFloat * magnitudes + kSmallest;
    const double off = (additions + 9) * kFloat * variance + mean_error * mean_error + kSmallest;
    factor = 1 / std::sqrt(variance + in.eps);
    factor_error = (off / (variance + in.eps) + kFloat) / 2 + 4 * kFloat;
    constexpr double kMost = static_cast<double>(std::numeric_limits<float>::max()) / 2;
    overflows = std::isfinite(magnitudes) && n * std::max(magnitudes, variance) > kMost;
  }
};

struct Result {
  double value, bound;
};

Result element(const Operands& in, const Row& row, double x, std::int64_t column) {
  const double gamma = in.gamma.get(column), beta = in.beta.get(column);
  const double difference = x - row.mean;
  const double z = difference * row.factor * gamma + beta;
  const double value = activate(in.act, z);
  if (row.overflows) return {value, kInfinity};
  if (!std::isfinite(z)) return {value, 0};
  const double off = row.mean_error + std::fabs(difference) * (2 * kFloat + row.factor_error);
  double error = row.factor * std::fabs(gamma) * off + kFloat * std::fabs(z);
  if (!in.denormals) error += kSmallest * (2 + std::fabs(gamma));
  const double crumb = in.dtype == Dtype::f16 ? 0x1p-25 : in.denormals ? 0x1p-149 : kSmallest;
  return {value,
          activation_error(in.act, z, error) + unit_roundoff(in.dtype) * std::fabs(value) + crumb};
}

}  // namespace

Reference layer_norm_reference(const Problem& problem, const Tensors& inputs,
                               const ReferenceOptions& options) {
  const Operands in(problem, inputs, options);
  Expected dst;
  dst.value.resize(static_cast<std::size_t>(in.src.size()));
  dst.bound.resize(dst.value.size());
  parallel_for(problem.integer("rows"), [&](std::int64_t i) {
    const Row row(in, i * in.n);
    for (std::int64_t column = 0; column < in.n; ++column) {
      const std::int64_t at = i * in.n + column;
      const Result result = element(in, row, in.src.get(at), column);
      dst.value[static_cast<std::size_t>(at)] = result.value;
      dst.bound[static_cast<std::size_t>(at)] = result.bound;
    }
  });
  return {{"dst", std::move(dst)}};
}

}  // namespace clam
