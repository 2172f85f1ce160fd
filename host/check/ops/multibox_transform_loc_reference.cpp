// SPDX-License-Identifier: MIT
// multibox_transform_loc as its definition reads. Scores are compared and copied, so classes, rows
// and counts are exact; the boxes' bounds are those of boxes.hpp.
#include <cmath>

#include "check/op_proof.hpp"
#include "check/parallel.hpp"
#include "shared/decode_box.hpp"

namespace clam {
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
  if (best.score < static_cast<double>(p.number("threshold"))) best.id = -1;
  return best;
}

/// The anchor of these corners by its centre and size.
std::array<double, 4> centred(const std::array<double, 4>& corners) {
  return {(corners[0] + corners[2]) / 2, (corners[1] + corners[3]) / 2, corners[2] - corners[0],
          corners[3] - corners[1]};
}

void put_row(Expected& out, std::size_t at, Label label, const std::array<Bounded, 4>& box) {
  out.value[at] = label.id;
  out.value[at + 1] = label.score;
  for (std::size_t j = 0; j < 4; ++j) {
    out.value[at + 2 + j] = box[j].value;
    out.bound[at + 2 + j] = box[j].error;
  }
}

}  // namespace

Reference multibox_transform_loc_reference(const Problem& p, const Tensors& inputs,
                                           const ReferenceOptions& options) {
  const std::int64_t batch = p.integer("batch"), n = p.integer("n");
  const std::vector<float> v = p.numbers("variances");
  Expected out, count;
  out.value.assign(static_cast<std::size_t>(batch * n * 6), -1);
  out.bound.resize(out.value.size());
  count.exact = HostTensor(Dtype::i32, {batch});
  parallel_for(batch, [&](std::int64_t b) {
    std::int64_t place = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const Label label = best_class(p, inputs.at("cls_prob"), b, i);
      if (label.id < 0) continue;
      std::array<Bounded, 4> box = decode_box({centred(load4(inputs.at("anchors"), i)),
                                               load4(inputs.at("loc"), b * n + i),
                                               {v[0], v[1], v[2], v[3]},
                                               true,
                                               options.denormals});
      for (Bounded& corner : box) {
        if (p.integer("clip") == 1) corner = clipped(corner);
        corner = stored(corner, p.dtype());
      }
      put_row(out, static_cast<std::size_t>(6 * (b * n + place++)), label, box);
    }
    count.exact.set(b, static_cast<double>(place));
  });
  return {{"out", std::move(out)}, {"count", std::move(count)}};
}

}  // namespace clam
