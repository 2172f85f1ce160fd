// SPDX-License-Identifier: MIT
// softmax_cases.cpp - the data sets and cases of softmax, for tests and benches.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "ops/softmax.hpp"
#include "shared/random.hpp"

namespace clam {

Reference softmax_reference(const Problem&, const Tensors& inputs, const ReferenceOptions&);

namespace {

/// Fills src so that scale * src is x(random, row, i), and the mask by mask(random).
template <typename X, typename Mask>
void fill(const Problem& problem, std::uint64_t seed, Tensors& inputs, const X& x,
          const Mask& mask) {
  constexpr double kMost = 16;  // so that a small scale does not take halves to their limit
  const SoftmaxRows rows(problem);
  const double scale = static_cast<double>(problem.number("scale"));
  const double factor = scale == 0 ? 1 : std::clamp(1 / scale, -kMost, kMost);
  Random random(seed);
  HostTensor& src = inputs.at("src");
  for (std::int64_t at = 0; at < src.size(); ++at) {
    const std::int64_t row = at / (rows.n * rows.inner) * rows.inner + at % rows.inner;
    src.set(at, factor * x(random, row, at / rows.inner % rows.n));
  }
  if (rows.mask == 0) return;
  HostTensor& added = inputs.at("mask");
  for (std::int64_t at = 0; at < added.size(); ++at) added.set(at, mask(random));
}

double normal(Random& random) { return random.normal(); }

void zero_mean(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  fill(
      problem, seed, inputs,
      [](Random& random, std::int64_t, std::int64_t) { return random.normal(); }, normal);
}

/// A row lies around a number of its own between 500 and 1000, or between their opposites.
void spread(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const auto middle = [seed](std::int64_t row) {
    Random of_row(seed ^ static_cast<std::uint64_t>(row + 1) << 20);
    return (row % 2 == 0 ? 1000 : -1000) * (1 - of_row.uniform() / 2);
  };
  fill(
      problem, seed, inputs,
      [&](Random& random, std::int64_t row, std::int64_t) {
        return middle(row) + 2 * random.normal();
      },
      normal);
}

/// One element of a row is as large as all others together: the last one in every other row,
/// elsewhere any. Every third row of f32 has it 20 higher still.
void peaked(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const SoftmaxRows rows(problem);
  const bool tiny = problem.dtype() == Dtype::f32 && problem.integer("log") == 0;
  const double peak = std::log(std::max<double>(2, static_cast<double>(rows.n)));
  fill(
      problem, seed, inputs,
      [&](Random& random, std::int64_t row, std::int64_t i) {
        const std::int64_t at = row % 2 == 0 ? rows.n - 1 : row * 7919 % rows.n;
        const double x = 0.1 * random.normal();
        return i == at ? x + peak + (tiny && row % 3 == 1 ? 20 : 0) : x;
      },
      [](Random& random) { return 0.1 * random.normal(); });
}

/// -inf in places, also in the mask; and of eight rows one of nothing but -inf, one with a NaN, one
/// with +inf, one with a single number. Where the scale is 0, src is finite.
void masked(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const SoftmaxRows rows(problem);
  const bool finite = problem.number("scale") == 0;
  fill(
      problem, seed, inputs,
      [&](Random& random, std::int64_t row, std::int64_t i) {
        const double x = random.normal();
        const bool out = random.integer(0, 3) == 0;
        const bool special = i == row * 31 % rows.n;
        if (finite) return x;
        if (row % 8 == 3) return -kInfinity;
        if (row % 8 == 4 && special) return kNan;
        if (row % 8 == 5 && special) return kInfinity;
        if (row % 8 == 6) return special ? x : -kInfinity;
        return out && rows.n > 1 ? -kInfinity : x;
      },
      [&](Random& random) {
        const double x = random.normal();
        return random.integer(0, 7) == 0 && rows.n > 1 ? -kInfinity : x;
      });
}

std::vector<DataSet> data_sets() {
  return {
      {"zero_mean", Check::hard, "x of N(0,1); an all-zero or constant output fails", zero_mean},
      {"spread", Check::hard,
       "rows around +-500 to 1000; an error that grows with the maximum shows", spread},
      {"peaked", Check::hard, "one element of a row weighs as much as all others together", peaked},
      {"masked", Check::hard, "-inf in places, rows of it, rows with NaN or +inf", masked},
  };
}

/// A lane holds up to 4 vectors or 16 elements; 4 to 64 lanes share a row, 4 to 256 a long one. A
/// group has 64 items, across the memory up to 256.
std::vector<std::string> cases() {
  return {
      // Rows in one piece, around what 4 lanes hold ...
      "softmax shape=1x1",
      "softmax shape=5x3",
      "softmax shape=17x4",
      "softmax shape=33x21",
      "softmax shape=16x63",
      "softmax shape=15x64",
      "softmax shape=1x65",
      // ... 16, 32 and 64 lanes, and a last unit that some lanes do not have.
      "softmax shape=5x192",
      "softmax shape=4x196",
      "softmax shape=3x255",
      "softmax shape=3x256",
      "softmax shape=3x257",
      "softmax shape=2x512",
      "softmax shape=3x1024",
      // Rows that are too long to be held.
      "softmax shape=2x1025",
      "softmax shape=2x1028",
      "softmax shape=1x4999",
      // What models run.
      "softmax shape=1x4x192x192",
      "softmax shape=192x192 log=1",
      "softmax shape=192x192 axis=0 log=1",
      "softmax shape=1x6132x21",
      "softmax shape=122640",
      // Every axis, and rows across the memory around what lanes hold and groups are wide.
      "softmax shape=2x3x4x5 axis=0",
      "softmax shape=2x3x4x5 axis=1",
      "softmax shape=2x3x4x5 axis=2",
      "softmax shape=2x3x4x5",
      "softmax shape=64x15 axis=0",
      "softmax shape=3x65x17 axis=1",
      "softmax shape=256x16 axis=0",
      "softmax shape=257x33 axis=0",
      "softmax shape=2x1000x3 axis=1",
      "softmax shape=7x9x1 axis=1",
      "softmax shape=1x2x1x3x1x2x1x5 axis=3",
      // What is exponentiated.
      "softmax shape=5x192 scale=0.125",
      "softmax shape=5x192 scale=-1.7 log=1",
      "softmax shape=3x21 scale=0",
      "softmax shape=4x10x192 mask=10x192",
      "softmax shape=4x10x192 mask=192 scale=0.125",
      "softmax shape=4x10x21 mask=4x10x21 log=1",
      "softmax shape=2x3x1028 mask=3x1028",
      "softmax shape=2x3x64x15 axis=2 mask=3x64x15",
      "softmax shape=2x3x64x15 axis=2 mask=64x15 scale=0.5",
      "softmax shape=2x64x3x5 axis=1 mask=5",
      "softmax shape=2x300x15 axis=1 mask=300x15 log=1",
  };
}

std::vector<std::string> small_cases() {
  return {"softmax shape=1x1",
          "softmax shape=3x21 log=1",
          "softmax shape=17x8 scale=0.5",
          "softmax shape=2x3x20 mask=3x20",
          "softmax shape=1x1100",
          "softmax shape=2x7x5 axis=1 mask=7x5",
          "softmax shape=260x3 axis=0"};
}

}  // namespace

const OpProof& softmax_proof() {
  static const OpProof proof = [] {
    OpProof proof;
    proof.op = "softmax";
    proof.data_sets = data_sets();
    proof.reference = softmax_reference;
    proof.cases = cases();
    proof.small_cases = small_cases();
    return proof;
  }();
  return proof;
}

}  // namespace clam
