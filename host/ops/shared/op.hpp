// SPDX-License-Identifier: MIT
// op.hpp - what the files of ops are written with: the launches of plans, what most ops say for
// Op::tensors and Op::flops, and texts.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

#include "launch.hpp"
#include "runtime/refuse.hpp"

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

/// Throws BadArgument where one of the fields is inf or -inf.
inline void check_finite(const Problem& problem, std::initializer_list<const char*> fields) {
  for (const char* field : fields) {
    if (!std::isfinite(problem.number(field))) bad_field(problem, field, "needs a finite number");
  }
}

/// It copies or compares; or how much it computes depends on the data, so that nothing can be said
/// of a problem.
inline double no_flops(const Problem&) { return 0; }

/// The elements of the tensor that the field `shape` describes.
inline double elements_of(const Problem& problem) {
  return static_cast<double>(count(problem.shape("shape")));
}

/// The bytes of all tensors of a problem, each moved once; gaps between rows are not.
inline double tensor_bytes(const Problem& problem) {
  double bytes = 0;
  for (const TensorSpec& spec : problem.tensors()) {
    bytes += static_cast<double>(count(spec.shape)) * size_of(spec.dtype);
  }
  return bytes;
}

}  // namespace clam
