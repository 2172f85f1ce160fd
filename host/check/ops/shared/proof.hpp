// SPDX-License-Identifier: MIT
// proof.hpp - what proofs are written with: numbers, inputs element by element, sums and their
// errors, loops on all cores, and texts of problems. The headers beside it that have sets or bounds
// bring it along.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "check/parallel.hpp"
#include "random.hpp"
#include "summation.hpp"

namespace clam {

constexpr double kFloat = 0x1p-24;            ///< unit roundoff of float, in which kernels compute
constexpr double kSmallest = 0x1p-126;        ///< the smallest normal float: less may count as 0
constexpr double kLargest = 0x1.fffffep+127;  ///< the largest float
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Infinite where it is beyond the largest float.
inline double in_float(double value) {
  return std::fabs(value) > kLargest ? std::copysign(kInfinity, value) : value;
}

/// N(0,1), wherever the element is.
inline constexpr auto normal = [](Random& random, const auto&...) { return random.normal(); };

/// N(0,1), wherever the element is; one in so many is `factor` times larger.
inline auto outliers(int one_in, double factor) {
  return [=](Random& random, const auto&...) {
    const double x = random.normal();
    return random.integer(0, one_in - 1) == 0 ? factor * x : x;
  };
}

/// The tensor's elements, widened.
inline std::vector<double> values(const HostTensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.size(); ++i) values.push_back(tensor.get(i));
  return values;
}

/// Of both signs and not near 0.
inline double away_from_zero(Random& random) {
  return (random.integer(0, 1) == 0 ? 1 : -1) * (0.25 + random.uniform());
}

/// N(0,1) with NaN, infinities and -0 in places.
inline double special_at(Random& random, std::int64_t i) {
  const double x = random.normal();
  if (i % 97 == 11) return kNan;
  if (i % 89 == 31) return kInfinity;
  if (i % 53 == 23) return -kInfinity;
  return i % 7 == 3 ? -0.0 : x;
}

/// Which rows of a batch item are to be valid.
namespace valid_rows {

/// The share grows from one item to the next, so that their counts differ.
inline bool mixed(Random& random, int item, int) { return random.uniform() < 0.3 * (1 + item % 3); }
inline bool none(Random&, int, int) { return false; }
inline bool every(Random&, int, int) { return true; }

}  // namespace valid_rows

/// Element i of the tensor becomes value(random, i).
template <typename Value>
void fill_tensor(HostTensor& tensor, Random& random, const Value& value) {
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, value(random, i));
}

/// Element i of every input becomes value(random, i).
template <typename Value>
void fill_all(std::uint64_t seed, Tensors& inputs, const Value& value) {
  Random random(seed);
  for (auto& [name, tensor] : inputs) fill_tensor(tensor, random, value);
}

/// One element in four becomes one of the values. Not of a few elements, whose results could then
/// all be zero.
inline void sprinkle(HostTensor& tensor, Random& random, const double (&values)[10]) {
  constexpr std::int64_t kFewest = 16;
  for (std::int64_t i = 0; tensor.size() >= kFewest && i < tensor.size(); ++i) {
    if (random.integer(0, 3) == 0) tensor.set(i, values[random.integer(0, 9)]);
  }
}

/// Element (row, column) of a tensor of such rows becomes value(random, row, column).
template <typename Value>
void fill_rows(HostTensor& tensor, Random& random, const Value& value) {
  const std::int64_t n = tensor.shape().back();
  fill_tensor(tensor, random, [&](Random&, std::int64_t i) { return value(random, i / n, i % n); });
}

/// The same as a data set's fill.
template <typename Value>
DataSet::Fill filled(const Value& value) {
  return [value](const Problem&, std::uint64_t seed, Tensors& inputs) {
    fill_all(seed, inputs, value);
  };
}

/// The reference of an op's one output: set(row, output) sets the elements of one of its rows, in
/// whatever way they are counted. It runs on all cores.
template <typename Set>
Reference by_rows(const Problem& problem, std::int64_t rows, const Set& set) {
  const TensorSpec spec = problem.tensors().back();
  Expected output = Expected::of_size(count(spec.shape));
  parallel_for(rows, [&](std::int64_t row) { set(row, output); });
  return {{spec.name, std::move(output)}};
}

}  // namespace clam
