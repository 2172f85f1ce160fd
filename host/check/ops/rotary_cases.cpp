// SPDX-License-Identifier: MIT
// rotary_cases.cpp - the data sets and cases of rotary, for tests and benches.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "ops/rotary.hpp"
#include "shared/random.hpp"

namespace clam {

Reference rotary_reference(const Problem&, const Tensors& inputs, const ReferenceOptions&);

namespace {

template <typename Value>
void fill(HostTensor& tensor, const Value& value) {
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, value(i));
}

/// Sums of products of small whole numbers; sin has no zero, cos has some.
void exact(const Problem&, std::uint64_t seed, Tensors& inputs) {
  Random random(seed);
  fill(inputs.at("src"), [&](std::int64_t) { return random.integer(-7, 7); });
  fill(inputs.at("cos"), [&](std::int64_t) { return random.integer(-1, 1); });
  fill(inputs.at("sin"), [&](std::int64_t) { return random.integer(0, 1) * 4 - 2; });
}

/// Every element has a cosine and a sine of its own, as no model has them: a wrong column shows.
void zero_mean(const Problem&, std::uint64_t seed, Tensors& inputs) {
  Random random(seed);
  for (auto& [name, tensor] : inputs) fill(tensor, [&](std::int64_t) { return random.normal(); });
}

/// Angles i * 10000^(-2 j / rotary_dim), as in models.
void angles(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const Rotary rotary(problem);
  Random random(seed);
  const auto angle = [&](std::int64_t at) {
    const int i = static_cast<int>(at / rotary.d), j = static_cast<int>(at % rotary.d);
    const int pair = rotary.halves ? j % std::max(1, rotary.rotary_dim / 2) : j / 2;
    return i * std::pow(10000.0, -2.0 * pair / rotary.rotary_dim);
  };
  fill(inputs.at("src"), [&](std::int64_t) { return random.normal(); });
  fill(inputs.at("cos"), [&](std::int64_t at) { return std::cos(angle(at)); });
  fill(inputs.at("sin"), [&](std::int64_t at) { return std::sin(angle(at)); });
}

/// NaN, infinities and -0 in places; where elements are copied, too.
void special(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  angles(problem, seed, inputs);
  HostTensor& src = inputs.at("src");
  for (std::int64_t i = 0; i < src.size(); ++i) {
    if (i % 61 == 11) src.set(i, std::numeric_limits<double>::quiet_NaN());
    if (i % 53 == 31) src.set(i, i % 2 == 0 ? kInfinity : -kInfinity);
    if (i % 7 == 3) src.set(i, -0.0);
  }
}

std::vector<DataSet> data_sets() {
  return {
      {"exact", Check::exact, "small whole numbers", exact},
      {"zero_mean", Check::hard, "N(0,1), tables too: a wrong column shows", zero_mean},
      {"angles", Check::hard, "cosines and sines of the angles of models", angles},
      {"special", Check::hard, "NaN, infinities and -0 in places", special},
  };
}

/// Vectors of 4 where d and rotary_dim allow; 1, 2 or 4 matrices an item; groups 16 wide.
std::vector<std::string> cases() {
  std::vector<std::string> cases;
  for (const char* words :
       {"batch=1 heads=4 n=192 d=64", "batch=2 heads=4 n=192 d=64", "batch=1 heads=1 n=1 d=2",
        "batch=1 heads=3 n=5 d=6", "batch=3 heads=2 n=7 d=20", "batch=1 heads=5 n=17 d=8",
        "batch=2 heads=2 n=9 d=128", "batch=1 heads=4 n=33 d=68", "batch=1 heads=1 n=63 d=34",
        "batch=1 heads=7 n=3 d=96 rotary_dim=32", "batch=2 heads=1 n=65 d=80 rotary_dim=20",
        "batch=1 heads=2 n=5 d=7 rotary_dim=6", "batch=1 heads=2 n=5 d=24 rotary_dim=2",
        "batch=1 heads=1 n=300 d=16 rotary_dim=12",
        "batch=1 heads=8 n=37 d=64 ldsrc=768 headsrc=64 lddst=512 headdst=64",
        "batch=1 heads=3 n=5 d=6 ldsrc=23 headsrc=7 offsrc=2 lddst=7 offdst=3",
        "batch=2 heads=2 n=6 d=12 rotary_dim=8 ldsrc=16 offsrc=4 lddst=20 offdst=8"}) {
    for (const char* pairing : {"", " pairing=halves"}) {
      cases.push_back(std::string("rotary ") + words + pairing);
    }
  }
  return cases;
}

std::vector<std::string> small_cases() {
  return {"rotary batch=1 heads=2 n=5 d=8", "rotary batch=1 heads=3 n=3 d=7 rotary_dim=4",
          "rotary batch=1 heads=4 n=5 d=12 rotary_dim=8 pairing=halves",
          "rotary batch=1 heads=1 n=3 d=6 rotary_dim=4 pairing=halves",
          "rotary batch=1 heads=2 n=3 d=12 rotary_dim=8 ldsrc=24 headsrc=12 lddst=28 headdst=12"};
}

}  // namespace

const OpProof& rotary_proof() {
  static const OpProof proof = [] {
    OpProof proof;
    proof.op = "rotary";
    proof.data_sets = data_sets();
    proof.reference = rotary_reference;
    proof.cases = cases();
    proof.small_cases = small_cases();
    return proof;
  }();
  return proof;
}

}  // namespace clam
