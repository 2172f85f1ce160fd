// SPDX-License-Identifier: MIT
// batch_matmul_reference.cpp - c[i,m,n] = act(scale * sum_k a[i,m,k] * b[i,k,n] + mask[m,n]) in
// double, and how far from it a device may be.
#include <cmath>

#include "check/op_proof.hpp"
#include "check/parallel.hpp"
#include "clam/error.hpp"
#include "ops/batch_matmul.hpp"
#include "shared/epilogue.hpp"

namespace clam {
namespace {

/// Each of `items` matrices of rows x columns, transposed.
std::vector<double> transposed(const std::vector<double>& stack, std::size_t items,
                               std::size_t rows, std::size_t columns) {
  std::vector<double> result(stack.size());
  for (std::size_t item = 0; item < items; ++item) {
    const std::size_t start = item * rows * columns;
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        result[start + j * rows + i] = stack[start + i * columns + j];
      }
    }
  }
  return result;
}

/// The problem's numbers, widened; a lies as a[m][k] and b as b[k][n].
struct Operands {
  std::size_t batch, m, n, k;
  std::size_t items_a, items_b;
  Epilogue epilogue;
  std::vector<double> a, b, mask;  ///< mask empty when absent

  Operands(const Problem& problem, const Tensors& inputs)
      : batch(static_cast<std::size_t>(problem.integer("batch"))),
        m(static_cast<std::size_t>(problem.integer("m"))),
        n(static_cast<std::size_t>(problem.integer("n"))),
        k(static_cast<std::size_t>(problem.integer("k"))),
        items_a(static_cast<std::size_t>(inputs.at("a").shape()[0])),
        items_b(static_cast<std::size_t>(inputs.at("b").shape()[0])),
        epilogue{"batch_matmul", static_cast<double>(problem.number("scale")),
                 parse_activation(problem.choice("act")), problem.dtype(), accumulator(problem)},
        a(values(inputs.at("a"))),
        b(values(inputs.at("b"))) {
    if (problem.integer("ta") == 1) a = transposed(a, items_a, k, m);
    if (problem.integer("tb") == 1) b = transposed(b, items_b, n, k);
    if (problem.choice("mask") != "none") mask = values(inputs.at("mask"));
  }

  /// A row of a, for row i of a batch item of c; all of b; an element of the mask.
  const double* a_row(std::size_t item, std::size_t i) const {
    return &a[((items_a == 1 ? 0 : item) * m + i) * k];
  }
  const double* b_matrix(std::size_t item) const { return &b[(items_b == 1 ? 0 : item) * k * n]; }
  const double* addend(std::size_t item, std::size_t i, std::size_t j) const {
    if (mask.empty()) return nullptr;
    return &mask[((mask.size() == m * n ? 0 : item) * m + i) * n + j];
  }
};

/// Column by column of each matrix of b, what denormals may cost.
std::vector<double> crumbs(const Operands& in, bool denormals) {
  std::vector<double> magnitudes(in.items_b * in.n), crumbs;
  for (std::size_t item = 0; item < in.items_b; ++item) {
    for (std::size_t i = 0; i < in.k; ++i) {
      for (std::size_t j = 0; j < in.n; ++j) {
        magnitudes[item * in.n + j] += std::fabs(in.b_matrix(item)[i * in.n + j]);
      }
    }
  }
  for (const double magnitude : magnitudes) {
    crumbs.push_back(in.epilogue.crumb(denormals, magnitude));
  }
  return crumbs;
}

/// Product kk of every sum of row i of a batch item.
template <typename Sum>
void add_products(const Operands& in, std::size_t item, std::size_t i, std::size_t kk,
                  std::vector<Sum>& sums) {
  const double a = in.a_row(item, i)[kk], *b = in.b_matrix(item) + kk * in.n;
  for (std::size_t j = 0; j < in.n; ++j) sums[j].add(a * b[j]);
}

/// The sums of row i of a batch item, each of them begun as `zero`.
template <typename Sum>
std::vector<Summation> sums_of_row(const Operands& in, std::size_t item, std::size_t i, Check check,
                                   Sum zero) {
  std::vector<Sum> sums(in.n, zero);
  for (std::size_t kk = 0; kk < in.k; ++kk) add_products(in, item, i, kk, sums);
  std::vector<Summation> totals;
  for (const Sum& sum : sums) totals.push_back(sum.total(check));
  return totals;
}

std::vector<Summation> sums_of_row(const Operands& in, std::size_t item, std::size_t i,
                                   Check check) {
  const Acc acc = in.epilogue.acc;
  if (acc == Acc::f32 && check == Check::hard) {
    return sums_in_any_parts(in.n, static_cast<std::int64_t>(in.k),
                             [&](auto& sums, std::int64_t product) {
                               add_products(in, item, i, static_cast<std::size_t>(product), sums);
                             });
  }
  if (acc == Acc::f32) return sums_of_row(in, item, i, check, Summation());
  return sums_of_row(in, item, i, check, HalfSummation(products_in_half(acc)));
}

}  // namespace

Reference batch_matmul_reference(const Problem& problem, const Tensors& inputs,
                                 const ReferenceOptions& options) {
  if (const Reason reason = batch_matmul_not_offered(problem)) {
    throw Unsupported("batch_matmul: " + *reason);
  }
  const Operands in(problem, inputs);
  const auto products = static_cast<std::int64_t>(in.k);
  if (options.check == Check::exact) in.epilogue.require_exact_operands(inputs, products);
  const std::vector<double> crumb = crumbs(in, options.denormals);
  Expected c;
  c.value.resize(in.batch * in.m * in.n);
  c.bound.resize(in.batch * in.m * in.n);
  parallel_for(static_cast<std::int64_t>(in.batch * in.m), [&](std::int64_t row) {
    const std::size_t item = static_cast<std::size_t>(row) / in.m;
    const std::size_t i = static_cast<std::size_t>(row) % in.m;
    const std::vector<Summation> sums = sums_of_row(in, item, i, options.check);
    for (std::size_t j = 0; j < in.n; ++j) {
      const Epilogue::Result result =
          in.epilogue.finish(sums[j], in.addend(item, i, j), nullptr, options.check,
                             crumb[(in.items_b == 1 ? 0 : item) * in.n + j]);
      const std::size_t at = (item * in.m + i) * in.n + j;
      c.value[at] = result.value;
      c.bound[at] = result.bound;
    }
  });
  if (options.check == Check::exact && in.epilogue.stays_exact(products)) {
    const Shape shape{problem.integer("batch"), problem.integer("m"), problem.integer("n")};
    Epilogue::make_exact(c, problem.dtype(), shape);
  }
  return {{"c", std::move(c)}};
}

}  // namespace clam
