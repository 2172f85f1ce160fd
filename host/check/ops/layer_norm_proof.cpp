// SPDX-License-Identifier: MIT
// layer_norm_proof.cpp - layer_norm in double, and how far from it a device may be.
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
#include "shared/activate.hpp"
#include "shared/proof.hpp"

namespace clam::layer_norm {
namespace {

/// What the elements of a row share.
struct Row {
  double mean = 0, factor;
  double mean_error, factor_error;  ///< the latter relative
  bool overflows;                   ///< a sum or a square may be beyond the largest float

  Row(const std::vector<double>& x, double eps) {
    const double n = x.size();
    double magnitudes = 0, variance = 0;
    for (const double value : x) {
      mean += value / n;
      magnitudes += std::fabs(value) / n;
    }
    for (const double value : x) variance += (value - mean) * (value - mean) / n;
    const double additions = 4 * std::log2(n);
    mean_error = (additions + 5) * kFloat * magnitudes + kSmallest;
    const double off = (additions + 9) * kFloat * variance + mean_error * mean_error + kSmallest;
    factor = 1 / std::sqrt(variance + eps);
    factor_error = (off / (variance + eps) + kFloat) / 2 + 4 * kFloat;
    overflows = std::isfinite(magnitudes) && n * std::max(magnitudes, variance) > kLargest / 2;
  }
};

Reference reference(const Problem& problem, const Tensors& inputs,
                    const ReferenceOptions& options) {
  const std::vector<double> src = values(inputs.at("src"));
  const HostTensor &gammas = inputs.at("gamma"), &betas = inputs.at("beta");
  const std::int64_t n = problem.integer("n");
  const Act act(problem);
  const Dtype dtype = problem.dtype();
  return by_rows(problem, problem.integer("rows"), [&](std::int64_t i, Expected& dst) {
    const std::vector<double> x(src.begin() + i * n, src.begin() + (i + 1) * n);
    const Row row(x, problem.number("eps"));
    for (std::int64_t column = 0; column < n; ++column) {
      const double gamma = gammas.get(column), beta = betas.get(column);
      const double difference = x[column] - row.mean;
      const double z = difference * row.factor * gamma + beta;
      const double off = row.mean_error + std::fabs(difference) * (2 * kFloat + row.factor_error);
      double error = row.factor * std::fabs(gamma) * off + kFloat * std::fabs(z);
      if (!options.denormals) error += kSmallest * (2 + std::fabs(gamma));
      Bounded y = activated(act, z, error, unit_roundoff(dtype), crumb(dtype, options.denormals));
      if (row.overflows) y = {activate(act, z), kInfinity};
      dst.set(i * n + column, y);
    }
  });
}

// ---- data sets and cases ----

/// Fills src by x(random, row, i, n), gamma and beta by numbers of both signs that are not near 0.
template <typename X>
DataSet::Fill fill(const X& x) {
  return [x](const Problem& problem, std::uint64_t seed, Tensors& inputs) {
    Random random(seed);
    const std::int64_t n = problem.integer("n");
    fill_rows(inputs.at("src"), random,
              [&](Random&, std::int64_t row, std::int64_t i) { return x(random, row, i, n); });
    for (const char* name : {"gamma", "beta"}) {
      fill_tensor(inputs.at(name), random,
                  [&](Random&, std::int64_t) { return away_from_zero(random); });
    }
  };
}

double offset(Random& random, std::int64_t row, std::int64_t, std::int64_t) {
  return (row % 2 == 0 ? 100 : -100) + random.normal();
}

double outliers(Random& random, std::int64_t, std::int64_t, std::int64_t n) {
  // Of a row of one element nothing but its rounding would be left.
  const double large = n == 1 ? 1 : 1000;
  return (random.integer(0, 63) == 0 ? large : 1) * random.normal();
}

/// The last element of a row is as large as the root of all others' squares.
double peaked(Random& random, std::int64_t row, std::int64_t i, std::int64_t n) {
  const double peak = (row % 2 == 0 ? 1 : -1) * std::sqrt(n);
  return i == n - 1 ? peak : random.normal();
}

void flat(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const auto element = [seed](Random& random, std::int64_t row, std::int64_t, std::int64_t) {
    Random of_row(seed ^ static_cast<std::uint64_t>(row + 1) << 20);
    const double number = of_row.uniform() / 4;
    return row % 3 == 2 ? number + random.normal() / 1024 : number;
  };
  fill(element)(problem, seed, inputs);
}

/// Of four rows one holds a NaN, one +inf, one -inf.
double not_finite(Random& random, std::int64_t row, std::int64_t i, std::int64_t n) {
  const double x = random.normal();
  if (i != row * 31 % n) return x;
  if (row % 4 == 1) return kNan;
  return row % 4 == 2 ? kInfinity : row % 4 == 3 ? -kInfinity : x;
}

}  // namespace

OpProof proof() {
  return {
      "layer_norm",
      {{"zero_mean", Check::hard, "N(0,1); an all-zero or constant output fails", fill(normal)},
       {"offset", Check::hard,
        "rows around +-100 with deviation 1; a variance of the squares less the square fails",
        fill(offset)},
       {"outliers", Check::hard, "N(0,1) with one in 64 a thousand times larger", fill(outliers)},
       {"peaked", Check::hard, "the last element weighs as much as all others together",
        fill(peaked)},
       {"flat", Check::hard, "rows of one number, and of nearly one: eps shows", flat},
       {"not_finite", Check::hard, "rows with NaN, +inf or -inf", fill(not_finite)}},
      reference,
      // A lane holds up to 4 vectors or 16 elements; 4 to 64 lanes share a row; a group has 64
      // items.
      {
          // Around what 4 lanes hold ...
          "rows={1 n=1,5 n=3,17 n=4,33 n=21,16 n=63,15 n=64,1 n=65}",
          // ... 16, 32 and 64 lanes, and a last unit that some lanes do not have.
          "rows={5 n=192,4 n=196,3 n=255,5 n=256}",
          "rows=3 n={257,1021,1024}",
          // Rows that are too long to be held.
          "rows={3 n=1025,2 n=1028,3 n=4999,1 n=122640}",
          // What models run.
          "rows=192 n=512 act=gelu",
          "rows=197 n=768",
          // What follows.
          "rows=5 n=21 eps=1",
          "rows=5 n=192 eps=1e-12",
          "rows=7 n=20 act=relu",
          "rows=7 n=21 act=relu6",
          "rows=7 n=128 act=silu",
          "rows=7 n={127,1028} act=gelu",
          "rows=7 n=68 act={gelu_tanh,sigmoid,tanh,exp,hard_swish,hard_sigmoid}",
          "rows=7 n=21 act={clip act_alpha=-0.5 act_beta=0.7,leaky_relu act_scale=-3 "
          "act_shift=0.2}",
      },
      {"rows=1 n=1", "rows=17 n=21 eps=0.001", "rows=17 n=72 act=gelu", "rows=2 n=300"}};
}

}  // namespace clam::layer_norm
