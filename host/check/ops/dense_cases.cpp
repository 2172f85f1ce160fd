// SPDX-License-Identifier: MIT
// dense_cases.cpp - the data sets and cases of dense, for tests and benches.
#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "ops/dense.hpp"
#include "shared/product_sets.hpp"

namespace clam {

Reference dense_reference(const Problem&, const Tensors& inputs, const ReferenceOptions&);

namespace {

/// No element of the last column is 0.
void fill_last_column(HostTensor& matrix) {
  const std::int64_t n = matrix.shape()[1];
  for (std::int64_t i = n - 1; i < matrix.size(); i += n) {
    matrix.set(i, matrix.get(i) < 0 ? -1 : 1);
  }
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

std::vector<DataSet> data_sets() { return product_sets::all(exact); }

/// Tiles are 1, 2, 4 or 6 rows (the more outputs, the higher) by 4 columns; groups are 16, 8 or 4
/// tiles wide and 4, 8 or 16 high.
std::vector<std::string> cases() {
  return {
      // Small extents, around one tile.
      "dense m=1 n=1 k=1",
      "dense m=1 n=3 k=2",
      "dense m=2 n=4 k=3",
      "dense m=3 n=5 k=4",
      "dense m=4 n=8 k=5",
      "dense m=5 n=7 k=8",
      "dense m=7 n=11 k=13",
      // Around one group.
      "dense m=15 n=15 k=16",
      "dense m=16 n=16 k=17",
      "dense m=17 n=17 k=20",
      "dense m=3 n=63 k=12",
      "dense m=4 n=64 k=31",
      "dense m=5 n=65 k=12",
      // Higher tiles, around their last row and group.
      "dense m=96 n=100 k=12",
      "dense m=97 n=101 k=8",
      "dense m=127 n=192 k=9",
      "dense m=129 n=191 k=16",
      "dense m=191 n=259 k=8",
      "dense m=192 n=260 k=13",
      "dense m=193 n=257 k=12",
      // What models run.
      "dense m=192 n=32 k=2",
      "dense m=192 n=1 k=256 bias",
      "dense m=192 n=256 k=256 bias",
      "dense m=192 n=256 k=512 bias residual",
      "dense m=192 n=768 k=256 bias",
      "dense m=192 n=512 k=512 bias",
      // Slices of wider matrices, aligned and not.
      "dense m=9 n=16 k=12 ldx=16 ldw=20 ldy=24 offx=4 offw=8 offy=4",
      "dense m=9 n=15 k=12 ldx=13 ldw=15 ldy=21 offx=1 offw=3 offy=2",
      "dense m=9 n=15 k=10 ldx=12 ldw=12",
      "dense m=9 n=16 k=12 residual ldr=24 offr=4",
      "dense m=9 n=15 k=12 residual ldr=23 offr=1",
      // The other order of w.
      "dense m=9 n=16 k=12 trans_w=0",
      "dense m=9 n=16 k=11 trans_w=0",
      "dense m=9 n=15 k=12 trans_w=0",
      "dense m=9 n=16 k=12 trans_w=0 ldw=24 offw=4",
      "dense m=9 n=16 k=12 trans_w=0 ldw=23 offw=1",
      "dense m=193 n=256 k=16 trans_w=0",
      // What follows the sum.
      "dense m=9 n=15 k=24 alpha=0.5",
      "dense m=9 n=15 k=24 alpha=-1.7",
      "dense m=9 n=15 k=24 alpha=-2 bias residual",
      "dense m=9 n=15 k=24 bias act=relu",
      "dense m=9 n=15 k=24 bias act=relu6",
      "dense m=9 n=15 k=24 bias act=silu",
      "dense m=9 n=15 k=24 bias act=gelu",
      "dense m=9 n=15 k=24 bias act=gelu_tanh",
      "dense m=9 n=15 k=24 bias act=sigmoid",
      "dense m=9 n=15 k=24 bias act=tanh",
      "dense m=9 n=15 k=24 alpha=0.0078125 bias act=exp",
      "dense m=9 n=15 k=24 bias residual act=gelu",
      // Sums in half: around a chunk, and all that follows.
      "dense m=5 n=7 k=31 acc=chunk",
      "dense m=9 n=16 k=32 acc=chunk",
      "dense m=17 n=17 k=33 acc=chunk bias act=silu",
      "dense m=9 n=15 k=100 acc=chunk alpha=-1.7 bias residual act=gelu",
      "dense m=9 n=15 k=42 acc=chunk ldx=45 ldw=43 ldy=21 offx=1 offw=3 offy=2",
      "dense m=9 n=16 k=64 acc=chunk trans_w=0",
      "dense m=193 n=257 k=36 acc=chunk",
      "dense m=192 n=512 k=512 acc=chunk bias",
      "dense m=9 n=15 k=33 acc=f16",
      "dense m=17 n=20 k=256 acc=f16 bias act=relu",
      "dense m=9 n=16 k=64 acc=f16 trans_w=0",
      // A second source of k: shorter and longer than the first, both or one of them padded.
      "dense m=9 n=15 k=12 k2=1 bias act=relu",
      "dense m=5 n=7 k=3 k2=10 residual",
      "dense m=1 n=16 k=12 k2=20 bias",
      "dense m=97 n=100 k=8 k2=16",
      "dense m=9 n=16 k=12 k2=8 ldx=16 ldx2=20 offx2=4 ldw=24 offw=4 bias residual act=gelu",
      "dense m=9 n=15 k=8 k2=12 ldx2=13 offx2=3 trans_w=0 ldw=17 offw=1 alpha=0.5",
      "dense m=17 n=20 k=20 k2=4 trans_w=0",
      "dense m=192 n=512 k=256 k2=256 bias",
      "dense m=1 n=256 k=256 k2=256 bias",
      "dense m=9 n=16 k=36 k2=60 acc=chunk bias",
      "dense m=9 n=15 k=70 k2=5 acc=chunk act=silu",
      "dense m=9 n=16 k=64 k2=24 acc=f16",
  };
}

std::vector<std::string> small_cases() {
  return {"dense m=1 n=1 k=1",
          "dense m=5 n=9 k=11 bias residual act=gelu",
          "dense m=9 n=9 k=8 ldx=12 offx=4 bias act=silu",
          "dense m=9 n=8 k=12 trans_w=0 residual",
          "dense m=9 n=7 k=5 trans_w=0 ldw=9 offw=1",
          "dense m=5 n=9 k=257 bias",
          "dense m=5 n=12 k=260 trans_w=0",
          "dense m=5 n=12 k=260",
          "dense m=5 n=9 k=35 acc=chunk bias act=silu",
          "dense m=5 n=9 k=35 acc=f16",
          "dense m=5 n=9 k=4 k2=5 ldx2=7 offx2=1 bias",
          "dense m=5 n=12 k=8 k2=4 ldx2=8 trans_w=0",
          "dense m=5 n=8 k=36 k2=40 acc=chunk"};
}

}  // namespace

const OpProof& dense_proof() {
  static const OpProof proof = [] {
    OpProof proof;
    proof.op = "dense";
    proof.data_sets = data_sets();
    proof.reference = dense_reference;
    proof.cases = cases();
    proof.small_cases = small_cases();
    return proof;
  }();
  return proof;
}

}  // namespace clam
