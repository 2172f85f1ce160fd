// SPDX-License-Identifier: MIT
// faults.hpp - outputs as devices would give them, honest and faulty, made on the host.
#pragma once

#include "check/op_proof.hpp"
#include "clam/op.hpp"

namespace clam::test {

/// The reference's own values, each rounded to the output's dtype.
inline HostTensor rounded(const Expected& expected, Dtype dtype, const Shape& shape) {
  if (expected.bit_exact()) return expected.exact;
  HostTensor y(dtype, shape);
  for (std::int64_t i = 0; i < y.size(); ++i) y.set(i, expected.value[static_cast<std::size_t>(i)]);
  return y;
}

/// What a flawless device would give for all outputs of a problem.
inline Tensors rounded(const Problem& problem, const Reference& reference) {
  Tensors outputs;
  for (const TensorSpec& spec : problem.tensors()) {
    const auto expected = reference.find(spec.name);
    if (expected == reference.end()) continue;
    outputs.emplace(spec.name, rounded(expected->second, spec.dtype, spec.shape));
  }
  return outputs;
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

/// Elements 2j and 2j+1 of a row of n change places.
inline HostTensor swapped_columns(const HostTensor& y, std::int64_t n) {
  return moved(y, [n](std::int64_t i) {
    const std::int64_t other = i % n ^ 1;
    return other < n ? i - i % n + other : i;
  });
}

/// Tiles of four columns hold what belongs to the next tile of the row of n, or, in a row of one
/// tile, of the next row.
inline HostTensor wrong_tile(const HostTensor& y, std::int64_t n) {
  const std::int64_t size = y.size();
  return moved(
      y, [=](std::int64_t i) { return n > 4 ? i - i % n + (i % n + 4) % n : (i + n) % size; });
}

/// y whose last row of n is what the same kernel left there for other inputs.
inline HostTensor stale_last_row(const HostTensor& y, const HostTensor& before, std::int64_t n) {
  HostTensor result = y;
  for (std::int64_t i = y.size() - n; i < y.size(); ++i) result.set_bits(i, before.bits(i));
  return result;
}

}  // namespace clam::test
