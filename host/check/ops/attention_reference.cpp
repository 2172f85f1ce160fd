// SPDX-License-Identifier: MIT
// attention_reference.cpp - o = softmax(scale * q k^T + mask) v in double, and how far from it a
// device may be.
//
// Let u = 2^-24, p_j the softmax of the scores x_j of a query, o = sum_j p_j v_j. If weight j is
// off by the factor 1 + a_j, numerator and denominator alike, o is off by exactly
//   sum_j p_j a_j (v_j - o) / (1 + sum_j p_j a_j)
// and a_j comes from
//   the score's sum of products   exp(E_j) - 1, E_j = |scale| * error of the sum + u * |x_j|
//   exp of a difference d         (2.25 d + e) u, as for softmax, log2(e) as a float included; the
//                                 differences on the way to the last maximum add up to m - x_j
//   bringing sums down            (e + 1) u a block of keys; a block has 16 or more
// For zero-mean data the E_j behave like independent variables, and so do their terms. Then come
//   the sum of p_j v_j            as for any sum of products (summation.hpp), once more a block;
//   with
//                                 chunks, weights are rounded to half first
//   the sum of weights            n + 2 blocks roundings of its value, and 6 for the division
#include <cmath>
#include <functional>

#include "check/op_proof.hpp"
#include "check/parallel.hpp"
#include "clam/error.hpp"
#include "ops/attention.hpp"
#include "shared/epilogue.hpp"

namespace clam {
namespace {

constexpr double kFloat = 0x1p-24;  ///< unit roundoff of everything in between
constexpr double kLargest = 0x1.fffffep127;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kFewestKeys = 16;  ///< of a block

struct Operands {
  AttentionExtents at;
  Dtype dtype;
  Acc acc;
  Check check;
  double exp_error;  ///< of exp2, in units of u
  double tiny;       ///< what a number lost among denormals may cost
  double scale;
  std::vector<double> q, k, v, mask;  ///< mask empty when absent

  Operands(const Problem& problem, const Tensors& inputs, const ReferenceOptions& options)
      : at(problem),
        dtype(problem.dtype()),
        acc(accumulator(problem)),
        check(options.check),
        exp_error(std::max(6.0, 2 * options.native_exp2_ulp)),
        tiny(options.denormals ? (1 + exp_error / 2) * 0x1p-149 : 0x1p-126),
        scale(static_cast<double>(at.scale)),
        q(values(inputs.at("q"))),
        k(values(inputs.at("k"))),
        v(values(inputs.at("v"))) {
    if (problem.choice("mask") != "none") mask = values(inputs.at("mask"));
  }

  /// First elements for a row of q: (item * heads + head) * nq + i.
  std::int64_t kv_head(std::int64_t row) const { return at.kv_head(row / at.nq); }
  const double* q_row(std::int64_t row) const { return &q[static_cast<std::size_t>(row * at.d)]; }
  const double* k_row(std::int64_t row, std::int64_t key) const {
    return &k[static_cast<std::size_t>((kv_head(row) * at.nk + key) * at.d)];
  }
  const double* v_row(std::int64_t row, std::int64_t key) const {
    return &v[static_cast<std::size_t>((kv_head(row) * at.nk + key) * at.dv)];
  }
  /// A mask has rows for all heads, for all batch items, or for all queries.
  double addend(std::int64_t row, std::int64_t key) const {
    if (mask.empty()) return 0;
    const std::int64_t rows = static_cast<std::int64_t>(mask.size()) / at.nk;
    const std::int64_t item = row / (at.heads * at.nq);
    const std::int64_t of_mask = rows == at.batch * at.heads * at.nq ? row
                                 : rows == at.batch * at.nq          ? item * at.nq + row % at.nq
                                                                     : row % at.nq;
    return mask[static_cast<std::size_t>(of_mask * at.nk + key)];
  }
  bool sees(std::int64_t row, std::int64_t key) const { return !at.causal || key <= row % at.nq; }
  double blocks() const { return static_cast<double>(at.nk / kFewestKeys); }
};

/// A number and how far off it may be.
struct Inexact {
  double value = 0, error = 0;
};

template <typename Sum>
Inexact product(const Operands& in, const double* a, const double* b, Sum sum) {
  for (std::int64_t c = 0; c < in.at.d; ++c) sum.add(a[c] * b[c]);
  const Summation total = sum.total(in.check);
  return {total.value(), total.bound(in.check, kFloat)};
}

/// A score; exact sets have exact sums.
Inexact score(const Operands& in, std::int64_t row, std::int64_t key) {
  if (!in.sees(row, key)) return {-kInfinity, 0};
  const double *a = in.q_row(row), *b = in.k_row(row, key);
  const bool chunks = in.acc == Acc::chunk && in.check != Check::exact;
  const Inexact sum =
      chunks ? product(in, a, b, HalfSummation(kChunk)) : product(in, a, b, Summation());
  const double x = in.scale * sum.value + in.addend(row, key);
  if (std::fabs(x) > kLargest) return {std::copysign(kInfinity, x), 0};
  return {x, std::fabs(in.scale) * sum.error + kFloat * std::fabs(x)};
}

/// The softmax of a query's scores, and the errors a_j of its weights.
struct Weights {
  double most = -kInfinity, sum = 0;
  std::vector<double> p;
  std::vector<double> from_score, from_exp;

