// SPDX-License-Identifier: MIT
// batch_matmul_finish.cl - what follows the sum of a tile.

// Vector v of row i of the tile.
void finish_vector(float4 sum, int i, int v, Tile tile, Output out, __global const T* mask,
                   __global T* c) {
  const int row = tile.row + i, col = tile.col + v * APART;
  if (i < tile.above || row >= out.m || col >= out.n) return;
  const int first = tile.first, end = out.n - col;
  float4 addend = (float4)(0.0f);
  if (BMM_MASK) {
    addend = load_own((__global const char*)mask, (out.mask_at + row * out.n + col) * SIZE, first,
                      end, out.whole);
  }
  const float4 z = fma((float4)(out.scale), sum, addend);
  const float4 result = (float4)(BMM_ACT(z.x), BMM_ACT(z.y), BMM_ACT(z.z), BMM_ACT(z.w));
  store_own(result, (__global char*)c, (out.c_at + row * out.ldc + col) * SIZE, first, end, out.whole);
}
