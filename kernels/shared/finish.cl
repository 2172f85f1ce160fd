// SPDX-License-Identifier: MIT
// finish.cl - from a sum to the output. Needs WHOLE, ADDEND, RESIDUAL, ACT, and the texts memory
// and tile.

// What is added before and after the activation, and the output. Element [row][col] of each lies
// at_ + row * ld_ + col elements behind its pointer.
typedef struct {
  __global const T *addend, *residual;
  __global T* y;
  int n, ld_addend, ld_residual, ld_y, at_addend, at_residual, at_y;
  float factor;
} Output;

int owns(int i, int first, int end) { return i >= first && i < end; }

// The own elements of a vector; `whole` when all four are its own and aligned.
float4 load_own(__global const T* base, int index, int first, int end, int whole) {
  __global const char* p = (__global const char*)base;
  const uint at = index * SIZE;
  if (whole) return load4(p, at);
  return (float4)(owns(0, first, end) ? load1(p, at) : 0.0f,
                  owns(1, first, end) ? load1(p, at + SIZE) : 0.0f,
                  owns(2, first, end) ? load1(p, at + 2 * SIZE) : 0.0f,
                  owns(3, first, end) ? load1(p, at + 3 * SIZE) : 0.0f);
}

void store_own(float4 v, __global T* base, int index, int first, int end, int whole) {
  __global char* p = (__global char*)base;
  const uint at = index * SIZE;
  if (whole) {
    store4(v, p, at);
    return;
  }
  if (owns(0, first, end)) store1(v.x, p, at);
  if (owns(1, first, end)) store1(v.y, p, at + SIZE);
  if (owns(2, first, end)) store1(v.z, p, at + 2 * SIZE);
  if (owns(3, first, end)) store1(v.w, p, at + 3 * SIZE);
}

// Sum i of the tile: vector i % VECTORS of row i / VECTORS.
void finish_vector(float4 sum, int i, Tile tile, Output out) {
  const int row = tile.row + i / VECTORS, col = tile.col + i % VECTORS * APART;
  const int first = tile.first, end = out.n - col;
  if (i / VECTORS < tile.above || i / VECTORS >= tile.below || end <= 0) return;
  const int odd = out.n | out.ld_y | out.at_y | (RESIDUAL ? out.ld_residual | out.at_residual : 0);
  const int whole = WHOLE || (odd & 3) == 0;
  float4 z = (float4)(0.0f);
  if (ADDEND) {
    z = load_own(out.addend, out.at_addend + row * out.ld_addend + col, first, end, whole);
  }
  z = fma((float4)(out.factor), sum, z);
  float4 v = (float4)(ACT(z.x), ACT(z.y), ACT(z.z), ACT(z.w));
  if (RESIDUAL) {
    v += load_own(out.residual, out.at_residual + row * out.ld_residual + col, first, end, whole);
  }
  store_own(v, out.y, out.at_y + row * out.ld_y + col, first, end, whole);
}
