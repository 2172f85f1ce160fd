// SPDX-License-Identifier: MIT
// dense_reference.cpp - y[m,n] = act(alpha * sum_k x[m,k] * w[n,k] + b[n]) + r[m,n] in double, x2
// behind x along k, and how far from it a device may be.
#include <algorithm>
#include <cmath>

#include "check/op_proof.hpp"
#include "check/parallel.hpp"
#include "clam/error.hpp"
#include "ops/dense.hpp"
#include "shared/epilogue.hpp"

namespace clam {
namespace {

std::vector<double> transposed(const std::vector<double>& matrix, std::size_t rows, std::size_t n) {
  std::vector<double> result(matrix.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < n; ++j) result[j * rows + i] = matrix[i * n + j];
  }
  return result;
}

/// Rows of a, each with its row of b behind it.
std::vector<double> side_by_side(const std::vector<double>& a, const std::vector<double>& b,
                                 std::size_t rows) {
  const std::size_t of_a = a.size() / rows, of_b = b.size() / rows;
  std::vector<double> result(a.size() + b.size());
  for (std::size_t i = 0; i < rows; ++i) {
    std::copy_n(&a[i * of_a], of_a, &result[i * (of_a + of_b)]);
    std::copy_n(&b[i * of_b], of_b, &result[i * (of_a + of_b) + of_a]);
  }
  return result;
}

/// The problem's numbers, widened; x has all sources of k side by side, and w lies as w[k][n].
struct Operands {
  std::size_t m, n, k;
  std::size_t of_x;  ///< k of the first source
  Epilogue epilogue;
  std::vector<double> x, w, b, r;  ///< b and r empty when absent

  Operands(const Problem& problem, const Tensors& inputs)
      : m(static_cast<std::size_t>(problem.integer("m"))),
        n(static_cast<std::size_t>(problem.integer("n"))),
        k(static_cast<std::size_t>(problem.integer("k") + problem.integer("k2"))),
        of_x(static_cast<std::size_t>(problem.integer("k"))),
        epilogue{"dense", static_cast<double>(problem.number("alpha")),
                 parse_activation(problem.choice("act")), problem.dtype(), accumulator(problem)},
        x(values(inputs.at("x"))),
        w(values(inputs.at("w"))) {
    if (problem.integer("k2") > 0) x = side_by_side(x, values(inputs.at("x2")), m);
    if (problem.integer("trans_w") == 1) w = transposed(w, n, k);
    if (problem.flag("bias")) b = values(inputs.at("b"));
    if (problem.flag("residual")) r = values(inputs.at("r"));
  }
};

/// Column by column, what denormals may cost.
std::vector<double> crumbs(const Operands& in, bool denormals) {
  std::vector<double> magnitudes(in.n), crumbs;
  for (std::size_t i = 0; i < in.k; ++i) {
    for (std::size_t j = 0; j < in.n; ++j) magnitudes[j] += std::fabs(in.w[i * in.n + j]);
  }
  for (const double magnitude : magnitudes) {
    crumbs.push_back(in.epilogue.crumb(denormals, magnitude));
  }
  return crumbs;
}

/// Product kk of every sum of row i.
template <typename Sum>
void add_products(const Operands& in, std::size_t i, std::size_t kk, std::vector<Sum>& sums) {
  for (std::size_t j = 0; j < in.n; ++j) sums[j].add(in.x[i * in.k + kk] * in.w[kk * in.n + j]);
}

/// The sums of row i, each of them begun as `zero`.
template <typename Sum>
std::vector<Summation> sums_of_row(const Operands& in, std::size_t i, Check check, Sum zero) {
  std::vector<Sum> sums(in.n, zero);
  for (std::size_t kk = 0; kk < in.k; ++kk) add_products(in, i, kk, sums);
  std::vector<Summation> totals;
  for (const Sum& sum : sums) totals.push_back(sum.total(check));
  return totals;
}

std::vector<Summation> sums_of_row(const Operands& in, std::size_t i, Check check) {
  const Acc acc = in.epilogue.acc;
  if (acc == Acc::f32 && check == Check::hard) {
    // Parts are counted in whole vectors: of two sources, the first is filled up with nothing.
    const std::size_t filled = in.k > in.of_x ? (in.of_x + 3) / 4 * 4 : in.of_x;
    return sums_in_any_parts(in.n, static_cast<std::int64_t>(in.k - in.of_x + filled),
                             [&](auto& sums, std::int64_t product) {
                               const auto at = static_cast<std::size_t>(product);
                               if (at < in.of_x) add_products(in, i, at, sums);
                               if (at >= filled) add_products(in, i, at - filled + in.of_x, sums);
                             });
  }
  if (acc == Acc::f32) return sums_of_row(in, i, check, Summation());
  return sums_of_row(in, i, check, HalfSummation(products_in_half(acc)));
}

}  // namespace

Reference dense_reference(const Problem& problem, const Tensors& inputs,
                          const ReferenceOptions& options) {
  if (const Reason reason = dense_not_offered(problem)) throw Unsupported("dense: " + *reason);
  const Operands in(problem, inputs);
  const auto products = static_cast<std::int64_t>(in.k);
  if (options.check == Check::exact) in.epilogue.require_exact_operands(inputs, products);
  const std::vector<double> crumb = crumbs(in, options.denormals);
  Expected y;
  y.value.resize(in.m * in.n);
  y.bound.resize(in.m * in.n);
  parallel_for(static_cast<std::int64_t>(in.m), [&](std::int64_t row) {
    const auto i = static_cast<std::size_t>(row);
    const std::vector<Summation> sums = sums_of_row(in, i, options.check);
    for (std::size_t j = 0; j < in.n; ++j) {
      const Epilogue::Result result =
          in.epilogue.finish(sums[j], in.b.empty() ? nullptr : &in.b[j],
                             in.r.empty() ? nullptr : &in.r[i * in.n + j], options.check, crumb[j]);
      y.value[i * in.n + j] = result.value;
      y.bound[i * in.n + j] = result.bound;
    }
  });
  if (options.check == Check::exact && in.epilogue.stays_exact(products)) {
    Epilogue::make_exact(y, problem.dtype(), {problem.integer("m"), problem.integer("n")});
  }
  return {{"y", std::move(y)}};
}

}  // namespace clam
