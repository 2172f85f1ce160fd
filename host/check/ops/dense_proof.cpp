// SPDX-License-Identifier: MIT
// dense_proof.cpp - y[m,n] = act(alpha * sum_k x[m,k] * w[n,k] + b[n]) + r[m,n] in double, x2
// behind x along k, and how far from it a device may be.
#include "shared/matrix_product.hpp"
#include "shared/product_sets.hpp"

namespace clam::dense {
namespace {

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

Reference reference(const Problem& problem, const Tensors& inputs,
                    const ReferenceOptions& options) {
  MatrixProduct product(problem, "alpha", inputs.at("x"), inputs.at("w"));
  if (problem.integer("k2") > 0) {
    product.k += problem.integer("k2");
    product.a = side_by_side(product.a, values(inputs.at("x2")), product.m);
  }
  if (problem.integer("trans_w") == 1) product.b = transposed(product.b, product.n, product.k);
  if (problem.flag("bias")) product.addend = values(inputs.at("b"));
  if (problem.flag("residual")) product.residual = values(inputs.at("r"));
  const Shape shape{problem.integer("m"), problem.integer("n")};
  return {{"y", product.expected(inputs, options, shape)}};
}

// ---- data sets and cases ----

/// No element of the last column is 0.
void fill_last_column(HostTensor& matrix) {
  const std::int64_t n = matrix.shape()[1];
  for (std::int64_t i = n - 1; i < matrix.size(); i += n) matrix.set(i, matrix.get(i) < 0 ? -1 : 1);
}

/// -1, 0 and 1, so that every partial sum is exact. A product left out, or a column in the wrong
/// place, shows at any extent: no product with the last k of a source is 0, and the columns of a
/// pair differ in that product of the last source alone.
void exact(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  product_sets::ternary(seed, inputs);
  const std::int64_t n = problem.integer("n"), k = problem.integer("k");
  const std::int64_t all = k + problem.integer("k2");
  const bool trans_w = problem.integer("trans_w") == 1;
  HostTensor& w = inputs.at("w");
  const auto at = [=](std::int64_t column, std::int64_t i) {
    return trans_w ? column * all + i : i * n + column;
  };
  fill_last_column(inputs.at("x"));
  if (all > k) fill_last_column(inputs.at("x2"));
  for (std::int64_t column = 0; column < n; ++column) {
    const std::int64_t left = column - column % 2;
    w.set(at(left, k - 1), w.get(at(left, k - 1)) < 0 ? -1 : 1);
    for (std::int64_t i = 0; i < all; ++i) w.set(at(column, i), w.get(at(left, i)));
    w.set(at(column, all - 1), column % 2 == 0 ? 1 : -1);
  }
}

}  // namespace

OpProof proof() {
  return {
      "dense",
      product_sets::all(exact),
      reference,
      // Tiles are 1, 2, 4 or 6 rows (the more outputs, the higher) by 4 columns; groups are 16, 8
      // or 4 tiles wide and 4, 8 or 16 high.
      {
          // Small extents, around one tile.
          "m={1 n=1 k=1,1 n=3 k=2,2 n=4 k=3,3 n=5 k=4,4 n=8 k=5,5 n=7 k=8,7 n=11 k=13}",
          // Around one group.
          "m={15 n=15 k=16,16 n=16 k=17,17 n=17 k=20,3 n=63 k=12,4 n=64 k=31,5 n=65 k=12}",
          // Higher tiles, around their last row and group.
          "m={96 n=100 k=12,97 n=101 k=8,127 n=192 k=9,129 n=191 k=16}",
          "m={191 n=259 k=8,192 n=260 k=13,193 n=257 k=12}",
          // What models run.
          "m=192 n=32 k=2",
          "m=192 n={1,256} k=256 bias",
          "m=192 n=256 k=512 bias residual",
          "m=192 n={768 k=256,512 k=512} bias",
          // Slices of wider matrices, aligned and not.
          "m=9 n=16 k=12 ldx=16 ldw=20 ldy=24 offx=4 offw=8 offy=4",
          "m=9 n=15 k=12 ldx=13 ldw=15 ldy=21 offx=1 offw=3 offy=2",
          "m=9 n=15 k=10 ldx=12 ldw=12",
          "m=9 n=16 k=12 residual ldr=24 offr=4",
          "m=9 n=15 k=12 residual ldr=23 offr=1",
          // The other order of w.
          "m=9 n=16 k={12,11} trans_w=0",
          "m=9 n=15 k=12 trans_w=0",
          "m=9 n=16 k=12 trans_w=0 ldw={24 offw=4,23 offw=1}",
          "m=193 n=256 k=16 trans_w=0",
          // What follows the sum.
          "m=9 n=15 k=24 alpha={0.5,-1.7}",
          "m=9 n=15 k=24 alpha=-2 bias residual",
          "m=9 n=15 k=24 bias act={relu,relu6,silu,gelu,gelu_tanh,sigmoid,tanh}",
          "m=9 n=15 k=24 alpha=0.0078125 bias act=exp",
          "m=9 n=15 k=24 bias residual act=gelu",
          "m=9 n=15 k=24 bias act={hard_swish,clip act_alpha=-2.5 act_beta=3,leaky_relu}",
          "m=9 n=15 k=24 bias act={leaky_relu act_alpha=-0.3,hard_sigmoid act_alpha=0.1}",
          "m=9 n={15,16} k=24 bias residual act=hard_swish act_scale=-1.3 act_shift=0.7",
          "m=9 n=15 k=24 bias act={none act_scale=0.7,silu act_shift=-2}",
          // Sums in half: around a chunk, and all that follows.
          "m=5 n=7 k=31 acc=chunk",
          "m=9 n=16 k=32 acc=chunk",
          "m=17 n=17 k=33 acc=chunk bias act=silu",
          "m=9 n=15 k=100 acc=chunk alpha=-1.7 bias residual act=gelu",
          "m=9 n=15 k=42 acc=chunk ldx=45 ldw=43 ldy=21 offx=1 offw=3 offy=2",
          "m=9 n=16 k=64 acc=chunk trans_w=0",
          "m=193 n=257 k=36 acc=chunk",
          "m=192 n=512 k=512 acc=chunk bias",
          "m=9 n=15 k=33 acc=f16",
          "m=17 n=20 k=256 acc=f16 bias act=relu",
          "m=9 n=16 k=64 acc=f16 trans_w=0",
          // A second source of k: shorter and longer than the first, both or one of them padded.
          "m=9 n=15 k=12 k2=1 bias act=relu",
          "m=5 n=7 k=3 k2=10 residual",
          "m=1 n=16 k=12 k2=20 bias",
          "m=97 n=100 k=8 k2=16",
          "m=9 n=16 k=12 k2=8 ldx=16 ldx2=20 offx2=4 ldw=24 offw=4 bias residual act=gelu",
          "m=9 n=15 k=8 k2=12 ldx2=13 offx2=3 trans_w=0 ldw=17 offw=1 alpha=0.5",
          "m=17 n=20 k=20 k2=4 trans_w=0",
          "m={192 n=512,1 n=256} k=256 k2=256 bias",
          "m=9 n=16 k=36 k2=60 acc=chunk bias",
          "m=9 n=15 k=70 k2=5 acc=chunk act=silu",
          "m=9 n=16 k=64 k2=24 acc=f16",
      },
      {"m=1 n=1 k=1", "m=5 n=9 k=11 bias residual act=gelu",
       "m=9 n=9 k=8 ldx=12 offx=4 bias act=silu", "m=9 n=8 k=12 trans_w=0 residual",
       "m=9 n=7 k=5 trans_w=0 ldw=9 offw=1", "m=5 n=9 k=257 bias", "m=5 n=12 k=260 trans_w=0",
       "m=5 n=12 k=260", "m=5 n=9 k=35 acc=chunk bias act=silu", "m=5 n=9 k=35 acc=f16",
       "m=5 n=9 k=4 k2=5 ldx2=7 offx2=1 bias", "m=5 n=12 k=8 k2=4 ldx2=8 trans_w=0",
       "m=5 n=8 k=36 k2=40 acc=chunk"}};
}

}  // namespace clam::dense
