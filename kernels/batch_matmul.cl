// SPDX-License-Identifier: MIT
// batch_matmul.cl - c[i,m,n] = act(scale * sum_k a[i,m,k] * b[i,k,n] + mask[m,n])
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). Every kernel
// sums in the order of k, in one float per output, by fma; what follows the sum is float too.
//
// a, b and c are stacks of matrices: a batch stride, a row stride (ld) and a first element (off),
// in elements; every byte offset into them fits an int. So a head, whose rows are pieces of longer
// rows, is read and written in place. stridea = 0 or strideb = 0: one matrix for all batch items.
// Elements of c lie in distinct places: stridec >= (m-1)*ldc + n, or, where batch items lie side by
// side, stridec >= n and ldc >= (batch-1)*stridec + n. Buffers start on multiples of 16 bytes, as
// OpenCL's do. mask is dense; stridem is m*n, or 0 for one mask for all batch items. An absent mask
// counts as zeros, and may be null. No output overlaps an input.
//
// The two letters of a kernel say how a and b lie: n as in the formula, t transposed. But for
// batch_matmul_plain, a work-item has a tile of 4 columns and takes 4 k a trip, by aligned
// 4-vectors. A tile that would hang over an edge is moved back, so that it ends there: it then
// shares rows or columns with its neighbour, and stores only its own.
//
//     kernel   a vector of a holds   a vector of b holds    rows of a tile
//     _nt      4 k of a row          4 k of a column        BMM_M0
//     _nn      4 k of a row          4 columns at one k     BMM_M0
//     _tn      4 rows at one k       4 columns at one k     4*BMM_M4
//     _tt      4 rows at one k       4 k of a column        4
//
//@define CLAM_F16  off                          store tensors as half
//@define BMM_M0    4 {1,2,4,6,8}                rows of a tile of _nt and _nn
//@define BMM_M4    1 {1,2}                      vectors of 4 rows of a tile of _tn
//@define BMM_LX    16 {1,2,4,8,16}              work-items of a group along n
//@define BMM_LY    4 {1,2,4,8,16,32,64,128,256} work-items of a group along m
//@define BMM_LDA   0                            fixes lda where it is not 0
//@define BMM_LDB   0                            fixes ldb where it is not 0
//@define BMM_MASK  0 {0,1}                      mask is added
//@define BMM_ACT   none {none,relu,relu6,silu,gelu,gelu_tanh,sigmoid,tanh,exp}  activation

#ifndef BMM_M0
#define BMM_M0 4
#endif
#ifndef BMM_M4
#define BMM_M4 1
#endif
#ifndef BMM_LX
#define BMM_LX 16
#endif
#ifndef BMM_LY
#define BMM_LY 4
#endif
#ifndef BMM_LDA
#define BMM_LDA 0
#endif
#ifndef BMM_LDB
#define BMM_LDB 0
#endif
#ifndef BMM_MASK
#define BMM_MASK 0
#endif
#ifndef BMM_ACT
#define BMM_ACT none
#endif

#if BMM_M0 != 1 && BMM_M0 != 2 && BMM_M0 != 4 && BMM_M0 != 6 && BMM_M0 != 8
#error "batch_matmul.cl: BMM_M0 must be 1, 2, 4, 6 or 8"
#endif
#if BMM_M4 != 1 && BMM_M4 != 2
#error "batch_matmul.cl: BMM_M4 must be 1 or 2"
#endif
#if BMM_LX < 1 || BMM_LX > 16 || BMM_LX & (BMM_LX - 1)
#error "batch_matmul.cl: BMM_LX must be a power of two up to 16"
#endif
#if BMM_LY < 1 || BMM_LY > 256 || BMM_LY & (BMM_LY - 1)
#error "batch_matmul.cl: BMM_LY must be a power of two up to 256"
#endif
#if BMM_LDA % 4 != 0 || BMM_LDB % 4 != 0
#error "batch_matmul.cl: BMM_LDA and BMM_LDB must be multiples of 4, for aligned vector loads"
#endif
#if BMM_MASK != 0 && BMM_MASK != 1
#error "batch_matmul.cl: BMM_MASK must be 0 or 1"
#endif

