// SPDX-License-Identifier: MIT
// dense_faults.hpp - a dense of another accumulator, without its last k, or wrong in its second
// source of k, on the host.
#pragma once

#include <cmath>

#include "check/op_proof.hpp"
#include "check/ops/shared/activate.hpp"
#include "ops/shared/activation.hpp"

namespace clam::dense_faults {

/// A dense computed like a kernel, with the sum in the accumulator's dtype.
inline HostTensor computed(const Problem& problem, const Tensors& inputs, Dtype accumulator) {
  const std::int64_t m = problem.integer("m"), n = problem.integer("n"), k = problem.integer("k");
  const std::int64_t k2 = problem.integer("k2"), all = k + k2;
  const bool trans_w = problem.integer("trans_w") == 1;
  const double alpha = static_cast<double>(problem.number("alpha"));
  const Act act(problem);
  const auto narrow = [&](double value) {
    return accumulator == Dtype::f16 ? round_to_half(value)
                                     : static_cast<double>(static_cast<float>(value));
  };
  const HostTensor &x = inputs.at("x"), &w = inputs.at("w");
  HostTensor y(problem.dtype(), {m, n});
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const std::int64_t row = i / n, col = i % n;
    double sum = 0;
    for (std::int64_t j = 0; j < all; ++j) {
      const double v = j < k ? x.get(row * k + j) : inputs.at("x2").get(row * k2 + j - k);
      sum = narrow(v * w.get(trans_w ? col * all + j : j * n + col) + sum);
    }
    const double bias = problem.flag("bias") ? inputs.at("b").get(col) : 0;
    const double z = static_cast<double>(static_cast<float>(alpha * sum + bias));
    const double residual = problem.flag("residual") ? inputs.at("r").get(i) : 0;
    y.set(i, static_cast<double>(static_cast<float>(activate(act, z))) + residual);
  }
  return y;
}

/// The inputs without the last k of a source.
inline Tensors without_last_k(Tensors inputs, const char* source) {
  HostTensor& x = inputs.at(source);
  const std::int64_t k = x.shape()[1];
  for (std::int64_t i = k - 1; i < x.size(); i += k) x.set(i, 0);
  return inputs;
}

/// x2 read with the row stride of x, as far as that stays inside of it.
inline Tensors x2_with_stride_of_x(const Problem& problem, Tensors inputs) {
  const HostTensor x2 = inputs.at("x2");
  const std::int64_t k = problem.integer("k"), k2 = problem.integer("k2");
  for (std::int64_t i = 0; i < x2.size(); ++i) {
    inputs.at("x2").set(i, x2.get((i / k2 * k + i % k2) % x2.size()));
  }
  return inputs;
}

/// Weights of the second source taken from the first's place.
inline Tensors w_from_the_start(const Problem& problem, Tensors inputs) {
  const std::int64_t n = problem.integer("n"), k = problem.integer("k");
  const std::int64_t all = k + problem.integer("k2");
  const bool trans_w = problem.integer("trans_w") == 1;
  const HostTensor w = inputs.at("w");
  for (std::int64_t column = 0; column < n; ++column) {
    for (std::int64_t j = k; j < all; ++j) {
      const auto at = [&](std::int64_t i) { return trans_w ? column * all + i : i * n + column; };
      inputs.at("w").set(at(j), w.get(at(j - k)));
    }
  }
  return inputs;
}

}  // namespace clam::dense_faults
