// SPDX-License-Identifier: MIT
// unary_faults.hpp - a unary op on the host with float arguments, right or with a fault.
#pragma once

#include <cmath>

#include "check/op_proof.hpp"
#include "ops/unary.hpp"

namespace clam::unary_faults {

enum class Fault { none, no_shift, no_scale, half_argument, half_result, swapped };

/// The same op of arguments that are exact: its reference is the function itself.
inline Problem without_affine(const Problem& problem) {
  return problem.with("scale", "1").with("shift", "0").with("dtype", "f32");
}

/// `function` of scale * src + shift as float, with a fault.
inline HostTensor computed(const Problem& problem, const Tensors& inputs, Fault fault) {
  const HostTensor& src = inputs.at("src");
  const float scale = fault == Fault::no_scale ? 1 : problem.number("scale");
  const float shift = fault == Fault::no_shift ? 0 : problem.number("shift");
  HostTensor arguments(Dtype::f32, src.shape()), dst(problem.dtype(), src.shape());
  for (std::int64_t i = 0; i < src.size(); ++i) {
    const std::int64_t from = fault == Fault::swapped && (i ^ 1) < src.size() ? i ^ 1 : i;
    const auto x = static_cast<float>(src.get(from));
    // 1 * -0 + 0 is 0, whose inverse is another infinity.
    const auto z = static_cast<double>(is_affine(problem) ? std::fma(scale, x, shift) : x);
    arguments.set(i, fault == Fault::half_argument ? round_to_half(z) : z);
  }
  const Problem exact = without_affine(problem);
  const Reference values = reference_of(exact, {{"src", arguments}}, {Check::hard});
  for (std::int64_t i = 0; i < src.size(); ++i) {
    const double value = values.at("dst").value[static_cast<std::size_t>(i)];
    dst.set(i, fault == Fault::half_result ? round_to_half(value) : value);
  }
  return dst;
}

}  // namespace clam::unary_faults
