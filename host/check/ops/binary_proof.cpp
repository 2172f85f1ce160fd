// SPDX-License-Identifier: MIT
// binary_proof.cpp - a op b in double, and how far from it a device may be.
//
// Sums, differences and products are exact but for one rounding to dtype, max and min are exact. A
// double has more than twice a float's digits, so rounding a double once more gives the float that
// IEEE 754 asks for, and a float rounded once more the half. A quotient is within 2.5 ulp of a
// float (OpenCL's table), 5 * 2^-24 of it, and then rounded to dtype.
#include "ops/binary.hpp"
#include "shared/proof.hpp"

namespace clam::binary {
namespace {

using Function = double (*)(double a, double b);

Function find_function(const std::string& op) {
  if (op == "add") return [](double a, double b) { return a + b; };
  if (op == "sub") return [](double a, double b) { return a - b; };
  if (op == "mul") return [](double a, double b) { return a * b; };
  if (op == "div") return [](double a, double b) { return a / b; };
  if (op == "max") return [](double a, double b) { return a > b || std::isnan(a) ? a : b; };
  return [](double a, double b) { return a < b || std::isnan(a) ? a : b; };
}

struct Operation {
  Function function;
  bool quotient, denormals;
  Dtype dtype;

  double value(double a, double b) const {
    const double result = function(a, b);
    return quotient ? result : rounded_to(dtype, result);
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

Reference reference(const Problem& problem, const Tensors& inputs,
                    const ReferenceOptions& options) {
  const std::string& op = problem.choice("op");
  const Operation operation{find_function(op), op == "div", options.denormals, problem.dtype()};
  const BinaryAxes axes(problem);
  const HostTensor &a = inputs.at("a"), &b = inputs.at("b");
  const std::int64_t size = count(axes.shape);
  Expected c = Expected::of_size(size);
  if (!operation.denormals) c.other.resize(c.value.size());
  constexpr std::int64_t kSlice = 4096;  // a thread's share at a time
  const auto set = [&](std::int64_t i) {
    const auto [of_a, of_b] = axes.operands(i);
    const double x = a.get(of_a), y = b.get(of_b);
    const double value = operation.value(x, y);
    c.set(i, {value, operation.bound(value)});
    if (operation.denormals) return;
    c.other[i] = operation.with_zeros(x, y);
    if (operation.is_nan_with_zeros(x, y)) c.bound[i] = kInfinity;
  };
  parallel_for(size, set, kSlice);
  return {{"c", std::move(c)}};
}

// ---- data sets and cases ----

void wide(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const int most = problem.dtype() == Dtype::f16 ? 7 : 60;  // so that products stay finite
  fill_all(seed, inputs, [most](Random& random, std::int64_t) {
    const double size = std::exp2(most * (2 * random.uniform() - 1));
    return random.integer(0, 1) == 0 ? size : -size;
  });
}

/// One in four is not finite, a zero, a denormal number or as large as may be.
void special(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const bool half = problem.dtype() == Dtype::f16;
  const double tiny = half ? 0x1p-24 : 0x1p-140, most = half ? 65504 : kLargest;
  const double values[] = {kNan, kInfinity, -kInfinity, 0, -0.0, tiny, -tiny, most, -most, 1};
  fill_all(seed, inputs, normal);
  Random random(seed + 1);
  for (auto& [name, tensor] : inputs) sprinkle(tensor, random, values);
}

}  // namespace

OpProof proof() {
  return {"binary",
          {{"zero_mean", Check::hard, "N(0,1)", filled(normal)},
           {"wide", Check::hard, "numbers of all sizes and both signs", wide},
           {"special", Check::hard,
            "NaN, infinities, zeros, denormals and the largest numbers among them", special}},
          reference,
          // An item has 4 elements or 1, a group 16 to 256 items.
          {
              // The same shape, or one number.
              "op=add shape={1,3,255,256,257}",
              "op=mul shape=3x5x7x9",
              "op=mul shape=5x7 shape_b=1",
              "op=sub shape=1 shape_b=5x8",
              "op=div shape=10007 shape_b=1x1",
              // Rows and columns, on either side.
              "op=add shape=33x20 shape_b=20",
              "op=sub shape=33x21 shape_b=21",
              "op=mul shape=33x20 shape_b=33x1",
              "op=div shape=21 shape_b=33x21",
              "op=sub shape=20 shape_b=33x1",
              "op=sub shape=33x1 shape_b=1x21",
              "op=max shape={1000x3 shape_b=3,3x1000 shape_b=3x1}",
              "op=add shape=70x65 shape_b=70x1",
              // Axes that stay apart, and some that do not.
              "op=add shape=2x8x5x5 shape_b=8x1x1",
              "op=mul shape=2x8x6x6 shape_b=2x8x1x1",
              "op=sub shape=2x3x4x8 shape_b=2x1x4x1",
              "op=sub shape=3x1x5x1 shape_b=1x4x1x7",
              "op=sub shape=1x3x1x12 shape_b=2x1x5x1",
              "op=min shape=1x1x1x1 shape_b=2x1x3x1",
              "op=add shape=4x1x192 shape_b=4x192x1",
              // What models run.
              "op=mul shape=4x192x192 shape_b=192x192",
              "op={add,sub,mul,div,max,min} shape={4099,25x40 shape_b=40}",
          },
          {"op=add shape=7x37", "op=sub shape=17x8 shape_b=8", "op=mul shape=17x9 shape_b=17x1",
           "op=max shape=2x3x2x4 shape_b=2x1x2x1", "op=div shape=66 shape_b=1"}};
}

}  // namespace clam::binary
