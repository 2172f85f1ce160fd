// SPDX-License-Identifier: MIT
// counts.hpp - what most ops say for Op::tensors, Op::flops and Op::bytes.
#pragma once

#include <string>
#include <utility>

#include "clam/op.hpp"

namespace clam {

/// A tensor that lies dense, from the start of its buffer on.
inline TensorSpec input(std::string name, Dtype dtype, Shape shape) {
  return {std::move(name), TensorSpec::Role::input, dtype, std::move(shape), {}, 0};
}
/// `may_be`: the input that it may overwrite; empty: none.
inline TensorSpec output(std::string name, Dtype dtype, Shape shape, std::string may_be = "") {
  return {std::move(name),  TensorSpec::Role::output, dtype, std::move(shape), {}, 0,
          std::move(may_be)};
}

/// It copies or compares; or how much it computes depends on the data, so that nothing can be said
/// of a problem.
inline double no_flops(const Problem&) { return 0; }

/// The bytes of all tensors of a problem, each moved once; gaps between rows are not.
inline double tensor_bytes(const Problem& problem) {
  double bytes = 0;
  for (const TensorSpec& spec : problem.tensors()) {
    bytes += static_cast<double>(count(spec.shape)) * size_of(spec.dtype);
  }
  return bytes;
}

}  // namespace clam
