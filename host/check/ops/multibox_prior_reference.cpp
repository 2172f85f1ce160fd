// SPDX-License-Identifier: MIT
// multibox_prior in double, as the formula reads. Let u = 2^-24. In float
//   centre   is off by 3 u |centre|: the sum, the product, and a step that is 1 / cells
//   half     by 13 u |half|: u of a product, 5 u of the quotient (2.5 ulp), 6 u of the root (3 ulp)
//            and u of the product with it
//   corner   by another u |corner|
// A size that is beyond the largest float on its way, in the order of the kernel, is infinite; or
// not, as a compiler may halve a quotient before it divides.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "check/op_proof.hpp"
#include "check/parallel.hpp"
#include "ops/multibox_prior.hpp"
#include "shared/decode_box.hpp"

namespace clam {
namespace {

constexpr double kFloat = 0x1p-24;  ///< unit roundoff of everything in between

/// The middle of cell number `cell` of `cells` along an axis.
double centre_of(std::int64_t cell, int cells, float step, float offset) {
  const double from_cell_to_cell = step > 0 ? static_cast<double>(step) : 1.0 / cells;
  return in_float((static_cast<double>(cell) + static_cast<double>(offset)) * from_cell_to_cell);
}

/// In cells of the image; `in_float` as far as it is infinite on its way.
struct Size {
  double width, height;
  double width_in_float, height_in_float;
};

std::vector<Size> sizes_of_boxes(const Problem& p) {
  const std::vector<float> sizes = p.numbers("sizes"), ratios = p.numbers("ratios");
  std::vector<Size> boxes;
  for (const float size : sizes) {
    const double height = static_cast<double>(size), wide = height * p.integer("h");
    boxes.push_back(
        {wide / p.integer("w"), height, in_float(wide) / p.integer("w"), in_float(height)});
  }
  for (std::size_t i = 1; i < ratios.size(); ++i) {
    const double root = std::sqrt(static_cast<double>(ratios[i]));
    boxes.push_back({boxes[0].width * root, boxes[0].height / root,
                     in_float(boxes[0].width_in_float * root),
                     in_float(boxes[0].height_in_float / root)});
  }
  return boxes;
}

Bounded corner(double centre, double half, bool clip, Dtype dtype) {
  const double error = 3 * std::fabs(centre) + 13 * std::fabs(half) + std::fabs(centre + half);
  const double value = in_float(centre + half);
  const Bounded exact{value, std::isfinite(value) ? kFloat * error + 0x1p-126 : 0};
  return stored(clip ? clipped(exact) : exact, dtype);
}

}  // namespace

Reference multibox_prior_reference(const Problem& p, const Tensors&, const ReferenceOptions&) {
  const int h = p.integer("h"), w = p.integer("w");
  const std::vector<float> steps = p.numbers("steps"), offsets = p.numbers("offsets");
  const std::vector<Size> boxes = sizes_of_boxes(p);
  Expected anchors;
  anchors.value.resize(4 * boxes.size() * static_cast<std::size_t>(h) *
                       static_cast<std::size_t>(w));
  anchors.bound.resize(anchors.value.size());
  anchors.other.assign(anchors.value.size(), std::numeric_limits<double>::quiet_NaN());
  parallel_for(std::int64_t{1} * h * w, [&](std::int64_t cell) {
    const double y = centre_of(cell / w, h, steps[0], offsets[0]);
    const double x = centre_of(cell % w, w, steps[1], offsets[1]);
    auto at = static_cast<std::size_t>(cell) * boxes.size() * 4;
    for (const Size& box : boxes) {
      for (const int side : {-1, 1}) {
        for (const auto& [centre, size, size_in_float] :
             {std::tuple{x, box.width, box.width_in_float},
              std::tuple{y, box.height, box.height_in_float}}) {
          const bool clip = p.integer("clip") == 1;
          const Bounded one = corner(centre, side * size / 2, clip, p.dtype());
          anchors.value[at] = one.value;
          anchors.bound[at] = one.error;
          if (std::isinf(size_in_float) && std::isfinite(one.value)) {
            anchors.other[at] = corner(centre, side * size_in_float, clip, p.dtype()).value;
          }
          ++at;
        }
      }
    }
  });
  return {{"anchors", std::move(anchors)}};
}

}  // namespace clam
