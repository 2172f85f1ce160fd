// SPDX-License-Identifier: MIT
// ssd_decode_proof.cpp - ssd_decode in double, and how far from it a device may be.
//
// A score is a softmax p_i. Let u = 2^-24, d_i = max - x_i, D = sum_j p_j d_j; an ulp is up to 2 u.
// What a device computes in float is off, relative to its value, by
//   exp2(d_i log2(e))    2.25 u * d_i from the difference, the product (u each) and the constant
//                        (0.23 u), and 6 u of its own: OpenCL allows it 3 ulp
//   the sum              2.25 u * D + 6 u, the mean of its terms' errors, and u for each addition
//   in
//                        a row: ceil(classes/4) - 1 of an item's own, and 2 of the four items'
//   1 / sum              5 u: OpenCL allows a division 2.5 ulp
//   the product          u
// so with k = 2.25 (d_i + D) + 19 + ceil(classes/4) a score is within p_i * k u / (1 - k u), which
// covers products of such factors (N. Higham, Accuracy and Stability of Numerical Algorithms, 3.1).
// Where it is that close to the threshold, both rows are right: (class - 1, score) and (-1, 0).
// Boxes are those of boxes.hpp.
#include "shared/decode_box.hpp"
#include "shared/softmax_sums.hpp"