#ifdef CLAM_F16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half T;
typedef half4 T4;
#else
typedef float T;
typedef float4 T4;
#endif

#define SIZE ((uint)sizeof(T))
#define GROUP __attribute__((reqd_work_group_size(BMM_LX, BMM_LY, 1)))

// ---- activations: BMM_ACT is the name of one of these, or of a built-in ----

float none(float z) { return z; }

// Written so that NaN stays NaN; fmax would swallow it.
float relu(float z) { return z < 0.0f ? 0.0f : z; }

float relu6(float z) { return z < 0.0f ? 0.0f : (z > 6.0f ? 6.0f : z); }

float sigmoid(float z) { return 1.0f / (1.0f + exp(-z)); }

float silu(float z) { return z / (1.0f + exp(-z)); }

// z * Phi(z), by Abramowitz and Stegun 7.1.26 for the tail of the normal distribution: within
// 2.6e-7 of the exact value. Past 16 the tail is 0 in float; the clamp keeps 0 * inf out.
float gelu(float z) {
  const float a = fmin(fabs(z), 16.0f);
  const float t = 1.0f / fma(0.231641887f, a, 1.0f);
  float p = fma(1.061405429f, t, -1.453152027f);
  p = fma(p, t, 1.421413741f);
  p = fma(p, t, -0.284496736f);
  p = fma(p, t, 0.254829592f);
  return relu(z) - 0.5f * a * p * t * exp(-0.5f * a * a);
}

// z / 2 * (1 + tanh(u)) = z * sigmoid(2 u), u = sqrt(2 / pi) * (z + 0.044715 z^3)
float gelu_tanh(float z) { return z / (1.0f + exp(-1.5957691216f * fma(0.044715f * z * z, z, z))); }

// ---- memory: a 64-bit base and an unsigned byte offset cost Mali compilers the least ----

float load1(__global const char* p, uint at) { return (float)*(__global const T*)(p + at); }

float4 load4(__global const char* p, uint at) {
  const T4 v = *(__global const T4*)(p + at);
  return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w);
}

void store1(float v, __global char* p, uint at) { *(__global T*)(p + at) = (T)v; }

void store4(float4 v, __global char* p, uint at) {
  *(__global T4*)(p + at) = (T4)((T)v.x, (T)v.y, (T)v.z, (T)v.w);
}

// What a work-item computes: rows from `row` on, four columns from `col` on. What it owns: rows
// from own_row on, and of the four columns those in [first, end).
typedef struct {
  int row, col, own_row, first, end;
} Tile;

int owns(Tile tile, int i) { return i >= tile.first && i < tile.end; }

// The tile's own elements of four; `whole` when all four are its own and aligned.
float4 load_own(__global const char* p, uint at, Tile tile, int whole) {
  if (whole) return load4(p, at);
  return (float4)(owns(tile, 0) ? load1(p, at) : 0.0f, owns(tile, 1) ? load1(p, at + SIZE) : 0.0f,
                  owns(tile, 2) ? load1(p, at + 2 * SIZE) : 0.0f,
                  owns(tile, 3) ? load1(p, at + 3 * SIZE) : 0.0f);
}

void store_own(float4 v, __global char* p, uint at, Tile tile, int whole) {
  if (whole) {
    store4(v, p, at);
    return;
  }
  if (owns(tile, 0)) store1(v.x, p, at);
  if (owns(tile, 1)) store1(v.y, p, at + SIZE);
  if (owns(tile, 2)) store1(v.z, p, at + 2 * SIZE);
  if (owns(tile, 3)) store1(v.w, p, at + 3 * SIZE);
}

// ---- tiles ----

// Four columns that a tile may read even past the last of n, but not store.
Tile tile_at(int row, int own_row, int col, int n) {
  const Tile tile = {row, col, own_row, 0, min(n - col, 4)};
  return tile;
}

