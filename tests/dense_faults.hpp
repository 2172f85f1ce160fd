// SPDX-License-Identifier: MIT
// dense_faults.hpp - outputs as devices would give them, honest and faulty, made on the host.
#pragma once

#include <cmath>

#include "ops/activation.hpp"
#include "ops/dense_cases.hpp"

namespace clam::test {

/// The reference's own values, each rounded to the output's dtype.
inline HostTensor rounded(const Problem& problem, const Expected& expected) {
  if (expected.bit_exact()) return expected.exact;
  HostTensor y(problem.dtype(), {problem.integer("m"), problem.integer("n")});
  for (std::int64_t i = 0; i < y.size(); ++i) y.set(i, expected.value[static_cast<std::size_t>(i)]);
  return y;
}

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

/// y(i) of another place: source(i) is where element i comes from.
template <typename Source>
HostTensor moved(const HostTensor& y, const Source& source) {
  HostTensor result(y.dtype(), y.shape());
  for (std::int64_t i = 0; i < y.size(); ++i) result.set_bits(i, y.bits(source(i)));
  return result;
}

inline HostTensor all_zero(const HostTensor& y) { return HostTensor(y.dtype(), y.shape()); }

inline HostTensor constant(const HostTensor& y) {
  return moved(y, [](std::int64_t) { return 0; });
}

/// Columns 2j and 2j+1 change places.
inline HostTensor swapped_columns(const HostTensor& y) {
  const std::int64_t n = y.shape()[1];
  return moved(y, [n](std::int64_t i) {
    const std::int64_t other = i % n ^ 1;
    return other < n ? i - i % n + other : i;
  });
}

/// Tiles of four columns hold what belongs to the next tile of the row, or, in a row of one tile,
/// of the next row.
inline HostTensor wrong_tile(const HostTensor& y) {
  const std::int64_t n = y.shape()[1], size = y.size();
  return moved(
      y, [=](std::int64_t i) { return n > 4 ? i - i % n + (i % n + 4) % n : (i + n) % size; });
}

/// The inputs without their last k.
inline Tensors without_last_k(const Problem& problem, Tensors inputs) {
  const std::int64_t k = problem.integer("k");
  HostTensor& x = inputs.at("x");
  for (std::int64_t i = k - 1; i < x.size(); i += k) x.set(i, 0);
  return inputs;
}

/// y whose last row is what the same kernel left there for other inputs.
inline HostTensor stale_last_row(const HostTensor& y, const HostTensor& before) {
  HostTensor result = y;
  for (std::int64_t i = y.size() - y.shape()[1]; i < y.size(); ++i)
    result.set_bits(i, before.bits(i));
  return result;
}

}  // namespace clam::test
