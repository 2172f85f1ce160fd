// SPDX-License-Identifier: MIT
#include "matrix_product.hpp"

namespace clam {

MatrixProduct::MatrixProduct(const Problem& problem, const char* factor, const HostTensor& a,
                             const HostTensor& b)
    : m(problem.integer("m")),
      n(problem.integer("n")),
      k(problem.integer("k")),
      first_k(k),
      epilogue(problem, problem.number(factor)),
      a(values(a)),
      b(values(b)) {}

/// For each column of each matrix of b, what denormals may cost.
std::vector<double> MatrixProduct::crumbs(bool denormals) const {
  std::vector<double> crumbs(b.size() / k);
  for (std::size_t at = 0; at < b.size(); ++at) {
    crumbs[at / (k * n) * n + at % n] += std::fabs(b[at]);
  }
  for (double& crumb : crumbs) crumb = epilogue.crumb(denormals, crumb);
  return crumbs;
}

/// Product kk of every sum of a row, which is one of batch * m.
template <typename Sum>
void MatrixProduct::add_products(std::size_t row, std::size_t kk, std::vector<Sum>& sums) const {
  const double of_a = a[row * k % a.size() + kk], *of_b = &b[row / m * k * n % b.size() + kk * n];
  for (std::size_t j = 0; j < n; ++j) sums[j].add(of_a * of_b[j]);
}

/// The sums of a row, each of them begun as `zero`.
template <typename Sum>
std::vector<Summation> MatrixProduct::sums_of_row(std::size_t row, Check check, Sum zero) const {
  std::vector<Sum> sums(n, zero);
  for (std::size_t kk = 0; kk < k; ++kk) add_products(row, kk, sums);
  std::vector<Summation> totals;
  for (const Sum& sum : sums) totals.push_back(sum.total(check));
  return totals;
}

std::vector<Summation> MatrixProduct::sums_of_row(std::size_t row, Check check) const {
  if (epilogue.acc == Acc::f32 && check == Check::hard) {
    // Parts are counted in whole vectors: of two sources, the first is filled up with nothing.
    const std::size_t filled = k > first_k ? (first_k + 3) / 4 * 4 : first_k;
    return sums_in_any_parts(n, k - first_k + filled, [&](auto& sums, std::int64_t product) {
      const std::size_t at = product;
      if (at < first_k) add_products(row, at, sums);
      if (at >= filled) add_products(row, at - filled + first_k, sums);
    });
  }
  if (epilogue.acc == Acc::f32) return sums_of_row(row, check, Summation());
  return sums_of_row(row, check, HalfSummation(products_in_half(epilogue.acc)));
}

Expected MatrixProduct::expected(const Tensors& inputs, const ReferenceOptions& options,
                                 const Shape& shape) const {
  const std::int64_t products = k;
  if (options.check == Check::exact) epilogue.require_exact_operands(inputs, products);
  const std::vector<double> crumb = crumbs(options.denormals);
  Expected c = Expected::of_size(batch * m * n);
  parallel_for(batch * m, [&](std::int64_t i) {
    const std::size_t row = i;
    const std::vector<Summation> sums = sums_of_row(row, options.check);
    for (std::size_t j = 0; j < n; ++j) {
      const std::size_t at = row * n + j;
      const auto of = [at](const std::vector<double>& numbers) {
        return numbers.empty() ? nullptr : &numbers[at % numbers.size()];
      };
      c.set(at, epilogue.finish(sums[j], of(addend), of(residual), options.check,
                                crumb[(row / m * n + j) % crumb.size()]));
    }
  });
  epilogue.make_exact(c, options.check, products, shape);
  return c;
}

std::vector<double> transposed(const std::vector<double>& stack, std::size_t rows,
                               std::size_t columns) {
  std::vector<double> result(stack.size());
  const std::size_t matrix = rows * columns;
  for (std::size_t at = 0; at < stack.size(); ++at) {
    const std::size_t i = at % matrix / columns, j = at % columns;
    result[at / matrix * matrix + j * rows + i] = stack[at];
  }
  return result;
}

}  // namespace clam
