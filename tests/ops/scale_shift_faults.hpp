// SPDX-License-Identifier: MIT
// scale_shift_faults.hpp - a scale_shift in float on the host, right or with a fault.
#pragma once

#include <cmath>

#include "check/op_proof.hpp"
#include "check/ops/shared/activate.hpp"

namespace clam::scale_shift_faults {

enum class Fault { none, next_channel, no_shift, rounded_product, half_sum, no_act };

/// The multiply-add in float, the activation in double.
inline HostTensor computed(const Problem& problem, const Tensors& inputs, Fault fault) {
  const HostTensor &src = inputs.at("src"), &scale = inputs.at("scale");
  const Shape shape = problem.shape("shape");
  std::int64_t step = 1;
  for (auto i = static_cast<std::size_t>(problem.integer("axis")) + 1; i < shape.size(); ++i) {
    step *= shape[i];
  }
  const Act act = fault == Fault::no_act ? Act(Activation::none) : Act(problem);
  HostTensor dst(problem.dtype(), src.shape());
  for (std::int64_t i = 0; i < src.size(); ++i) {
    const std::int64_t c = (i / step + (fault == Fault::next_channel)) % scale.size();
    const auto x = static_cast<float>(src.get(i)), factor = static_cast<float>(scale.get(c));
    const float term = fault == Fault::no_shift ? 0 : static_cast<float>(inputs.at("shift").get(c));
    float z = fault == Fault::rounded_product ? x * factor + term : std::fma(x, factor, term);
    if (fault == Fault::half_sum) z = static_cast<float>(round_to_half(static_cast<double>(z)));
    dst.set(i, activate(act, static_cast<double>(z)));
  }
  return dst;
}

}  // namespace clam::scale_shift_faults
