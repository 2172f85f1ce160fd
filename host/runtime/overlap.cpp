// SPDX-License-Identifier: MIT
#include "overlap.hpp"

#include <algorithm>

#include "refuse.hpp"

namespace clam {
namespace {

struct Bytes {
  std::int64_t first, end;
};

/// Of the tensor's elements, from the first to past the last.
Bytes extent(const PlacedTensor& tensor) {
  const std::int64_t size = size_of(tensor.spec->dtype);
  return {tensor.begin + tensor.spec->offset * size, tensor.begin + tensor.spec->bytes()};
}

bool meet(const Bytes& a, const Bytes& b) { return a.first < b.end && b.first < a.end; }

/// Of each row along the last axis, sorted; a tensor without strides is one row.
std::vector<Bytes> rows(const PlacedTensor& tensor) {
  const TensorSpec& spec = *tensor.spec;
  if (spec.strides.empty()) return {extent(tensor)};
  const std::int64_t size = size_of(spec.dtype), length = spec.shape.back(),
                     all = count(spec.shape);
  std::vector<Bytes> rows;
  for (std::int64_t i = 0; i < all; i += length) {
    rows.push_back({tensor.begin + spec.position(i) * size,
                    tensor.begin + (spec.position(i + length - 1) + 1) * size});
  }
  std::sort(rows.begin(), rows.end(),
            [](const Bytes& a, const Bytes& b) { return a.first < b.first; });
  return rows;
}

}  // namespace

std::vector<std::int64_t> dense_strides(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::vector<std::int64_t> strides_of(const TensorSpec& spec) {
  return spec.strides.empty() ? dense_strides(spec.shape) : spec.strides;
}

bool share_bytes(const PlacedTensor& a, const PlacedTensor& b) {
  if (!meet(extent(a), extent(b))) return false;
  const std::vector<Bytes> ours = rows(a), theirs = rows(b);
  // Sorted by their first bytes, so that those which begin before a row ends come first; the row
  // meets one of them when the farthest of their ends lies inside it.
  std::size_t next = 0;
  std::int64_t reach = 0;
  for (const Bytes& row : ours) {
    for (; next < theirs.size() && theirs[next].first < row.end; ++next) {
      reach = std::max(reach, theirs[next].end);
    }
    if (reach > row.first) return true;
  }
  return false;
}

bool coincide(const PlacedTensor& a, const PlacedTensor& b) {
  if (a.spec->dtype != b.spec->dtype || a.spec->shape != b.spec->shape) return false;
  if (extent(a).first != extent(b).first) return false;
  const std::vector<std::int64_t> ours = strides_of(*a.spec), theirs = strides_of(*b.spec);
  for (std::size_t axis = 0; axis < ours.size(); ++axis) {
    if (a.spec->shape[axis] > 1 && ours[axis] != theirs[axis]) return false;
  }
  return true;
}

Reason overlap(const PlacedTensor& output, const PlacedTensor& other) {
  const bool allowed = output.spec->may_be == other.spec->name;
  if (allowed && coincide(output, other)) return {};
  return reason_if(share_bytes(output, other),
                   "output '{}' overlaps '{}' in memory: {}bind another buffer", output.spec->name,
                   other.spec->name, allowed ? "give it exactly the same elements, or " : "");
}

}  // namespace clam
