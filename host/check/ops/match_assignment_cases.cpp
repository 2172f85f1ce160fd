// SPDX-License-Identifier: MIT
// match_assignment_cases.cpp - the data sets and cases of match_assignment, for tests and benches.
#include <algorithm>
#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "shared/random.hpp"

namespace clam {

Reference match_assignment_reference(const Problem&, const Tensors& inputs,
                                     const ReferenceOptions&);

namespace {

/// sim[i][j] is element(random, i, j), a certainty z(random, its number).
template <typename Element, typename Certainty>
void fill(std::uint64_t seed, Tensors& inputs, const Element& element, const Certainty& z) {
  Random random(seed);
  HostTensor& sim = inputs.at("sim");
  const std::int64_t n = sim.shape()[1];
  for (std::int64_t at = 0; at < sim.size(); ++at) sim.set(at, element(random, at / n, at % n));
  for (const char* name : {"z0", "z1"}) {
    HostTensor& tensor = inputs.at(name);
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, z(random, i));
  }
}

double normal(Random& random, std::int64_t) { return random.normal(); }

void zero_mean(const Problem&, std::uint64_t seed, Tensors& inputs) {
  fill(
      seed, inputs, [](Random& random, std::int64_t, std::int64_t) { return random.normal(); },
      normal);
}

/// Three rows of four have a column that stands out, each its own; the last row and the last column
/// are among them. Certainties differ, so that matches end on both sides of the threshold.
void matched(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  constexpr double kPeak = 12, kCertain = 2;
  const std::int64_t m = problem.integer("m"), n = problem.integer("n");
  fill(
      seed, inputs,
      [=](Random& random, std::int64_t i, std::int64_t j) {
        const bool peak = m - 1 - i == n - 1 - j && (m - i) % 4 != 0;
        return random.normal() + (peak ? kPeak : 0);
      },
      [=](Random& random, std::int64_t) { return kCertain * random.normal() + 1; });
}

/// As zero_mean, around 1000.
void spread(const Problem&, std::uint64_t seed, Tensors& inputs) {
  constexpr double kMiddle = 1000, kDeviation = 3;
  fill(
      seed, inputs,
      [=](Random& random, std::int64_t, std::int64_t) {
        return kMiddle + kDeviation * random.normal();
      },
      normal);
}

/// Rows 2i and 2i + 1 are equal, and so are columns, bit for bit: the lower is the match. Of the
/// pairs that stand out in a row, those of lower indices do so by more, whatever rounding does.
void ties(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  constexpr double kPeak = 8, kLess = 0.5, kCertain = 2;
  const std::int64_t pairs = (std::min(problem.integer("m"), problem.integer("n")) + 1) / 2;
  fill(
      seed, inputs,
      [=](Random&, std::int64_t i, std::int64_t j) {
        const std::int64_t row = i / 2, column = j / 2;
        if (row % pairs != column % pairs) return 0.0;
        return kPeak - kLess * static_cast<double>(row / pairs + column / pairs);
      },
      [=](Random&, std::int64_t) { return kCertain; });
}

/// Rows and columns repeat after 16, the most lanes of a line: equal ones are a lane's own, one
/// after the other.
void echoes(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  constexpr double kPeak = 8, kCertain = 2;
  const std::int64_t period =
      std::min<std::int64_t>({problem.integer("m"), problem.integer("n"), 16});
  fill(
      seed, inputs,
      [=](Random&, std::int64_t i, std::int64_t j) {
        return i % period == j % period ? kPeak : 0.0;
      },
      [=](Random&, std::int64_t) { return kCertain; });
}

std::vector<DataSet> data_sets() {
  return {
      {"zero_mean", Check::hard, "sim of N(0,1): few stand out, nearly all are under 0.1",
       zero_mean},
      {"matched", Check::hard, "most rows have a match, on both sides of the threshold", matched},
      {"spread", Check::hard, "sim around 1000: an error that grows with the maximum shows",
       spread},
      {"ties", Check::exact, "rows and columns in equal pairs: the lower index is right alone",
       ties},
      {"echoes", Check::exact, "rows and columns repeat after 16: the first is right alone",
       echoes}};
}

/// Groups have 4 to 16 items along either extent, and lanes take four elements at a time.
std::vector<std::string> cases() {
  return {
      // Around lanes and groups.
      "match_assignment m=1 n=1",
      "match_assignment m=1 n=7",
      "match_assignment m=7 n=1",
      "match_assignment m=3 n=4",
      "match_assignment m=15 n=16",
      "match_assignment m=17 n=15",
      "match_assignment m=16 n=17",
      "match_assignment m=33 n=63",
      "match_assignment m=64 n=65",
      "match_assignment m=257 n=31",
      "match_assignment m=5 n=513",
      // What models run.
      "match_assignment m=192 n=192",
      "match_assignment m=187 n=192",
      "match_assignment m=512 n=512",
      // The threshold.
      "match_assignment m=20 n=30 threshold=0",
      "match_assignment m=20 n=30 threshold=0.7",
  };
}

std::vector<std::string> small_cases() {
  return {"match_assignment m=1 n=1", "match_assignment m=9 n=20", "match_assignment m=33 n=5"};
}

}  // namespace

const OpProof& match_assignment_proof() {
  static const OpProof proof = [] {
    OpProof proof;
    proof.op = "match_assignment";
    proof.data_sets = data_sets();
    proof.reference = match_assignment_reference;
    proof.cases = cases();
    proof.small_cases = small_cases();
    return proof;
  }();
  return proof;
}

}  // namespace clam
