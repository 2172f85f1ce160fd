// SPDX-License-Identifier: MIT
// batch_matmul.cpp - the fields of batch_matmul; batch_matmul_plan.cpp has how it is computed.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "batch_matmul_plan.hpp"
#include "ops/shared/activation.hpp"
#include "shared/counts.hpp"

namespace clam {
namespace {

using batch_matmul_plan::items_of;

/// Row and batch stride of a tensor, with defaults filled in. 64 bits: nothing is checked yet.
struct Strides {
  std::int64_t row, batch;
};

Strides strides(const Problem& problem, const std::string& name, std::int64_t rows,
                std::int64_t columns) {
  const std::int64_t row = given_or(problem, "ld" + name, columns);
  return {row, given_or(problem, "stride" + name, rows * row)};
}

/// A row stride holds a row. Strides are left out where they are the default, and a batch stride
/// also where there is one item.
void check_strides(const Problem& problem, Schema::Values& values, const std::string& name,
                   int items, std::int64_t rows, std::int64_t columns) {
  const Strides given = strides(problem, name, rows, columns);
  check_row_stride(problem, values, name, columns);
  if (items == 1 || given.batch == rows * given.row) values["stride" + name] = "0";
}

void check_items(const Problem& problem, Schema::Values& values, const std::string& field) {
  const int items = problem.integer(field), batch = problem.integer("batch");
  if (items > 1 && items != batch) {
    bad_field(problem, field, fmt::format("needs 1 or the batch, {}", batch));
  }
  if (items == batch) values[field] = "0";
}

/// Each element of c has a place of its own: its items follow each other, or lie side by side.
void check_distinct(const Problem& problem) {
  const std::int64_t batch = problem.integer("batch");
  const std::int64_t m = problem.integer("m"), n = problem.integer("n");
  const Strides c = strides(problem, "c", m, n);
  const std::int64_t last = (m - 1) * c.row + n;
  const bool in_turn = c.batch >= last;
  if (batch == 1 || in_turn) return;
  const bool side_by_side = c.batch >= n && c.row >= (batch - 1) * c.batch + n;
  if (side_by_side) return;
  bad_field(problem, "stridec",
            fmt::format("lets batch items of c overlap: it needs {} or more, or, side by side, {} "
                        "or more and ldc of {} or more",
                        last, n, (batch - 1) * std::max(c.batch, n) + n));
}

void check_batch_matmul(const Problem& problem, Schema::Values& values) {
  const std::int64_t m = problem.integer("m"), n = problem.integer("n"), k = problem.integer("k");
  const bool ta = problem.integer("ta") == 1, tb = problem.integer("tb") == 1;
  check_acc(problem);
  check_act(problem, values);
  if (!std::isfinite(problem.number("scale"))) bad_field(problem, "scale", "needs a finite number");
  check_items(problem, values, "batch_a");
  check_items(problem, values, "batch_b");
  check_strides(problem, values, "a", items_of(problem, "batch_a"), ta ? k : m, ta ? m : k);
  check_strides(problem, values, "b", items_of(problem, "batch_b"), tb ? n : k, tb ? k : n);
  check_strides(problem, values, "c", problem.integer("batch"), m, n);
  check_distinct(problem);
}

std::vector<Field> batch_matmul_fields() {
  return {extent("batch", "matrices of a, b and c", "1"),
          extent("m", "rows of c"),
          extent("n", "columns of c"),
          extent("k", "products of a sum"),
          dtype_field(),
          acc_field(),
          integer("ta", "0: a lies as a[m,k]; 1: as a[k,m]", "0", 0, 1),
          integer("tb", "0: b lies as b[k,n]; 1: as b[n,k]", "0", 0, 1),
          number("scale", "factor of the sum", "1"),
          choice("mask", "extents of the mask that is added after scale", {"none", "mn", "bmn"},
                 "none"),
          place("batch_a", "matrices of a; 0: batch; 1: one for all"),
          place("batch_b", "matrices of b; 0: batch; 1: one for all"),
          place("lda", "row stride of a, in elements; 0: its row's length"),
          place("ldb", "row stride of b"),
          place("ldc", "row stride of c"),
          place("stridea", "batch stride of a, in elements; 0: its rows times lda"),
          place("strideb", "batch stride of b"),
          place("stridec", "batch stride of c"),
          place("offa", "first element of a"),
          place("offb", "first element of b"),
          place("offc", "first element of c")};
}

std::vector<TensorSpec> batch_matmul_tensors(const Problem& problem) {
  const std::int64_t batch = problem.integer("batch");
  const std::int64_t m = problem.integer("m"), n = problem.integer("n"), k = problem.integer("k");
  const Dtype dtype = problem.dtype();
  const auto spec = [&](const TensorSpec& dense) {
    const Strides given = strides(problem, dense.name, dense.shape[1], dense.shape[2]);
    return placed(problem, dense, {"ld", "stride"}, {given.batch, given.row, 1});
  };
  const bool ta = problem.integer("ta") == 1, tb = problem.integer("tb") == 1;
  std::vector<TensorSpec> specs{
      spec(input("a", dtype, {items_of(problem, "batch_a"), ta ? k : m, ta ? m : k})),
      spec(input("b", dtype, {items_of(problem, "batch_b"), tb ? n : k, tb ? k : n}))};
  const std::string& mask = problem.choice("mask");
  if (mask == "mn") specs.push_back(input("mask", dtype, {m, n}));
  if (mask == "bmn") specs.push_back(input("mask", dtype, {batch, m, n}));
  specs.push_back(spec(output("c", dtype, {batch, m, n})));
  return specs;
}

double flops(const Problem& problem) {
  const double sums = static_cast<double>(problem.integer("batch")) * problem.integer("m");
  return 2 * sums * problem.integer("n") * problem.integer("k");
}

}  // namespace

Op batch_matmul_op() {
  Op op{
      {"batch_matmul", "c[i,m,n] = act(scale * sum_k a[i,m,k] * b[i,k,n] + mask[m,n])",
       with_activation(batch_matmul_fields(), "batch_a"), check_batch_matmul, batch_matmul_tensors},
      batch_matmul_plan::variants(),
      flops,
      tensor_bytes};
  op.takes_native_exp2 = takes_exp;
  op.sums_products = true;
  return op;
}

}  // namespace clam
