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
//   softplus     11 u   exp's error counts for 6 u at most; log1p 4 u, the sum u
//   mish         17 u   n is off by 10 u; n + 2 by no more, of the same sign; a quotient, a product
//   elu          7 u    expm1 and a product
//   reciprocal   5 u    a quotient
//   pow          32 u   16 ulp
//   relu, relu6, clip, abs, neg, floor, ceil   0
//   leaky_relu, hard_sigmoid, hard_swish       as activations
// and gelu by 1e-6 + 4 u |z| (see activation.hpp). A device may take exp(-|z|) below 2^-126 for 0:
// sigmoid is off by that then.
#include <algorithm>
#include <functional>

#include "ops/unary.hpp"
#include "shared/activate.hpp"
#include "shared/proof.hpp"

namespace clam::unary {
namespace {

double sigmoid(double z) { return 1 / (1 + std::exp(-z)); }

/// gelu_tanh is z * sigmoid of this.
double tanh_argument(double z) { return 1.5957691216057308 * (z + 0.044715 * z * z * z); }

using Plain = double (*)(double);

/// A function of a Problem line.
struct Function {
  const char* name;
  std::function<double(double z)> value;
  /// Largest error in float at an argument that is exact, in units of u |value|.
  std::function<double(double z)> own;
  /// Added to that: what is lost where exp(-|z|) is below 2^-126.
  std::function<double(double z)> lost;
  /// Both ways from z it is farthest off at the end: so is an even power. Else its error is at most
  /// `steepest` times its argument's.
  bool monotone;
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

/// The activation of the same name; `steepest` 0: it is monotone.
Function of_activation(const char* name, Act act, const Problem& problem, double steepest) {
  const UnaryRange& range = unary_range(problem);
  act.alpha = number_or(problem, "alpha", range.alpha);
  act.beta = number_or(problem, "beta", range.beta);
  return {name,          [=](double z) { return activate(act, z); },
          nothing,       [=](double z) { return activation_error(act, z, 0); },
          steepest == 0, steepest};
}

Function find_function(const Problem& problem) {
  const std::string& name = problem.choice("op");
  const double alpha = number_or(problem, "alpha", unary_range(problem).alpha);
  const double steep = std::max(1.0, std::fabs(alpha));
  const Function functions[] = {
      {"exp", Plain(std::exp), units<6>, nothing, true, 0},
      {"log", Plain(std::log), units<6>, nothing, true, 0},
      {"erf", Plain(std::erf), units<10>, nothing, true, 0},
      of_activation("gelu", Activation::gelu, problem, 1.13),
      {"gelu_tanh", [](double z) { return activate(Activation::gelu_tanh, z); }, of_gelu_tanh,
       lost_sigmoid, false, 1.13},
      {"sigmoid", sigmoid, of_sigmoid, [](double) { return 0x1p-126; }, true, 0},
      {"silu", [](double z) { return activate(Activation::silu, z); }, of_silu, lost_sigmoid, false,
       1.1},
      {"tanh", Plain(std::tanh), units<10>, nothing, true, 0},
      of_activation("relu", Activation::relu, problem, 0),
      of_activation("relu6", Activation::relu6, problem, 0),
      {"sqrt", Plain(std::sqrt), units<6>, nothing, true, 0},
      {"rsqrt", [](double z) { return 1 / std::sqrt(z); }, units<4>, nothing, true, 0},
      {"sin", Plain(std::sin), units<8>, nothing, false, 1},
      {"cos", Plain(std::cos), units<8>, nothing, false, 1},
      of_activation("hard_swish", Activation::hard_swish, problem, 1.5),
      of_activation("clip", Activation::clip, problem, 0),
      of_activation("leaky_relu", Activation::leaky_relu, problem, steep),
      of_activation("hard_sigmoid", Activation::hard_sigmoid, problem, 0),
      {"elu", [=](double z) { return z < 0 ? alpha * std::expm1(z) : z; }, units<7>,
       [=](double) { return 3 * steep * 0x1p-149; }, false, steep},
      {"softplus", [](double z) { return std::max(z, 0.0) + std::log1p(std::exp(-std::fabs(z))); },
       units<11>, [](double) { return 0x1p-126; }, true, 0},
      {"mish", [](double z) { return z * std::tanh(std::log1p(std::exp(z))); }, units<17>,
       lost_sigmoid, false, 1.09},
      {"abs", [](double z) { return std::fabs(z); }, nothing, nothing, false, 1},
      {"neg", [](double z) { return -z; }, nothing, nothing, true, 0},
      {"reciprocal", [](double z) { return 1 / z; }, units<5>, nothing, true, 0},
      {"pow", [=](double z) { return std::pow(z, alpha); }, units<32>, nothing, true, 0},
      {"floor", [](double z) { return std::floor(z); }, nothing, nothing, true, 0},
      {"ceil", [](double z) { return std::ceil(z); }, nothing, nothing, true, 0},
  };
  return *std::find_if(std::begin(functions), std::end(functions),
                       [&](const Function& function) { return name == function.name; });
}

struct Operands {
  Function function;
  double scale, shift;
  bool affine, denormals;
  Dtype dtype;

