// SPDX-License-Identifier: MIT
// unary_cases.cpp - the data sets and cases of unary, for tests and benches.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "ops/unary.hpp"
#include "shared/random.hpp"

namespace clam {

Reference unary_reference(const Problem&, const Tensors& inputs, const ReferenceOptions&);

namespace {

/// Fills src so that scale * src + shift is z(random).
template <typename Z>
void fill(const Problem& problem, std::uint64_t seed, Tensors& inputs, const Z& z) {
  const auto scale = static_cast<double>(problem.number("scale"));
  const auto shift = static_cast<double>(problem.number("shift"));
  Random random(seed);
  HostTensor& src = inputs.at("src");
  for (std::int64_t i = 0; i < src.size(); ++i) {
    const double argument = z(random);
    src.set(i, scale == 0 ? argument : (argument - shift) / scale);
  }
}

void middle(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const UnaryRange& range = unary_range(problem);
  fill(problem, seed, inputs,
       [&](Random& random) { return range.low + (range.high - range.low) * random.uniform(); });
}

void wide(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const UnaryRange& range = unary_range(problem);
  const bool half = problem.dtype() == Dtype::f16;
  const int from = half ? std::max(range.from, -13) : range.from;
  const int to = half ? std::min(range.to, 15) : range.to;
  fill(problem, seed, inputs, [&](Random& random) {
    const double size = std::exp2(from + (to - from) * random.uniform());
    return range.negative && random.integer(0, 1) == 0 ? -size : size;
  });
}

/// One in four is not finite, a zero, a denormal number, outside of many functions' domains, or as
/// large as may be; of sin and cos, whose results are then chance if scale or shift round, less.
/// Not of a few numbers, whose results could all be zero.
void special(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  constexpr std::int64_t kFewest = 16;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const bool half = problem.dtype() == Dtype::f16;
  const double tiny = half ? 0x1p-24 : is_affine(problem) ? 0x1p-100 : 0x1p-140;
  const bool periodic = problem.choice("op") == "sin" || problem.choice("op") == "cos";
  const double most = periodic ? 1000 : half ? 65504 : 0x1.fffffep+127;
  const double values[] = {kNan, kInfinity, -kInfinity, 0, -0.0, tiny, -tiny, most, -most, -1};
  middle(problem, seed, inputs);
  Random random(seed + 1);
  HostTensor& src = inputs.at("src");
  for (std::int64_t i = 0; src.size() >= kFewest && i < src.size(); ++i) {
    if (random.integer(0, 3) == 0) src.set(i, values[random.integer(0, 9)]);
  }
}

std::vector<DataSet> data_sets() {
  return {
      {"middle", Check::hard, "arguments where the function does what it is for", middle},
      {"wide", Check::hard, "arguments of all sizes", wide},
      {"special", Check::hard,
       "NaN, infinities, zeros, denormals and the largest numbers among them", special},
  };
}

/// An item has 4 elements, a group 16 to 256 items.
std::vector<std::string> cases() {
  std::vector<std::string> cases{
      "unary op=exp shape=1",
      "unary op=exp shape=2",
      "unary op=exp shape=3",
      "unary op=exp shape=5x3",
      "unary op=exp shape=255",
      "unary op=exp shape=256",
      "unary op=exp shape=257",
      "unary op=exp shape=2x3x4x5x6",
      "unary op=exp shape=1x4x31x31 scale=0.1 shift=1",
      "unary op=relu shape=10007 scale=-2",
      "unary op=rsqrt shape=1600 scale=-1.7",
      "unary op=exp shape=1001 scale=0 shift=-1.5",
  };
  for (const UnaryRange& range : unary_ranges()) {
    const std::string op = std::string("unary op=") + range.op;
    cases.push_back(op + " shape=4099");
    cases.push_back(op + " shape=1000 scale=0.7 shift=0.3");
  }
  return cases;
}

std::vector<std::string> small_cases() {
  return {"unary op=exp shape=1", "unary op=erf shape=7x37 scale=0.5 shift=-1",
          "unary op=gelu shape=5x52"};
}

}  // namespace

const OpProof& unary_proof() {
  static const OpProof proof = [] {
    OpProof proof;
    proof.op = "unary";
    proof.data_sets = data_sets();
    proof.reference = unary_reference;
    proof.cases = cases();
    proof.small_cases = small_cases();
    return proof;
  }();
  return proof;
}

}  // namespace clam
