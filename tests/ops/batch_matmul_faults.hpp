// SPDX-License-Identifier: MIT
// batch_matmul_faults.hpp - a batch_matmul of another accumulator, and inputs as a faulty kernel
// would read them, on the host.
#pragma once

#include <cmath>

#include "check/op_proof.hpp"
#include "check/ops/batch_matmul_data.hpp"
#include "check/ops/shared/activate.hpp"
#include "ops/shared/activation.hpp"

namespace clam::batch_matmul_faults {

/// A batch_matmul computed like a kernel, with the sum in the accumulator's dtype.
inline HostTensor computed(const Problem& problem, const Tensors& inputs, Dtype accumulator) {
  const batch_matmul_data::Places at(problem);
  const double scale = static_cast<double>(problem.number("scale"));
  const Act act(problem);
  const auto narrow = [&](double value) {
    return accumulator == Dtype::f16 ? round_to_half(value)
                                     : static_cast<double>(static_cast<float>(value));
  };
  const HostTensor &a = inputs.at("a"), &b = inputs.at("b");
  HostTensor c(problem.dtype(), {problem.integer("batch"), at.m, at.n});
  for (std::int64_t i = 0; i < c.size(); ++i) {
    const std::int64_t item = i / (at.m * at.n), row = i / at.n % at.m, column = i % at.n;
    const std::int64_t item_a = item % a.shape()[0], item_b = item % b.shape()[0];
    double sum = 0;
    for (std::int64_t j = 0; j < at.k; ++j) {
      sum = narrow(a.get(at.a(item_a, row, j)) * b.get(at.b(item_b, j, column)) + sum);
    }
    const auto mask = inputs.find("mask");
    const double addend = mask == inputs.end() ? 0 : mask->second.get(i % mask->second.size());
    c.set(i, activate(act, static_cast<double>(static_cast<float>(scale * sum + addend))));
  }
  return c;
}

/// The inputs without their last k.
inline Tensors without_last_k(const Problem& problem, Tensors inputs) {
  const batch_matmul_data::Places at(problem);
  HostTensor& a = inputs.at("a");
  for (std::int64_t item = 0; item < a.shape()[0]; ++item) {
    for (std::int64_t row = 0; row < at.m; ++row) a.set(at.a(item, row, at.k - 1), 0);
  }
  return inputs;
}

/// Every batch item of a tensor is its first.
inline Tensors first_item_of(const std::string& name, Tensors inputs) {
  HostTensor& tensor = inputs.at(name);
  const std::int64_t size = tensor.size() / tensor.shape()[0];
  for (std::int64_t i = size; i < tensor.size(); ++i) tensor.set_bits(i, tensor.bits(i % size));
  return inputs;
}

/// Numbers of the mask times `factor`: 0 for a mask that is ignored, scale for one that is added
/// before it.
inline Tensors scaled_mask(double factor, Tensors inputs) {
  HostTensor& mask = inputs.at("mask");
  for (std::int64_t i = 0; i < mask.size(); ++i) mask.set(i, factor * mask.get(i));
  return inputs;
}

}  // namespace clam::batch_matmul_faults
