// SPDX-License-Identifier: MIT
// binary_faults.hpp - a binary op on the host, right or with a fault.
#pragma once

#include <cmath>

#include "check/op_proof.hpp"
#include "ops/binary.hpp"

namespace clam::binary_faults {

enum class Fault { none, swapped_operands, repeats_nothing, half_result, number_for_nan };

/// float or half arithmetic, element after element, with operands found by their indices.
inline HostTensor computed(const Problem& problem, const Tensors& inputs, Fault fault) {
  const BinaryAxes axes(problem);
  const HostTensor &a = inputs.at("a"), &b = inputs.at("b");
  const std::string& op = problem.choice("op");
  const auto result = [&](float x, float y) {
    if (fault == Fault::swapped_operands) std::swap(x, y);
    if (fault == Fault::number_for_nan && op == "max") return std::fmax(x, y);
    if (fault == Fault::number_for_nan && op == "min") return std::fmin(x, y);
    if (op == "max") return x > y || std::isnan(x) ? x : y;
    if (op == "min") return x < y || std::isnan(x) ? x : y;
    return op == "add" ? x + y : op == "sub" ? x - y : op == "mul" ? x * y : x / y;
  };
  HostTensor c(problem.dtype(), axes.shape);
  for (std::int64_t i = 0; i < c.size(); ++i) {
    auto [of_a, of_b] = axes.operands(i);
    if (fault == Fault::repeats_nothing) of_a = i % a.size(), of_b = i % b.size();
    const float value = result(static_cast<float>(a.get(of_a)), static_cast<float>(b.get(of_b)));
    const auto wide = static_cast<double>(value);
    c.set(i, fault == Fault::half_result ? round_to_half(wide) : wide);
  }
  return c;
}

}  // namespace clam::binary_faults
