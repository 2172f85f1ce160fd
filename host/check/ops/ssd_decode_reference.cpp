// SPDX-License-Identifier: MIT
// ssd_decode_reference.cpp - ssd_decode in double, and how far from it a device may be.
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
#include <cmath>
#include <limits>

#include "check/op_proof.hpp"
#include "check/parallel.hpp"
#include "shared/decode_box.hpp"

namespace clam {
namespace {

constexpr double kFloat = 0x1p-24;  ///< unit roundoff of everything in between
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The softmax of an anchor's scores.
std::vector<Bounded> softmax(const std::vector<double>& x, bool denormals) {
  constexpr double kUlps = 3, kArgument = 2.25, kRest = 19, kLanes = 4;
  const double crumb = denormals ? (1 + kUlps) * 0x1p-149 : 0x1p-126;
  double m = -HUGE_VAL, sum = 0, mean = 0;
  for (const double value : x) m = std::isnan(value) ? kNan : value > m ? value : m;
  if (m == -HUGE_VAL) return std::vector<Bounded>(x.size());
  for (const double value : x) {
    const double e = std::exp(value - m);
    sum += e;
    mean += e == 0 ? 0 : e * (m - value);
  }
  mean /= sum;
  const double rest = kRest + std::ceil(static_cast<double>(x.size()) / kLanes);
  std::vector<Bounded> scores;
  for (const double value : x) {
    const double score = std::exp(value - m) / sum, d = score == 0 ? 0 : m - value;
    const double k = (kArgument * (d + mean) + rest) * kFloat;
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

}  // namespace

Reference ssd_decode_reference(const Problem& p, const Tensors& inputs,
                               const ReferenceOptions& options) {
  const std::int64_t n = p.integer("n"), classes = p.integer("classes");
  const std::vector<float> v = p.numbers("variances");
  const std::array<double, 4> variances{v[0], v[1], v[2], v[3]};
  const auto threshold = static_cast<double>(p.number("threshold"));
  Expected data;
  data.value.resize(static_cast<std::size_t>(p.integer("batch") * (classes - 1) * n * 6));
  data.bound.resize(data.value.size());
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
      const auto at = static_cast<std::size_t>(6 * ((i / n * (classes - 1) + id) * n + i % n));
      put_label(data, at, static_cast<int>(id), scores[static_cast<std::size_t>(id) + 1], threshold,
                p.dtype());
      for (std::size_t j = 0; j < 4; ++j) {
        const Bounded corner = stored(box[j], p.dtype());
        data.value[at + 2 + j] = corner.value;
        data.bound[at + 2 + j] = corner.error;
      }
    }
  });
  return {{"data", std::move(data)}};
}

}  // namespace clam
