// SPDX-License-Identifier: MIT
// pool2d_cases.cpp - the data sets and cases of pool2d, for tests and benches.
#include <limits>
#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "ops/pool2d.hpp"
#include "shared/random.hpp"

namespace clam {

Reference pool2d_reference(const Problem&, const Tensors& inputs, const ReferenceOptions&);

namespace {

template <typename Value>
void fill(std::uint64_t seed, Tensors& inputs, const Value& value) {
  Random random(seed);
  HostTensor& x = inputs.at("x");
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, value(random, i));
}

void exact(const Problem&, std::uint64_t seed, Tensors& inputs) {
  fill(seed, inputs, [](Random& random, std::int64_t) { return random.integer(-8, 8); });
}

void zero_mean(const Problem&, std::uint64_t seed, Tensors& inputs) {
  fill(seed, inputs, [](Random& random, std::int64_t) { return random.normal(); });
}

void positive(const Problem&, std::uint64_t seed, Tensors& inputs) {
  fill(seed, inputs, [](Random& random, std::int64_t) { return 1 + random.uniform(); });
}

void outliers(const Problem&, std::uint64_t seed, Tensors& inputs) {
  fill(seed, inputs, [](Random& random, std::int64_t) {
    const double x = random.normal();
    return random.integer(0, 31) == 0 ? 1000 * x : x;
  });
}

void special(const Problem&, std::uint64_t seed, Tensors& inputs) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  fill(seed, inputs, [](Random& random, std::int64_t i) {
    const double x = random.normal();
    if (i % 97 == 11) return std::numeric_limits<double>::quiet_NaN();
    if (i % 89 == 31) return kInfinity;
    if (i % 53 == 23) return -kInfinity;
    return i % 7 == 3 ? -0.0 : x;
  });
}

std::vector<DataSet> data_sets() {
  return {
      {"exact", Check::exact, "whole numbers up to 8: sums are exact, and the mean rounds twice",
       exact},
      {"zero_mean", Check::hard, "x of N(0,1); an all-zero or constant output fails", zero_mean},
      {"positive", Check::hard, "x from 1 to 2; a half accumulator fails", positive},
      {"outliers", Check::hard, "N(0,1) with numbers of 1000 in between", outliers},
      {"special", Check::hard, "NaN, infinities and -0 in places", special},
  };
}

/// A map has 16 to 256 lanes of vectors; a group has 4 maps of 16 lanes. Windows: 4 outputs below
/// each other an item, groups 16 wide.
std::vector<std::string> cases() {
  std::vector<std::string> cases = {
      // What trackers and classifiers run.
      "n=1 c=384 h=31 w=31 global",
      "n=1 c=384 h=26 w=26 global",
      "n=1 c=384 h=16 w=16 global",
      "n=1 c=64 h=7 w=7 global layout=nhwc",
      "n=1 c=13 h=28 w=30 r=3 stride=2 pad=1 mode=max",
      "n=1 c=5 h=35 w=35 r=3 pad=1",
      // Whole maps: rows that start anywhere, of fewer elements than a vector, of 16 and 256 lanes.
      "n=2 c=3 h=1 w=1 global",
      "n=1 c=7 h=1 w=2 global mode=max",
      "n=5 c=1 h=3 w=1 global",
      "n=1 c=9 h=5 w=1 global mode=max",
      "n=3 c=5 h=7 w=9 global",
      "n=1 c=17 h=8 w=8 global mode=max",
      "n=1 c=3 h=65 w=63 global",
      "n=1 c=2 h=128 w=129 global mode=max",
      "n=2 c=4 h=1 w=1 global layout=nhwc mode=max",
      "n=3 c=65 h=5 w=7 global layout=nhwc",
      "n=1 c=68 h=15 w=17 global layout=nhwc mode=max",
      "n=2 c=3 h=33 w=31 global layout=nhwc",
      // Windows: around 4 outputs a column and 16 a row.
      "n=1 c=1 h=1 w=1 r=1",
      "n=2 c=3 h=4 w=15 r=2 mode=max",
      "n=1 c=3 h=5 w=16 r=2 stride=2",
      "n=1 c=2 h=10 w=17 r=2 s=1",
      "n=2 c=2 h=13 w=33 r=3 stride=2",
      "n=1 c=3 h=9 w=18 r=3 pad=1 count_include_pad=1",
      "n=1 c=3 h=9 w=18 r=3 stride=3 pad=1 mode=max",
      "n=2 c=2 h=11 w=20 r=3 s=5 stride_h=4 stride_w=3 pad_t=1 pad_l=4 pad_r=2",
      "n=1 c=4 h=4 w=4 r=3 pad=2",
      "n=1 c=2 h=6 w=5 r=7 s=7 stride_h=1 stride_w=2 pad=3",
      "n=1 c=2 h=2 w=3 r=7 pad=6 mode=max",
      "n=1 c=70 h=16 w=16 r=2 stride=2 mode=max",
      // Windows that no item unrolls.
      "n=1 c=3 h=13 w=13 r=13 stride=1 pad=6 mode=max",
      "n=2 c=3 h=20 w=19 r=9 s=2 stride=5 pad_t=3",
      "n=1 c=3 h=12 w=40 r=1 s=20 stride_h=5 stride_w=10",
      "n=1 c=2 h=17 w=17 r=8 stride=8 count_include_pad=1 pad=2",
  };
  // Channels last: alone, in vectors, and around a group of 16.
  for (const char* words :
       {"n=2 c=1 h=5 w=4 r=2", "n=1 c=3 h=9 w=9 r=3 stride=2 pad=1", "n=2 c=4 h=6 w=7 r=3 mode=max",
        "n=1 c=60 h=8 w=9 r=3 pad=1 mode=max", "n=2 c=64 h=7 w=8 r=2 stride=2",
        "n=1 c=68 h=5 w=6 r=3 pad=1 count_include_pad=1", "n=1 c=258 h=4 w=3 r=3 pad=2",
        "n=1 c=8 h=13 w=13 r=13 pad=6 mode=max"}) {
    cases.push_back(std::string(words) + " layout=nhwc");
  }
  for (std::string& line : cases) line = "pool2d " + line;
  return cases;
}

std::vector<std::string> small_cases() {
  return {"pool2d n=1 c=3 h=5 w=5 global",
          "pool2d n=1 c=5 h=9 w=15 global mode=max",
          "pool2d n=1 c=5 h=5 w=7 global layout=nhwc",
          "pool2d n=2 c=8 h=3 w=6 global layout=nhwc mode=max",
          "pool2d n=1 c=2 h=6 w=17 r=3 pad=1",
          "pool2d n=1 c=2 h=11 w=9 r=3 stride=2 mode=max",
          "pool2d n=1 c=2 h=9 w=10 r=8 stride=3 pad=2 count_include_pad=1",
          "pool2d n=2 c=5 h=4 w=5 r=3 pad=1 layout=nhwc",
          "pool2d n=1 c=8 h=4 w=5 r=2 stride=2 layout=nhwc mode=max"};
}

}  // namespace

const OpProof& pool2d_proof() {
  static const OpProof proof = [] {
    OpProof proof;
    proof.op = "pool2d";
    proof.data_sets = data_sets();
    proof.reference = pool2d_reference;
    proof.cases = cases();
    proof.small_cases = small_cases();
    return proof;
  }();
  return proof;
}

}  // namespace clam
