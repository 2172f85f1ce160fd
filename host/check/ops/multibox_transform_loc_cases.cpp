// SPDX-License-Identifier: MIT
// multibox_transform_loc_cases.cpp - the data sets and cases of multibox_transform_loc, for tests
// and benches.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "shared/random.hpp"

namespace clam {

Reference multibox_transform_loc_reference(const Problem&, const Tensors& inputs,
                                           const ReferenceOptions&);

namespace {

/// Anchors in an image of 1 x 1, and offsets of N(0,1).
void fill_boxes(Random& random, Tensors& inputs) {
  HostTensor &anchors = inputs.at("anchors"), &loc = inputs.at("loc");
  for (std::int64_t i = 0; i < anchors.size(); i += 4) {
    const double x = random.uniform(), y = random.uniform();
    const double w = 0.02 + 0.4 * random.uniform(), h = 0.02 + 0.4 * random.uniform();
    const double corners[] = {x - w / 2, y - h / 2, x + w / 2, y + h / 2};
    for (int j = 0; j < 4; ++j) anchors.set(i + j, corners[j]);
  }
  for (std::int64_t i = 0; i < loc.size(); ++i) loc.set(i, random.normal());
}

/// Anchors with valid(random, batch item, anchor) have a score that reaches the threshold, the
/// others none. The background is the best of all.
template <typename Valid>
void fill(const Problem& p, std::uint64_t seed, Tensors& inputs, const Valid& valid) {
  Random random(seed);
  fill_boxes(random, inputs);
  HostTensor& cls = inputs.at("cls_prob");
  const int n = p.integer("n"), classes = p.integer("classes");
  const double threshold = std::clamp(static_cast<double>(p.number("threshold")), -0.9, 1e4);
  for (int b = 0; b < p.integer("batch"); ++b) {
    for (int i = 0; i < n; ++i) {
      const double low = threshold - 0.05, high = threshold + 0.9 * random.uniform() + 0.001;
      const int own = valid(random, b, i) ? random.integer(1, classes - 1) : 0;
      for (int c = 0; c < classes; ++c) {
        const double score = c == 0 ? 2 + threshold : c == own ? high : low - random.uniform() / 20;
        cls.set((static_cast<std::int64_t>(b) * classes + c) * n + i, score);
      }
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

void every(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  fill(p, seed, inputs, [](Random&, int, int) { return true; });
}

/// Many equal scores; the threshold and its neighbours; NaN, infinities, denormals, -0, -1 and
/// less. Offsets and anchors that are no numbers, or make the exponential infinite.
void special(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Random random(seed);
  fill_boxes(random, inputs);
  HostTensor &cls = inputs.at("cls_prob"), &loc = inputs.at("loc");
  const double threshold = static_cast<double>(p.number("threshold"));
  const double denormal = p.dtype() == Dtype::f16 ? 0x1p-24 : 0x1p-149;
  const double scores[] = {threshold, threshold, kNan, kInfinity,    -kInfinity,    0,
                           -0.0,      -1,        -2,   denormal,     2 * denormal,  0.5,
                           0.5,       -0.5,      kNan, 2 * denormal, 3 * threshold, -denormal};
  for (std::int64_t i = 0; i < cls.size(); ++i) cls.set(i, scores[random.bits() % 18]);
  // The threshold's neighbours, as bits.
  for (std::int64_t i = 0; i < cls.size(); i += 7) {
    cls.set(i, threshold);
    cls.set_bits(i, cls.bits(i) + (i % 2 == 0 ? 1 : -1));
  }
  const double offsets[] = {kInfinity, -kInfinity, kNan, 60000, -60000, 0};
  for (std::int64_t i = 0; i < loc.size(); i += 5) loc.set(i, offsets[random.bits() % 6]);
}

std::vector<DataSet> data_sets() {
  return {
      {"mixed", Check::hard, "30 % of the anchors have a class; 60 and 90 in further batch items",
       mixed},
      {"none", Check::hard, "no anchor has a class: everything is filled", none},
      {"every", Check::hard, "every anchor has a class: nothing is filled", every},
      {"special", Check::hard,
       "equal scores, the threshold's neighbours, NaN, infinities, denormals", special},
  };
}

/// Around the 16 to 256 anchors of a group, and the 64 groups whose counts are read at once.
std::vector<std::string> cases() {
  const auto with = [](const std::string& words) { return "multibox_transform_loc " + words; };
  std::vector<std::string> cases = {
      with("classes=21 n=6132"),
      with("batch=3 classes=21 n=1000"),
      with("batch=3 classes=5 n=131 clip=0"),
      with("classes=2 n=4097"),
      with("classes=3 n=300 threshold=0"),
      with("classes=3 n=300 threshold=-3"),
      with("classes=3 n=300 threshold=inf"),
      with("classes=4 n=300 threshold=0.5 variances=1x0.5x0.25x-0.1")};
  for (const int n : {1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257}) {
    cases.push_back(with("batch=2 classes=5 n=" + std::to_string(n)));
  }
  return cases;
}

std::vector<std::string> small_cases() {
  return {"multibox_transform_loc classes=2 n=1", "multibox_transform_loc batch=2 classes=4 n=129",
          "multibox_transform_loc classes=3 n=65 clip=0"};
}

}  // namespace

const OpProof& multibox_transform_loc_proof() {
  static const OpProof proof = [] {
    OpProof proof;
    proof.op = "multibox_transform_loc";
    proof.data_sets = data_sets();
    proof.reference = multibox_transform_loc_reference;
    proof.cases = cases();
    proof.small_cases = small_cases();
    return proof;
  }();
  return proof;
}

}  // namespace clam