// Four columns that end at the last of n; where n < 4, those past it are read, but not stored.
Tile tile_within(int row, int own_row, int own_col, int n) {
  const int col = max(min(own_col, n - 4), 0);
  const Tile tile = {row, col, own_row, own_col - col, min(n, 4)};
  return tile;
}

// ---- the sum ----

#define MOST_ROWS 8

// sum + x[0..3] * w[0..3], where w0 to w3 hold four numbers each at one k ...
float4 add_vectors(float4 sum, float4 x, float4 w0, float4 w1, float4 w2, float4 w3) {
  sum = fma((float4)(x.x), w0, sum);
  sum = fma((float4)(x.y), w1, sum);
  sum = fma((float4)(x.z), w2, sum);
  return fma((float4)(x.w), w3, sum);
}

// ... and where each w holds one number's four k, and x0 to x3 are x at those k.
float add_along_k(float sum, float x0, float x1, float x2, float x3, float4 w) {
  return fma(x3, w.w, fma(x2, w.z, fma(x1, w.y, fma(x0, w.x, sum))));
}

float4 add_rows(float4 sum, float x0, float x1, float x2, float x3, float4 w0, float4 w1, float4 w2,
                float4 w3) {
  return (float4)(add_along_k(sum.x, x0, x1, x2, x3, w0), add_along_k(sum.y, x0, x1, x2, x3, w1),
                  add_along_k(sum.z, x0, x1, x2, x3, w2), add_along_k(sum.w, x0, x1, x2, x3, w3));
}

void clear(float4* sum, int rows) {
  for (int i = 0; i < rows; ++i) sum[i] = (float4)(0.0f);
}

// The low half of the address at which a loop over k ends. Compared instead of a trip count: one
// instruction less a trip, and no constant count that a compiler would unroll whole, and spill.
uint low(__global const char* p) { return (uint)(ulong)p; }

// x holds rows of k, w holds vectors at one k; a row or vector every so many bytes.
void sum_rows_by_vectors(float4* sum, int rows, __global const char* x, uint x_stride,
                         __global const char* w, uint w_stride, int k) {
  const uint end = low(x + k * SIZE);
  clear(sum, rows);
  do {
    const float4 w0 = load4(w, 0), w1 = load4(w, w_stride);
    const float4 w2 = load4(w, 2 * w_stride), w3 = load4(w, 3 * w_stride);
    for (int i = 0; i < rows; ++i) {
      sum[i] = add_vectors(sum[i], load4(x, i * x_stride), w0, w1, w2, w3);
    }
    x += 4 * SIZE;
    w += 4 * w_stride;
  } while (low(x) != end);
}

// Both hold rows of k.
void sum_rows_by_rows(float4* sum, int rows, __global const char* x, uint x_stride,
                      __global const char* w, uint w_stride, int k) {
  const uint end = low(x + k * SIZE);
  clear(sum, rows);
  do {
    const float4 w0 = load4(w, 0), w1 = load4(w, w_stride);
    const float4 w2 = load4(w, 2 * w_stride), w3 = load4(w, 3 * w_stride);
    for (int i = 0; i < rows; ++i) {
      const float4 v = load4(x, i * x_stride);
      sum[i] = add_rows(sum[i], v.x, v.y, v.z, v.w, w0, w1, w2, w3);
    }
    x += 4 * SIZE;
    w += 4 * SIZE;
  } while (low(x) != end);
}

// x holds vectors of four rows at one k, w holds rows of k.
void sum_vectors_by_rows(float4* sum, __global const char* x, uint x_stride,
                         __global const char* w, uint w_stride, int k) {
  const uint end = low(w + k * SIZE);
  clear(sum, 4);
  do {
    const float4 x0 = load4(x, 0), x1 = load4(x, x_stride);
    const float4 x2 = load4(x, 2 * x_stride), x3 = load4(x, 3 * x_stride);
    const float4 w0 = load4(w, 0), w1 = load4(w, w_stride);
    const float4 w2 = load4(w, 2 * w_stride), w3 = load4(w, 3 * w_stride);
    sum[0] = add_rows(sum[0], x0.x, x1.x, x2.x, x3.x, w0, w1, w2, w3);
    sum[1] = add_rows(sum[1], x0.y, x1.y, x2.y, x3.y, w0, w1, w2, w3);
    sum[2] = add_rows(sum[2], x0.z, x1.z, x2.z, x3.z, w0, w1, w2, w3);
    sum[3] = add_rows(sum[3], x0.w, x1.w, x2.w, x3.w, w0, w1, w2, w3);
    x += 4 * x_stride;
    w += 4 * SIZE;
  } while (low(w) != end);
}