  Weights(const Operands& in, std::int64_t row) {
    std::vector<Inexact> x;
    for (std::int64_t key = 0; key < in.at.nk; ++key) {
      x.push_back(score(in, row, key));
      most = std::isnan(x.back().value) ? kNan : x.back().value > most ? x.back().value : most;
    }
    if (!std::isfinite(most)) return;
    for (const Inexact& score : x) {
      const double d = most - score.value;
      p.push_back(std::exp(-d));
      sum += p.back();
      const bool seen = std::isfinite(d);
      from_score.push_back(seen ? std::expm1(score.error) : 0);
      from_exp.push_back(
          seen ? kFloat * (2.25 * d + in.exp_error + in.blocks() * (in.exp_error + 1)) : 0);
    }
    for (double& weight : p) weight /= sum;
  }
};

/// What the errors of weights do to the output o of a column, v_j its elements.
template <typename V>
double weighting_error(const Operands& in, const Weights& weights, double o, const V& v) {
  double linear = 0, squares = 0, factor = 0;
  for (std::size_t j = 0; j < weights.p.size(); ++j) {
    const double p = weights.p[j], distance = std::fabs(v(j) - o);
    const double own = p * weights.from_score[j] * distance;
    linear += p * weights.from_exp[j] * distance;
    if (in.check == Check::zero_mean) {
      squares += own * own;
    } else {
      linear += own;
    }
    factor += p * (weights.from_score[j] + weights.from_exp[j]);
  }
  return factor < 1 ? (linear + std::sqrt(squares)) / (1 - factor) : kInfinity;
}

/// The error of sum_j w_j v_j in float, w_j = exp(x_j - m): where a block ends, all is brought
/// down.
template <typename V>
double summing_error(const Operands& in, const Weights& weights, const V& v) {
  Summation sum;
  for (std::size_t j = 0; j < weights.p.size(); ++j) {
    sum.add(weights.p[j] * v(j));
    const bool ends = (j + 1) % static_cast<std::size_t>(kFewestKeys) == 0;
    if (!ends) continue;
    sum.inherit(kFloat * std::fabs(sum.value()));
  }
  return sum.bound(in.check == Check::exact ? Check::hard : in.check, kFloat);
}

/// The same in chunks of half. Terms of a chunk are weights of up to 1, by the maximum so far,
/// times v: those that may overflow are known by v alone.
template <typename V>
double chunk_error(const Operands& in, const Weights& weights, const V& v) {
  constexpr double kOverflow = 65520 / (1 + kChunk * 0x1p-11);
  const double u = unit_roundoff(Dtype::f16);
  const Check check = in.check == Check::exact ? Check::hard : in.check;
  HalfSummation sum(kChunk);
  double magnitudes = 0, squares = 0, sizes = 0;
  std::vector<double> largest;
  for (std::size_t j = 0; j < weights.p.size(); ++j) {
    const double term = weights.p[j] * weights.sum * v(j);
    sum.add(term);
    magnitudes += std::fabs(term);
    squares += term * term;
    sizes += std::fabs(v(j));
    largest.push_back(std::fabs(v(j)));
  }
  std::sort(largest.begin(), largest.end(), std::greater<>());
  double chunk = 0;
  for (std::size_t j = 0; j < std::min<std::size_t>(kChunk, largest.size()); ++j) {
    chunk += largest[j];
  }
  if (chunk >= kOverflow) return kInfinity;
  const double weights_rounded =
      check == Check::zero_mean ? 6 * u * std::sqrt(squares) : u * magnitudes;
  return (sum.total(check).bound(check, kFloat) + weights_rounded + 0x1p-25 * sizes +
          kFloat * in.blocks() * magnitudes) /
         weights.sum;
}

/// A column of a query's output.
Inexact output(const Operands& in, const Weights& weights, std::int64_t row, std::int64_t column) {
  if (std::isnan(weights.most) || weights.most == kInfinity) return {kNan, 0};
  if (weights.most == -kInfinity) return {0, 0};
  const auto v = [&](std::size_t j) { return in.v_row(row, static_cast<std::int64_t>(j))[column]; };
  double o = 0, sizes = 0;
  for (std::size_t j = 0; j < weights.p.size(); ++j) {
    o += weights.p[j] * v(j);
    sizes += std::fabs(v(j));
  }
  if (!std::isfinite(o)) return {o, 0};
  const double sum =
      in.acc == Acc::chunk ? chunk_error(in, weights, v) : summing_error(in, weights, v);
  const double total = static_cast<double>(in.at.nk) + 2 * in.blocks() + 6;
  const double crumb = (in.dtype == Dtype::f16 ? 0x1p-25 : 0) + in.tiny * (1 + sizes);
  return {o, weighting_error(in, weights, o, v) + sum + crumb +
                 (kFloat * total + unit_roundoff(in.dtype)) * std::fabs(o)};
}

}  // namespace

Reference attention_reference(const Problem& problem, const Tensors& inputs,
                              const ReferenceOptions& options) {
  if (const Reason reason = attention_not_offered(problem)) {
    throw Unsupported("attention: " + *reason);
  }
  const Operands in(problem, inputs, options);
  Expected o;
  const std::int64_t rows = in.at.batch * in.at.heads * in.at.nq;
  o.value.resize(static_cast<std::size_t>(rows * in.at.dv));
  o.bound.resize(o.value.size());
  parallel_for(rows, [&](std::int64_t row) {
    const Weights weights(in, row);
    for (std::int64_t column = 0; column < in.at.dv; ++column) {
      const Inexact result = output(in, weights, row, column);
      const auto at = static_cast<std::size_t>(row * in.at.dv + column);
      o.value[at] = result.value;
      o.bound[at] = result.error;
    }
  });
  return {{"o", std::move(o)}};
}

}  // namespace clam
