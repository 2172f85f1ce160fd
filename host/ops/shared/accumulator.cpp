// SPDX-License-Identifier: MIT
#include "accumulator.hpp"

#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace clam {
namespace {

const std::vector<std::string>& acc_names() {
  static const std::vector<std::string> names{"f32", "chunk", "f16"};  // in the order of Acc
  return names;
}

}  // namespace

Field acc_field() {
  return choice("acc", "accumulator; chunk: half for up to 32 products, then float", acc_names(),
                "f32");
}

Acc accumulator(const Problem& problem) {
  if (!op_of(problem).sums_products) return Acc::f32;
  const std::string& word = problem.choice("acc");
  return word == "f32" ? Acc::f32 : word == "chunk" ? Acc::chunk : Acc::f16;
}

const std::string& name(Acc acc) { return acc_names().at(static_cast<std::size_t>(acc)); }

int products_in_half(Acc acc) {
  switch (acc) {
    case Acc::f32:
      return 0;
    case Acc::chunk:
      return kChunk;
    case Acc::f16:
      return std::numeric_limits<int>::max();
  }
  throw std::logic_error("unknown accumulator");
}

void check_acc(const Problem& problem) {
  if (accumulator(problem) == Acc::f32 || problem.dtype() == Dtype::f16) return;
  bad_field(problem, "acc", "needs dtype=f16: f32 tensors are summed in float");
}

Reason acc_not_offered(const Problem& problem) {
  if (accumulator(problem) != Acc::f16) return {};
  const std::int64_t products = products_of_sum(problem);
  if (products <= kHalfProducts) return {};
  return fmt::format(
      "acc=f16 sums at most {} products, not {} (a positive sum of 4608 loses 13 %): use acc=chunk",
      kHalfProducts, products);
}

std::int64_t products_of_sum(const Problem& problem) {
  const Op& op = op_of(problem);
  double sums = 0;
  for (const TensorSpec& spec : op.tensors(problem)) {
    if (spec.role == TensorSpec::Role::output) sums += static_cast<double>(count(spec.shape));
  }
  return std::llround(op.flops(problem) / 2 / sums);
}

}  // namespace clam
