// SPDX-License-Identifier: MIT
// parts.cl - sums of which several work-items have a part each, and sums by scalar loads. Needs
// PARTS, LX, LY, and the texts finish and sum_one.

#if PARTS > 1 && LX * LY * PARTS > 64
#error "_LX * _LY * _PARTS must be up to 64 where work-items share k"
#endif

#define SUMS (ROWS * VECTORS)
#define PARTIAL_SIZE (PARTS == 1 ? 1 : PARTS * SUMS * LX * LY)

// Sum i of the tile: finished, or, in parts, put where the others find it.
void take(float4 sum, int i, Tile tile, Output out, __local float4* partial) {
#if PARTS == 1
  finish_vector(sum, i, tile, out);
#else
  const int lane = (int)get_local_id(1) * LX + (int)get_local_id(0);
  partial[((int)get_local_id(2) * SUMS + i) * LX * LY + lane] = sum;
#endif
}

#define TAKE(i, v, unused) take(sum[i * VECTORS + v], i * VECTORS + v, tile, out, partial);

// Items share out the sums of their tile; each adds those of all parts, in their order.
void finish_parts(Tile tile, Output out, __local const float4* partial) {
#if PARTS > 1
  const int lane = (int)get_local_id(1) * LX + (int)get_local_id(0), lanes = LX * LY;
  // Every part's sums are there before any is read.
  barrier(CLK_LOCAL_MEM_FENCE);
  if (tile.first > 3) return;  // another item has these columns
  // As many trips for all: llvmpipe goes wrong where items leave such a loop one by one.
  for (int j = 0; j < SUMS; j += PARTS) {
    const int i = j + (int)get_local_id(2);
    if (i >= SUMS) continue;
    float4 sum = partial[i * lanes + lane];
    for (int part = 1; part < PARTS; ++part) sum += partial[(part * SUMS + i) * lanes + lane];
    finish_vector(sum, i, tile, out);
  }
#endif
}

// All sums of a tile by scalar loads: k products with x, then k2 with x2. `pairs`: see sum_one.
void sum_slowly(Lines x, int k, Lines x2, int k2, Lines w, int pairs, Tile tile, Output out,
                __local float4* partial) {
  for (int i = 0; i < SUMS; ++i) {
    const int row = i / VECTORS, col = i % VECTORS * APART;
    float4 sum = (float4)(0.0f);
    for (int column = 0; column < 4; ++column) {
      const Lines row_of_x = {x.at + row * x.line, x.line, x.step, x.packed};
      const Lines column_of_w = {w.at + (col + column) * w.line, w.line, w.step, w.packed};
      const float one = sum_one(row_of_x, k, x2.at + row * x2.line, k2, column_of_w, pairs);
      sum = (float4)(sum.yzw, one);
    }
    take(sum, i, tile, out, partial);
  }
}
