// SPDX-License-Identifier: MIT
// scale_shift_proof.cpp - act(src * scale[c] + shift[c]) in double, and how far from it a device
// may be.
//
// Let u = 2^-24. Product and sum are one fma, off by u |z|. The activation passes that on and adds
// its own error, and the result is rounded to its dtype: for f32 that is nothing new where the
// activation is exact. A device that takes denormals for 0 may do so to each operand and to z.
#include "ops/shared/axes.hpp"
#include "shared/activate.hpp"
#include "shared/proof.hpp"

namespace clam::scale_shift {
namespace {

/// From a channel of src to the next: the extents behind the axis.
std::int64_t step_of(const Problem& problem) {
  return AroundAxis(problem, problem.shape("shape")).inner;
}

Reference reference(const Problem& problem, const Tensors& inputs,
                    const ReferenceOptions& options) {
  const HostTensor &src = inputs.at("src"), &scale = inputs.at("scale"),
                   &shift = inputs.at("shift");
  const Act act(problem);
  const Dtype dtype = problem.dtype();
  const double last = dtype == Dtype::f32 && is_exact(act) ? 0 : unit_roundoff(dtype);
  const std::int64_t step = step_of(problem), n = scale.size();
  return by_rows(problem, src.size() / step, [&](std::int64_t row, Expected& dst) {
    const double factor = scale.get(row % n), term = shift.get(row % n);
    for (std::int64_t i = row * step; i < (row + 1) * step; ++i) {
      const double x = src.get(i), z = in_float(x * factor + term);
      double error = kFloat * std::fabs(z);
      if (!options.denormals) error += kSmallest * (2 + std::fabs(factor) + std::fabs(x));
      dst.set(i, activated(act, z, error, last, crumb(dtype, options.denormals)));
    }
  });
}

// ---- data sets and cases ----

/// Each channel has a scale and a shift; src is x(random, i, -shift / scale).
template <typename X>
DataSet::Fill fill(const X& x) {
  return [x](const Problem& problem, std::uint64_t seed, Tensors& inputs) {
    Random random(seed);
    HostTensor &src = inputs.at("src"), &scale = inputs.at("scale"), &shift = inputs.at("shift");
    for (std::int64_t c = 0; c < scale.size(); ++c) {
      scale.set(c, away_from_zero(random));
      shift.set(c, away_from_zero(random));
    }
    fill_tensor(src, random, [&, step = step_of(problem)](Random&, std::int64_t i) {
      const std::int64_t c = i / step % scale.size();
      return x(random, i, -shift.get(c) / scale.get(c));
    });
  };
}

double cancelling(Random& random, std::int64_t, double zero) {
  return zero * (1 + random.normal() / 16);
}

void special(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const double most = problem.dtype() == Dtype::f16 ? 65504 : 3e38;
  const auto element = [most](Random& random, std::int64_t i, double) {
    const double x = special_at(random, i);
    return i % 41 == 17 && std::isfinite(x) ? most : x;
  };
  fill(element)(problem, seed, inputs);
}

}  // namespace

OpProof proof() {
  return {
      "scale_shift",
      {{"zero_mean", Check::hard, "src of N(0,1), scale and shift not near 0", fill(normal)},
       {"cancelling", Check::hard, "shift nearly cancels the product: a rounded one fails",
        fill(cancelling)},
       {"special", Check::hard, "NaN, infinities, -0 and the largest numbers in places", special}},
      reference,
      // An item has one element or four, a group is 16 items wide.
      {
          // What DenseNet runs.
          "shape={1x64x28x28,1x33x14x14,2x17x7x7,1x7x7x96 axis=-1} act=relu",
          // Rows: one channel, one element, around a vector and a group; any axis.
          "shape={1,5,64} axis=0",
          "shape=3x1x8",
          "shape=2x5x{1,3,4,63,64,65,68,257}",
          "shape=5x2x3x4 axis={0,1,2,3}",
          "shape=1x1025x4",
          // The last axis.
          "shape=7x{1,3,4,63,64,65,68}",
          "shape=1031x4 axis=-1",
          // What follows.
          fmt::format("shape=3x5x{{33,44}} act={{{}}}", fmt::join(activation_names(), ",")),
      },
      {"shape=2x3x7 act=relu", "shape=2x5x68 act=silu", "shape=5x{7,68} act=gelu"}};
}

}  // namespace clam::scale_shift
