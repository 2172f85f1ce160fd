// SPDX-License-Identifier: MIT
// attention_cases.cpp - the data sets and cases of attention, for tests and benches.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "ops/attention.hpp"
#include "shared/random.hpp"

namespace clam {

Reference attention_reference(const Problem&, const Tensors& inputs, const ReferenceOptions&);

namespace {

/// What q is multiplied by, so that scores are as with the usual scale.
double usual(const AttentionExtents& at) {
  constexpr double kMost = 16;
  const double scale = static_cast<double>(at.scale);
  const double usual = 1 / std::sqrt(static_cast<double>(at.d));
  return scale == 0 ? 1 : std::clamp(usual / scale, -kMost, kMost);
}

/// Fills q, k and v by their functions of (random, row, column), a row being any head's, and a mask
/// by mask(random).
template <typename Q, typename K, typename V, typename Mask>
void fill(std::uint64_t seed, Tensors& inputs, const Q& q, const K& k, const V& v,
          const Mask& mask) {
  Random random(seed);
  const auto fill_rows = [&](const char* name, const auto& number) {
    HostTensor& tensor = inputs.at(name);
    const std::int64_t columns = tensor.shape().back();
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      tensor.set(i, number(random, i / columns, i % columns));
    }
  };
  fill_rows("q", q);
  fill_rows("k", k);
  fill_rows("v", v);
  if (!inputs.count("mask")) return;
  HostTensor& added = inputs.at("mask");
  for (std::int64_t i = 0; i < added.size(); ++i) added.set(i, mask(random));
}

double normal(Random& random) { return random.normal(); }
double any_normal(Random& random, std::int64_t, std::int64_t) { return random.normal(); }

void zero_mean(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const double factor = usual(AttentionExtents(problem));
  fill(
      seed, inputs,
      [=](Random& random, std::int64_t, std::int64_t) { return factor * random.normal(); },
      any_normal, any_normal, normal);
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
  const double root = std::sqrt(static_cast<double>(at.d));
  const double size = std::exp2(std::ceil(std::log2(12 * root))) * (usual(at) < 0 ? -1 : 1);
  fill(
      seed, inputs,
      [&](Random&, std::int64_t row, std::int64_t column) {
        const std::int64_t head = at.kv_head(row / at.nq), i = row % at.nq;
        return size * code(head * at.nk + (at.nk - 1 - i % at.nk), column);
      },
      [&](Random&, std::int64_t row, std::int64_t column) { return code(row, column); },
      [](Random& random, std::int64_t, std::int64_t) {
        return random.integer(1, 8) * (2 * random.integer(0, 1) - 1);
      },
      [](Random& random) { return random.integer(-1, 1); });
}

void positive(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const double factor = usual(AttentionExtents(problem));
  const auto number = [](Random& random, std::int64_t, std::int64_t) {
    return 0.5 + random.uniform();
  };
  fill(
      seed, inputs,
      [=](Random& random, std::int64_t, std::int64_t) { return factor * (0.5 + random.uniform()); },
      number, number, [](Random& random) { return random.uniform(); });
}

/// Scores around a number between 500 and 1000, in every row another one and in odd rows negative;
/// sums in half would lose what tells keys apart. Where chunks are summed in half, so would theirs:
/// there they lie around 4, and v is positive, lest the error that chunks may have hides it.
void spread(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const AttentionExtents at(problem);
  const double factor = usual(at), d = static_cast<double>(at.d), root = std::sqrt(d);
  const bool in_float = accumulator(problem) == Acc::f32;
  const double middle = in_float ? 1000 : 4;
  fill(
      seed, inputs,
      [=](Random& random, std::int64_t row, std::int64_t) {
        Random of_row(seed ^ static_cast<std::uint64_t>(row + 1) << 20);
        const double x = (row % 2 == 0 ? middle : -middle) * (1 - of_row.uniform() / 2);
        return factor * (x / root + 0.02 * random.normal());
      },
      [=](Random& random, std::int64_t, std::int64_t) { return 1 + 0.002 * random.normal(); },
      [=](Random& random, std::int64_t, std::int64_t) {
        return in_float ? random.normal() : 0.5 + random.uniform();
      },
      normal);
}

/// One number in 64 of v is a thousand times larger, at most 16 or so in a sum; for sums in half,
/// all of v is positive, lest what outliers leave of each other hides in their worst case.
void outliers(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const AttentionExtents at(problem);
  const double factor = usual(at);
  const bool half = accumulator(problem) != Acc::f32;
  const auto one_in = static_cast<int>(std::max<std::int64_t>(64, at.nk / 16));
  fill(
      seed, inputs,
      [=](Random& random, std::int64_t, std::int64_t) { return factor * random.normal(); },
      any_normal,
      [=](Random& random, std::int64_t, std::int64_t) {
        const double size = random.integer(0, one_in - 1) == 0 ? 1000 : 1;
        const double number = random.normal();
        return size * (half ? std::fabs(number) : number);
      },
      normal);
}

/// Of eight queries one has a NaN; and where there is a mask, it has -inf in places, and for one
/// query in eight nothing else.
void masked(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
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

std::vector<DataSet> data_sets() {
  return {
      {"zero_mean", Check::zero_mean, "N(0,1); an all-zero or constant output fails", zero_mean},
      {"exact", Check::exact,
       "exact scores that pick a key each; a wrong key, and one left out, shows", exact},
      {"positive", Check::hard, "0.5 to 1.5; sums of v wholly in half lose accuracy and fail",
       positive},
      {"spread", Check::hard, "scores around +-500 to 1000; a narrow sum of products shows",
       spread},
      {"outliers", Check::hard, "one in 64 of v a thousand times larger", outliers},
      {"masked", Check::zero_mean, "masks of -inf in places and of whole queries; queries with NaN",
       masked},
  };
}

/// A group has 1 to 16 queries, a block 16 to 256 keys by the columns of v; tiles are 1, 2 or 4
/// queries high. Cases are no larger than that asks for: attention_plain computes all scores twice
/// for each column.
std::vector<std::string> cases() {
  return {
      // Extents of 1, and few products.
      "attention heads=1 nq=1 nk=1 d=1",
      "attention heads=2 nq=2 nk=3 d=8 dv=3",
      "attention heads=2 nq=3 nk=2 d=5 mask=bhqk",
      // Around a tile, a group and a block.
      "attention heads=2 nq=5 nk=17 d=4 mask=qk",
      "attention heads=1 nq=16 nk=64 d=64",
      "attention heads=2 nq=17 nk=65 d=64",
      "attention heads=2 nq=31 nk=63 d=64 mask=qk",
      "attention batch=2 heads=1 nq=6 nk=130 d=64 mask=bqk",
      // Head sizes: other than 64, odd, and v's other than q's.
      "attention heads=2 nq=21 nk=75 d=80",
      "attention heads=1 nq=6 nk=150 d=128",
      "attention heads=2 nq=13 nk=29 d=40 dv=37 mask=bhqk",
      "attention heads=1 nq=9 nk=70 d=8 dv=300",
      "attention heads=1 nq=9 nk=70 d=100 dv=20",
      // Batches, masks, fewer heads of k and v, swap, causal.
      "attention batch=2 heads=3 nq=22 nk=24 d=16 mask=bhqk",
      "attention batch=2 heads=6 nq=10 nk=34 d=16 kv_heads=2",
      "attention batch=3 heads=4 nq=6 nk=21 d=6 kv_heads=2 mask=bqk swap",
      "attention heads=2 nq=70 nk=70 d=16 causal=1",
      "attention heads=2 nq=40 nk=9 d=16 causal=1 mask=qk",
      "attention heads=2 nq=9 nk=40 d=16 causal=1 scale=-0.5",
      // Heads in place: rows of a packed projection, and of the output that joins them.
      "attention batch=2 heads=2 nq=18 nk=20 d=16 ldq=96 headq=16 ldk=96 headk=16 offk=32 ldv=96 "
      "headv=16 offv=64 ldo=32 heado=16 swap",
      "attention batch=2 heads=3 nq=7 nk=9 d=6 ldq=23 headq=7 strideq=200 offq=3 ldv=7 ldo=19 "
      "heado=6 offo=1",
      // What models run.
      "attention heads=4 nq=192 nk=192 d=64",
      "attention heads=1 nq=37 nk=187 d=64",
      "attention heads=1 nq=9 nk=512 d=64",
      "attention heads=8 nq=1 nk=300 d=64 kv_heads=2",
      // Sums in half.
      "attention heads=2 nq=5 nk=6 d=4 acc=chunk",
      "attention heads=1 nq=18 nk=65 d=64 acc=chunk mask=qk",
      "attention heads=1 nq=70 nk=70 d=40 acc=chunk causal=1",
      "attention heads=2 nq=13 nk=29 d=40 dv=37 acc=chunk",
      "attention batch=2 heads=2 nq=6 nk=40 d=36 acc=chunk swap",
      "attention heads=1 nq=20 nk=192 d=64 acc=chunk",
  };
}

std::vector<std::string> small_cases() {
  return {
      "attention heads=1 nq=1 nk=1 d=1",
      "attention heads=2 nq=5 nk=18 d=4 mask=qk",
      "attention heads=2 nq=6 nk=7 d=5 dv=6 causal=1",
      "attention batch=2 heads=2 nq=3 nk=35 d=8 kv_heads=1 mask=bhqk scale=0.5",
      "attention heads=2 nq=18 nk=20 d=8 ldq=48 headq=8 ldk=48 headk=8 offk=16 ldv=48 headv=8 "
      "offv=32 ldo=16 heado=8",
      "attention heads=1 nq=2 nk=9 d=4 dv=36",
      "attention batch=2 heads=2 nq=5 nk=17 d=8 mask=bqk swap",
      "attention heads=2 nq=5 nk=37 d=36 acc=chunk",
  };
}

}  // namespace

const OpProof& attention_proof() {
  static const OpProof proof = [] {
    OpProof proof;
    proof.op = "attention";
    proof.data_sets = data_sets();
    proof.reference = attention_reference;
    proof.cases = cases();
    proof.small_cases = small_cases();
    return proof;
  }();
  return proof;
}

}  // namespace clam