// Both hold vectors at one k; x `rows` / 4 of them side by side.
void sum_vectors_by_vectors(float4* sum, int rows, __global const char* x, uint x_stride,
                            __global const char* w, uint w_stride, int k) {
  const uint end = low(x + k * x_stride);
  clear(sum, rows);
  do {
    for (int step = 0; step < 4; ++step) {
      const float4 right = load4(w, step * w_stride);
      for (int i = 0; i < rows; i += 4) {
        const float4 left = load4(x, step * x_stride + i * SIZE);
        sum[i] = fma((float4)(left.x), right, sum[i]);
        sum[i + 1] = fma((float4)(left.y), right, sum[i + 1]);
        sum[i + 2] = fma((float4)(left.z), right, sum[i + 2]);
        sum[i + 3] = fma((float4)(left.w), right, sum[i + 3]);
      }
    }
    x += 4 * x_stride;
    w += 4 * w_stride;
  } while (low(x) != end);
}

// ---- from the sum to the output ----

// A batch item of c and of mask: its extents, its first elements, and whether every tile has four
// columns of its own, aligned.
typedef struct {
  int m, n, ldc, c_at, mask_at, whole;
  float scale;
} Output;

Output output_of(int item, int m, int n, int ldc, int stridem, int stridec, int offc, float scale) {
  const int whole = ((n | ldc | offc | stridec) & 3) == 0;
  const Output out = {m, n, ldc, offc + item * stridec, item * stridem, whole, scale};
  return out;
}

void finish_row(float4 sum, int row, Tile tile, Output out, __global const T* mask,
                __global T* c) {
  if (row < tile.own_row || row >= out.m) return;
  float4 addend = (float4)(0.0f);
  if (BMM_MASK) {
    addend = load_own((__global const char*)mask, (out.mask_at + row * out.n + tile.col) * SIZE,
                      tile, out.whole);
  }
  const float4 z = fma((float4)(out.scale), sum, addend);
  const float4 v = (float4)(BMM_ACT(z.x), BMM_ACT(z.y), BMM_ACT(z.z),
                            BMM_ACT(z.w));
  store_own(v, (__global char*)c, (out.c_at + row * out.ldc + tile.col) * SIZE, tile, out.whole);
}

// Row by row in the text: a loop is left rolled where the activation is long, and the sums then
// live in memory through the loop over k as well.
void finish(const float4* sum, int rows, Tile tile, Output out, __global const T* mask,
            __global T* c) {
  finish_row(sum[0], tile.row, tile, out, mask, c);
  if (rows > 1) finish_row(sum[1], tile.row + 1, tile, out, mask, c);
  if (rows > 2) finish_row(sum[2], tile.row + 2, tile, out, mask, c);
  if (rows > 2) finish_row(sum[3], tile.row + 3, tile, out, mask, c);
  if (rows > 4) finish_row(sum[4], tile.row + 4, tile, out, mask, c);
  if (rows > 4) finish_row(sum[5], tile.row + 5, tile, out, mask, c);
  if (rows > 6) finish_row(sum[6], tile.row + 6, tile, out, mask, c);
  if (rows > 6) finish_row(sum[7], tile.row + 7, tile, out, mask, c);
}

// ---- the kernels ----

