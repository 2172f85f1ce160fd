// SPDX-License-Identifier: MIT
// layer_norm_faults.hpp - a layer_norm in float on the host, right or with a fault.
#pragma once

#include <cmath>

#include "check/op_proof.hpp"
#include "check/ops/shared/activate.hpp"
#include "ops/shared/activation.hpp"

namespace clam::layer_norm_faults {

enum class Fault { none, drop_last, half_sum, squares_less_square, no_eps, sample_variance };

/// term(i) for i in [begin, end), added up pairwise.
template <typename Term>
float sum(int begin, int end, Fault fault, const Term& term) {
  if (end - begin == 1) return term(begin);
  const int middle = begin + (end - begin) / 2;
  const float both = sum(begin, middle, fault, term) + sum(middle, end, fault, term);
  return fault == Fault::half_sum ? static_cast<float>(round_to_half(both)) : both;
}

/// Mean and variance of a row of n from element `first` on, with a fault.
struct Row {
  float mean, variance;

  Row(const HostTensor& src, std::int64_t first, int n, Fault fault) {
    const auto number = [&](int i) { return static_cast<float>(src.get(first + i)); };
    const auto mean_of = [&](auto term) {
      return sum(0, fault == Fault::drop_last ? n - 1 : n, fault, term) / static_cast<float>(n);
    };
    mean = mean_of(number);
    if (fault == Fault::squares_less_square) {
      variance = mean_of([&](int i) { return number(i) * number(i); }) - mean * mean;
    } else {
      variance = mean_of([&](int i) { return (number(i) - mean) * (number(i) - mean); });
    }
    if (fault == Fault::sample_variance) {
      variance *= static_cast<float>(n) / static_cast<float>(n - 1);
    }
  }
};

/// A layer_norm computed like a kernel, in float, element after element; the activation in double.
inline HostTensor computed(const Problem& problem, const Tensors& inputs, Fault fault) {
  const HostTensor& src = inputs.at("src");
  const int n = problem.integer("n");
  const float eps = fault == Fault::no_eps ? 0 : problem.number("eps");
  const Act act(problem);
  HostTensor dst(problem.dtype(), src.shape());
  for (std::int64_t first = 0; first < src.size(); first += n) {
    const Row row(src, first, n, fault);
    const float factor = 1 / std::sqrt(row.variance + eps);
    for (int i = 0; i < n; ++i) {
      const float difference = static_cast<float>(src.get(first + i)) - row.mean;
      const float z = std::fma(difference * factor, static_cast<float>(inputs.at("gamma").get(i)),
                               static_cast<float>(inputs.at("beta").get(i)));
      dst.set(first + i, activate(act, static_cast<double>(z)));
    }
  }
  return dst;
}

}  // namespace clam::layer_norm_faults
