// SPDX-License-Identifier: MIT
// softmax_faults.hpp - a softmax in float on the host, right or with a fault.
#pragma once

#include <cmath>

#include "check/op_proof.hpp"
#include "ops/softmax.hpp"

namespace clam::softmax_faults {

enum class Fault { none, drop_last, half_sum, maximum_not_subtracted, one_fma };

/// A softmax computed like a kernel, in float, element after element.
inline HostTensor computed(const Problem& problem, const Tensors& inputs, Fault fault) {
  constexpr float kLog2E = 1.44269504f;
  const SoftmaxRows rows(problem);
  const float scale = problem.number("scale");
  const bool log = problem.integer("log") == 1;
  const HostTensor& src = inputs.at("src");
  HostTensor dst(problem.dtype(), src.shape());
  const auto number = [&](std::int64_t at) {
    const auto x = static_cast<float>(src.get(at));
    if (rows.mask == 0) return scale * x;
    return std::fma(scale, x, static_cast<float>(inputs.at("mask").get(at % rows.mask)));
  };
  for (std::int64_t row = 0; row < rows.outer * rows.inner; ++row) {
    const std::int64_t first = row / rows.inner * rows.n * rows.inner + row % rows.inner;
    float m = -std::numeric_limits<float>::max(), sum = 0;
    for (std::int64_t i = 0; i < rows.n; ++i) m = std::fmax(m, number(first + i * rows.inner));
    if (fault == Fault::maximum_not_subtracted) m = 0;
    const auto exponential = [&](float x) {
      if (fault == Fault::one_fma) return std::exp2(std::fma(x, kLog2E, -m * kLog2E));
      return std::exp2((x - m) * kLog2E);
    };
    for (std::int64_t i = 0; i < rows.n; ++i) {
      if (fault == Fault::drop_last && i == rows.n - 1) break;
      sum += exponential(number(first + i * rows.inner));
      if (fault == Fault::half_sum) sum = static_cast<float>(round_to_half(sum));
    }
    const float last = sum == 0 ? 0 : log ? std::log(sum) : 1 / sum;
    for (std::int64_t i = 0; i < rows.n; ++i) {
      const float x = number(first + i * rows.inner);
      dst.set(first + i * rows.inner, log ? x - m - last : exponential(x) * last);
    }
  }
  return dst;
}

}  // namespace clam::softmax_faults
