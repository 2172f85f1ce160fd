// SPDX-License-Identifier: MIT
// unary_proof.cpp - op(scale * x + shift) in double, and how far from it a device may be.
//
// Let u = 2^-24; 1 ulp is up to 2 u. scale * x + shift is one fma, off by u |z|, which the function
// passes on. On its own it is off, relatively, by
//   exp, log     6 u    3 ulp, by OpenCL's table of the full profile; so are the next four
//   tanh, sqrt   10 u, 6 u
//   rsqrt        4 u
//   sin, cos     8 u
//   erf          10 u   5.7 u of the formula in float, over all floats; 4 u more of its quotient
//   sigmoid             (1 - s) 6 u + 6 u: exp, a sum, a quotient of 2.5 ulp; s is the sigmoid of z
//   silu                the same, and u: a product
//   gelu_tanh           (1 - s) (6 |a| + 6) u + 7 u; s is the sigmoid of a, which is off by 6 u |a|
//   relu, relu6         0
// and gelu by 1e-6 + 4 u |z| (see activation.hpp). A device may take exp(-|z|) below 2^-126 for 0:
// sigmoid is off by that then.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "check/parallel.hpp"
#include "ops/unary.hpp"
#include "shared/activate.hpp"
#include "shared/numbers.hpp"
#include "shared/random.hpp"
#include "shared/summation.hpp"