// One work-item a tile; a in rows along k, b in rows along k: both rows are read along k.
//@kernel batch_matmul_nt
//@arg    0  a        in   T[offa + batch*stridea]
//@arg    1  b        in   T[offb + batch*strideb]
//@arg    2  mask     in   T[m*n + (batch-1)*stridem]  null without BMM_MASK
//@arg    3  c        out  T[offc + batch*stridec]
//@arg    4  m        int      rows of c
//@arg    5  n        int      columns of c
//@arg    6  k        int      products of a sum, the zeros that fill up a and b included
//@arg    7  lda      int
//@arg    8  ldb      int
//@arg    9  ldc      int
//@arg    10 stridea  int      0: one matrix for all batch items
//@arg    11 strideb  int      0: one matrix for all batch items
//@arg    12 stridem  int      m*n, or 0: one mask for all batch items
//@arg    13 stridec  int
//@arg    14 offa     int
//@arg    15 offb     int
//@arg    16 offc     int
//@arg    17 scale    float    factor of the sum
//@global ceil(n/(4*BMM_LX))*BMM_LX ceil(m/(BMM_M0*BMM_LY))*BMM_LY batch
//@local  BMM_LX BMM_LY 1
//@needs  m >= BMM_M0, n >= 1, b has at least 4 rows; those from n on are read and not used
//@needs  k >= 4, k % 4 == 0, lda % 4 == 0, stridea % 4 == 0, offa % 4 == 0
//@needs  ldb % 4 == 0, strideb % 4 == 0, offb % 4 == 0, c overlaps no input
//@loop   k/4  over k, four a trip
__kernel GROUP void batch_matmul_nt(__global const T* a, __global const T* b,
                                    __global const T* mask, __global T* c, int m, int n, int k,
                                    int lda, int ldb, int ldc, int stridea, int strideb,
                                    int stridem, int stridec, int offa, int offb, int offc,
                                    float scale) {
  const int own_row = (int)get_global_id(1) * BMM_M0, own_col = (int)get_global_id(0) * 4;
  if (own_row >= m || own_col >= n) return;
  const int item = get_global_id(2);
  const Tile tile = tile_within(min(own_row, m - BMM_M0), own_row, own_col, n);
  const int a_row = BMM_LDA ? BMM_LDA : lda;
  const int b_row = BMM_LDB ? BMM_LDB : ldb;
  const uint a_at = (offa + item * stridea + tile.row * a_row) * SIZE;
  const uint b_at = (offb + item * strideb + tile.col * b_row) * SIZE;
  float4 sum[MOST_ROWS];
  sum_rows_by_rows(sum, BMM_M0, (__global const char*)a + a_at, a_row * SIZE,
                   (__global const char*)b + b_at, b_row * SIZE, k);
  finish(sum, BMM_M0, tile,
         output_of(item, m, n, ldc, stridem, stridec, offc, scale), mask, c);
}

