// SPDX-License-Identifier: MIT
#include "activate.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

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

double slope(Activation act, double z) {
  switch (act) {
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
  }
  throw std::logic_error("unknown activation");
}

/// Where the slope is extreme, or in the middle of where it is 1, other than at an interval's ends.
std::vector<double> steepest(Activation act) {
  switch (act) {
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
    default:
      return {};
  }
}

double largest_slope(Activation act, double low, double high) {
  double largest = std::max(std::fabs(slope(act, low)), std::fabs(slope(act, high)));
  for (const double z : steepest(act)) {
    if (low < z && z < high) largest = std::max(largest, std::fabs(slope(act, z)));
  }
  return largest;
}

/// What the function itself adds when it is computed in float: exp within 3 ulp, or native_exp2
/// within 4 ulp of an argument that is rounded twice; a division within 2.5 ulp.
double own_error(Activation act, double z) {
  const double u = std::ldexp(1.0, -24);
  switch (act) {
    case Activation::none:
    case Activation::relu:
    case Activation::relu6:
      return 0;
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

}  // namespace

double activate(Activation act, double z) {
  switch (act) {
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
  }
  throw std::logic_error("unknown activation");
}

bool is_exact(Activation act) {
  return act == Activation::none || act == Activation::relu || act == Activation::relu6;
}

double activation_error(Activation act, double z, double error) {
  return error * largest_slope(act, z - error, z + error) + own_error(act, z);
}

}  // namespace clam
