// SPDX-License-Identifier: MIT
// get_valid_counts_proof.cpp - get_valid_counts as its definition reads, bit for bit.
#include "shared/box_sets.hpp"

namespace clam::get_valid_counts {
namespace {

/// Every comparison with a NaN is false.
bool is_valid(const Problem& p, const HostTensor& data, std::int64_t first) {
  const int id_index = p.integer("id_index");
  const double score = data.get(first + p.integer("score_index"));
  return score > p.number("score_threshold") && (id_index < 0 || data.get(first + id_index) >= 0);
}

Reference reference(const Problem& p, const Tensors& inputs, const ReferenceOptions&) {
  const HostTensor& data = inputs.at("data");
  const std::int64_t batch = p.integer("batch"), n = p.integer("n"), e = p.integer("e");
  HostTensor count(Dtype::i32, {batch}), out(p.dtype(), {batch, n, e});
  HostTensor indices(Dtype::i32, {batch, n});
  parallel_for(batch, [&](std::int64_t b) {
    std::int64_t place = 0;
    for (std::int64_t row = 0; row < n; ++row) {
      const std::int64_t from = (b * n + row) * e, to = (b * n + place) * e;
      if (!is_valid(p, data, from)) continue;
      for (std::int64_t i = 0; i < e; ++i) out.set_bits(to + i, data.bits(from + i));
      indices.set(b * n + place, row);
      ++place;
    }
    count.set(b, place);
    for (std::int64_t i = place * e; i < n * e; ++i) out.set(b * n * e + i, -1);
    for (std::int64_t i = place; i < n; ++i) indices.set(b * n + i, -1);
  });
  return {{"count", {count}}, {"out", {out}}, {"indices", {indices}}};
}

// ---- data sets and cases ----

/// Boxes of a detector, of which those with valid(random, batch item, row) are valid. Of the others
/// half have no class, where there are classes, and half too low a score.
template <typename Valid>
DataSet::Fill fill(const Valid& valid) {
  return [valid](const Problem& p, std::uint64_t seed, Tensors& inputs) {
    Random random(seed);
    HostTensor& data = inputs.at("data");
    const int n = p.integer("n"), e = p.integer("e"), id_index = p.integer("id_index");
    const double threshold = p.number("score_threshold");
    const double step = std::max(1.0, std::fabs(threshold));
    for (int row = 0; row < p.integer("batch") * n; ++row) {
      const bool is_valid = valid(random, row / n, row % n);
      const bool no_class = !is_valid && id_index >= 0 && random.integer(0, 1) == 0;
      const double score = random.uniform(), id = random.integer(0, 19);
      for (int i = 0; i < e; ++i) {
        double value = 300 * random.normal();  // a coordinate
        if (i == id_index) value = no_class ? -1 : id;
        if (i == p.integer("score_index")) {
          value =
              is_valid || no_class ? threshold + step * (0.1 + score) : threshold - step * score;
        }
        data.set(std::int64_t{row} * e + i, value);
      }
    }
  };
}

/// Exactly `count` rows of each batch item (or all of them), evenly spread from a random start.
DataSet::Fill spread(std::int64_t count) {
  return [count](const Problem& p, std::uint64_t seed, Tensors& inputs) {
    const std::int64_t n = p.integer("n"), kept = std::min(count, n);
    const auto shift =
        static_cast<std::int64_t>(Random(seed).bits() % static_cast<std::uint64_t>(n));
    const auto valid = [=](Random&, int item, int row) {
      const std::int64_t at = (row + shift + item) % n;
      return (at + 1) * kept / n > at * kept / n;
    };
    fill(valid)(p, seed, inputs);
  };
}

/// Every element is special, or the threshold, or its neighbour.
void special(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  Random random(seed);
  HostTensor& data = inputs.at("data");
  std::vector<std::uint32_t> bits = box_sets::special_bits(p.dtype());
  data.set(0, p.number("score_threshold"));
  for (const int neighbour : {0, 1, -1}) bits.push_back(data.bits(0) + neighbour);
  for (std::int64_t i = 0; i < data.size(); ++i) {
    data.set_bits(i, bits[random.bits() % bits.size()]);
  }
}

}  // namespace

OpProof proof() {
  return {
      "get_valid_counts",
      // All are compared bit for bit.
      {
          {"mixed", Check::exact, "30 % of the rows are valid; 60 and 90 in further batch items",
           fill(valid_rows::mixed)},
          {"none", Check::exact, "no row is valid: everything is filled", fill(valid_rows::none)},
          {"every", Check::exact, "every row is valid: nothing is filled", fill(valid_rows::every)},
          {"one", Check::exact, "one row is valid", spread(1)},
          {"few", Check::exact, "400 rows are valid, as after a detector's threshold", spread(400)},
          {"special", Check::exact,
           "NaN with payload, infinities, -0, denormals, the threshold itself", special},
      },
      reference,
      // One below, at and above every boundary: a word of 32 rows, the 64 to 1024 rows of a
      // work-group, the 2048 rows of the one-launch variant.
      {"n=122640 score_threshold=0.01", "batch=3 n=1000", "batch=5 n=3 score_threshold=-1",
       "batch=2 n=2311 e=8 score_threshold=0.5", "n=300 score_threshold={inf,-inf}",
       "n=517 e=5 score_index=0 id_index=-1", "n=517 e=5", "n=517 e=7 id_index=6 score_index=2",
       "n=517 id_index=-1", "n=517 id_index=1 score_index=0", "n=1 e=5",
       "n={1,2,7,31,32,33,63,64,65,127,128,129,255,256,257,511,512,513,1023,1024,1025,2047,2048,"
       "2049}"},
      {"n=1", "batch=2 n=513", "n=257 e=5 id_index=-1 score_index=0"}};
}

}  // namespace clam::get_valid_counts
