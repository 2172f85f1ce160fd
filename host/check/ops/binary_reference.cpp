// SPDX-License-Identifier: MIT
// binary_reference.cpp - a op b in double, and how far from it a device may be.
//
// Sums, differences and products are exact but for one rounding to dtype, max and min are exact. A
// double has more than twice a float's digits, so rounding a double once more gives the float that
// IEEE 754 asks for, and a float rounded once more the half. A quotient is within 2.5 ulp of a
// float (OpenCL's table), 5 * 2^-24 of it, and then rounded to dtype.
#include <cmath>
#include <limits>

#include "check/op_proof.hpp"
#include "check/parallel.hpp"
#include "ops/binary.hpp"
#include "shared/summation.hpp"

namespace clam {
namespace {

constexpr double kSmallest = 0x1p-126;  ///< less than it may count as 0
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

using Function = double (*)(double a, double b);

Function find_function(const std::string& op) {
  if (op == "add") return [](double a, double b) { return a + b; };
  if (op == "sub") return [](double a, double b) { return a - b; };
  if (op == "mul") return [](double a, double b) { return a * b; };
  if (op == "div") return [](double a, double b) { return a / b; };
  if (op == "max") return [](double a, double b) { return a > b || std::isnan(a) ? a : b; };
  return [](double a, double b) { return a < b || std::isnan(a) ? a : b; };
}

double rounded(double value, Dtype dtype) {
  return dtype == Dtype::f16 ? round_to_half(value)
                             : static_cast<double>(static_cast<float>(value));
}

struct Operation {
  Function function;
  bool quotient, denormals;
  Dtype dtype;

  Operation(const Problem& problem, const ReferenceOptions& options)
      : function(find_function(problem.choice("op"))),
        quotient(problem.choice("op") == "div"),
        denormals(options.denormals),
        dtype(problem.dtype()) {}

  double value(double a, double b) const {
    const double result = function(a, b);
    return quotient ? result : rounded(result, dtype);
  }

  double bound(double value) const {
    const double flushed = denormals || dtype == Dtype::f16 ? 0 : kSmallest;
    if (!quotient || !std::isfinite(value)) return flushed;
    const double half = dtype == Dtype::f16 ? unit_roundoff(dtype) : 0;
    const double crumb = dtype == Dtype::f16 ? 0x1p-25 : 2.5 * 0x1p-149;
    return (5 * unit_roundoff(Dtype::f32) + half) * std::fabs(value) + crumb + flushed;
  }

  /// What is as right where a device takes denormal numbers for 0; NaN where there is none.
  double with_zeros(double a, double b) const {
    const auto zero = [](double x) { return std::fabs(x) < kSmallest ? std::copysign(0.0, x) : x; };
    return zero(a) == a && zero(b) == b ? kNan : value(zero(a), zero(b));
  }

  /// 0 / 0 and the like, of numbers that a device takes for 0: then NaN is as right as the value,
  /// which no second value can say.
  bool is_nan_with_zeros(double a, double b) const {
    const auto is_denormal = [](double x) { return x != 0 && std::fabs(x) < kSmallest; };
    if (!is_denormal(a) && !is_denormal(b)) return false;
    return !std::isnan(value(a, b)) && std::isnan(with_zeros(a, b));
  }
};

}  // namespace

Reference binary_reference(const Problem& problem, const Tensors& inputs,
                           const ReferenceOptions& options) {
  const Operation operation(problem, options);
  const BinaryAxes axes(problem);
  const HostTensor &a = inputs.at("a"), &b = inputs.at("b");
  const std::int64_t size = count(axes.shape);
  Expected c;
  c.value.resize(static_cast<std::size_t>(size));
  c.bound.resize(c.value.size());
  if (!operation.denormals) c.other.resize(c.value.size());
  constexpr std::int64_t kSlice = 4096;  // a thread's share at a time
  parallel_for((size + kSlice - 1) / kSlice, [&](std::int64_t slice) {
    for (std::int64_t i = slice * kSlice; i < std::min((slice + 1) * kSlice, size); ++i) {
      const auto [of_a, of_b] = axes.operands(i);
      const double x = a.get(of_a), y = b.get(of_b);
      const auto at = static_cast<std::size_t>(i);
      c.value[at] = operation.value(x, y);
      c.bound[at] = operation.bound(c.value[at]);
      if (operation.denormals) continue;
      c.other[at] = operation.with_zeros(x, y);
      if (operation.is_nan_with_zeros(x, y)) c.bound[at] = kInfinity;
    }
  });
  return {{"c", std::move(c)}};
}

}  // namespace clam