// One work-item a tile; a in rows along k, b in rows along n.
//@kernel batch_matmul_nn
//@arg    0  a        in   T[offa + batch*stridea]
//@arg    1  b        in   T[offb + batch*strideb]
//@arg    2  mask     in   T[m*n + (batch-1)*stridem]  null without BMM_MASK
//@arg    3  c        out  T[offc + batch*stridec]
//@arg    4  m        int      rows of c
//@arg    5  n        int      columns of c
//@arg    6  k        int      products of a sum, the zeros that fill up a and b included
//@arg    7  lda      int
//@arg    8  ldb      int
//@arg    9  ldc      int
//@arg    10 stridea  int      0: one matrix for all batch items
//@arg    11 strideb  int      0: one matrix for all batch items
//@arg    12 stridem  int      m*n, or 0: one mask for all batch items
//@arg    13 stridec  int
//@arg    14 offa     int
//@arg    15 offb     int
//@arg    16 offc     int
//@arg    17 scale    float    factor of the sum
//@global ceil(n/(4*BMM_LX))*BMM_LX ceil(m/(BMM_M0*BMM_LY))*BMM_LY batch
//@local  BMM_LX BMM_LY 1
//@needs  m >= BMM_M0, n >= 1, ldb >= ceil(n/4)*4
//@needs  every row of b has ceil(n/4)*4 columns; those from n on are read and not used
//@needs  k >= 4, k % 4 == 0, lda % 4 == 0, stridea % 4 == 0, offa % 4 == 0
//@needs  ldb % 4 == 0, strideb % 4 == 0, offb % 4 == 0, c overlaps no input
//@loop   k/4  over k, four a trip
__kernel GROUP void batch_matmul_nn(__global const T* a, __global const T* b,
                                    __global const T* mask, __global T* c, int m, int n, int k,
                                    int lda, int ldb, int ldc, int stridea, int strideb,
                                    int stridem, int stridec, int offa, int offb, int offc,
                                    float scale) {
  const int own_row = (int)get_global_id(1) * BMM_M0, col = (int)get_global_id(0) * 4;
  if (own_row >= m || col >= n) return;
  const int item = get_global_id(2);
  const Tile tile = tile_at(min(own_row, m - BMM_M0), own_row, col, n);
  const int a_row = BMM_LDA ? BMM_LDA : lda;
  const int b_row = BMM_LDB ? BMM_LDB : ldb;
  const uint a_at = (offa + item * stridea + tile.row * a_row) * SIZE;
  const uint b_at = (offb + item * strideb + col) * SIZE;
  float4 sum[MOST_ROWS];
  sum_rows_by_vectors(sum, BMM_M0, (__global const char*)a + a_at, a_row * SIZE,
                      (__global const char*)b + b_at, b_row * SIZE, k);
  finish(sum, BMM_M0, tile,
         output_of(item, m, n, ldc, stridem, stridec, offc, scale), mask, c);
}

// One work-item a tile; a in rows along m, b in rows along n: outer products of vectors.
//@kernel batch_matmul_tn
//@arg    0  a        in   T[offa + batch*stridea]
//@arg    1  b        in   T[offb + batch*strideb]
//@arg    2  mask     in   T[m*n + (batch-1)*stridem]  null without BMM_MASK
//@arg    3  c        out  T[offc + batch*stridec]
//@arg    4  m        int      rows of c
//@arg    5  n        int      columns of c
//@arg    6  k        int      products of a sum, the zeros that fill up a and b included
//@arg    7  lda      int
//@arg    8  ldb      int
//@arg    9  ldc      int
//@arg    10 stridea  int      0: one matrix for all batch items
//@arg    11 strideb  int      0: one matrix for all batch items
//@arg    12 stridem  int      m*n, or 0: one mask for all batch items
//@arg    13 stridec  int
//@arg    14 offa     int
//@arg    15 offb     int
//@arg    16 offc     int
//@arg    17 scale    float    factor of the sum
//@global ceil(n/(4*BMM_LX))*BMM_LX ceil(m/(4*BMM_M4*BMM_LY))*BMM_LY batch
//@local  BMM_LX BMM_LY 1
//@needs  m >= 1, ceil(m/4) >= BMM_M4, lda >= ceil(m/4)*4, n >= 1, ldb >= ceil(n/4)*4
//@needs  every row of a has ceil(m/4)*4 columns; those from m on are read and not used
//@needs  every row of b has ceil(n/4)*4 columns; those from n on are read and not used
//@needs  k >= 4, k % 4 == 0, lda % 4 == 0, stridea % 4 == 0, offa % 4 == 0
//@needs  ldb % 4 == 0, strideb % 4 == 0, offb % 4 == 0, c overlaps no input
//@loop   k/4  over k, four a trip
__kernel GROUP void batch_matmul_tn(__global const T* a, __global const T* b,
                                    __global const T* mask, __global T* c, int m, int n, int k,
                                    int lda, int ldb, int ldc, int stridea, int strideb,
                                    int stridem, int stridec, int offa, int offb, int offc,
                                    float scale) {
  const int own_row = (int)get_global_id(1) * (4 * BMM_M4);
  const int col = (int)get_global_id(0) * 4, padded_m = (m + 3) & ~3;
  if (own_row >= m || col >= n) return;
  const int item = get_global_id(2);
  const Tile tile = tile_at(min(own_row, padded_m - 4 * BMM_M4), own_row, col, n);
  const int a_row = BMM_LDA ? BMM_LDA : lda;
  const int b_row = BMM_LDB ? BMM_LDB : ldb;
  const uint a_at = (offa + item * stridea + tile.row) * SIZE;
  const uint b_at = (offb + item * strideb + col) * SIZE;
  float4 sum[MOST_ROWS];
  sum_vectors_by_vectors(sum, 4 * BMM_M4, (__global const char*)a + a_at, a_row * SIZE,
                         (__global const char*)b + b_at, b_row * SIZE, k);
  finish(sum, 4 * BMM_M4, tile,
         output_of(item, m, n, ldc, stridem, stridec, offc, scale), mask, c);
}

