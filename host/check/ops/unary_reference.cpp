// SPDX-License-Identifier: MIT
// unary_reference.cpp - op(scale * x + shift) in double, and how far from it a device may be.
//
// Let u = 2^-24; 1 ulp is up to 2 u. scale * x + shift is one fma, off by u |z|, which the function
// passes on. On its own it is off, relatively, by
//   exp, log     6 u    3 ulp, by OpenCL's table of the full profile; so are the next four
//   tanh, sqrt   10 u, 6 u
//   rsqrt        4 u
//   sin, cos     8 u
//   erf          10 u   5.7 u of the formula in float, over all floats; 4 u more of its quotient
//   sigmoid, silu       (1 - s) 6 u + 6 u: exp, a sum, a quotient of 2.5 ulp; s is the sigmoid of z
//   gelu_tanh           (1 - s) (6 |a| + 6) u + 6 u; s is the sigmoid of a, which is off by 6 u |a|
//   relu, relu6         0
// and gelu by 1e-6 + 4 u |z| (see activation.hpp). Where exp(-z) is beyond the largest float,
// sigmoid is 0 instead of up to 2^-128.
#include <cmath>
#include <limits>

#include "check/op_proof.hpp"
#include "check/parallel.hpp"
#include "ops/unary.hpp"
#include "shared/activate.hpp"
#include "shared/summation.hpp"

namespace clam {
namespace {

constexpr double kFloat = 0x1p-24;      ///< unit roundoff of everything in between
constexpr double kSmallest = 0x1p-126;  ///< less than it may count as 0
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double sigmoid(double z) { return 1 / (1 + std::exp(-z)); }

/// gelu_tanh is z * sigmoid of this.
double tanh_argument(double z) { return 1.5957691216057308 * (z + 0.044715 * z * z * z); }

/// A function of a Problem line.
struct Function {
  const char* name;
  double (*value)(double z);
  /// Largest error in float at an argument that is exact, in units of u |value|.
  double (*own)(double z);
  /// Added to that: what is lost where exp(-z) is beyond the largest float.
  double (*lost)(double z);
  bool monotone;  ///< else its error is at most `steepest` times its argument's
  double steepest;
};

template <int kUnits>
double units(double) {
  return kUnits;
}
double nothing(double) { return 0; }
double of_sigmoid(double z) { return 6 * (1 - sigmoid(z)) + 6; }
double of_gelu_tanh(double z) {
  const double a = tanh_argument(z);
  return (1 - sigmoid(a)) * 6 * (std::fabs(a) + 1) + 6;
}

/// z times a sigmoid that a device may take for 0; past 104 it is 0 in float.
double lost_sigmoid(double z) { return std::min(std::fabs(z), 104.0) * 0x1p-127; }

const Function& find_function(const std::string& name) {
  static const Function functions[] = {
      {"exp", std::exp, units<6>, nothing, true, 0},
      {"log", std::log, units<6>, nothing, true, 0},
      {"erf", std::erf, units<10>, nothing, true, 0},
      {"gelu", [](double z) { return activate(Activation::gelu, z); }, nothing,
       [](double z) { return activation_error(Activation::gelu, z, 0); }, false, 1.13},
      {"gelu_tanh", [](double z) { return activate(Activation::gelu_tanh, z); }, of_gelu_tanh,
       lost_sigmoid, false, 1.13},
      {"sigmoid", sigmoid, of_sigmoid, [](double) { return 0x1p-127; }, true, 0},
      {"silu", [](double z) { return activate(Activation::silu, z); }, of_sigmoid, lost_sigmoid,
       false, 1.1},
      {"tanh", std::tanh, units<10>, nothing, true, 0},
      {"relu", [](double z) { return activate(Activation::relu, z); }, nothing, nothing, true, 0},
      {"relu6", [](double z) { return activate(Activation::relu6, z); }, nothing, nothing, true, 0},
      {"sqrt", std::sqrt, units<6>, nothing, true, 0},
      {"rsqrt", [](double z) { return 1 / std::sqrt(z); }, units<4>, nothing, true, 0},
      {"sin", std::sin, units<8>, nothing, false, 1},
      {"cos", std::cos, units<8>, nothing, false, 1},
  };
  return *std::find_if(std::begin(functions), std::end(functions),
                       [&](const Function& function) { return name == function.name; });
}

struct Operands {
  const Function& function;
  double scale, shift;
  bool affine, denormals;
  Dtype dtype;

