// SPDX-License-Identifier: MIT
// layer_norm_cases.cpp - the data sets and cases of layer_norm, for tests and benches.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "shared/random.hpp"

namespace clam {

Reference layer_norm_reference(const Problem&, const Tensors& inputs, const ReferenceOptions&);

namespace {

/// Fills src by x(random, row, i), gamma and beta by numbers of both signs that are not near 0.
template <typename X>
void fill(const Problem& problem, std::uint64_t seed, Tensors& inputs, const X& x) {
  const int n = problem.integer("n");
  Random random(seed);
  HostTensor& src = inputs.at("src");
  for (std::int64_t at = 0; at < src.size(); ++at) src.set(at, x(random, at / n, at % n));
  for (const char* name : {"gamma", "beta"}) {
    HostTensor& tensor = inputs.at(name);
    for (std::int64_t i = 0; i < n; ++i) {
      tensor.set(i, (random.integer(0, 1) == 0 ? 1 : -1) * (0.25 + random.uniform()));
    }
  }
}

void zero_mean(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  fill(problem, seed, inputs,
       [](Random& random, std::int64_t, std::int64_t) { return random.normal(); });
}

void offset(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  fill(problem, seed, inputs, [](Random& random, std::int64_t row, std::int64_t) {
    return (row % 2 == 0 ? 100 : -100) + random.normal();
  });
}

void outliers(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  // Of a row of one element nothing but its rounding would be left.
  const double large = problem.integer("n") == 1 ? 1 : 1000;
  fill(problem, seed, inputs, [large](Random& random, std::int64_t, std::int64_t) {
    return (random.integer(0, 63) == 0 ? large : 1) * random.normal();
  });
}

/// The last element of a row is as large as the root of all others' squares.
void peaked(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const int n = problem.integer("n");
  fill(problem, seed, inputs, [n](Random& random, std::int64_t row, std::int64_t i) {
    const double peak = (row % 2 == 0 ? 1 : -1) * std::sqrt(static_cast<double>(n));
    return i == n - 1 ? peak : random.normal();
  });
}

void flat(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  fill(problem, seed, inputs, [seed](Random& random, std::int64_t row, std::int64_t) {
    Random of_row(seed ^ static_cast<std::uint64_t>(row + 1) << 20);
    const double number = of_row.uniform() / 4;
    return row % 3 == 2 ? number + random.normal() / 1024 : number;
  });
}

/// Of four rows one holds a NaN, one +inf, one -inf.
void not_finite(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const int n = problem.integer("n");
  fill(problem, seed, inputs, [n](Random& random, std::int64_t row, std::int64_t i) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double x = random.normal();
    if (i != row * 31 % n) return x;
    if (row % 4 == 1) return std::numeric_limits<double>::quiet_NaN();
    return row % 4 == 2 ? kInfinity : row % 4 == 3 ? -kInfinity : x;
  });
}

std::vector<DataSet> data_sets() {
  return {
      {"zero_mean", Check::hard, "N(0,1); an all-zero or constant output fails", zero_mean},
      {"offset", Check::hard,
       "rows around +-100 with deviation 1; a variance of the squares less the square fails",
       offset},
      {"outliers", Check::hard, "N(0,1) with one in 64 a thousand times larger", outliers},
      {"peaked", Check::hard, "the last element weighs as much as all others together", peaked},
      {"flat", Check::hard, "rows of one number, and of nearly one: eps shows", flat},
      {"not_finite", Check::hard, "rows with NaN, +inf or -inf", not_finite},
  };
}

/// A lane holds up to 4 vectors or 16 elements; 4 to 64 lanes share a row; a group has 64 items.
std::vector<std::string> cases() {
  return {
      // Around what 4 lanes hold ...
      "layer_norm rows=1 n=1",
      "layer_norm rows=5 n=3",
      "layer_norm rows=17 n=4",
      "layer_norm rows=33 n=21",
      "layer_norm rows=16 n=63",
      "layer_norm rows=15 n=64",
      "layer_norm rows=1 n=65",
      // ... 16, 32 and 64 lanes, and a last unit that some lanes do not have.
      "layer_norm rows=5 n=192",
      "layer_norm rows=4 n=196",
      "layer_norm rows=3 n=255",
      "layer_norm rows=5 n=256",
      "layer_norm rows=3 n=257",
      "layer_norm rows=3 n=1021",
      "layer_norm rows=3 n=1024",
      // Rows that are too long to be held.
      "layer_norm rows=3 n=1025",
      "layer_norm rows=2 n=1028",
      "layer_norm rows=3 n=4999",
      "layer_norm rows=1 n=122640",
      // What models run.
      "layer_norm rows=192 n=512 act=gelu",
      "layer_norm rows=197 n=768",
      // What follows.
      "layer_norm rows=5 n=21 eps=1",
      "layer_norm rows=5 n=192 eps=1e-12",
      "layer_norm rows=7 n=20 act=relu",
      "layer_norm rows=7 n=21 act=relu6",
      "layer_norm rows=7 n=128 act=silu",
      "layer_norm rows=7 n=127 act=gelu",
      "layer_norm rows=7 n=1028 act=gelu",
      "layer_norm rows=7 n=68 act=gelu_tanh",
      "layer_norm rows=7 n=68 act=sigmoid",
      "layer_norm rows=7 n=68 act=tanh",
      "layer_norm rows=7 n=68 act=exp",
  };
}

std::vector<std::string> small_cases() {
  return {"layer_norm rows=1 n=1", "layer_norm rows=17 n=21 eps=0.001",
          "layer_norm rows=17 n=72 act=gelu", "layer_norm rows=2 n=300"};
}

}  // namespace

const OpProof& layer_norm_proof() {
  static const OpProof proof = [] {
    OpProof proof;
    proof.op = "layer_norm";
    proof.data_sets = data_sets();
    proof.reference = layer_norm_reference;
    proof.cases = cases();
    proof.small_cases = small_cases();
    return proof;
  }();
  return proof;
}

}  // namespace clam
