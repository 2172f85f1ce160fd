// SPDX-License-Identifier: MIT
// resize_proof.cpp - ONNX's Resize in double, element by element, and how far from it a device may
// be.
//
// Places are those of ONNX's reference. One division of exact numbers gives them, so what ought to
// be a whole number or a half is one. nearest copies bits.
//
// Let u = 2^-24. linear takes (1 - f) a + f b three times, where a and b may be off already. In
// float f is off by 3 u f: the remainder, the inverse of what it is divided by and their product.
// 1 - f is rounded, both products may be, and the sum is: together
//   (1 - f) e_a + f e_b + u (3 f |b - a| + 2 (1 - f) |a| + f |b| + |result|)
// and nothing more than e_a where f is 0. A residual is one sum more. For f16 the result is rounded
// again.
#include "ops/resize.hpp"
#include "shared/copy_sets.hpp"

namespace clam::resize {
namespace {

/// Where an output lies on x: over / under, two numbers that are exact.
struct Place {
  double over, under;
};

Place place(const Resize& resize, const ResizeAxis& axis, int i) {
  const double extent = axis.extent, outputs = axis.outputs, length = axis.length();
  // The scale is over / under: the float, or a ratio of whole numbers.
  const double over = axis.scale == 0 ? outputs : axis.scale;
  const double under = axis.scale == 0 ? extent : 1;
  if (resize.coord == "asymmetric") return {i * under, over};
  if (resize.coord == "align_corners") {
    return outputs == 1 ? Place{0, 1} : Place{i * (extent - 1), length - 1};
  }
  if (resize.coord == "pytorch_half_pixel" && length == 1) return {-1, 2};
  if (resize.coord == "half_pixel_symmetric") {
    // extent / 2 * (1 - outputs / length) + (i + 0.5) / scale - 0.5, and length = scale * extent
    return {(extent - 1) * over + (2 * i + 1 - outputs) * under, 2 * over};
  }
  return {(2 * i + 1) * under - over, 2 * over};
}

double rounded(const Resize& resize, double place) {
  if (resize.nearest == "floor") return std::floor(place);
  if (resize.nearest == "ceil") return std::ceil(place);
  const double below = std::floor(place);
  const bool up =
      resize.nearest == "round_prefer_ceil" ? place - below >= 0.5 : place - below > 0.5;
  return up ? below + 1 : below;
}

/// The elements of an axis that an output is made of: (1 - f) of a, and f of b.
struct Parts {
  std::int64_t a, b;
  double f;
};

std::vector<Parts> parts_of(const Resize& resize, const ResizeAxis& axis) {
  const auto inside = [&](double at) -> std::int64_t { return std::clamp(at, 0.0, axis.extent - 1.0); };
  std::vector<Parts> parts;
  for (int i = 0; i < axis.outputs; ++i) {
    const Place where = place(resize, axis, i);
    const double at = where.over / where.under, below = std::floor(at);
    const double f = (where.over - below * where.under) / where.under;
    const std::int64_t nearest = inside(rounded(resize, at));
    parts.push_back(resize.linear ? Parts{inside(below), inside(below + 1), f}
                                  : Parts{nearest, nearest, 0});
  }
  return parts;
}

Bounded between(const Bounded& a, const Bounded& b, double f) {
  const double value = (1 - f) * a.value + f * b.value;
  if (f == 0) return {value, a.error};
  const double own = 3 * f * std::fabs(b.value - a.value) + 2 * (1 - f) * std::fabs(a.value) +
                     f * std::fabs(b.value) + std::fabs(value);
  return {value, (1 - f) * a.error + f * b.error + kFloat * own};
}

Bounded element(const Resize& resize, const HostTensor& x, std::int64_t map, const Parts& down,
                const Parts& across) {
  const auto at = [&](std::int64_t row, std::int64_t column) {
    return Bounded{x.get((map * resize.rows.extent + row) * resize.columns.extent + column), 0};
  };
  if (!resize.linear) return at(down.a, across.a);
  return between(between(at(down.a, across.a), at(down.a, across.b), across.f),
                 between(at(down.b, across.a), at(down.b, across.b), across.f), down.f);
}

Bounded finished(const Resize& resize, Bounded sum, const double* residual,
                 const ReferenceOptions& options) {
  if (residual) {
    sum.value += *residual;
    sum.error += kFloat * std::fabs(sum.value);
  }
  if (!std::isfinite(sum.value)) return {sum.value, 0};
  if (resize.dtype == Dtype::f16) sum.error += unit_roundoff(Dtype::f16) * std::fabs(sum.value);
  // Denormals may cost seven numbers that a device takes for 0, or as many roundings.
  return {sum.value, sum.error + crumb(resize.dtype, options.denormals, 0x1p-147, 0x1p-123)};
}

Reference reference(const Problem& problem, const Tensors& inputs,
                    const ReferenceOptions& options) {
  const Resize resize(problem);
  const HostTensor& x = inputs.at("x");
  const std::vector<Parts> rows = parts_of(resize, resize.rows);
  const std::vector<Parts> columns = parts_of(resize, resize.columns);
  const std::int64_t oh = resize.rows.outputs, ow = resize.columns.outputs;
  if (!resize.linear && !resize.residual) {
    return copied(problem, [&](std::int64_t i) {
      const std::int64_t row = rows[i / ow % oh].a;
      const std::int64_t column = columns[i % ow].a;
      return x.bits((i / ow / oh * resize.rows.extent + row) * resize.columns.extent + column);
    });
  }
  return by_rows(problem, resize.maps(), [&](std::int64_t map, Expected& y) {
    for (std::int64_t i = map * oh * ow; i < (map + 1) * oh * ow; ++i) {
      const Bounded sum = element(resize, x, map, rows[i / ow % oh], columns[i % ow]);
      const double residual = resize.residual ? inputs.at("r").get(i) : 0;
      y.set(i, finished(resize, sum, resize.residual ? &residual : nullptr, options));
    }
  });
}

// ---- data sets and cases ----

void special(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const Resize resize(problem);
  if (!resize.linear && !resize.residual) {
    return copy_data::fill(problem.dtype(), seed, inputs, copy_data::any_bits);
  }
  fill_all(seed, inputs, special_at);
}

}  // namespace

OpProof proof() {
  return {"resize",
          {{"zero_mean", Check::hard, "N(0,1): a wrong place or fraction shows", filled(normal)},
           {"outliers", Check::hard, "N(0,1) with numbers of 1000 in between",
            filled(outliers(8, 1000))},
           {"special", Check::hard,
            "NaN, infinities and -0 in places; any bits where they are moved", special}},
          reference,
          // Groups are 16 wide, items 1, 2 or 4 columns; an item has up to 4 maps.
          {
              // What feature pyramids and segmentation run.
              "c=96 h=20 w=20 oh=40 ow=40",
              "c=5 h=13 w=13 oh=26 ow=26 residual",
              "c=21 h=17 w=19 oh=68 ow=76 coord=asymmetric nearest=floor",
              "c=3 h=9 w=12 oh=72 ow=96",
              "c=7 h=20 w=20 oh=40 ow=40 mode=linear",
              "c=4 h=16 w=32 oh=256 ow=128 mode=linear coord=align_corners",
              "c=3 h=90 w=122 oh=64 ow=64 mode=linear coord=pytorch_half_pixel",
              // Repeated: each width of an item, other factors along rows.
              "n=2 c=3 h=1 w=1 oh={1,2,8} ow=2",
              "c=3 h=5 w=7 oh=5 ow={7,14,28,56}",
              "c=2 h=3 w=66 oh=24 ow=66",
              "n=2 c=2 h=5 w=33 oh=10 ow=132 residual",
              // Doubled: one row, one column, around a group.
              "n=2 c=3 h=1 w=1 oh=2 ow=2 mode=linear",
              "c=3 h=2 w=31 oh=4 ow=62 mode=linear",
              "c=2 h=17 w=34 oh=34 ow=68 mode=linear residual",
              // Any places: a map an item, two, four and eight; one column, one row.
              "c=3 h=9 w=30 oh=32 ow=132 mode={nearest,linear}",
              "c=2 h=16 w=32 oh=256 ow=256 coord=asymmetric",
              "c=4 h=40 w=41 oh=128 ow=130 mode={nearest,linear} residual",
              "c=8 h=40 w=41 oh=91 ow=93 mode={nearest,linear}",
              "c=2 h=1 w=1000 oh=1 ow=777 mode=linear",
              "c=2 h=77 w=1 oh=300 ow=1",
              // Scales that ask for no whole number of outputs.
              "c=1 h=5 w=6 oh=3 ow=3 scale_h=0.6 scale_w=0.6 mode={nearest,linear}",
              "c=1 h=48 w=15 oh=64 ow=20 scale_h=1.3333334 scale_w=1.3333334 coord=asymmetric "
              "nearest=floor",
              "c=1 h=4 w=9 oh=1 ow=24 scale_h=0.3 scale_w=2.7 mode=linear coord=align_corners",
              "c=1 h=7 w=9 oh=3 ow=14 scale_h=0.4 scale_w=1.6{ mode=linear,} "
              "coord=half_pixel_symmetric",
              // Every way to find a place.
              "c=1 h=6 w=10 oh={1,9} ow=25 mode=linear "
              "coord={half_pixel,asymmetric,align_corners,pytorch_half_pixel,half_pixel_symmetric}",
              "c=1 h=6 w=10 oh={4,9} ow=25 "
              "coord={half_pixel,asymmetric,align_corners,pytorch_half_pixel,half_pixel_symmetric} "
              "nearest={round_prefer_floor,round_prefer_ceil,floor,ceil}",
          },
          {"c=2 h=3 w=5 oh=6 ow=10 mode={nearest,linear}", "c=2 h=3 w=5 oh=5 ow=8 residual",
           "c=2 h=3 w=5 oh=4 ow=9 mode=linear"}};
}

}  // namespace clam::resize