  Operands(const Problem& problem, const ReferenceOptions& options)
      : function(find_function(problem.choice("op"))),
        scale(static_cast<double>(problem.number("scale"))),
        shift(static_cast<double>(problem.number("shift"))),
        affine(is_affine(problem)),
        denormals(options.denormals),
        dtype(problem.dtype()) {}

  /// The argument of x; infinite where it is beyond the largest float.
  double argument(double x) const {
    constexpr double kLargest = static_cast<double>(std::numeric_limits<float>::max());
    const double z = affine ? scale * x + shift : x;
    return std::fabs(z) > kLargest ? std::copysign(kInfinity, z) : z;
  }
};

struct Result {
  double value, bound;
};

/// How far the function moves when its argument does so by `error`.
double passed_on(const Function& function, double z, double error) {
  if (error == 0) return 0;
  if (!function.monotone) return function.steepest * error;
  const double value = function.value(z);
  return std::max(std::fabs(function.value(z + error) - value),
                  std::fabs(function.value(z - error) - value));
}

Result element(const Operands& in, double x) {
  const Function& function = in.function;
  const double z = in.argument(x), value = function.value(z);
  if (!std::isfinite(z) || !std::isfinite(value)) {
    const double relative = kFloat * function.own(0) + unit_roundoff(in.dtype);
    return {value, std::isfinite(value) ? relative * std::fabs(value) : 0};
  }
  const double crumb = in.dtype == Dtype::f16 ? 0x1p-25
                       : in.denormals         ? (1 + function.own(z) / 2) * 0x1p-149
                                              : kSmallest;
  const double moved =
      in.affine ? kFloat * std::fabs(z) + (in.denormals ? 0x1p-149 : kSmallest) : 0;
  const double own = kFloat * function.own(z) * std::fabs(value) + function.lost(z);
  return {value,
          passed_on(function, z, moved) + own + unit_roundoff(in.dtype) * std::fabs(value) + crumb};
}

/// What is as right; NaN where there is no such number. A device may take denormal numbers for 0,
/// and of a product and a sum that are 0 drivers do not agree on the sign.
double other_value(const Operands& in, double x) {
  const auto zero = [&](double number) {
    const bool is_lost = !in.denormals && std::fabs(number) < kSmallest;
    return is_lost ? std::copysign(0.0, number) : number;
  };
  const double z = zero(in.argument(zero(x)));
  if (in.affine && z == 0) return in.function.value(-z);
  return z == in.argument(x) ? kNan : in.function.value(z);
}

}  // namespace

Reference unary_reference(const Problem& problem, const Tensors& inputs,
                          const ReferenceOptions& options) {
  const Operands in(problem, options);
  const HostTensor& src = inputs.at("src");
  Expected dst;
  dst.value.resize(static_cast<std::size_t>(src.size()));
  dst.bound.resize(dst.value.size());
  if (!in.denormals || in.affine) dst.other.resize(dst.value.size());
  constexpr std::int64_t kSlice = 4096;  // a thread's share at a time
  parallel_for((src.size() + kSlice - 1) / kSlice, [&](std::int64_t slice) {
    const std::int64_t end = std::min((slice + 1) * kSlice, src.size());
    for (std::int64_t i = slice * kSlice; i < end; ++i) {
      const Result result = element(in, src.get(i));
      const auto at = static_cast<std::size_t>(i);
      dst.value[at] = result.value;
      dst.bound[at] = result.bound;
      if (!dst.other.empty()) dst.other[at] = other_value(in, src.get(i));
    }
  });
  return {{"dst", std::move(dst)}};
}

}  // namespace clam
