// SPDX-License-Identifier: MIT
// multibox_prior_proof.cpp - multibox_prior in double, as the formula reads. Let u = 2^-24. In
// float
//   centre   is off by 3 u |centre|: the sum, the product, and a step that is 1 / cells
//   half     by 13 u |half|: u of a product, 5 u of the quotient (2.5 ulp), 6 u of the root (3 ulp)
//            and u of the product with it
//   corner   by another u |corner|
// A size that is beyond the largest float on its way, in the order of the kernel, is infinite; or
// not, as a compiler may halve a quotient before it divides.
#include "shared/decode_box.hpp"

namespace clam::multibox_prior {
namespace {

/// The middle of cell number `cell` of `cells` along an axis.
double centre_of(std::int64_t cell, int cells, float step, float offset) {
  const double from_cell_to_cell = step > 0 ? step : 1.0 / cells;
  return in_float((static_cast<double>(cell) + static_cast<double>(offset)) * from_cell_to_cell);
}

/// Width and height of each box in cells of the image, whose steps pass through `step`.
template <typename Step>
std::vector<std::array<double, 2>> sizes_of_boxes(const Problem& p, const Step& step) {
  const std::vector<float> sizes = p.numbers("sizes"), ratios = p.numbers("ratios");
  std::vector<std::array<double, 2>> boxes;
  for (const double size : sizes) {
    boxes.push_back({step(size * p.integer("h")) / p.integer("w"), step(size)});
  }
  for (std::size_t i = 1; i < ratios.size(); ++i) {
    const double root = std::sqrt(static_cast<double>(ratios[i]));
    boxes.push_back({step(boxes[0][0] * root), step(boxes[0][1] / root)});
  }
  return boxes;
}

Bounded corner(double centre, double half, bool clip, Dtype dtype) {
  const double error = 3 * std::fabs(centre) + 13 * std::fabs(half) + std::fabs(centre + half);
  const double value = in_float(centre + half);
  const Bounded exact{value, std::isfinite(value) ? kFloat * error + 0x1p-126 : 0};
  return stored(clip ? clipped(exact) : exact, dtype);
}

Reference reference(const Problem& p, const Tensors&, const ReferenceOptions&) {
  const int h = p.integer("h"), w = p.integer("w");
  const std::vector<float> steps = p.numbers("steps"), offsets = p.numbers("offsets");
  const bool clip = p.integer("clip") == 1;
  const auto boxes = sizes_of_boxes(p, [](double size) { return size; }),
             in_floats = sizes_of_boxes(p, in_float);
  const std::int64_t of_cell = 4 * boxes.size();
  Expected anchors = Expected::of_size(of_cell * h * w);
  anchors.other.assign(anchors.value.size(), kNan);
  parallel_for(std::int64_t{1} * h * w, [&](std::int64_t cell) {
    const double centre[] = {centre_of(cell % w, w, steps[1], offsets[1]),
                             centre_of(cell / w, h, steps[0], offsets[0])};
    for (std::int64_t i = 0; i < of_cell; ++i) {
      const std::int64_t at = cell * of_cell + i, box = i / 4, axis = i % 2;
      const double side = i % 4 < 2 ? -1 : 1, infinite = in_floats[box][axis];
      const Bounded one = corner(centre[axis], side * boxes[box][axis] / 2, clip, p.dtype());
      anchors.set(at, one);
      if (std::isinf(infinite) && std::isfinite(one.value)) {
        anchors.other[at] = corner(centre[axis], side * infinite, clip, p.dtype()).value;
      }
    }
  });
  return {{"anchors", std::move(anchors)}};
}

}  // namespace

OpProof proof() {
  return {
      "multibox_prior",
      {{"none", Check::hard, "there are no inputs to fill",
        [](const Problem&, std::uint64_t, Tensors&) {}}},
      reference,
      // Around the 16 to 256 boxes of a group; the six maps of an SSD of 300 pixels; sizes that
      // overflow when they are multiplied by the map's height, or divided by a ratio's root.
      {"h=38 w=38 sizes=0.1x0.141 ratios=1x2x0.5",
       "h=19 w=19 sizes=0.2x0.272 ratios=1x2x0.5x3x0.33333334",
       "h=10 w=10 sizes=0.37x0.447 ratios=1x2x0.5x3x0.33333334 clip=1",
       "h=5 w=7 sizes=0.54x0.619 ratios=1x2x0.5 steps=0.0625x0.03125",
       "h=3 w=3 sizes=0.71x0.79 ratios=1x2x0.5 offsets=0.25x0.75",
       "h=1 w=1 sizes=0.88x0.961 ratios=3x2x0.5 clip=1", "h=3 w=300 sizes=3e+38x0.5 ratios=1x0.25",
       "h=3 w=300 sizes=3e+38x0.5 ratios=1x0.25 clip=1",
       "h=2 w=1000 sizes=1e-05x3 ratios=10x1e-05 offsets=-1x2",
       "h=1000 w=2 sizes=0.1x0.2x0.3x0.4x0.5x0.6x0.7x0.8x0.9x1x1.1x1.2x1.3x1.4x1.5x1.6",
       "h=3 w={1,15,16,17,63,64,65,127,128,129,255,256,257}"},
      {"h=1 w=1", "h=3 w=33 sizes=0.2x0.272 ratios=1x2x0.5 clip=1"}};
}

}  // namespace clam::multibox_prior
