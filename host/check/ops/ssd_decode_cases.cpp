// SPDX-License-Identifier: MIT
// ssd_decode_cases.cpp - the data sets and cases of ssd_decode, for tests and benches.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "shared/random.hpp"

namespace clam {

Reference ssd_decode_reference(const Problem&, const Tensors& inputs, const ReferenceOptions&);

namespace {

/// Anchors of an image of 512 pixels, and offsets of N(0,1).
void fill_boxes(Random& random, Tensors& inputs) {
  HostTensor &anchors = inputs.at("anchors"), &box = inputs.at("box");
  for (std::int64_t i = 0; i < anchors.size(); ++i) {
    anchors.set(i, i % 4 < 2 ? 512 * random.uniform() : 10 + 300 * random.uniform());
  }
  for (std::int64_t i = 0; i < box.size(); ++i) box.set(i, random.normal());
}

/// Boxes as above; score(random, anchor over all images, class) is a class score.
template <typename Score>
void fill(const Problem& p, std::uint64_t seed, Tensors& inputs, Score score) {
  Random random(seed);
  fill_boxes(random, inputs);
  HostTensor& cls = inputs.at("cls");
  const std::int64_t classes = p.integer("classes");
  for (std::int64_t i = 0; i < cls.size(); ++i) cls.set(i, score(random, i / classes, i % classes));
}

/// Most anchors are background, one in ten has a class.
void detector(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  const std::int64_t classes = p.integer("classes");
  fill(p, seed, inputs, [=](Random& random, std::int64_t anchor, std::int64_t c) {
    const std::int64_t own = anchor % 10 == 3 ? 1 + anchor * 7919 % (classes - 1) : 0;
    return (c == own ? 9 : 0) + random.normal();
  });
}

void zero_mean(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  fill(p, seed, inputs, [](Random& random, std::int64_t, std::int64_t) { return random.normal(); });
}

/// The scores of an anchor lie around a number of its own, up to 1000 from zero.
void spread(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  fill(p, seed, inputs, [](Random& random, std::int64_t anchor, std::int64_t) {
    return (anchor % 2 == 0 ? 1 : -1) * static_cast<double>(500 + anchor * 31 % 500) +
           random.normal();
  });
}

/// The softmax of every anchor's last class is the threshold, but for the rounding of scores.
void threshold(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  const double wanted = static_cast<double>(p.number("threshold"));
  const std::int64_t classes = p.integer("classes");
  const double odds = wanted > 0 && wanted < 1 ? wanted / (1 - wanted) : 1;
  double others = 0;
  fill(p, seed, inputs, [=](Random& random, std::int64_t, std::int64_t c) mutable {
    if (c == 0) others = 0;
    const double x = c + 1 == classes ? std::log(odds * others) : 0.25 * random.integer(-8, 8);
    others += std::exp(x);
    return x;
  });
}

/// Of eight anchors one has a NaN among its scores, one +inf, one -inf, one nothing but -inf; one
/// has infinite or NaN offsets, one offsets whose exponential is infinite.
void special(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::int64_t classes = p.integer("classes");
  fill(p, seed, inputs, [=](Random& random, std::int64_t anchor, std::int64_t c) {
    const double x = random.normal();
    const bool here = c == anchor * 31 % classes;
    if (anchor % 8 == 4) return -kInfinity;
    if (!here || anchor % 8 > 4 || anchor % 8 == 0) return x;
    return anchor % 8 == 1 ? kNan : anchor % 8 == 2 ? kInfinity : -kInfinity;
  });
  HostTensor& box = inputs.at("box");
  const double values[] = {kInfinity, -kInfinity, kNan, 0};
  for (std::int64_t i = 0; i < box.size(); ++i) {
    const std::int64_t anchor = i / 4;
    if (anchor % 8 == 5) box.set(i, values[(i + anchor / 8) % 4]);
    if (anchor % 8 == 6) box.set(i, i % 2 == 0 ? 60000 : -60000);
  }
}

std::vector<DataSet> data_sets() {
  return {
      {"detector", Check::hard, "most anchors are background", detector},
      {"zero_mean", Check::hard, "scores of N(0,1)", zero_mean},
      {"spread", Check::hard, "scores around +-500 to 1000", spread},
      {"threshold", Check::hard, "a score of every anchor is the threshold", threshold},
      {"special", Check::hard, "scores and offsets of NaN, +inf, -inf; exp overflows", special},
  };
}

/// Around the 4 work-items of an anchor, and the 1 to 64 anchors of a group.
std::vector<std::string> cases() {
  std::vector<std::string> cases = {
      "ssd_decode classes=21 n=6132",
      "ssd_decode batch=3 classes=21 n=131",
      "ssd_decode classes=91 n=257",
      "ssd_decode classes=21 n=100 threshold=0.5 variances=1x0.5x0.25x-0.1",
      "ssd_decode classes=7 n=65 threshold=0",
      "ssd_decode classes=7 n=65 threshold=-1",
      "ssd_decode classes=7 n=63 threshold=inf"};
  for (const int classes : {2, 3, 4, 5, 6, 8, 9}) {
    cases.push_back("ssd_decode classes=" + std::to_string(classes) + " n=33");
  }
  for (const int n : {1, 2, 3, 15, 16, 17, 63, 64, 65}) {
    cases.push_back("ssd_decode batch=2 classes=5 n=" + std::to_string(n));
  }
  return cases;
}

std::vector<std::string> small_cases() {
  return {"ssd_decode classes=2 n=1", "ssd_decode batch=2 classes=6 n=33",
          "ssd_decode classes=21 n=17 threshold=0.05"};
}

}  // namespace

const OpProof& ssd_decode_proof() {
  static const OpProof proof = [] {
    OpProof proof;
    proof.op = "ssd_decode";
    proof.data_sets = data_sets();
    proof.reference = ssd_decode_reference;
    proof.cases = cases();
    proof.small_cases = small_cases();
    return proof;
  }();
  return proof;
}

}  // namespace clam
