// SPDX-License-Identifier: MIT
// batch_matmul_proof.cpp - c[i,m,n] = act(scale * sum_k a[i,m,k] * b[i,k,n] + mask[m,n]) in
// double, and how far from it a device may be.
#include "batch_matmul_data.hpp"
#include "shared/matrix_product.hpp"
#include "shared/product_sets.hpp"

namespace clam::batch_matmul {
namespace {

Reference reference(const Problem& problem, const Tensors& inputs,
                    const ReferenceOptions& options) {
  const Shape shape{problem.integer("batch"), problem.integer("m"), problem.integer("n")};
  MatrixProduct product(problem, "scale", inputs.at("a"), inputs.at("b"));
  product.batch = shape[0];
  if (problem.integer("ta") == 1) product.a = transposed(product.a, product.k, product.m);
  if (problem.integer("tb") == 1) product.b = transposed(product.b, product.n, product.k);
  if (problem.choice("mask") != "none") product.addend = values(inputs.at("mask"));
  return {{"c", product.expected(inputs, options, shape)}};
}

// ---- data sets and cases ----

/// The sets for one product, made ones for batches.
std::vector<DataSet> data_sets() {
  std::vector<DataSet> sets = product_sets::all(batch_matmul_data::exact);
  for (DataSet& set : sets) {
    set.fill = [fill = set.fill](const Problem& problem, std::uint64_t seed, Tensors& inputs) {
      fill(problem, seed, inputs);
      batch_matmul_data::share_places(problem, inputs);
    };
  }
  return sets;
}

}  // namespace

OpProof proof() {
  return {
      "batch_matmul",
      data_sets(),
      reference,
      // Tiles are 1, 2, 4, 6 or 8 rows (4 or 8 where a is transposed) by 4 columns; groups are 16,
      // 8 or 4 tiles wide and 4, 8 or 16 high.
      {
          // Extents of 1, and around one tile; few products, so that any form may take one launch.
          "m=1 n=1 k=1",
          "batch=3 m=1 n=1 k=1 mask=bmn",
          "batch=2 m=1 n=9 k=2 tb=1",
          "batch=2 m=7 n=1 k=5 ta=1",
          "batch=3 m=5 n=7 k=1 ta=1 tb=1 mask=mn",
          "batch=2 m={3 n=4 k=4,4 n=5 k=8} tb=1",
          "batch=2 m=5 n=8 k=4",
          "batch=3 m=4 n=4 k=4 ta=1",
          "batch=3 m=8 n=7 k=8 ta=1 tb=1",
          // Around one group.
          "batch=2 m={63 n=15,64 n=16,65 n=17} k=12 tb=1",
          "batch=2 m={15 n=64,17 n=68} k=12",
          "batch=2 m={16 n=60,20 n=68} k=12 ta=1",
          "batch=2 m={64 n=15,68 n=17} k=12 ta=1 tb=1",
          // Higher tiles, around their last row and group.
          "batch=3 m={96 n=132,97 n=131} k=8 tb=1 mask=bmn",
          "batch=2 m=191 n=192 k=8",
          "batch=2 m=193 n=192 k=12 mask=mn",
          "batch=5 m=188 n=196 k=8 ta=1",
          "batch=5 m=196 n=188 k=4 ta=1 mask=bmn",
          // Padded first: rows that are no whole vectors, or fewer than a tile has.
          "batch=3 m=41 n=43 k=47 tb=1",
          "batch=3 m=41 n=43 k=47",
          "batch=3 m=41 n=43 k=47 ta=1",
          "batch=3 m=41 n=43 k=47 ta=1 tb=1",
          "batch=2 m=131 n=3 k=256 tb=1",
          "batch=2 m=1 n=131 k=256 ta=1",
          "batch=3 m=64 n=64 k=18 ta=1",
          // What models run.
          "batch=4 m=192 n=192 k=64 tb=1 scale=0.125",
          "batch=4 m=192 n=64 k=192",
          "m=192 n=192 k=256 tb=1 scale=0.0625",
          "batch=4 m=192 n=192 k=64 tb=1 scale=0.125 mask={mn,bmn}",
          // Heads in place: of inputs, and of the output.
          "batch=4 m=192 n=192 k=64 tb=1 scale=0.125 lda=256 ldb=256 stridea=64 strideb=64",
          "batch=4 m=192 n=64 k=192 ldb=256 ldc=256 strideb=64 stridec=64",
          "batch=2 m=9 n=11 k=8 tb=1 lda=24 ldb=24 ldc=33 stridea=8 strideb=8 stridec=11 offa=8 "
          "offb=8 offc=11",
          "batch=3 m=12 n=8 k=12 ta=1 lda=36 ldb=24 ldc=24 stridea=12 strideb=8 stridec=8",
          // One matrix for all batch items.
          "batch=3 m=9 n=15 k=12 tb=1 {batch_a=1,batch_b=1 mask=bmn}",
          "batch=3 m=9 n=16 k=12 batch_a=1 batch_b=1",
          "batch=3 m=43 n=41 k=33 ta=1 {batch_a=1,tb=1 batch_b=1}",
          // Slices, aligned and not; batch items that overlap.
          "batch=2 m=9 n=16 k=12 lda=16 ldb=20 ldc=24 stridea=160 strideb=244 stridec=220 offa=4 "
          "offb=8 offc=4",
          "batch=2 m=9 n=16 k=12 tb=1 ldc=17 offc=3 stridec=155",
          "batch=2 m=9 n=15 k=12 lda=13 ldb=17 ldc=18 offa=1 offb=2 offc=3",
          "batch=3 m=41 n=43 k=44 tb=1 lda=45 offb=2 stridea=1847",
          "batch=3 m=44 n=40 k=44 ta=1 tb=1 stridea=1938 strideb=1762",
          "batch=4 m=6 n=8 k=12 tb=1 stridea=12 strideb=24",
          "batch=4 m=5 n=7 k=6 lda=6 ldb=7 stridea=1 strideb=7",
          // What follows the sum.
          "batch=2 m=9 n=15 k=24 tb=1 scale={-1.7 mask=bmn,2 mask=mn act=relu}",
          "batch=2 m=9 n=16 k=24 scale=0.5 {mask=mn act=relu6,act=silu,mask=bmn act=gelu}",
          "batch=2 m=9 n=16 k=24 scale=0.5 act={gelu_tanh,sigmoid,tanh}",
          "batch=2 m=9 n=16 k=24 scale=0.5 act={leaky_relu,hard_swish act_scale=2 act_shift=0.3}",
          "batch=2 m=9 n=16 k=24 scale=0.0078125 mask=bmn act=exp",
          // Sums in half: around a chunk, and all that follows.
          "batch=2 m=5 n=8 k=31 tb=1 acc=chunk",
          "batch=2 m=16 n=60 k=32 ta=1 acc=chunk",
          "batch=3 m=9 n=15 k=33 tb=1 acc=chunk mask=bmn",
          "batch=2 m=41 n=44 k=68 acc=chunk scale=0.5 act=silu",
          "batch=2 m=41 n=43 k=65 ta=1 tb=1 acc=chunk scale=-1.7",
          "batch=4 m=192 n={192 k=64 tb=1 scale=0.125,64 k=192} acc=chunk",
          "batch=3 m=9 n=15 k=33 tb=1 acc=f16 mask=mn",
          "batch=2 m=9 n=16 k=64 acc=f16 act=relu",
      },
      // The last of them have more tiles than others: copies are made from 65536 products on only.
      {
          "m=1 n=1 k=1",
          "batch=3 m=9 n=9 k=8 tb=1 mask=bmn scale=0.125",
          "batch=2 m=9 n=8 k=12 ldc=16 stridec=8 mask=mn act=silu",
          "batch=2 m=12 n=8 k=8 ta=1 batch_b=1",
          "batch=2 m=8 n=9 k=8 ta=1 tb=1 lda=16 stridea=8 offa=16",
          "batch=3 m=5 n=7 k=6 lda=13 offb=1",
          "m=41 n=43 k=39 tb=1",
          "batch=2 m=31 n=35 k=33 ta=1",
          "batch=2 m=5 n=9 k=36 tb=1 acc=chunk scale=0.125",
          "batch=2 m=5 n=8 k=36 acc=f16",
      }};
}

}  // namespace clam::batch_matmul
