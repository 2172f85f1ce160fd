// SPDX-License-Identifier: MIT
#include "activate.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "numbers.hpp"

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

double hard_gate(double z) { return std::clamp(z / 6 + 0.5, 0.0, 1.0); }

double slope(const Act& act, double z) {
  switch (act.kind) {
    case Activation::none:
      return 1;
    case Activation::relu:
      return z > 0;
    case Activation::relu6:
      return z > 0 && z < 6;
    case Activation::silu:
      return sigmoid(z) * (1 + z * sigmoid(-z));
    case Activation::gelu:
      return normal_cdf(z) + z * kInvSqrtTwoPi * std::exp(-z * z / 2);
    case Activation::gelu_tanh: {
      const double p = tanh_cdf(z);
      return p + z * p * (1 - p) * 2 * kSqrtTwoOverPi * (1 + 3 * kCubic * z * z);
    }
    case Activation::sigmoid:
      return sigmoid(z) * sigmoid(-z);
    case Activation::tanh:
      return 1 / (std::cosh(z) * std::cosh(z));
    case Activation::exp:
      return std::exp(z);
    case Activation::hard_swish:
      return z < -3 ? 0 : z > 3 ? 1 : z / 3 + 0.5;
    case Activation::clip:
      return z > act.alpha && z < act.beta;
    case Activation::leaky_relu:
      return z < 0 ? act.alpha : 1;
    case Activation::hard_sigmoid: {
      const double y = act.alpha * z + act.beta;
      return y > 0 && y < 1 ? act.alpha : 0;
    }
  }
  throw std::logic_error("unknown activation");
}

/// Where the slope is extreme, or in the middle of where it is 1, other than at an interval's ends.
std::vector<double> steepest(const Act& act) {
  switch (act.kind) {
    case Activation::relu6:
      return {3};
    case Activation::silu:
      return {-2.3993572805, 2.3993572805};
    case Activation::gelu:
      return {-2 * kSqrtHalf, 2 * kSqrtHalf};
    case Activation::gelu_tanh:
      return {-1.4185039905, 1.4185039905};
    case Activation::sigmoid:
    case Activation::tanh:
      return {0};
    case Activation::hard_swish:
      return {-3, 3};
    case Activation::clip:
      return {(act.alpha + act.beta) / 2};
    case Activation::hard_sigmoid:
      return {(0.5 - act.beta) / act.alpha};
    default:
      return {};
  }
}

double largest_slope(const Act& act, double low, double high) {
  double largest = std::max(std::fabs(slope(act, low)), std::fabs(slope(act, high)));
  for (const double z : steepest(act)) {
    if (low < z && z < high) largest = std::max(largest, std::fabs(slope(act, z)));
  }
  return largest;
}

/// What the function itself adds when it is computed in float: exp within 3 ulp, or native_exp2
/// within 4 ulp of an argument that is rounded twice; a division within 2.5 ulp. z is off by
/// `error` already. 1/6 in float is over 1/6 by u/12, so hard_swish is exact past 3.
double own_error(const Act& act, double z, double error) {
  const double u = std::ldexp(1.0, -24);
  switch (act.kind) {
    case Activation::none:
    case Activation::relu:
    case Activation::relu6:
    case Activation::clip:
      return 0;
    case Activation::leaky_relu:
      return u * std::fabs(act.alpha) * std::max(error - z, 0.0);
    case Activation::hard_sigmoid:
      return u * std::clamp(act.alpha * z + act.beta + std::fabs(act.alpha) * error, 0.0, 1.0);
    case Activation::hard_swish:
      return 2.25 * u * std::min(std::fabs(z) + error, 3.0);
    case Activation::sigmoid:
    case Activation::tanh:
      return 6 * u;
    case Activation::silu:
    case Activation::gelu:
    case Activation::gelu_tanh:
      return 1e-6 + 4 * u * (z < 0 ? std::min(-z, 16.0) : z);  // they end in 0
    case Activation::exp:
      return 4 * u * std::exp(z);
  }
  throw std::logic_error("unknown activation");
}

double unscaled(const Act& act, double z) {
  switch (act.kind) {
    case Activation::none:
      return z;
    case Activation::relu:
      return z < 0 ? 0 : z;
    case Activation::relu6:
      return z < 0 ? 0 : z > 6 ? 6 : z;
    case Activation::silu:
      return z * sigmoid(z);
    case Activation::gelu:
      return std::isinf(z) && z < 0 ? 0 : z * normal_cdf(z);  // the limit, not -inf * 0
    case Activation::gelu_tanh:
      return z * tanh_cdf(z);
    case Activation::sigmoid:
      return sigmoid(z);
    case Activation::tanh:
      return std::tanh(z);
    case Activation::exp:
      return std::exp(z);
    case Activation::hard_swish:
      return z * hard_gate(z);
    case Activation::clip:
      return z < act.alpha ? act.alpha : z > act.beta ? act.beta : z;
    case Activation::leaky_relu:
      return z < 0 ? act.alpha * z : z;
    case Activation::hard_sigmoid:
      return std::clamp(act.alpha * z + act.beta, 0.0, 1.0);  // NaN stays NaN
  }
  throw std::logic_error("unknown activation");
}

}  // namespace

double activate(const Act& act, double z) {
  const double value = unscaled(act, z);
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
    passed_on = error * largest_slope(act, z - error, z + error) + own_error(act, z, error);
  }
  if (!act.is_scaled()) return passed_on;
  const double scaled = std::fabs(act.scale) * (passed_on + kSmallest);
  return scaled + kFloat * (std::fabs(activate(act, z)) + scaled);
}

}  // namespace clam
