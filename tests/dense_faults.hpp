// SPDX-License-Identifier: MIT
// dense_faults.hpp - a dense of another accumulator, or without its last k, on the host.
#pragma once

#include <cmath>

#include "ops/dense_cases.hpp"
#include "ops/shared/activation.hpp"

namespace clam::dense_faults {

/// A dense computed like a kernel, with the sum in the accumulator's dtype.
inline HostTensor computed(const Problem& problem, const Tensors& inputs, Dtype accumulator) {
  const std::int64_t m = problem.integer("m"), n = problem.integer("n"), k = problem.integer("k");
  const bool trans_w = problem.integer("trans_w") == 1;
  const double alpha = static_cast<double>(problem.number("alpha"));
  const Activation act = parse_activation(problem.choice("act"));
  const auto narrow = [&](double value) {
    return accumulator == Dtype::f16 ? round_to_half(value)
                                     : static_cast<double>(static_cast<float>(value));
  };
  const HostTensor &x = inputs.at("x"), &w = inputs.at("w");
  HostTensor y(problem.dtype(), {m, n});
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const std::int64_t row = i / n, col = i % n;
    double sum = 0;
    for (std::int64_t j = 0; j < k; ++j) {
      sum = narrow(x.get(row * k + j) * w.get(trans_w ? col * k + j : j * n + col) + sum);
    }
    const double bias = problem.flag("bias") ? inputs.at("b").get(col) : 0;
    const double z = static_cast<double>(static_cast<float>(alpha * sum + bias));
    const double residual = problem.flag("residual") ? inputs.at("r").get(i) : 0;
    y.set(i, static_cast<double>(static_cast<float>(activate(act, z))) + residual);
  }
  return y;
}

/// The inputs without their last k.
inline Tensors without_last_k(const Problem& problem, Tensors inputs) {
  const std::int64_t k = problem.integer("k");
  HostTensor& x = inputs.at("x");
  for (std::int64_t i = k - 1; i < x.size(); i += k) x.set(i, 0);
  return inputs;
}

}  // namespace clam::dense_faults