namespace clam::unary {
namespace {

double sigmoid(double z) { return 1 / (1 + std::exp(-z)); }

/// gelu_tanh is z * sigmoid of this.
double tanh_argument(double z) { return 1.5957691216057308 * (z + 0.044715 * z * z * z); }

/// A function of a Problem line.
struct Function {
  const char* name;
  double (*value)(double z);
  /// Largest error in float at an argument that is exact, in units of u |value|.
  double (*own)(double z);
  /// Added to that: what is lost where exp(-|z|) is below 2^-126.
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
double of_silu(double z) { return of_sigmoid(z) + 1; }
double of_gelu_tanh(double z) {
  const double a = tanh_argument(z);
  return (1 - sigmoid(a)) * 6 * (std::fabs(a) + 1) + 7;
}

/// z times a sigmoid that a device may take for 0; past 104 it is 0 in float.
double lost_sigmoid(double z) { return std::min(std::fabs(z), 104.0) * 0x1p-126; }

const Function& find_function(const std::string& name) {
  static const Function functions[] = {
      {"exp", std::exp, units<6>, nothing, true, 0},
      {"log", std::log, units<6>, nothing, true, 0},
      {"erf", std::erf, units<10>, nothing, true, 0},
      {"gelu", [](double z) { return activate(Activation::gelu, z); }, nothing,
       [](double z) { return activation_error(Activation::gelu, z, 0); }, false, 1.13},
      {"gelu_tanh", [](double z) { return activate(Activation::gelu_tanh, z); }, of_gelu_tanh,
       lost_sigmoid, false, 1.13},
      {"sigmoid", sigmoid, of_sigmoid, [](double) { return 0x1p-126; }, true, 0},
      {"silu", [](double z) { return activate(Activation::silu, z); }, of_silu, lost_sigmoid, false,
       1.1},
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
  double argument(double x) const { return in_float(affine ? scale * x + shift : x); }
};

/// How far the function moves when its argument does so by `error`.
double passed_on(const Function& function, double z, double error) {
  if (error == 0) return 0;
  if (!function.monotone) return function.steepest * error;
  const double value = function.value(z);
  return std::max(std::fabs(function.value(z + error) - value),
                  std::fabs(function.value(z - error) - value));
}

Bounded element(const Operands& in, double x) {
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

Reference reference(const Problem& problem, const Tensors& inputs,
                    const ReferenceOptions& options) {
  const Operands in(problem, options);
  const HostTensor& src = inputs.at("src");
  Expected dst = Expected::of_size(src.size());
  if (!in.denormals || in.affine) dst.other.resize(dst.value.size());
  constexpr std::int64_t kSlice = 4096;  // a thread's share at a time
  parallel_for((src.size() + kSlice - 1) / kSlice, [&](std::int64_t slice) {
    const std::int64_t end = std::min((slice + 1) * kSlice, src.size());
    for (std::int64_t i = slice * kSlice; i < end; ++i) {
      dst.set(i, element(in, src.get(i)));
      if (!dst.other.empty()) dst.other[static_cast<std::size_t>(i)] = other_value(in, src.get(i));
    }
  });
  return {{"dst", std::move(dst)}};
}

// ---- data sets and cases ----

/// Fills src so that scale * src + shift is z(random).
template <typename Z>
void fill(const Problem& problem, std::uint64_t seed, Tensors& inputs, const Z& z) {
  const auto scale = static_cast<double>(problem.number("scale"));
  const auto shift = static_cast<double>(problem.number("shift"));
  Random random(seed);
  HostTensor& src = inputs.at("src");
  for (std::int64_t i = 0; i < src.size(); ++i) {
    const double argument = z(random);
    src.set(i, scale == 0 ? argument : (argument - shift) / scale);
  }
}

void middle(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const UnaryRange& range = unary_range(problem);
  fill(problem, seed, inputs,
       [&](Random& random) { return range.low + (range.high - range.low) * random.uniform(); });
}

void wide(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const UnaryRange& range = unary_range(problem);
  const bool half = problem.dtype() == Dtype::f16;
  const int from = half ? std::max(range.from, -13) : range.from;
  const int to = half ? std::min(range.to, 15) : range.to;
  fill(problem, seed, inputs, [&](Random& random) {
    const double size = std::exp2(from + (to - from) * random.uniform());
    return range.negative && random.integer(0, 1) == 0 ? -size : size;
  });
}

/// One in four is not finite, a zero, a denormal number, outside of many functions' domains, or as
/// large as may be; of sin and cos, whose results are then chance if scale or shift round, less.
/// Not of a few numbers, whose results could all be zero.
void special(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  constexpr std::int64_t kFewest = 16;
  const bool half = problem.dtype() == Dtype::f16;
  const double tiny = half ? 0x1p-24 : is_affine(problem) ? 0x1p-100 : 0x1p-140;
  const bool periodic = problem.choice("op") == "sin" || problem.choice("op") == "cos";
  const double most = periodic ? 1000 : half ? 65504 : 0x1.fffffep+127;
  const double values[] = {kNan, kInfinity, -kInfinity, 0, -0.0, tiny, -tiny, most, -most, -1};
  middle(problem, seed, inputs);
  Random random(seed + 1);
  HostTensor& src = inputs.at("src");
  for (std::int64_t i = 0; src.size() >= kFewest && i < src.size(); ++i) {
    if (random.integer(0, 3) == 0) src.set(i, values[random.integer(0, 9)]);
  }
}

/// An item has 4 elements, a group 16 to 256 items.
std::vector<std::string> cases() {
  std::vector<std::string> cases = {
      "op=exp shape={1,2,3,5x3,255,256,257,2x3x4x5x6}",
      "op=exp shape=1x4x31x31 scale=0.1 shift=1",
      "op=relu shape=10007 scale=-2",
      "op=rsqrt shape=1600 scale=-1.7",
      "op=exp shape=1001 scale=0 shift=-1.5",
  };
  for (const UnaryRange& range : unary_ranges()) {
    cases.push_back(std::string("op=") + range.op + " shape={4099,1000 scale=0.7 shift=0.3}");
  }
  return cases;
}

std::string random_case(Random& random) {
  const std::vector<UnaryRange>& ranges = unary_ranges();
  const UnaryRange& range = ranges[random.bits() % ranges.size()];
  return fmt::format("unary op={} shape={}x{} scale={} shift={}", range.op, random.integer(1, 40),
                     random.integer(1, 40), random.integer(0, 1) == 0 ? 1.0 : -1.7,
                     random.integer(0, 1) == 0 ? 0.0 : 0.4);
}

}  // namespace

OpProof proof() {
  OpProof proof{
      "unary",
      {
          {"middle", Check::hard, "arguments where the function does what it is for", middle},
          {"wide", Check::hard, "arguments of all sizes", wide},
          {"special", Check::hard,
           "NaN, infinities, zeros, denormals and the largest numbers among them", special},
      },
      reference,
      cases(),
      {"op=exp shape=1", "op=erf shape=7x37 scale=0.5 shift=-1", "op=gelu shape=5x52"}};
  proof.group_cases = {"unary op=gelu shape=1030", "unary op=exp shape=1030"};
  proof.random_case = random_case;
  return proof;
}

}  // namespace clam::unary
