// SPDX-License-Identifier: MIT
#include "epilogue.hpp"

#include "clam/error.hpp"
#include "runtime/refuse.hpp"

namespace clam {

Epilogue::Epilogue(const Problem& problem, double factor)
    : op(problem.schema().name),
      factor(factor),
      act(problem),
      dtype(problem.dtype()),
      acc(accumulator(problem)) {
  if (const Reason reason = acc_not_offered(problem)) throw Unsupported(op + ": " + *reason);
}

Bounded Epilogue::finish(Summation sum, const double* addend, const double* residual, Check check,
                         double crumb) const {
  if (check == Check::exact) {  // only what follows the sum rounds
    Summation tail;
    tail.add(sum.value());
    sum = tail;
    check = Check::hard;
  }
  sum.scale(factor);
  if (addend) sum.add(*addend);
  const bool is_last = act.is_none();
  if (is_last && residual) sum.add(*residual);
  double value = sum.value() + 0.0;  // no -0: an absent addend counts as +0
  double error = sum.bound(check, kFloat);
  if (std::isfinite(value) && std::isinf(error)) {
    return {activate(act, value) + (!is_last && residual ? *residual : 0), error};
  }
  if (!is_last) {
    const double z = value;
    value = activate(act, z);
    error = std::isfinite(value) ? activation_error(act, z, error) : 0;
    if (residual) {
      value += *residual;
      error += kFloat * std::fabs(value);
    }
  }
  if (!std::isfinite(value)) return {value, 0};
  return {value, error + unit_roundoff(dtype) * std::fabs(value) + crumb};
}

bool Epilogue::stays_exact(std::int64_t products) const {
  // A power of two moves at most 2^15 within a float's 24 bits.
  int exponent = 0;
  const bool power_of_two = std::fabs(std::frexp(factor, &exponent)) == 0.5;
  return is_exact(act) && power_of_two && exponent > -8 && exponent <= 8 && products <= 1 << 15;
}

double Epilogue::crumb(bool denormals, double magnitudes) const {
  return clam::crumb(dtype, denormals, 0x1p-149, 0x1p-126 * (1 + magnitudes));
}

void Epilogue::require_exact_operands(const Tensors& inputs, std::int64_t products) const {
  for (const auto& [name, tensor] : inputs) {
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      const double value = tensor.get(i);
      if (value != 0 && std::fabs(value) != 1) {
        throw BadArgument(op + ": an exact check needs inputs of -1, 0 and 1");
      }
    }
  }
  const int digits = acc == Acc::f16 ? 11 : 24;  // a chunk is short of 2^11, and its total is float
  if (products > 1 << digits) refuse("{}: an exact check sums up to 2^{} products", op, digits);
}

void Epilogue::make_exact(Expected& output, Check check, std::int64_t products,
                          const Shape& shape) const {
  if (check != Check::exact || !stays_exact(products)) return;
  output.exact = HostTensor(dtype, shape);
  for (std::int64_t i = 0; i < output.exact.size(); ++i) output.exact.set(i, output.value[i]);
  output.value.clear();
  output.bound.clear();
}

}  // namespace clam
