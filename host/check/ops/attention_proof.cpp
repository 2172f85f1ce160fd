// SPDX-License-Identifier: MIT
// attention_proof.cpp - o = softmax(scale * q k^T + mask) v in double, and how far from it a
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
// One query may have its keys in up to 32 parts, summed from 0 each. Their sums are brought down
// once more, for a block less in each part, and added. Partial sums of a part are differences of
// those of the whole. The worst case has the largest ones in their place, for any number of
// queries.
#include <algorithm>
#include <functional>
#include <numeric>

#include "clam/error.hpp"
#include "ops/attention.hpp"
#include "shared/epilogue.hpp"

namespace clam::attention {
namespace {
constexpr std::int64_t kFewestKeys = 16;  ///< of a block
constexpr double kMostParts = 32;         ///< of the keys

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
        scale(at.scale),
        q(values(inputs.at("q"))),
        k(values(inputs.at("k"))),
        v(values(inputs.at("v"))) {
    if (problem.choice("mask") != "none") mask = values(inputs.at("mask"));
  }

  /// First elements for a row of q: (item * heads + head) * nq + i.
  std::int64_t kv_head(std::int64_t row) const { return at.kv_head(row / at.nq); }
  const double* q_row(std::int64_t row) const { return &q[row * at.d]; }
  const double* k_row(std::int64_t row, std::int64_t key) const {
    return &k[(kv_head(row) * at.nk + key) * at.d];
  }
  const double* v_row(std::int64_t row, std::int64_t key) const {
    return &v[(kv_head(row) * at.nk + key) * at.dv];
  }
  /// A mask has rows for all heads, for all batch items, or for all queries.
  double addend(std::int64_t row, std::int64_t key) const {
    if (mask.empty()) return 0;
    const std::int64_t rows = static_cast<std::int64_t>(mask.size()) / at.nk;
    const std::int64_t item = row / (at.heads * at.nq);
    const std::int64_t of_mask = rows == at.batch * at.heads * at.nq ? row
                                 : rows == at.batch * at.nq          ? item * at.nq + row % at.nq
                                                                     : row % at.nq;
    return mask[of_mask * at.nk + key];
  }
  bool sees(std::int64_t row, std::int64_t key) const { return !at.causal || key <= row % at.nq; }
  double blocks() const { return at.nk / kFewestKeys; }
  /// Roundings of what parts have summed: that is brought down and added up.
  double of_parts() const { return 2 * std::min(blocks(), kMostParts - 1); }
};

/// A number and how far off it may be.
template <typename Sum>
Bounded product(const Operands& in, const double* a, const double* b, Sum sum) {
  for (std::int64_t c = 0; c < in.at.d; ++c) sum.add(a[c] * b[c]);
  const Summation total = sum.total(in.check);
  return {total.value(), total.bound(in.check, kFloat)};
}

/// A score; exact sets have exact sums.
Bounded score(const Operands& in, std::int64_t row, std::int64_t key) {
  if (!in.sees(row, key)) return {-kInfinity, 0};
  const double *a = in.q_row(row), *b = in.k_row(row, key);
  const bool chunks = in.acc == Acc::chunk && in.check != Check::exact;
  const Bounded sum =
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
    std::vector<Bounded> x;
    for (std::int64_t key = 0; key < in.at.nk; ++key) {
      x.push_back(score(in, row, key));
      most = std::isnan(x.back().value) ? kNan : x.back().value > most ? x.back().value : most;
    }
    if (!std::isfinite(most)) return;
    for (const Bounded& score : x) {
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
  double least = 0, most = 0, magnitudes = 0;
  for (std::size_t j = 0; j < weights.p.size(); ++j) {
    sum.add(weights.p[j] * v(j));
    const double own = std::max(sum.value() - least, most - sum.value());  // of any part
    least = std::min(least, sum.value()), most = std::max(most, sum.value());
    magnitudes += own;
    if ((j + 1) % kFewestKeys == 0) sum.inherit(kFloat * own);
  }
  sum.allow(magnitudes);
  sum.inherit(kFloat * in.of_parts() * (most - least));
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
  largest.resize(std::min<std::size_t>(kChunk, largest.size()));
  if (std::accumulate(largest.begin(), largest.end(), 0.0) >= kOverflow) return kInfinity;
  const double weights_rounded =
      check == Check::zero_mean ? 6 * u * std::sqrt(squares) : u * magnitudes;
  return (sum.total(check).bound(check, kFloat) + weights_rounded + 0x1p-25 * sizes +
          kFloat * (in.blocks() + in.of_parts()) * magnitudes) /
         weights.sum;
}

/// A column of a query's output.
Bounded output(const Operands& in, const Weights& weights, std::int64_t row, std::int64_t column) {
  if (std::isnan(weights.most) || weights.most == kInfinity) return {kNan, 0};
  if (weights.most == -kInfinity) return {0, 0};
  const auto v = [&](std::size_t j) { return in.v_row(row, j)[column]; };
  double o = 0, sizes = 0;
  for (std::size_t j = 0; j < weights.p.size(); ++j) {
    o += weights.p[j] * v(j);
    sizes += std::fabs(v(j));
  }
  if (!std::isfinite(o)) return {o, 0};
  const double sum =
      in.acc == Acc::chunk ? chunk_error(in, weights, v) : summing_error(in, weights, v);
  const double total = in.at.nk + 2 * in.blocks() + 6;
  const double crumb = (in.dtype == Dtype::f16 ? 0x1p-25 : 0) + in.tiny * (1 + sizes);
  return {o, weighting_error(in, weights, o, v) + sum + crumb +
                 (kFloat * total + unit_roundoff(in.dtype)) * std::fabs(o)};
}

Reference reference(const Problem& problem, const Tensors& inputs,
                    const ReferenceOptions& options) {
  if (const Reason reason = attention_not_offered(problem)) {
    throw Unsupported("attention: " + *reason);
  }
  const Operands in(problem, inputs, options);
  const std::int64_t rows = in.at.batch * in.at.heads * in.at.nq;
  return by_rows(problem, rows, [&](std::int64_t row, Expected& o) {
    const Weights weights(in, row);
    for (std::int64_t column = 0; column < in.at.dv; ++column) {
      o.set(row * in.at.dv + column, output(in, weights, row, column));
    }
  });
}

// ---- data sets and cases ----

/// What q is multiplied by, so that scores are as with the usual scale.
double usual(const AttentionExtents& at) {
  constexpr double kMost = 16;
  const double scale = at.scale;
  const double usual = 1 / std::sqrt(at.d);
  return scale == 0 ? 1 : std::clamp(usual / scale, -kMost, kMost);
}

/// Fills q, k and v by their functions of (random, row, column), a row being any head's, and a mask
/// by mask(random, i).
template <typename Q, typename K, typename V, typename Mask>
void fill(std::uint64_t seed, Tensors& inputs, const Q& q, const K& k, const V& v,
          const Mask& mask) {
  Random random(seed);
  fill_rows(inputs.at("q"), random, q);
  fill_rows(inputs.at("k"), random, k);
  fill_rows(inputs.at("v"), random, v);
  if (inputs.count("mask")) fill_tensor(inputs.at("mask"), random, mask);
}

/// N(0,1) times a factor.
auto scaled_normal(double factor) {
  return [factor](Random& random, const auto&...) { return factor * random.normal(); };
}

void zero_mean(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  fill(seed, inputs, scaled_normal(usual(AttentionExtents(problem))), normal, normal, normal);
}

/// Bit `column` of a code for `row`, as -1 or 1: rows of different codes have small products.
double code(std::int64_t row, std::int64_t column) {
  Random random(static_cast<std::uint64_t>(row * 4099 + column + 1) * 0x9E3779B97F4A7C15u);
  return random.integer(0, 1) == 0 ? -1 : 1;
}

/// Keys are codes of -1 and 1, and query i is the code of key n-1-i, so large that no other key
/// weighs anything: o is a row of v, or the mean of those whose keys have the same code. Products
/// are exact in every accumulator.
void exact(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const AttentionExtents at(problem);
  const double root = std::sqrt(at.d);
  const double size = std::exp2(std::ceil(std::log2(12 * root))) * (usual(at) < 0 ? -1 : 1);
  fill(
      seed, inputs,
      [&](Random&, std::int64_t row, std::int64_t column) {
        const std::int64_t head = at.kv_head(row / at.nq), i = row % at.nq;
        return size * code(head * at.nk + (at.nk - 1 - i % at.nk), column);
      },
      [&](Random&, std::int64_t row, std::int64_t column) { return code(row, column); },
      [](Random& random, const auto&...) {
        return random.integer(1, 8) * (2 * random.integer(0, 1) - 1);
      },
      [](Random& random, const auto&...) { return random.integer(-1, 1); });
}

void positive(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const double factor = usual(AttentionExtents(problem));
  const auto number = [](Random& random, const auto&...) { return 0.5 + random.uniform(); };
  fill(
      seed, inputs, [&](Random& random, const auto&...) { return factor * number(random); }, number,
      number, [](Random& random, const auto&...) { return random.uniform(); });
}

/// Scores around a number between 500 and 1000, in every row another one and in odd rows negative;
/// sums in half would lose what tells keys apart. Where chunks are summed in half, so would theirs:
/// there they lie around 4, and v is positive, lest the error that chunks may have hides it.
void spread(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const AttentionExtents at(problem);
  const double factor = usual(at), d = at.d, root = std::sqrt(d);
  const bool in_float = accumulator(problem) == Acc::f32;
  const double middle = in_float ? 1000 : 4;
  fill(
      seed, inputs,
      [=](Random& random, std::int64_t row, std::int64_t) {
        Random of_row(seed ^ static_cast<std::uint64_t>(row + 1) << 20);
        const double x = (row % 2 == 0 ? middle : -middle) * (1 - of_row.uniform() / 2);
        return factor * (x / root + 0.02 * random.normal());
      },
      [=](Random& random, const auto&...) { return 1 + 0.002 * random.normal(); },
      [=](Random& random, const auto&...) {
        return in_float ? random.normal() : 0.5 + random.uniform();
      },
      normal);
}

/// One number in 64 of v is a thousand times larger, at most 16 or so in a sum; for sums in half,
/// all of v is positive, lest what outliers leave of each other hides in their worst case.
void outliers(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const AttentionExtents at(problem);
  const bool half = accumulator(problem) != Acc::f32;
  const auto one_in = static_cast<int>(std::max<std::int64_t>(64, at.nk / 16));
  fill(
      seed, inputs, scaled_normal(usual(at)), normal,
      [=](Random& random, const auto&...) {
        const double size = random.integer(0, one_in - 1) == 0 ? 1000 : 1;
        const double number = random.normal();
        return size * (half ? std::fabs(number) : number);
      },
      normal);
}

/// Of eight queries one has a NaN; and where there is a mask, it has -inf in places, and for one
/// query in eight nothing else.
void masked(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const AttentionExtents at(problem);
  zero_mean(problem, seed, inputs);
  Random random(seed + 1);
  HostTensor& q = inputs.at("q");
  for (std::int64_t row = 5; row < q.size() / at.d; row += 8) q.set(row * at.d, kNan);
  if (!inputs.count("mask")) return;
  HostTensor& mask = inputs.at("mask");
  for (std::int64_t i = 0; i < mask.size(); ++i) {
    const bool none = i / at.nk % 8 == 3;
    if (none || (at.nk > 1 && random.integer(0, 3) == 0)) mask.set(i, -kInfinity);
  }
}

}  // namespace

OpProof proof() {
  return {
      "attention",
      {{"zero_mean", Check::zero_mean, "N(0,1); an all-zero or constant output fails", zero_mean},
       {"exact", Check::exact,
        "exact scores that pick a key each; a wrong key, and one left out, shows", exact},
       {"positive", Check::hard, "0.5 to 1.5; sums of v wholly in half lose accuracy and fail",
        positive},
       {"spread", Check::hard, "scores around +-500 to 1000; a narrow sum of products shows",
        spread},
       {"outliers", Check::hard, "one in 64 of v a thousand times larger", outliers},
       {"masked", Check::zero_mean,
        "masks of -inf in places and of whole queries; queries with NaN", masked}},
      reference,
      // A block has 16 to 256 keys by the columns of v. Tiles are 1, 2, 4 or 6 queries high; of
      // one query they may be parts of its keys. Cases are no larger than that asks for:
      // attention_plain computes all scores twice for each column.
      {
          // Extents of 1, and few products.
          "heads=1 nq=1 nk=1 d=1",
          "heads=2 nq=2 nk=3 d=8 dv=3",
          "heads=2 nq=3 nk=2 d=5 mask=bhqk",
          // Around a tile, a group and a block.
          "heads=2 nq=5 nk=17 d=4 mask=qk",
          "heads=1 nq=16 nk=64 d=64",
          "heads=2 nq=17 nk=65 d=64",
          "heads=2 nq=31 nk=63 d=64 mask=qk",
          "batch=2 heads=1 nq=6 nk=130 d=64 mask=bqk",
          // Head sizes: other than 64, odd, and v's other than q's.
          "heads=2 nq=21 nk=75 d=80",
          "heads=1 nq=6 nk=150 d=128",
          "heads=2 nq=13 nk=29 d=40 dv=37 mask=bhqk",
          "heads=1 nq=9 nk=70 d={8 dv=300,100 dv=20}",
          // Batches, masks, fewer heads of k and v, swap, causal.
          "batch=2 heads=3 nq=22 nk=24 d=16 mask=bhqk",
          "batch=2 heads=6 nq=10 nk=34 d=16 kv_heads=2",
          "batch=3 heads=4 nq=6 nk=21 d=6 kv_heads=2 mask=bqk swap",
          "heads=2 nq=70 nk=70 d=16 causal=1",
          "heads=2 nq=40 nk=9 d=16 causal=1 mask=qk",
          "heads=2 nq=9 nk=40 d=16 causal=1 scale=-0.5",
          // Heads in place: rows of a packed projection, and of the output that joins them.
          "batch=2 heads=2 nq=18 nk=20 d=16 ldq=96 headq=16 ldk=96 headk=16 offk=32 ldv=96 "
          "headv=16 offv=64 ldo=32 heado=16 swap",
          "batch=2 heads=3 nq=7 nk=9 d=6 ldq=23 headq=7 strideq=200 offq=3 ldv=7 ldo=19 "
          "heado=6 offo=1",
          // What models run.
          "heads=4 nq=192 nk=192 d=64",
          "heads=1 nq={37 nk=187,9 nk=512} d=64",
          "heads=8 nq=1 nk=300 d=64 kv_heads=2",
          // Sums in half.
          "heads=2 nq=5 nk=6 d=4 acc=chunk",
          "heads=1 nq=18 nk=65 d=64 acc=chunk mask=qk",
          "heads=1 nq=70 nk=70 d=40 acc=chunk causal=1",
          "heads=2 nq=13 nk=29 d=40 dv=37 acc=chunk",
          "batch=2 heads=2 nq=6 nk=40 d=36 acc=chunk swap",
          "heads=1 nq=20 nk=192 d=64 acc=chunk",
      },
      {"heads=1 nq=1 nk=1 d=1", "heads=2 nq=5 nk=18 d=4 mask=qk",
       "heads=2 nq=6 nk=7 d=5 dv=6 causal=1",
       "batch=2 heads=2 nq=3 nk=35 d=8 kv_heads=1 mask=bhqk scale=0.5",
       "heads=2 nq=18 nk=20 d=8 ldq=48 headq=8 ldk=48 headk=8 offk=16 ldv=48 headv=8 "
       "offv=32 ldo=16 heado=8",
       "heads=1 nq=2 nk=9 d=4 dv=36", "batch=2 heads=2 nq=5 nk=17 d=8 mask=bqk swap",
       "heads=2 nq=5 nk=37 d=36 acc=chunk", "heads=2 nq=1 nk=70 d=8"}};
}

}  // namespace clam::attention
