// SPDX-License-Identifier: MIT
// binary_cases.cpp - the data sets and cases of binary, for tests and benches.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "ops/binary.hpp"
#include "shared/random.hpp"

namespace clam {

Reference binary_reference(const Problem&, const Tensors& inputs, const ReferenceOptions&);

namespace {

template <typename Number>
void fill(std::uint64_t seed, Tensors& inputs, const Number& number) {
  Random random(seed);
  for (const char* name : {"a", "b"}) {
    HostTensor& tensor = inputs.at(name);
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, number(random));
  }
}

void zero_mean(const Problem&, std::uint64_t seed, Tensors& inputs) {
  fill(seed, inputs, [](Random& random) { return random.normal(); });
}

void wide(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const int most = problem.dtype() == Dtype::f16 ? 7 : 60;  // so that products stay finite
  fill(seed, inputs, [most](Random& random) {
    const double size = std::exp2(most * (2 * random.uniform() - 1));
    return random.integer(0, 1) == 0 ? size : -size;
  });
}

/// One in four is not finite, a zero, a denormal number or as large as may be; not of a few
/// numbers, whose repetition could make all of c zero.
void special(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  constexpr std::int64_t kFewest = 16;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const bool half = problem.dtype() == Dtype::f16;
  const double tiny = half ? 0x1p-24 : 0x1p-140, most = half ? 65504 : 0x1.fffffep+127;
  const double values[] = {kNan, kInfinity, -kInfinity, 0, -0.0, tiny, -tiny, most, -most, 1};
  zero_mean(problem, seed, inputs);
  Random random(seed + 1);
  for (auto& [name, tensor] : inputs) {
    if (tensor.size() < kFewest) continue;
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      if (random.integer(0, 3) == 0) tensor.set(i, values[random.integer(0, 9)]);
    }
  }
}

std::vector<DataSet> data_sets() {
  return {
      {"zero_mean", Check::hard, "N(0,1)", zero_mean},
      {"wide", Check::hard, "numbers of all sizes and both signs", wide},
      {"special", Check::hard,
       "NaN, infinities, zeros, denormals and the largest numbers among them", special},
  };
}

/// An item has 4 elements or 1, a group 16 to 256 items.
std::vector<std::string> cases() {
  std::vector<std::string> cases{
      // The same shape, or one number.
      "binary op=add shape=1",
      "binary op=add shape=3",
      "binary op=add shape=255",
      "binary op=add shape=256",
      "binary op=add shape=257",
      "binary op=mul shape=3x5x7x9",
      "binary op=mul shape=5x7 shape_b=1",
      "binary op=sub shape=1 shape_b=5x8",
      "binary op=div shape=10007 shape_b=1x1",
      // Rows and columns, on either side.
      "binary op=add shape=33x20 shape_b=20",
      "binary op=sub shape=33x21 shape_b=21",
      "binary op=mul shape=33x20 shape_b=33x1",
      "binary op=div shape=21 shape_b=33x21",
      "binary op=sub shape=20 shape_b=33x1",
      "binary op=sub shape=33x1 shape_b=1x21",
      "binary op=max shape=1000x3 shape_b=3",
      "binary op=max shape=3x1000 shape_b=3x1",
      "binary op=add shape=70x65 shape_b=70x1",
      // Axes that stay apart, and some that do not.
      "binary op=add shape=2x8x5x5 shape_b=8x1x1",
      "binary op=mul shape=2x8x6x6 shape_b=2x8x1x1",
      "binary op=sub shape=2x3x4x8 shape_b=2x1x4x1",
      "binary op=sub shape=3x1x5x1 shape_b=1x4x1x7",
      "binary op=sub shape=1x3x1x12 shape_b=2x1x5x1",
      "binary op=min shape=1x1x1x1 shape_b=2x1x3x1",
      "binary op=add shape=4x1x192 shape_b=4x192x1",
      // What models run.
      "binary op=mul shape=4x192x192 shape_b=192x192",
  };
  for (const char* op : {"add", "sub", "mul", "div", "max", "min"}) {
    cases.push_back(std::string("binary op=") + op + " shape=4099");
    cases.push_back(std::string("binary op=") + op + " shape=25x40 shape_b=40");
  }
  return cases;
}

std::vector<std::string> small_cases() {
  return {"binary op=add shape=7x37", "binary op=sub shape=17x8 shape_b=8",
          "binary op=mul shape=17x9 shape_b=17x1", "binary op=max shape=2x3x2x4 shape_b=2x1x2x1",
          "binary op=div shape=66 shape_b=1"};
}

}  // namespace

const OpProof& binary_proof() {
  static const OpProof proof = [] {
    OpProof proof;
    proof.op = "binary";
    proof.data_sets = data_sets();
    proof.reference = binary_reference;
    proof.cases = cases();
    proof.small_cases = small_cases();
    return proof;
  }();
  return proof;
}

}  // namespace clam
