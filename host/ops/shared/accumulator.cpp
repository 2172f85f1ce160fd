// SPDX-License-Identifier: MIT
#include "accumulator.hpp"

#include <cmath>
#include <limits>

#include "runtime/refuse.hpp"
#include "runtime/words.hpp"

namespace clam {
namespace {

constexpr Words<3> kAccWords{"f32", "chunk", "f16"};

}  // namespace

Field acc_field() {
  return choice("acc", "accumulator; chunk: half for up to 32 products, then float",
                {kAccWords.begin(), kAccWords.end()}, "f32");
}

Acc accumulator(const Problem& problem) {
  if (!op_of(problem).sums_products) return Acc::f32;
  return *find_word<Acc>(kAccWords, problem.choice("acc"));
}

const char* name(Acc acc) { return word_of(kAccWords, acc); }

int products_in_half(Acc acc) {
  if (acc == Acc::f32) return 0;
  return acc == Acc::chunk ? kChunk : std::numeric_limits<int>::max();
}

void check_acc(const Problem& problem) {
  bad_field_if(accumulator(problem) != Acc::f32 && problem.dtype() != Dtype::f16, problem, "acc",
               "needs dtype=f16: f32 tensors are summed in float");
}

Reason acc_not_offered(const Problem& problem) {
  if (accumulator(problem) != Acc::f16) return {};
  const std::int64_t products = products_of_sum(problem);
  return reason_if(
      products > kHalfProducts,
      "acc=f16 sums at most {} products, not {} (a positive sum of 4608 loses 13 %): use acc=chunk",
      kHalfProducts, products);
}

Reason refuses_acc(const Problem& problem, const DeviceInfo&) { return acc_not_offered(problem); }

std::int64_t products_of_sum(const Problem& problem) {
  const Op& op = op_of(problem);
  double sums = 0;
  for (const TensorSpec& spec : op.tensors(problem)) {
    if (spec.role == TensorSpec::Role::output) sums += static_cast<double>(count(spec.shape));
  }
  return std::llround(op.flops(problem) / 2 / sums);
}

}  // namespace clam
