// SPDX-License-Identifier: MIT
// rotary_reference.cpp - rotary in double, and how far from it a device may be. Let u = 2^-24. Each
// of the two products may be rounded, or one fused into the sum: u |src cos| + u |rotate(src) sin|;
// the sum is rounded, u |dst|, which in f32 is the rounding to the output. What is copied is exact.
#include <cmath>

#include "check/op_proof.hpp"
#include "check/parallel.hpp"
#include "ops/rotary.hpp"
#include "shared/summation.hpp"

namespace clam {
namespace {

/// What is lost among f32 denormals where the device has none, in the operands or the products.
double crumb(Dtype dtype, const ReferenceOptions& options, double factors) {
  if (dtype == Dtype::f16) return 0x1p-25;
  return options.denormals ? 3 * 0x1p-149 : (3 + factors) * 0x1p-126;
}

}  // namespace

Reference rotary_reference(const Problem& problem, const Tensors& inputs,
                           const ReferenceOptions& options) {
  const Rotary rotary(problem);
  const Dtype dtype = problem.dtype();
  const HostTensor &src = inputs.at("src"), &cos = inputs.at("cos"), &sin = inputs.at("sin");
  Expected dst;
  dst.value.resize(static_cast<std::size_t>(src.size()));
  dst.bound.resize(dst.value.size());
  const double u = 0x1p-24, last = unit_roundoff(dtype) + (dtype == Dtype::f16 ? u : 0);
  parallel_for(std::int64_t{rotary.matrices} * rotary.n, [&](std::int64_t row) {
    for (int j = 0; j < rotary.d; ++j) {
      const std::int64_t at = row * rotary.d + j, place = row % rotary.n * rotary.d + j;
      const auto i = static_cast<std::size_t>(at);
      if (j >= rotary.rotary_dim) {
        dst.value[i] = src.get(at);
        continue;
      }
      const double sign = rotary.is_first(j) ? -1 : 1, c = cos.get(place), s = sin.get(place);
      const double a = src.get(at) * c, b = sign * src.get(at - j + rotary.partner(j)) * s;
      dst.value[i] = a + b;
      if (options.check == Check::exact || !std::isfinite(a + b)) continue;
      dst.bound[i] = u * (std::fabs(a) + std::fabs(b)) + last * std::fabs(a + b) +
                     crumb(dtype, options, std::fabs(c) + std::fabs(s));
    }
  });
  return {{"dst", std::move(dst)}};
}

}  // namespace clam