namespace clam::ssd_decode {
namespace {

/// The softmax of an anchor's scores.
std::vector<Bounded> softmax(const std::vector<double>& x, bool denormals) {
  constexpr double kUlps = 3, kArgument = 2.25, kRest = 19, kLanes = 4;
  const double crumb = denormals ? (1 + kUlps) * 0x1p-149 : 0x1p-126;
  const SoftmaxSums sums(x);
  if (sums.m == -kInfinity) return std::vector<Bounded>(x.size());
  const double rest = kRest + std::ceil(x.size() / kLanes);
  std::vector<Bounded> scores;
  for (const double value : x) {
    const double score = std::exp(value - sums.m) / sums.sum, d = score == 0 ? 0 : sums.m - value;
    const double k = (kArgument * (d + sums.mean_difference) + rest) * kFloat;
    scores.push_back({score, score == 0 ? 0 : score * k / (1 - k) + crumb});
  }
  return scores;
}

/// Writes id and score of element `at`.
void put_label(Expected& data, std::size_t at, int id, Bounded score, double threshold,
               Dtype dtype) {
  const bool valid = score.value > threshold;
  const Bounded out = stored(score, dtype);
  const std::array<double, 2> label{static_cast<double>(id), out.value}, none{-1, 0};
  for (std::size_t i = 0; i < 2; ++i) data.value[at + i] = valid ? label[i] : none[i];
  const bool either = score.error > 0 && std::fabs(score.value - threshold) <= score.error;
  if (valid || either) data.bound[at + 1] = out.error;
  if (!either) return;
  for (std::size_t i = 0; i < 2; ++i) data.other[at + i] = valid ? none[i] : label[i];
}

Reference reference(const Problem& p, const Tensors& inputs, const ReferenceOptions& options) {
  const std::int64_t n = p.integer("n"), classes = p.integer("classes");
  const std::vector<float> v = p.numbers("variances");
  const std::array<double, 4> variances{v[0], v[1], v[2], v[3]};
  const double threshold = p.number("threshold");
  Expected data = Expected::of_size(p.integer("batch") * (classes - 1) * n * 6);
  data.other.assign(data.value.size(), kNan);
  data.together = 2;  // id and score of a row of six
  parallel_for(p.integer("batch") * n, [&](std::int64_t i) {
    std::vector<double> x;
    for (std::int64_t c = 0; c < classes; ++c) x.push_back(inputs.at("cls").get(i * classes + c));
    const std::vector<Bounded> scores = softmax(x, options.denormals);
    const std::array<Bounded, 4> box =
        decode_box({load4(inputs.at("anchors"), i % n), load4(inputs.at("box"), i), variances,
                    false, options.denormals});
    for (std::int64_t id = 0; id < classes - 1; ++id) {
      const std::size_t at = 6 * ((i / n * (classes - 1) + id) * n + i % n);
      put_label(data, at, id, scores[id + 1], threshold, p.dtype());
      std::int64_t place = at + 2;
      for (const Bounded& corner : box) data.set(place++, stored(corner, p.dtype()));
    }
  });
  return {{"data", std::move(data)}};
}

// ---- data sets and cases ----

/// Anchors of an image of 512 pixels, and offsets of N(0,1).
void fill_boxes(Random& random, Tensors& inputs) {
  fill_tensor(inputs.at("anchors"), random, [&](Random&, std::int64_t i) {
    return i % 4 < 2 ? 512 * random.uniform() : 10 + 300 * random.uniform();
  });
  fill_tensor(inputs.at("box"), random, normal);
}

/// Boxes as above; score(random, anchor over all images, class, classes) is a class score.
template <typename Score>
DataSet::Fill fill(const Score& score) {
  return [score](const Problem& p, std::uint64_t seed, Tensors& inputs) {
    Random random(seed);
    fill_boxes(random, inputs);
    const std::int64_t classes = p.integer("classes");
    fill_rows(inputs.at("cls"), random, [&](Random&, std::int64_t anchor, std::int64_t c) {
      return score(random, anchor, c, classes);
    });
  };
}

/// Most anchors are background, one in ten has a class.
double detector(Random& random, std::int64_t anchor, std::int64_t c, std::int64_t classes) {
  const std::int64_t own = anchor % 10 == 3 ? 1 + anchor * 7919 % (classes - 1) : 0;
  return (c == own ? 9 : 0) + random.normal();
}

/// The scores of an anchor lie around a number of its own, up to 1000 from zero.
double spread(Random& random, std::int64_t anchor, std::int64_t, std::int64_t) {
  return (anchor % 2 == 0 ? 1 : -1) * (500 + anchor * 31 % 500) + random.normal();
}

/// The softmax of every anchor's last class is the threshold, but for the rounding of scores.
void threshold(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  const double wanted = p.number("threshold");
  const double odds = wanted > 0 && wanted < 1 ? wanted / (1 - wanted) : 1;
  double others = 0;
  const auto score = [&](Random& random, std::int64_t, std::int64_t c, std::int64_t classes) {
    if (c == 0) others = 0;
    const double x = c + 1 == classes ? std::log(odds * others) : 0.25 * random.integer(-8, 8);
    others += std::exp(x);
    return x;
  };
  fill(score)(p, seed, inputs);
}

/// Of eight anchors one has a NaN among its scores, one +inf, one -inf, one nothing but -inf; one
/// has infinite or NaN offsets, one offsets whose exponential is infinite.
double special_score(Random& random, std::int64_t anchor, std::int64_t c, std::int64_t classes) {
  const double x = random.normal();
  const bool here = c == anchor * 31 % classes;
  if (anchor % 8 == 4) return -kInfinity;
  if (!here || anchor % 8 > 4 || anchor % 8 == 0) return x;
  return anchor % 8 == 1 ? kNan : anchor % 8 == 2 ? kInfinity : -kInfinity;
}

void special(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  fill(special_score)(p, seed, inputs);
  HostTensor& box = inputs.at("box");
  const double values[] = {kInfinity, -kInfinity, kNan, 0};
  for (std::int64_t i = 0; i < box.size(); ++i) {
    const std::int64_t anchor = i / 4;
    if (anchor % 8 == 5) box.set(i, values[(i + anchor / 8) % 4]);
    if (anchor % 8 == 6) box.set(i, i % 2 == 0 ? 60000 : -60000);
  }
}

}  // namespace

OpProof proof() {
  return {
      "ssd_decode",
      {{"detector", Check::hard, "most anchors are background", fill(detector)},
       {"zero_mean", Check::hard, "scores of N(0,1)", fill(normal)},
       {"spread", Check::hard, "scores around +-500 to 1000", fill(spread)},
       {"threshold", Check::hard, "a score of every anchor is the threshold", threshold},
       {"special", Check::hard, "scores and offsets of NaN, +inf, -inf; exp overflows", special}},
      reference,
      // Around the 4 work-items of an anchor, and the 1 to 64 anchors of a group.
      {"classes=21 n=6132", "batch=3 classes=21 n=131", "classes=91 n=257",
       "classes=21 n=100 threshold=0.5 variances=1x0.5x0.25x-0.1",
       "classes=7 n=65 threshold={0,-1}", "classes=7 n=63 threshold=inf",
       "classes={2,3,4,5,6,8,9} n=33", "batch=2 classes=5 n={1,2,3,15,16,17,63,64,65}",
       "batch=2 classes=21 n=65 ldcls=25 ldbox=25 offbox=21",
       "batch=2 classes=4 n=17 ldcls=9 ldbox=8 offcls=3 offbox={0,4}"},
      {"classes=2 n=1", "batch=2 classes=6 n=33", "classes=21 n=17 threshold=0.05",
       "batch=2 classes=6 n=5 ldcls=10 ldbox=10 offbox=6"}};
}

}  // namespace clam::ssd_decode