// One work-item a tile; a in rows along m, b in rows along k.
//@kernel batch_matmul_tt
//@arg    0  a        in   T[offa + batch*stridea]
//@arg    1  b        in   T[offb + batch*strideb]
//@arg    2  mask     in   T[m*n + (batch-1)*stridem]  null without BMM_MASK
//@arg    3  c        out  T[offc + batch*stridec]
//@arg    4  m        int      rows of c
//@arg    5  n        int      columns of c
//@arg    6  k        int      products of a sum, the zeros that fill up a and b included
//@arg    7  lda      int
//@arg    8  ldb      int
//@arg    9  ldc      int
//@arg    10 stridea  int      0: one matrix for all batch items
//@arg    11 strideb  int      0: one matrix for all batch items
//@arg    12 stridem  int      m*n, or 0: one mask for all batch items
//@arg    13 stridec  int
//@arg    14 offa     int
//@arg    15 offb     int
//@arg    16 offc     int
//@arg    17 scale    float    factor of the sum
//@global ceil(n/(4*BMM_LX))*BMM_LX ceil(m/(4*BMM_LY))*BMM_LY batch
//@local  BMM_LX BMM_LY 1
//@needs  m >= 1, lda >= ceil(m/4)*4, n >= 1
//@needs  every row of a has ceil(m/4)*4 columns; those from m on are read and not used
//@needs  b has at least 4 rows; those from n on are read and not used
//@needs  k >= 4, k % 4 == 0, lda % 4 == 0, stridea % 4 == 0, offa % 4 == 0
//@needs  ldb % 4 == 0, strideb % 4 == 0, offb % 4 == 0, c overlaps no input
//@loop   k/4  over k, four a trip
__kernel GROUP void batch_matmul_tt(__global const T* a, __global const T* b,
                                    __global const T* mask, __global T* c, int m, int n, int k,
                                    int lda, int ldb, int ldc, int stridea, int strideb,
                                    int stridem, int stridec, int offa, int offb, int offc,
                                    float scale) {
  const int row = (int)get_global_id(1) * 4, own_col = (int)get_global_id(0) * 4;
  if (row >= m || own_col >= n) return;
  const int item = get_global_id(2);
  const Tile tile = tile_within(row, row, own_col, n);
  const int a_row = BMM_LDA ? BMM_LDA : lda;
  const int b_row = BMM_LDB ? BMM_LDB : ldb;
  const uint a_at = (offa + item * stridea + row) * SIZE;
  const uint b_at = (offb + item * strideb + tile.col * b_row) * SIZE;
  float4 sum[MOST_ROWS];
  sum_vectors_by_rows(sum, (__global const char*)a + a_at, a_row * SIZE,
                      (__global const char*)b + b_at, b_row * SIZE, k);
  finish(sum, 4, tile, output_of(item, m, n, ldc, stridem, stridec, offc, scale), mask, c);
}

