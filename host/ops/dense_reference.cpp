// SPDX-License-Identifier: MIT
// dense_reference.cpp - y[m,n] = act(alpha * sum_k x[m,k] * w[n,k] + b[n]) + r[m,n] in double, and
// how far from it a device may be.
#include <cmath>

#include "../error.hpp"
#include "../parallel.hpp"
#include "activation.hpp"
#include "dense_cases.hpp"
#include "summation.hpp"

namespace clam {
namespace {

constexpr double kFloat = 0x1p-24;  ///< unit roundoff of the accumulator

std::vector<double> values(const HostTensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.size()));
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    values[static_cast<std::size_t>(i)] = tensor.get(i);
  return values;
}

std::vector<double> transposed(const std::vector<double>& matrix, std::size_t rows, std::size_t n) {
  std::vector<double> result(matrix.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < n; ++j) result[j * rows + i] = matrix[i * n + j];
  }
  return result;
}

/// The problem's numbers, widened; w lies as w[k][n].
struct Operands {
  std::size_t m, n, k;
  double alpha;
  Activation act;
  Dtype dtype;
  std::vector<double> x, w, b, r;  ///< b and r empty when absent

  Operands(const Problem& problem, const Tensors& inputs)
      : m(static_cast<std::size_t>(problem.integer("m"))),
        n(static_cast<std::size_t>(problem.integer("n"))),
        k(static_cast<std::size_t>(problem.integer("k"))),
        alpha(static_cast<double>(problem.number("alpha"))),
        act(parse_activation(problem.choice("act"))),
        dtype(problem.dtype()),
        x(values(inputs.at("x"))),
        w(values(inputs.at("w"))) {
    if (problem.integer("trans_w") == 1) w = transposed(w, n, k);
    if (problem.flag("bias")) b = values(inputs.at("b"));
    if (problem.flag("residual")) r = values(inputs.at("r"));
  }
};

struct Result {
  double value, bound;
};

/// From a sum over k to an output. `crumb` is the least error allowed: half the smallest number.
Result finish(Summation sum, const Operands& in, std::size_t i, std::size_t j, Check check,
              double crumb) {
  if (check == Check::exact) {  // only what follows the sum rounds
    Summation tail;
    tail.add(sum.value());
    sum = tail;
    check = Check::hard;
  }
  sum.scale(in.alpha);
  if (!in.b.empty()) sum.add(in.b[j]);
  const double residual = in.r.empty() ? 0 : in.r[i * in.n + j];
  if (in.act == Activation::none && !in.r.empty()) sum.add(residual);
  double value = sum.value() + 0.0;  // no -0: an absent b counts as +0
  double error = sum.bound(check, kFloat);
  if (in.act != Activation::none) {
    error = std::isfinite(value) ? activation_error(in.act, value, error) : 0;
    value = activate(in.act, value) + residual;
    if (!in.r.empty()) error += kFloat * std::fabs(value);
  }
  if (!std::isfinite(value)) return {value, 0};
  return {value, error + unit_roundoff(in.dtype) * std::fabs(value) + crumb};
}

/// Nothing after the exact sum rounds: a power of two moves at most 2^15 within a float's 24 bits.
bool stays_exact(const Operands& in) {
  int exponent = 0;
  const bool power_of_two = std::fabs(std::frexp(in.alpha, &exponent)) == 0.5;
  return is_exact(in.act) && power_of_two && exponent > -8 && exponent <= 8 && in.k <= 1 << 15;
}

/// Sums of such numbers are exact in float: whole, and under 2^24.
void require_exact_operands(const Operands& in) {
  for (const std::vector<double>* operand : {&in.x, &in.w, &in.b, &in.r}) {
    for (const double value : *operand) {
      if (value != 0 && std::fabs(value) != 1) {
        throw BadArgument("dense: an exact check needs inputs of -1, 0 and 1");
      }
    }
  }
  if (in.k > 1 << 24) throw BadArgument("dense: an exact check needs k up to 2^24");
}

/// Column by column, what a device that takes denormals for zero may lose.
std::vector<double> crumbs(const Operands& in, bool denormals) {
  if (in.dtype == Dtype::f16) return std::vector<double>(in.n, 0x1p-25);
  if (denormals) return std::vector<double>(in.n, 0x1p-149);
  std::vector<double> crumbs(in.n, 0x1p-126);
  for (std::size_t i = 0; i < in.k; ++i) {
    for (std::size_t j = 0; j < in.n; ++j) crumbs[j] += 0x1p-126 * std::fabs(in.w[i * in.n + j]);
  }
  return crumbs;
}

}  // namespace

Reference dense_reference(const Problem& problem, const Tensors& inputs,
                          const ReferenceOptions& options) {
  if (const Reason reason = dense_not_offered(problem)) throw Unsupported("dense: " + *reason);
  const Operands in(problem, inputs);
  if (options.check == Check::exact) require_exact_operands(in);
  const std::vector<double> crumb = crumbs(in, options.denormals);
  Expected y;
  y.value.resize(in.m * in.n);
  y.bound.resize(in.m * in.n);
  parallel_for(static_cast<std::int64_t>(in.m), [&](std::int64_t row) {
    const auto i = static_cast<std::size_t>(row);
    std::vector<Summation> sums(in.n);
    for (std::size_t kk = 0; kk < in.k; ++kk) {
      for (std::size_t j = 0; j < in.n; ++j) {
        sums[j].add(in.x[i * in.k + kk] * in.w[kk * in.n + j]);
      }
    }
    for (std::size_t j = 0; j < in.n; ++j) {
      const Result result = finish(sums[j], in, i, j, options.check, crumb[j]);
      y.value[i * in.n + j] = result.value;
      y.bound[i * in.n + j] = result.bound;
    }
  });
  if (options.check == Check::exact && stays_exact(in)) {
    y.exact = HostTensor(in.dtype, {problem.integer("m"), problem.integer("n")});
    for (std::int64_t i = 0; i < y.exact.size(); ++i) {
      y.exact.set(i, y.value[static_cast<std::size_t>(i)]);
    }
    y.value.clear();
    y.bound.clear();
  }
  return {{"y", std::move(y)}};
}

}  // namespace clam