  /// The argument of x; infinite where it is beyond the largest float.
  double argument(double x) const { return in_float(affine ? scale * x + shift : x); }
};

/// How far the function moves when its argument does so by `error`.
double passed_on(const Function& function, double z, double error) {
  if (error == 0) return 0;
  if (std::fabs(z) <= error && std::isinf(function.value(0))) return kInfinity;
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
  const double lost = crumb(in.dtype, in.denormals, (1 + function.own(z) / 2) * 0x1p-149);
  const double moved =
      in.affine ? kFloat * std::fabs(z) + (in.denormals ? 0x1p-149 : kSmallest) : 0;
  const double own = kFloat * function.own(z) * std::fabs(value) + function.lost(z);
  return {value,
          passed_on(function, z, moved) + own + unit_roundoff(in.dtype) * std::fabs(value) + lost};
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
  const Operands in{find_function(problem), problem.number("scale"), problem.number("shift"),
                    is_affine(problem),     options.denormals,       problem.dtype()};
  const HostTensor& src = inputs.at("src");
  Expected dst = Expected::of_size(src.size());
  if (!in.denormals || in.affine) dst.other.resize(dst.value.size());
  constexpr std::int64_t kSlice = 4096;  // a thread's share at a time
  const auto set = [&](std::int64_t i) {
    dst.set(i, element(in, src.get(i)));
    if (!dst.other.empty()) dst.other[i] = other_value(in, src.get(i));
  };
  parallel_for(src.size(), set, kSlice);
  return {{"dst", std::move(dst)}};
}

// ---- data sets and cases ----

/// Fills src so that scale * src + shift is z(random).
template <typename Z>
void fill(const Problem& problem, std::uint64_t seed, Tensors& inputs, const Z& z) {
  const double scale = problem.number("scale");
  const double shift = problem.number("shift");
  fill_all(seed, inputs, [&](Random& random, std::int64_t) {
    const double argument = z(random);
    return scale == 0 ? argument : (argument - shift) / scale;
  });
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
void special(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const bool half = problem.dtype() == Dtype::f16;
  const double tiny = half ? 0x1p-24 : is_affine(problem) ? 0x1p-100 : 0x1p-140;
  const bool periodic = problem.choice("op") == "sin" || problem.choice("op") == "cos";
  const double most = periodic ? 1000 : half ? 65504 : kLargest;
  const double values[] = {kNan, kInfinity, -kInfinity, 0, -0.0, tiny, -tiny, most, -most, -1};
  middle(problem, seed, inputs);
  Random random(seed + 1);
  sprinkle(inputs.at("src"), random, values);
}

/// The names of all functions, as "{exp,log}".
std::string all_functions() {
  std::string names;
  for (const UnaryRange& range : unary_ranges()) names += std::string(",") + range.name;
  return "{" + names.substr(1) + "}";
}

}  // namespace

OpProof proof() {
  return {
      "unary",
      {{"middle", Check::hard, "arguments where the function does what it is for", middle},
       {"wide", Check::hard, "arguments of all sizes", wide},
       {"special", Check::hard,
        "NaN, infinities, zeros, denormals and the largest numbers among them", special}},
      reference,
      // An item has 4 elements, a group 16 to 256 items.
      {"op=exp shape={1,2,3,5x3,255,256,257,2x3x4x5x6}", "op=exp shape=1x4x31x31 scale=0.1 shift=1",
       "op=relu shape=10007 scale=-2", "op=rsqrt shape=1600 scale=-1.7",
       "op=exp shape=1001 scale=0 shift=-1.5",
       "op=clip shape={1031,1000 scale=-0.7} alpha=-1.5 beta=2.3",
       "op=clip shape=1031 {alpha=0.7,beta=-0.3}", "op=leaky_relu shape=1031 alpha={-1.3,0.2}",
       "op=hard_sigmoid shape=1031 alpha={-0.3 beta=0.1,0.3}", "op=elu shape=1031 alpha={-0.4,2.5}",
       "op=pow shape=1031 alpha={3,-1,0.5,0,-1.5 scale=0.7 shift=0.3}",
       "op=" + all_functions() + " shape={4099,1000 scale=0.7 shift=0.3}"},
      {"op=exp shape=1", "op=erf shape=7x37 scale=0.5 shift=-1", "op=gelu shape=5x52"}};
}

}  // namespace clam::unary
