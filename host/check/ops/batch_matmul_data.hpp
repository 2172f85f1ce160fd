// SPDX-License-Identifier: MIT
// batch_matmul_data.hpp - what the data sets of batch_matmul are made of.
#pragma once

#include <map>

#include "shared/product_sets.hpp"

namespace clam::batch_matmul_data {

/// Where elements of a and b lie in their dense tensors.
struct Places {
  std::int64_t m, n, k;
  bool ta, tb;

  explicit Places(const Problem& problem)
      : m(problem.integer("m")),
        n(problem.integer("n")),
        k(problem.integer("k")),
        ta(problem.integer("ta") == 1),
        tb(problem.integer("tb") == 1) {}
  std::int64_t a(std::int64_t item, std::int64_t row, std::int64_t i) const {
    return item * m * k + (ta ? i * m + row : row * k + i);
  }
  std::int64_t b(std::int64_t item, std::int64_t i, std::int64_t column) const {
    return item * k * n + (tb ? column * k + i : i * n + column);
  }
};

/// Batch items of a or of b hold the same elements.
inline bool overlaps(const Problem& problem) {
  for (const TensorSpec& spec : problem.tensors()) {
    if (spec.span() - spec.offset < count(spec.shape)) return true;
  }
  return false;
}

/// Batch items that overlap share numbers: the last one written stays.
inline void share_places(const Problem& problem, Tensors& inputs) {
  if (!overlaps(problem)) return;
  for (const TensorSpec& spec : problem.tensors()) {
    if (spec.role == TensorSpec::Role::output || spec.strides.empty()) continue;
    HostTensor& tensor = inputs.at(spec.name);
    std::map<std::int64_t, double> numbers;
    for (std::int64_t i = 0; i < tensor.size(); ++i) numbers[spec.position(i)] = tensor.get(i);
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, numbers.at(spec.position(i)));
  }
}

/// The last product is never 0, and columns of a pair differ in it alone, so that a product left
/// out and columns in the wrong place show at any extent.
inline void mark_last_product(const Places& at, HostTensor& a, HostTensor& b) {
  for (std::int64_t item = 0; item < a.shape()[0]; ++item) {
    for (std::int64_t row = 0; row < at.m; ++row) {
      const std::int64_t last = at.a(item, row, at.k - 1);
      a.set(last, a.get(last) < 0 ? -1 : 1);
    }
  }
  for (std::int64_t item = 0; item < b.shape()[0]; ++item) {
    for (std::int64_t column = 0; column < at.n; ++column) {
      const std::int64_t left = column - column % 2;
      for (std::int64_t i = 0; i < at.k; ++i)
        b.set(at.b(item, i, column), b.get(at.b(item, i, left)));
      b.set(at.b(item, at.k - 1, column), column % 2 == 0 ? 1 : -1);
    }
  }
}

/// Odd batch items are those before them but for signs: b's at the last k, so that a wrong b
/// changes every sum by 2, and a's at the k before that, so that a wrong a changes every sum by 1,
/// and both together by an odd number. (With k = 1 there is no such place for a.)
inline void mark_odd_items(const Places& at, HostTensor& a, HostTensor& b) {
  const std::int64_t k = at.k;
  const bool several = a.shape()[0] > 1;
  for (std::int64_t item = 0; several && item < a.shape()[0]; ++item) {
    for (std::int64_t row = 0; row < at.m; ++row) {
      const std::int64_t before = item - item % 2;
      for (std::int64_t i = 0; i < k; ++i) a.set(at.a(item, row, i), a.get(at.a(before, row, i)));
      if (k > 1) a.set(at.a(item, row, k - 2), item % 2 == 0 ? 0 : 1);
    }
  }
  for (std::int64_t item = 0; item < b.shape()[0]; ++item) {
    for (std::int64_t column = 0; column < at.n; ++column) {
      const std::int64_t before = item - item % 2;
      for (std::int64_t i = 0; i < k; ++i)
        b.set(at.b(item, i, column), b.get(at.b(before, i, column)));
      if (several && k > 1) b.set(at.b(item, k - 2, column), 1);
      const std::int64_t last = at.b(item, k - 1, column);
      if (item % 2 == 1) b.set(last, -b.get(last));
    }
  }
}

/// Never 0, and other than in the batch item before.
inline void mark_mask(HostTensor& mask) {
  const bool batched = mask.shape().size() == 3;
  const std::int64_t size = batched ? mask.size() / mask.shape()[0] : mask.size();
  for (std::int64_t i = 0; i < mask.size(); ++i) {
    const bool odd = i / size % 2 == 1;
    mask.set(i, odd ? -mask.get(i - size) : mask.get(i) < 0 ? -1 : 1);
  }
}

/// -1, 0 and 1, so that every partial sum is exact. Batch items that overlap have no room for
/// marks; theirs are -1 and 1, lest a sum of zeros has the sign of its products on some devices.
inline void exact(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  if (overlaps(problem)) {
    return fill_all(seed, inputs,
                    [](Random& random, std::int64_t) { return 2 * random.integer(0, 1) - 1; });
  }
  product_sets::ternary(seed, inputs);
  const Places at(problem);
  mark_last_product(at, inputs.at("a"), inputs.at("b"));
  mark_odd_items(at, inputs.at("a"), inputs.at("b"));
  if (inputs.count("mask")) mark_mask(inputs.at("mask"));
}

}  // namespace clam::batch_matmul_data
