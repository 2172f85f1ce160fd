// SPDX-License-Identifier: MIT
// dense_finish.cl - what follows the sum of a tile.

// Sum i of the tile.
void finish_vector(float4 sum, int i, Tile tile, Output out, __global const T* b,
                   __global const T* r, __global T* y) {
  const int row = tile.row + i / VECTORS, col = tile.col + i % VECTORS * APART;
  const int end = out.n - col;
  if (i / VECTORS < tile.above || end <= 0) return;
  const int whole = DENSE_WHOLE || ((out.n | out.ldr | out.ldy | out.offr | out.offy) & 3) == 0;
  const int first = tile.first;
  float4 z = (float4)(0.0f);
  if (DENSE_BIAS) z = load_own((__global const char*)b, col * SIZE, first, end, whole);
  z = fma((float4)(out.alpha), sum, z);
  float4 v = (float4)(DENSE_ACT(z.x), DENSE_ACT(z.y), DENSE_ACT(z.z), DENSE_ACT(z.w));
  if (DENSE_RESIDUAL) {
    const uint at = (out.offr + row * out.ldr + col) * SIZE;
    v += load_own((__global const char*)r, at, first, end, whole);
  }
  store_own(v, (__global char*)y, (out.offy + row * out.ldy + col) * SIZE, first, end, whole);
}
