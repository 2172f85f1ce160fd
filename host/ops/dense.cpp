// SPDX-License-Identifier: MIT
// dense.cpp - the fields of dense; dense_plan.cpp has how it is computed.
#include <cmath>
#include <vector>

#include "dense_plan.hpp"
#include "ops/shared/activation.hpp"
#include "shared/counts.hpp"

namespace clam {
namespace {

/// Words that say how a tensor lies need the tensor.
void check_presence(const Problem& problem, bool present, const std::string& name,
                    const std::string& needed) {
  for (const std::string& field : {"ld" + name, "off" + name}) {
    if (!present && problem.integer(field) != 0) bad_field(problem, field, "needs " + needed);
  }
}

void check_dense(const Problem& problem, Schema::Values& values) {
  const std::int64_t n = problem.integer("n"), k = problem.integer("k"), k2 = problem.integer("k2");
  check_acc(problem);
  check_act(problem, values);
  if (!std::isfinite(problem.number("alpha"))) bad_field(problem, "alpha", "needs a finite number");
  check_presence(problem, k2 > 0, "x2", "k2");
  check_presence(problem, problem.flag("residual"), "r", "residual");
  check_row_stride(problem, values, "x", k);
  check_row_stride(problem, values, "x2", k2);
  check_row_stride(problem, values, "w", problem.integer("trans_w") == 1 ? k + k2 : n);
  check_row_stride(problem, values, "r", n);
  check_row_stride(problem, values, "y", n);
}

std::vector<Field> dense_fields() {
  return {extent("m", "rows of x and y"),
          extent("n", "columns of y"),
          extent("k", "products of a sum"),
          integer("k2", "products of a sum that come from a second source, x2", "0", 0),
          dtype_field(),
          acc_field(),
          integer("trans_w", "1: weights lie as w[n,k]; 0: as w[k,n]", "1", 0, 1),
          number("alpha", "factor of the sum", "1"),
          flag("bias", "b[n] is added"),
          flag("residual", "r[m,n] is added after the activation"),
          place("ldx", "row stride of x, in elements; 0: its row's length"),
          place("ldx2", "row stride of x2"),
          place("ldw", "row stride of w"),
          place("ldr", "row stride of r"),
          place("ldy", "row stride of y"),
          place("offx", "first element of x"),
          place("offx2", "first element of x2"),
          place("offw", "first element of w"),
          place("offr", "first element of r"),
          place("offy", "first element of y")};
}

std::vector<TensorSpec> dense_tensors(const Problem& problem) {
  const std::int64_t m = problem.integer("m"), n = problem.integer("n");
  const std::int64_t k = problem.integer("k"), k2 = problem.integer("k2");
  const Dtype dtype = problem.dtype();
  const auto spec = [&](const TensorSpec& dense) {
    return placed(problem, dense, {"ld"}, {problem.integer("ld" + dense.name), 1});
  };
  const bool trans_w = problem.integer("trans_w") == 1, residual = problem.flag("residual");
  std::vector<TensorSpec> specs{spec(input("x", dtype, {m, k}))};
  if (k2 > 0) specs.push_back(spec(input("x2", dtype, {m, k2})));
  specs.push_back(spec(input("w", dtype, trans_w ? Shape{n, k + k2} : Shape{k + k2, n})));
  if (problem.flag("bias")) specs.push_back(input("b", dtype, {n}));
  if (residual) specs.push_back(spec(input("r", dtype, {m, n})));
  specs.push_back(spec(output("y", dtype, {m, n}, residual ? "r" : "")));
  return specs;
}

double flops(const Problem& problem) {
  const double sums = static_cast<double>(problem.integer("m")) * problem.integer("n");
  return 2 * sums * (static_cast<double>(problem.integer("k")) + problem.integer("k2"));
}

}  // namespace

Op dense_op() {
  Op op{{"dense", "y[m,n] = act(alpha * sum_k x[m,k] * w[n,k] + b[n]) + r[m,n]; k runs on in x2",
         with_activation(dense_fields(), "ldx"), check_dense, dense_tensors},
        dense_plan::variants(),
        flops,
        tensor_bytes};
  op.takes_native_exp2 = takes_exp;
  op.sums_products = true;
  return op;
}

}  // namespace clam