// One work-item an output, by scalar loads: any stride, any offset, either order of a and b.
//@kernel batch_matmul_plain
//@arg    0  a        in   T[offa + batch*stridea]
//@layout a[offa + batch*stridea + m*a_m + k*a_k] = a[batch][m][k]
//@arg    1  b        in   T[offb + batch*strideb]
//@layout b[offb + batch*strideb + k*b_k + n*b_n] = b[batch][k][n]
//@arg    2  mask     in   T[m*n + (batch-1)*stridem]  null without BMM_MASK
//@arg    3  c        out  T[offc + batch*stridec]
//@arg    4  m        int      rows of c
//@arg    5  n        int      columns of c
//@arg    6  k        int      products of a sum
//@arg    7  a_m      int      from an element of a to the next row's
//@arg    8  a_k      int      from an element of a to the next k's
//@arg    9  b_k      int      from an element of b to the next k's
//@arg    10 b_n      int      from an element of b to the next column's
//@arg    11 ldc      int
//@arg    12 stridea  int      0: one matrix for all batch items
//@arg    13 strideb  int      0: one matrix for all batch items
//@arg    14 stridem  int      m*n, or 0: one mask for all batch items
//@arg    15 stridec  int
//@arg    16 offa     int
//@arg    17 offb     int
//@arg    18 offc     int
//@arg    19 scale    float    factor of the sum
//@global ceil(n/BMM_LX)*BMM_LX ceil(m/BMM_LY)*BMM_LY batch
//@local  BMM_LX BMM_LY 1
//@needs  m >= 1, n >= 1, k >= 1, c overlaps no input
//@loop   k  over k
__kernel GROUP void batch_matmul_plain(__global const T* a, __global const T* b,
                                       __global const T* mask, __global T* c, int m, int n, int k,
                                       int a_m, int a_k, int b_k, int b_n, int ldc, int stridea,
                                       int strideb, int stridem, int stridec, int offa, int offb,
                                       int offc, float scale) {
  const int row = get_global_id(1), col = get_global_id(0), item = get_global_id(2);
  if (row >= m || col >= n) return;
  uint a_at = (offa + item * stridea + row * a_m) * SIZE;
  uint b_at = (offb + item * strideb + col * b_n) * SIZE;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) {
    sum = fma(load1((__global const char*)a, a_at), load1((__global const char*)b, b_at), sum);
    a_at += a_k * SIZE;
    b_at += b_k * SIZE;
  }
  const float addend = BMM_MASK ? (float)mask[item * stridem + row * n + col] : 0.0f;
  const float z = fma(scale, sum, addend);
  c[offc + item * stridec + row * ldc + col] = (T)BMM_ACT(z);
}

// Matrices into rows of whole, aligned vectors, zeros where they have no element; one work-item for
// four elements of a row.
//@kernel batch_matmul_pad
//@arg    0  src     in   T[off + batch*stride]
//@arg    1  dst     out  T[batch*padded*ceil(cols/4)*4]
//@layout dst[(batch*padded + r)*ceil(cols/4)*4 + i] = src[off + batch*stride + r*ld + i], else 0
//@arg    2  rows    int
//@arg    3  cols    int      elements of a row
//@arg    4  padded  int      rows of dst
//@arg    5  ld      int
//@arg    6  stride  int
//@arg    7  off     int
//@global ceil(ceil(cols/4)/BMM_LX)*BMM_LX ceil(padded/BMM_LY)*BMM_LY batch
//@local  BMM_LX BMM_LY 1
//@needs  rows >= 1, cols >= 1, padded >= rows
__kernel GROUP void batch_matmul_pad(__global const T* src, __global T* dst, int rows, int cols,
                                     int padded, int ld, int stride, int off) {
  const int i = get_global_id(0), row = get_global_id(1), item = get_global_id(2);
  const int vectors = (cols + 3) / 4, end = row < rows ? cols - 4 * i : 0;
  if (i >= vectors || row >= padded) return;
  // Elements from `end` on are neither read nor addressed.
  T4 v = (T4)((T)0);
  if (end > 0) {
    __global const T* p = src + (off + item * stride + row * ld + 4 * i);
    v.x = p[0];
    if (end > 1) v.y = p[1];
    if (end > 2) v.z = p[2];
    if (end > 3) v.w = p[3];
  }
  ((__global T4*)dst)[(item * padded + row) * vectors + i] = v;
}
