// SPDX-License-Identifier: MIT
// get_valid_counts_cases.cpp - the data sets and cases of get_valid_counts, for tests and benches.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "shared/random.hpp"

namespace clam {

Reference get_valid_counts_reference(const Problem&, const Tensors& inputs,
                                     const ReferenceOptions&);

namespace {

/// Boxes of a detector, of which those with valid(random, batch item, row) are valid. Of the others
/// half have no class, where there are classes, and half too low a score.
template <typename Valid>
void fill(const Problem& p, std::uint64_t seed, Tensors& inputs, const Valid& valid) {
  Random random(seed);
  HostTensor& data = inputs.at("data");
  const int n = p.integer("n"), e = p.integer("e"), id_index = p.integer("id_index");
  const double threshold = static_cast<double>(p.number("score_threshold"));
  const double step = std::max(1.0, std::fabs(threshold));
  for (int row = 0; row < p.integer("batch") * n; ++row) {
    const bool is_valid = valid(random, row / n, row % n);
    const bool no_class = !is_valid && id_index >= 0 && random.integer(0, 1) == 0;
    const double score = random.uniform(), id = random.integer(0, 19);
    for (int i = 0; i < e; ++i) {
      double value = 300 * random.normal();  // a coordinate
      if (i == id_index) value = no_class ? -1 : id;
      if (i == p.integer("score_index")) {
        value = is_valid || no_class ? threshold + step * (0.1 + score) : threshold - step * score;
      }
      data.set(static_cast<std::int64_t>(row) * e + i, value);
    }
  }
}

/// The share grows from one batch item to the next, so that their counts differ.
void mixed(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  fill(p, seed, inputs,
       [](Random& random, int item, int) { return random.uniform() < 0.3 * (1 + item % 3); });
}

void none(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  fill(p, seed, inputs, [](Random&, int, int) { return false; });
}

void all(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  fill(p, seed, inputs, [](Random&, int, int) { return true; });
}

/// Exactly `count` rows of each batch item (or all of them), evenly spread from a random start.
void spread(const Problem& p, std::uint64_t seed, Tensors& inputs, std::int64_t count) {
  const std::int64_t n = p.integer("n"), kept = std::min(count, n);
  const auto shift = static_cast<std::int64_t>(Random(seed).bits() % static_cast<std::uint64_t>(n));
  fill(p, seed, inputs, [=](Random&, int item, int row) {
    const std::int64_t at = (row + shift + item) % n;
    return (at + 1) * kept / n > at * kept / n;
  });
}

void one(const Problem& p, std::uint64_t seed, Tensors& inputs) { spread(p, seed, inputs, 1); }

void few(const Problem& p, std::uint64_t seed, Tensors& inputs) { spread(p, seed, inputs, 400); }

/// Bits that a careless comparison or copy gets wrong: NaNs with payloads (quiet, signalling,
/// negative), infinities, zeros, denormals, the largest numbers.
std::vector<std::uint32_t> special_bits(Dtype dtype) {
  if (dtype == Dtype::f16) {
    return {0x7E23, 0x7C01, 0xFE07, 0x7C00, 0xFC00, 0x0000, 0x8000,
            0x0001, 0x8001, 0x03FF, 0x7BFF, 0xFBFF, 0x3C00};
  }
  return {0x7FC00123, 0x7F800001, 0xFFC00007, 0x7F800000, 0xFF800000, 0x00000000, 0x80000000,
          0x00000001, 0x80000001, 0x007FFFFF, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F800000};
}

/// Every element is special, or the threshold, or its neighbour.
void special(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  Random random(seed);
  HostTensor& data = inputs.at("data");
  std::vector<std::uint32_t> bits = special_bits(p.dtype());
  data.set(0, static_cast<double>(p.number("score_threshold")));
  for (const int neighbour : {0, 1, -1}) bits.push_back(data.bits(0) + neighbour);
  for (std::int64_t i = 0; i < data.size(); ++i) {
    data.set_bits(i, bits[static_cast<std::size_t>(random.bits() % bits.size())]);
  }
}

/// All are compared bit for bit.
std::vector<DataSet> data_sets() {
  return {
      {"mixed", Check::exact, "30 % of the rows are valid; 60 and 90 in further batch items",
       mixed},
      {"none", Check::exact, "no row is valid: everything is filled", none},
      {"every", Check::exact, "every row is valid: nothing is filled", all},
      {"one", Check::exact, "one row is valid", one},
      {"few", Check::exact, "400 rows are valid, as after a detector's threshold", few},
      {"special", Check::exact, "NaN with payload, infinities, -0, denormals, the threshold itself",
       special},
  };
}

/// One below, at and above every boundary: a word of 32 rows, the 64 to 1024 rows of a work-group,
/// the 2048 rows of the one-launch variant.
std::vector<std::string> cases() {
  const auto with = [](const std::string& words) { return "get_valid_counts " + words; };
  std::vector<std::string> cases = {
      with("n=122640 score_threshold=0.01"),       with("batch=3 n=1000"),
      with("batch=5 n=3 score_threshold=-1"),      with("batch=2 n=2311 e=8 score_threshold=0.5"),
      with("n=300 score_threshold=inf"),           with("n=300 score_threshold=-inf"),
      with("n=517 e=5 score_index=0 id_index=-1"), with("n=517 e=5"),
      with("n=517 e=7 id_index=6 score_index=2"),  with("n=517 id_index=-1"),
      with("n=517 id_index=1 score_index=0"),      with("n=1 e=5")};
  for (const int n : {1,   2,   7,   31,  32,  33,  63,   64,   65,   127,  128,  129,
                      255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 2047, 2048, 2049}) {
    cases.push_back(with("n=" + std::to_string(n)));
  }
  return cases;
}

std::vector<std::string> small_cases() {
  return {"get_valid_counts n=1", "get_valid_counts batch=2 n=513",
          "get_valid_counts n=257 e=5 id_index=-1 score_index=0"};
}

}  // namespace

const OpProof& get_valid_counts_proof() {
  static const OpProof proof = [] {
    OpProof proof;
    proof.op = "get_valid_counts";
    proof.data_sets = data_sets();
    proof.reference = get_valid_counts_reference;
    proof.cases = cases();
    proof.small_cases = small_cases();
    return proof;
  }();
  return proof;
}

}  // namespace clam
