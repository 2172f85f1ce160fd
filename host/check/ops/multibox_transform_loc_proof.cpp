// SPDX-License-Identifier: MIT
// multibox_transform_loc_proof.cpp - multibox_transform_loc as its definition reads. Scores are
// compared and copied, so classes, rows and counts are exact; the boxes' bounds are those of
// boxes.hpp.
#include "shared/box_sets.hpp"
#include "shared/decode_box.hpp"

namespace clam::multibox_transform_loc {
namespace {

struct Label {
  int id;  ///< -1: no class
  double score;
};

/// Every comparison with a NaN is false.
Label best_class(const Problem& p, const HostTensor& cls_prob, std::int64_t b, std::int64_t i) {
  const std::int64_t n = p.integer("n"), classes = p.integer("classes");
  Label best{-1, -1};
  for (std::int64_t c = 1; c < classes; ++c) {
    const double score = cls_prob.get((b * classes + c) * n + i);
    if (score > best.score) best = {static_cast<int>(c) - 1, score};
  }
  if (best.score < p.number("threshold")) best.id = -1;
  return best;
}

Reference reference(const Problem& p, const Tensors& inputs, const ReferenceOptions& options) {
  const std::int64_t batch = p.integer("batch"), n = p.integer("n");
  const std::vector<float> v = p.numbers("variances");
  Expected out, count;
  out.value.assign(batch * n * 6, -1);
  out.bound.resize(out.value.size());
  count.exact = HostTensor(Dtype::i32, {batch});
  parallel_for(batch, [&](std::int64_t b) {
    std::int64_t place = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const Label label = best_class(p, inputs.at("cls_prob"), b, i);
      if (label.id < 0) continue;
      const std::array<Bounded, 4> box =
          decode_box({box_sets::centered(load4(inputs.at("anchors"), i)),
                      load4(inputs.at("loc"), b * n + i),
                      {v[0], v[1], v[2], v[3]},
                      true,
                      options.denormals});
      std::int64_t at = 6 * (b * n + place++);
      out.set(at++, {double(label.id), 0});
      out.set(at++, {label.score, 0});
      for (const Bounded& corner : box) {
        out.set(at++, stored(p.integer("clip") == 1 ? clipped(corner) : corner, p.dtype()));
      }
    }
    count.exact.set(b, place);
  });
  return {{"out", std::move(out)}, {"count", std::move(count)}};
}

// ---- data sets and cases ----

/// Anchors in an image of 1 x 1, and offsets of N(0,1).
void fill_boxes(Random& random, Tensors& inputs) {
  HostTensor &anchors = inputs.at("anchors"), &loc = inputs.at("loc");
  for (std::int64_t i = 0; i < anchors.size(); i += 4) {
    const double x = random.uniform(), y = random.uniform();
    const double w = 0.02 + 0.4 * random.uniform(), h = 0.02 + 0.4 * random.uniform();
    const double corners[] = {x - w / 2, y - h / 2, x + w / 2, y + h / 2};
    for (int j = 0; j < 4; ++j) anchors.set(i + j, corners[j]);
  }
  fill_tensor(loc, random, normal);
}

/// Anchors with valid(random, batch item, anchor) have a score that reaches the threshold, the
/// others none. The background is the best of all.
template <typename Valid>
DataSet::Fill fill(const Valid& valid) {
  return [valid](const Problem& p, std::uint64_t seed, Tensors& inputs) {
    Random random(seed);
    fill_boxes(random, inputs);
    HostTensor& cls = inputs.at("cls_prob");
    const int n = p.integer("n"), classes = p.integer("classes");
    const double threshold = std::clamp<double>(p.number("threshold"), -0.9, 1e4);
    for (int i = 0; i < p.integer("batch") * n; ++i) {
      const double low = threshold - 0.05, high = threshold + 0.9 * random.uniform() + 0.001;
      const int own = valid(random, i / n, i % n) ? random.integer(1, classes - 1) : 0;
      for (int c = 0; c < classes; ++c) {
        const double score = c == 0 ? 2 + threshold : c == own ? high : low - random.uniform() / 20;
        cls.set((std::int64_t{1} * (i / n) * classes + c) * n + i % n, score);
      }
    }
  };
}

/// Many equal scores; the threshold and its neighbours; NaN, infinities, denormals, -0, -1 and
/// less. Offsets and anchors that are no numbers, or make the exponential infinite.
void special(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  Random random(seed);
  fill_boxes(random, inputs);
  HostTensor &cls = inputs.at("cls_prob"), &loc = inputs.at("loc");
  const double threshold = p.number("threshold");
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

}  // namespace

OpProof proof() {
  return {
      "multibox_transform_loc",
      {{"mixed", Check::hard, "30 % of the anchors have a class; 60 and 90 in further batch items",
        fill(valid_rows::mixed)},
       {"none", Check::hard, "no anchor has a class: everything is filled", fill(valid_rows::none)},
       {"every", Check::hard, "every anchor has a class: nothing is filled",
        fill(valid_rows::every)},
       {"special", Check::hard,
        "equal scores, the threshold's neighbours, NaN, infinities, denormals", special}},
      reference,
      // Around the 16 to 256 anchors of a group, and the 64 groups whose counts are read at once.
      {"classes=21 n=6132", "batch=3 classes=21 n=1000", "batch=3 classes=5 n=131 clip=0",
       "classes=2 n=4097", "classes=3 n=300 threshold={0,-3,inf}",
       "classes=4 n=300 threshold=0.5 variances=1x0.5x0.25x-0.1",
       "batch=2 classes=5 n={1,2,15,16,17,63,64,65,127,128,129,255,256,257}"},
      {"classes=2 n=1", "batch=2 classes=4 n=129", "classes=3 n=65 clip=0"}};
}

}  // namespace clam::multibox_transform_loc
