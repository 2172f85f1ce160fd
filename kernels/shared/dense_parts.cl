// SPDX-License-Identifier: MIT
// dense_parts.cl - a tile whose k is shared by several items.

#if DENSE_PARTS == 1
#define PARTIAL_SIZE 1
#else
#define PARTIAL_SIZE (DENSE_PARTS * SUMS * DENSE_LX * DENSE_LY)
#endif

// Sum i of the tile: finished, or, in parts, put where the others find it.
void take(float4 sum, int i, Tile tile, Output out, __global const T* b, __global const T* r,
          __global T* y, __local float4* partial) {
#if DENSE_PARTS == 1
  finish_vector(sum, i, tile, out, b, r, y);
#else
  const int lane = (int)get_local_id(1) * DENSE_LX + (int)get_local_id(0);
  partial[((int)get_local_id(2) * SUMS + i) * DENSE_LX * DENSE_LY + lane] = sum;
#endif
}

// Items share out the sums of their tile; each adds those of all parts, in their order.
void finish_parts(Tile tile, Output out, __global const T* b, __global const T* r, __global T* y,
                  __local const float4* partial) {
#if DENSE_PARTS > 1
  const int lane = (int)get_local_id(1) * DENSE_LX + (int)get_local_id(0);
  const int lanes = DENSE_LX * DENSE_LY;
  // Every part's sums are there before any is read.
  barrier(CLK_LOCAL_MEM_FENCE);
  if (tile.first > 3) return;  // another item has these columns
  // As many trips for all: llvmpipe goes wrong where items leave such a loop one by one.
  for (int j = 0; j < SUMS; j += DENSE_PARTS) {
    const int i = j + (int)get_local_id(2);
    if (i >= SUMS) continue;
    float4 sum = partial[i * lanes + lane];
    for (int part = 1; part < DENSE_PARTS; ++part) sum += partial[(part * SUMS + i) * lanes + lane];
    finish_vector(sum, i, tile, out, b, r, y);
  }
#endif
}

#define TAKE(i, v, unused) \
  take(sum[i * VECTORS + v], i * VECTORS + v, tile, out, b, r, y, partial);

// All sums of a tile by scalar loads: from w on, a vector every w_apart bytes, a column every
// w_column, a k every w_step.
void sum_slowly(__global const char* x, uint x_stride, Source second, __global const char* w,
                uint w_apart, uint w_column, uint w_step, int packed, int pairs, int k, Tile tile,
                Output out, __global const T* b, __global const T* r, __global T* y,
                __local float4* partial) {
  for (int i = 0; i < SUMS; ++i) {
    __global const T* x2 = second.x + first_of_row(second, second.row + i / VECTORS);
    float4 sum = (float4)(0.0f);
    for (int column = 0; column < 4; ++column) {
      const float one = sum_one(x + i / VECTORS * x_stride,
                                w + i % VECTORS * w_apart + column * w_column, w_step, packed,
                                pairs, k, (__global const char*)x2, second.products);
      sum = (float4)(sum.yzw, one);
    }
    take(sum, i, tile, out, b, r, y, partial);
  }
}

// ---- where reads end ----

// The elements from a matrix's start to the end of `rows` rows of `row` elements.
int reach(int at, int rows, int ld, int row) { return at + (rows - 1) * ld + row; }

// Of a part that lies in x alone, nothing of x2 is read.
int second_ends_above(Source second) {
  if (!DENSE_K2) return 0;
  const int at = first_of_row(second, second.row + ROWS - 1);
  return (second.products > 0) & ends_above(second.x, (at + second.products) * SIZE);
}
