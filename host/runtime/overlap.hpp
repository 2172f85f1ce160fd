// SPDX-License-Identifier: MIT
// overlap.hpp - outputs that lie on other tensors in memory, which kernels would read half written.
#pragma once

#include "clam/op.hpp"
#include "clam/tensor.hpp"

namespace clam {

/// The elements from one of each axis of a dense tensor to the next.
std::vector<std::int64_t> dense_strides(const Shape& shape);
/// Of every axis the distance between neighbours, in elements, also where the tensor is dense.
std::vector<std::int64_t> strides_of(const TensorSpec& spec);

/// A tensor and the byte of some memory at which its buffer begins.
struct PlacedTensor {
  const TensorSpec* spec;
  std::int64_t begin;
};

/// Whether two tensors of one memory share a byte. Rows along the last axis count whole; matrices
/// whose rows lie side by side, as parts of wider rows, share none.
bool share_bytes(const PlacedTensor& a, const PlacedTensor& b);

/// Whether each element of one is the element of the other with the same indices.
bool coincide(const PlacedTensor& a, const PlacedTensor& b);

/// A reason when `output` lies on `other`, and not as the plan allows (TensorSpec::may_be).
Reason overlap(const PlacedTensor& output, const PlacedTensor& other);

}  // namespace clam
