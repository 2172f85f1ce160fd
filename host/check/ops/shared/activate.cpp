// SPDX-License-Identifier: MIT
#include "activate.hpp"

#include <iterator>

#include "proof.hpp"

namespace clam {
namespace {

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kInvSqrtTwoPi = 0.39894228040143267794;
constexpr double kSqrtTwoOverPi = 0.79788456080286535588;
constexpr double kCubic = 0.044715;

double sigmoid(double z) { return 1 / (1 + std::exp(-z)); }
double normal_cdf(double z) { return 0.5 * std::erfc(-z * kSqrtHalf); }

/// 0.5 * (1 + tanh(sqrt(2/pi) * (z + 0.044715 z^3)))
double tanh_cdf(double z) { return sigmoid(2 * kSqrtTwoOverPi * (z + kCubic * z * z * z)); }

/// An activation before its scale and shift, in the order of the enumeration.
struct Function {
  double (*value)(const Act&, double z);
  double (*slope)(const Act&, double z);
  /// Where, or at the opposite of which, the slope is extreme or in the middle of where it is 1,
  /// other than at an interval's ends. NaN: nowhere.
  double (*steepest)(const Act&);
  /// What the function itself adds when it is computed in float: exp within 3 ulp, or native_exp2
  /// within 4 ulp of an argument that is rounded twice; a division within 2.5 ulp. z is off by
  /// `error` already. 1/6 in float is over 1/6 by u/12, so hard_swish is exact past 3.
  double (*own_error)(const Act&, double z, double error);
};

double nowhere(const Act&) { return kNan; }
double at_0(const Act&) { return 0; }
double no_error(const Act&, double, double) { return 0; }
double of_quotient(const Act&, double, double) { return 6 * kFloat; }
double ends_in_0(const Act&, double z, double) {
  return 1e-6 + 4 * kFloat * (z < 0 ? std::min(-z, 16.0) : z);
}

constexpr Function kFunctions[] = {
    // none
    {[](const Act&, double z) { return z; }, [](const Act&, double) { return 1.0; }, nowhere,
     no_error},
    // relu
    {[](const Act&, double z) { return z < 0 ? 0 : z; },
     [](const Act&, double z) -> double { return z > 0; }, nowhere, no_error},
    // relu6
    {[](const Act&, double z) { return std::clamp(z, 0.0, 6.0); },
     [](const Act&, double z) -> double { return z > 0 && z < 6; }, [](const Act&) { return 3.0; },
     no_error},
    // silu
    {[](const Act&, double z) { return z * sigmoid(z); },
     [](const Act&, double z) { return sigmoid(z) * (1 + z * sigmoid(-z)); },
     [](const Act&) { return 2.3993572805; }, ends_in_0},
    // gelu; the limit, not -inf * 0
    {[](const Act&, double z) { return std::isinf(z) && z < 0 ? 0 : z * normal_cdf(z); },
     [](const Act&, double z) { return normal_cdf(z) + z * kInvSqrtTwoPi * std::exp(-z * z / 2); },
     [](const Act&) { return 2 * kSqrtHalf; }, ends_in_0},
    // gelu_tanh
    {[](const Act&, double z) { return z * tanh_cdf(z); },
     [](const Act&, double z) {
       const double p = tanh_cdf(z);
       return p + z * p * (1 - p) * 2 * kSqrtTwoOverPi * (1 + 3 * kCubic * z * z);
     },
     [](const Act&) { return 1.4185039905; }, ends_in_0},
    // sigmoid
    {[](const Act&, double z) { return sigmoid(z); },
     [](const Act&, double z) { return sigmoid(z) * sigmoid(-z); }, at_0, of_quotient},
    // tanh
    {[](const Act&, double z) { return std::tanh(z); },
     [](const Act&, double z) { return 1 / (std::cosh(z) * std::cosh(z)); }, at_0, of_quotient},
    // exp
    {[](const Act&, double z) { return std::exp(z); },
     [](const Act&, double z) { return std::exp(z); }, nowhere,
     [](const Act&, double z, double) { return 4 * kFloat * std::exp(z); }},
    // hard_swish
    {[](const Act&, double z) { return z * std::clamp(z / 6 + 0.5, 0.0, 1.0); },
     [](const Act&, double z) { return std::fabs(z) > 3 ? double(z > 0) : z / 3 + 0.5; },
     [](const Act&) { return 3.0; },
     [](const Act&, double z, double error) {
       return 2.25 * kFloat * std::min(std::fabs(z) + error, 3.0);
     }},
    // clip
    {[](const Act& act, double z) { return std::clamp(z, act.alpha, act.beta); },
     [](const Act& act, double z) -> double { return z > act.alpha && z < act.beta; },
     [](const Act& act) { return (act.alpha + act.beta) / 2; }, no_error},
    // leaky_relu
    {[](const Act& act, double z) { return z < 0 ? act.alpha * z : z; },
     [](const Act& act, double z) { return z < 0 ? act.alpha : 1; }, nowhere,
     [](const Act& act, double z, double error) {
       return kFloat * std::fabs(act.alpha) * std::max(error - z, 0.0);
     }},
    // hard_sigmoid; NaN stays NaN
    {[](const Act& act, double z) { return std::clamp(act.alpha * z + act.beta, 0.0, 1.0); },
     [](const Act& act, double z) {
       const double y = act.alpha * z + act.beta;
       return y > 0 && y < 1 ? act.alpha : 0;
     },
     [](const Act& act) { return (0.5 - act.beta) / act.alpha; },
     [](const Act& act, double z, double error) {
       return kFloat *
              std::clamp(act.alpha * z + act.beta + std::fabs(act.alpha) * error, 0.0, 1.0);
     }},
};
static_assert(std::size(kFunctions) == static_cast<std::size_t>(Activation::hard_sigmoid) + 1);

const Function& function_of(const Act& act) {
  return kFunctions[static_cast<std::size_t>(act.kind)];
}

double largest_slope(const Act& act, double low, double high) {
  const Function& function = function_of(act);
  const auto slope = [&](double z) { return std::fabs(function.slope(act, z)); };
  double largest = std::max(slope(low), slope(high));
  const double steepest = function.steepest(act);
  for (const double z : {-steepest, steepest}) {
    if (low < z && z < high) largest = std::max(largest, slope(z));
  }
  return largest;
}

}  // namespace

double activate(const Act& act, double z) {
  const double value = function_of(act).value(act, z);
  return act.is_scaled() ? act.scale * value + act.shift : value;
}

bool is_exact(const Act& act) {
  if (act.is_scaled()) return false;
  return act.kind == Activation::none || act.kind == Activation::relu ||
         act.kind == Activation::relu6 || act.kind == Activation::clip;
}

double activation_error(const Act& act, double z, double error) {
  double passed_on = 0;
  if (std::isfinite(z)) {
    passed_on = error * largest_slope(act, z - error, z + error) +
                function_of(act).own_error(act, z, error);
  }
  if (!act.is_scaled()) return passed_on;
  const double scaled = std::fabs(act.scale) * (passed_on + kSmallest);
  return scaled + kFloat * (std::fabs(activate(act, z)) + scaled);
}

Bounded activated(const Act& act, double z, double error, double last, double crumb) {
  const double value = activate(act, z);
  if (!std::isfinite(value)) return {value, 0};
  const double lost = std::isfinite(z) ? crumb : 0;
  return {value, activation_error(act, z, error) + last * std::fabs(value) + lost};
}

}  // namespace clam
