// SPDX-License-Identifier: MIT
// lrn_faults.hpp - an lrn in float on the host, right or with a fault.
#pragma once

#include <algorithm>
#include <cmath>

#include "check/op_proof.hpp"
#include "ops/lrn.hpp"

namespace clam::lrn_faults {

enum class Fault { none, drop_last, turned, edges_divided, half_sum };

/// Computed like a kernel, element after element.
inline HostTensor computed(const Problem& problem, const Tensors& inputs, Fault fault) {
  const Lrn lrn(problem);
  const HostTensor& x = inputs.at("x");
  HostTensor y(problem.dtype(), x.shape());
  for (std::int64_t at = 0; at < x.size(); ++at) {
    const int channel = static_cast<int>(at / lrn.pixels % lrn.c);
    const int first = channel - (fault == Fault::turned ? lrn.size / 2 : lrn.before());
    const int begin = std::max(first, 0), end = std::min(first + lrn.size, lrn.c);
    float sum = 0;
    for (int i = begin; i < end - (fault == Fault::drop_last ? 1 : 0); ++i) {
      const auto v = static_cast<float>(x.get(at + std::int64_t{i - channel} * lrn.pixels));
      sum += v * v;
      if (fault == Fault::half_sum) sum = static_cast<float>(round_to_half(sum));
    }
    const float divisor =
        static_cast<float>(fault == Fault::edges_divided ? end - begin : lrn.size);
    const float s = lrn.bias + lrn.alpha / divisor * sum;
    y.set(at, static_cast<double>(static_cast<float>(x.get(at)) * std::pow(s, -lrn.beta)));
  }
  return y;
}

}  // namespace clam::lrn_faults
