// SPDX-License-Identifier: MIT
// dense.cl - y[m,n] = act(alpha * sum_k x[m,k] * w[n,k] + b[n]) + r[m,n]
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). Every kernel
// sums in the order of k, in one float per output, by fma; what follows the sum is float too.
//
// x, w, r and y are matrices with a row stride (ld) and a first element (off), in elements;
// every byte offset into them fits an int. Buffers start on multiples of 16 bytes, as OpenCL's
// do. An absent b counts as zeros, and an absent r is not added; both may then be null. y may be
// r, element on element; else no output overlaps an input.
//
// dense_packed, dense_nt and dense_nn give a work-item a tile of DENSE_M0 rows x 4 columns and
// take 4 k a trip, by aligned 4-vectors. A tile that would hang over the last row is moved up, so
// that it ends there: it then shares rows with the tile above, and stores only its own.
//
//        columns 0..3   4..7   8..9           m = 7, n = 10, DENSE_M0 = 4: the tiles of rows 4..7
//   row 3      .  .  .  :  .  .  .  :  .  .   start at row 3, which they compute but do not store
//   row 4..6   own         own         own
//
// Reserved, not there yet: a second source of k takes the places after the first's, x2 after x, k2
// after k, ldx2 after ldx, offx2 after offx.
//
//@define CLAM_F16        off                                     store tensors as half
//@define DENSE_M0        4 {1,2,4,6}                             rows of a tile
//@define DENSE_LX        16 {1,2,4,8,16}                         work-items of a group along n
//@define DENSE_LY        4 {1,2,4,8,16,32,64,128,256}            work-items of a group along m
//@define DENSE_LDX       0                                       fixes ldx where it is not 0
//@define DENSE_LDW       0                                       fixes ldw where it is not 0
//@define DENSE_BIAS      0 {0,1}                                 b is added
//@define DENSE_RESIDUAL  0 {0,1}                                 r is added
//@define DENSE_ACT       none {none,relu,relu6,silu,gelu,gelu_tanh,sigmoid,tanh,exp}  activation

#ifndef DENSE_M0
#define DENSE_M0 4
#endif
#ifndef DENSE_LX
#define DENSE_LX 16
#endif
#ifndef DENSE_LY
#define DENSE_LY 4
#endif
#ifndef DENSE_LDX
#define DENSE_LDX 0
#endif
#ifndef DENSE_LDW
#define DENSE_LDW 0
#endif
#ifndef DENSE_BIAS
#define DENSE_BIAS 0
#endif
#ifndef DENSE_RESIDUAL
#define DENSE_RESIDUAL 0
#endif
#ifndef DENSE_ACT
#define DENSE_ACT none
#endif

#if DENSE_M0 != 1 && DENSE_M0 != 2 && DENSE_M0 != 4 && DENSE_M0 != 6
#error "dense.cl: DENSE_M0 must be 1, 2, 4 or 6"
#endif
#if DENSE_LX < 1 || DENSE_LX > 16 || DENSE_LX & (DENSE_LX - 1)
#error "dense.cl: DENSE_LX must be a power of two up to 16"
#endif
#if DENSE_LY < 1 || DENSE_LY > 256 || DENSE_LY & (DENSE_LY - 1)
#error "dense.cl: DENSE_LY must be a power of two up to 256"
#endif
#if DENSE_LDX % 4 != 0 || DENSE_LDW % 4 != 0
#error "dense.cl: DENSE_LDX and DENSE_LDW must be multiples of 4, so that vector loads are aligned"
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
#define GROUP __attribute__((reqd_work_group_size(DENSE_LX, DENSE_LY, 1)))

// ---- activations: DENSE_ACT is the name of one of these, or of a built-in ----

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

// ---- the sum ----

// sum + x[0..3] * w[0..3], where w0 to w3 hold four columns each at one k ...
float4 add_columns(float4 sum, float4 x, float4 w0, float4 w1, float4 w2, float4 w3) {
  sum = fma((float4)(x.x), w0, sum);
  sum = fma((float4)(x.y), w1, sum);
  sum = fma((float4)(x.z), w2, sum);
  return fma((float4)(x.w), w3, sum);
}

// ... and where w holds one column at four k.
float add_along_k(float sum, float4 x, float4 w) {
  return fma(x.w, w.w, fma(x.z, w.z, fma(x.y, w.y, fma(x.x, w.x, sum))));
}

// The low half of the address at which a loop over k ends. Compared instead of a trip count: one
// instruction less a trip, and no constant count that a compiler would unroll whole, and spill.
uint low(__global const char* p) { return (uint)(ulong)p; }

// w holds vectors of four columns, one every w_stride bytes.
void sum_columns(float4* sum, __global const char* x, uint x_stride, __global const char* w,
                 uint w_stride, int k) {
  const uint end = low(x + k * SIZE);
  for (int i = 0; i < DENSE_M0; ++i) sum[i] = (float4)(0.0f);
  do {
    const float4 w0 = load4(w, 0), w1 = load4(w, w_stride);
    const float4 w2 = load4(w, 2 * w_stride), w3 = load4(w, 3 * w_stride);
    for (int i = 0; i < DENSE_M0; ++i) {
      sum[i] = add_columns(sum[i], load4(x, i * x_stride), w0, w1, w2, w3);
    }
    x += 4 * SIZE;
    w += 4 * w_stride;
  } while (low(x) != end);
}

// w holds four rows along k, one every w_stride bytes.
void sum_rows(float4* sum, __global const char* x, uint x_stride, __global const char* w,
              uint w_stride, int k) {
  const uint end = low(x + k * SIZE);
  for (int i = 0; i < DENSE_M0; ++i) sum[i] = (float4)(0.0f);
  do {
    const float4 w0 = load4(w, 0), w1 = load4(w, w_stride);
    const float4 w2 = load4(w, 2 * w_stride), w3 = load4(w, 3 * w_stride);
    for (int i = 0; i < DENSE_M0; ++i) {
      const float4 v = load4(x, i * x_stride);
      sum[i] = (float4)(add_along_k(sum[i].x, v, w0), add_along_k(sum[i].y, v, w1),
                        add_along_k(sum[i].z, v, w2), add_along_k(sum[i].w, v, w3));
    }
    x += 4 * SIZE;
    w += 4 * SIZE;
  } while (low(x) != end);
}

// ---- from the sum to the output ----

void finish_row(float4 sum, int row, Tile tile, int whole, float alpha, float4 bias,
                __global const T* r, int ldr, int offr, __global T* y, int ldy, int offy) {
  if (row < tile.own_row) return;
  const float4 z = fma((float4)(alpha), sum, bias);
  float4 v = (float4)(DENSE_ACT(z.x), DENSE_ACT(z.y), DENSE_ACT(z.z), DENSE_ACT(z.w));
  if (DENSE_RESIDUAL) {
    v += load_own((__global const char*)r, (offr + row * ldr + tile.col) * SIZE, tile, whole);
  }
  store_own(v, (__global char*)y, (offy + row * ldy + tile.col) * SIZE, tile, whole);
}

// Row by row in the text: a loop is left rolled where the activation is long, and the sums then
// live in memory through the loop over k as well.
void finish(const float4* sum, Tile tile, float alpha, int n, __global const T* b,
            __global const T* r, int ldr, int offr, __global T* y, int ldy, int offy) {
  const int whole = ((n | ldr | ldy | offr | offy) & 3) == 0;
  float4 bias = (float4)(0.0f);
  if (DENSE_BIAS) bias = load_own((__global const char*)b, tile.col * SIZE, tile, whole);
#define FINISH_ROW(i) \
  finish_row(sum[i], tile.row + i, tile, whole, alpha, bias, r, ldr, offr, y, ldy, offy)
  FINISH_ROW(0);
#if DENSE_M0 > 1
  FINISH_ROW(1);
#endif
#if DENSE_M0 > 2
  FINISH_ROW(2);
  FINISH_ROW(3);
#endif
#if DENSE_M0 > 4
  FINISH_ROW(4);
  FINISH_ROW(5);
#endif
#undef FINISH_ROW
}

// ---- the kernels ----

// One work-item a tile. w is packed by dense_pack_w, so that the vectors which the lanes of a
// group read for one k lie side by side.
//@kernel dense_packed
//@arg    0  x      in   T[m*ldx]
//@arg    1  wp     in   T[ceil(n/(4*DENSE_LX))*k*4*DENSE_LX]
//@layout wp[(n/(4*DENSE_LX)*k + i)*4*DENSE_LX + n%(4*DENSE_LX)] = w[n][i], else 0
//@arg    2  b      in   T[n]      null without DENSE_BIAS
//@arg    3  r      in   T[m*ldr]  null without DENSE_RESIDUAL
//@arg    4  y      out  T[m*ldy]  may be r
//@arg    5  m      int            rows
//@arg    6  n      int            columns
//@arg    7  k      int            products of a sum, the zeros that fill up x and wp included
//@arg    8  ldx    int
//@arg    9  ldr    int            n without DENSE_RESIDUAL
//@arg    10 ldy    int
//@arg    11 offx   int
//@arg    12 offr   int            0 without DENSE_RESIDUAL
//@arg    13 offy   int
//@arg    14 alpha  float          factor of the sum
//@global ceil(n/(4*DENSE_LX))*DENSE_LX ceil(m/(DENSE_M0*DENSE_LY))*DENSE_LY
//@local  DENSE_LX DENSE_LY
//@needs  m >= DENSE_M0, n >= 1, k >= 4, k % 4 == 0
//@needs  ldx % 4 == 0, offx % 4 == 0
//@loop   k/4  over k, four a trip
__kernel GROUP void dense_packed(__global const T* x, __global const T* wp, __global const T* b,
                                 __global const T* r, __global T* y, int m, int n, int k, int ldx,
                                 int ldr, int ldy, int offx, int offr, int offy, float alpha) {
  const int own_row = (int)get_global_id(1) * DENSE_M0, col = (int)get_global_id(0) * 4;
  if (own_row >= m || col >= n) return;
  const Tile tile = {min(own_row, m - DENSE_M0), col, own_row, 0, min(n - col, 4)};
  const int x_stride = DENSE_LDX ? DENSE_LDX : ldx;
  const uint x_at = (offx + tile.row * x_stride) * SIZE;
  const uint w_at = ((int)get_group_id(0) * k * DENSE_LX + (int)get_local_id(0)) * 4 * SIZE;
  float4 sum[DENSE_M0];
  sum_columns(sum, (__global const char*)x + x_at, x_stride * SIZE, (__global const char*)wp + w_at,
              4 * DENSE_LX * SIZE, k);
  finish(sum, tile, alpha, n, b, r, ldr, offr, y, ldy, offy);
}

// One work-item a tile; w as it is, in rows along k. A tile that would hang over the last column
// is moved left as others are moved up.
//@kernel dense_nt
//@arg    0  x      in   T[m*ldx]
//@arg    1  w      in   T[n*ldw]
//@arg    2  b      in   T[n]      null without DENSE_BIAS
//@arg    3  r      in   T[m*ldr]  null without DENSE_RESIDUAL
//@arg    4  y      out  T[m*ldy]  may be r
//@arg    5  m      int            rows
//@arg    6  n      int            columns
//@arg    7  k      int            products of a sum
//@arg    8  ldx    int
//@arg    9  ldw    int
//@arg    10 ldr    int            n without DENSE_RESIDUAL
//@arg    11 ldy    int
//@arg    12 offx   int
//@arg    13 offw   int
//@arg    14 offr   int            0 without DENSE_RESIDUAL
//@arg    15 offy   int
//@arg    16 alpha  float          factor of the sum
//@global ceil(n/(4*DENSE_LX))*DENSE_LX ceil(m/(DENSE_M0*DENSE_LY))*DENSE_LY
//@local  DENSE_LX DENSE_LY
//@needs  m >= DENSE_M0, n >= 4, k >= 4, k % 4 == 0
//@needs  ldx % 4 == 0, offx % 4 == 0, ldw % 4 == 0, offw % 4 == 0
//@loop   k/4  over k, four a trip
__kernel GROUP void dense_nt(__global const T* x, __global const T* w, __global const T* b,
                             __global const T* r, __global T* y, int m, int n, int k, int ldx,
                             int ldw, int ldr, int ldy, int offx, int offw, int offr, int offy,
                             float alpha) {
  const int own_row = (int)get_global_id(1) * DENSE_M0, own_col = (int)get_global_id(0) * 4;
  if (own_row >= m || own_col >= n) return;
  const int col = min(own_col, n - 4);
  const Tile tile = {min(own_row, m - DENSE_M0), col, own_row, own_col - col, 4};
  const int x_stride = DENSE_LDX ? DENSE_LDX : ldx, w_stride = DENSE_LDW ? DENSE_LDW : ldw;
  const uint x_at = (offx + tile.row * x_stride) * SIZE, w_at = (offw + col * w_stride) * SIZE;
  float4 sum[DENSE_M0];
  sum_rows(sum, (__global const char*)x + x_at, x_stride * SIZE, (__global const char*)w + w_at,
           w_stride * SIZE, k);
  finish(sum, tile, alpha, n, b, r, ldr, offr, y, ldy, offy);
}

// One work-item a tile; w as it is, transposed: in rows along n.
//@kernel dense_nn
//@arg    0  x      in   T[m*ldx]
//@arg    1  w      in   T[k*ldw]
//@arg    2  b      in   T[n]      null without DENSE_BIAS
//@arg    3  r      in   T[m*ldr]  null without DENSE_RESIDUAL
//@arg    4  y      out  T[m*ldy]  may be r
//@arg    5  m      int            rows
//@arg    6  n      int            columns
//@arg    7  k      int            products of a sum
//@arg    8  ldx    int
//@arg    9  ldw    int
//@arg    10 ldr    int            n without DENSE_RESIDUAL
//@arg    11 ldy    int
//@arg    12 offx   int
//@arg    13 offw   int
//@arg    14 offr   int            0 without DENSE_RESIDUAL
//@arg    15 offy   int
//@arg    16 alpha  float          factor of the sum
//@global ceil(n/(4*DENSE_LX))*DENSE_LX ceil(m/(DENSE_M0*DENSE_LY))*DENSE_LY
//@local  DENSE_LX DENSE_LY
//@needs  m >= DENSE_M0, n % 4 == 0, k >= 4, k % 4 == 0
//@needs  ldx % 4 == 0, offx % 4 == 0, ldw % 4 == 0, offw % 4 == 0
//@loop   k/4  over k, four a trip
__kernel GROUP void dense_nn(__global const T* x, __global const T* w, __global const T* b,
                             __global const T* r, __global T* y, int m, int n, int k, int ldx,
                             int ldw, int ldr, int ldy, int offx, int offw, int offr, int offy,
                             float alpha) {
  const int own_row = (int)get_global_id(1) * DENSE_M0, col = (int)get_global_id(0) * 4;
  if (own_row >= m || col >= n) return;
  const Tile tile = {min(own_row, m - DENSE_M0), col, own_row, 0, min(n - col, 4)};
  const int x_stride = DENSE_LDX ? DENSE_LDX : ldx, w_stride = DENSE_LDW ? DENSE_LDW : ldw;
  const uint x_at = (offx + tile.row * x_stride) * SIZE, w_at = (offw + col) * SIZE;
  float4 sum[DENSE_M0];
  sum_columns(sum, (__global const char*)x + x_at, x_stride * SIZE, (__global const char*)w + w_at,
              w_stride * SIZE, k);
  finish(sum, tile, alpha, n, b, r, ldr, offr, y, ldy, offy);
}

// One work-item an output, by scalar loads: any stride, any offset, either order of w.
//@kernel dense_plain
//@arg    0  x      in   T[m*ldx]
//@arg    1  w      in   T[n*step_n + k*step_k]
//@layout w[offw + n*step_n + k*step_k] = w[n][k]
//@arg    2  b      in   T[n]      null without DENSE_BIAS
//@arg    3  r      in   T[m*ldr]  null without DENSE_RESIDUAL
//@arg    4  y      out  T[m*ldy]  may be r
//@arg    5  m      int            rows
//@arg    6  n      int            columns
//@arg    7  k      int            products of a sum
//@arg    8  ldx    int
//@arg    9  step_n int            from a column's weights to the next's
//@arg    10 step_k int            from a column's weight to the next
//@arg    11 ldr    int
//@arg    12 ldy    int
//@arg    13 offx   int
//@arg    14 offw   int
//@arg    15 offr   int
//@arg    16 offy   int
//@arg    17 alpha  float          factor of the sum
//@global ceil(n/DENSE_LX)*DENSE_LX ceil(m/DENSE_LY)*DENSE_LY
//@local  DENSE_LX DENSE_LY
//@needs  m >= 1, n >= 1, k >= 1
//@loop   k  over k
__kernel GROUP void dense_plain(__global const T* x, __global const T* w, __global const T* b,
                                __global const T* r, __global T* y, int m, int n, int k, int ldx,
                                int step_n, int step_k, int ldr, int ldy, int offx, int offw,
                                int offr, int offy, float alpha) {
  const int row = get_global_id(1), col = get_global_id(0);
  if (row >= m || col >= n) return;
  uint x_at = (offx + row * ldx) * SIZE, w_at = (offw + col * step_n) * SIZE;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) {
    sum = fma(load1((__global const char*)x, x_at), load1((__global const char*)w, w_at), sum);
    x_at += SIZE;
    w_at += step_k * SIZE;
  }
  const float z = fma(alpha, sum, DENSE_BIAS ? (float)b[col] : 0.0f);
  float v = DENSE_ACT(z);
  if (DENSE_RESIDUAL) v += (float)r[offr + row * ldr + col];
  y[offy + row * ldy + col] = (T)v;
}

// Four elements, one every `step`; those from `end` on are zeros, and neither read nor addressed.
T4 padded4(__global const T* p, int step, int end) {
  return (T4)(0 < end ? p[0] : (T)0, 1 < end ? p[step] : (T)0, 2 < end ? p[2 * step] : (T)0,
              3 < end ? p[3 * step] : (T)0);
}

// w into the panels that dense_packed reads; one work-item for four columns at one k.
//@kernel dense_pack_w
//@arg    0  w      in   T[n*step_n + k*step_k]
//@arg    1  wp     out  T[ceil(n/(4*DENSE_LX))*ceil(k/4)*4*4*DENSE_LX]
//@layout wp[(n/(4*DENSE_LX)*ceil(k/4)*4 + i)*4*DENSE_LX + n%(4*DENSE_LX)] = w[n][i], else 0
//@arg    2  n      int            columns
//@arg    3  k      int            products of a sum
//@arg    4  step_n int            from a column's weights to the next's
//@arg    5  step_k int            from a column's weight to the next
//@arg    6  offw   int
//@global ceil(n/(4*DENSE_LX))*DENSE_LX ceil(ceil(k/4)*4/DENSE_LY)*DENSE_LY
//@local  DENSE_LX DENSE_LY
//@needs  n >= 1, k >= 1
__kernel GROUP void dense_pack_w(__global const T* w, __global T* wp, int n, int k, int step_n,
                                 int step_k, int offw) {
  const int col = (int)get_global_id(0) * 4, i = get_global_id(1), k4 = (k + 3) / 4 * 4;
  if (i >= k4) return;
  const int at = ((int)get_group_id(0) * k4 + i) * DENSE_LX + (int)get_local_id(0);
  T4 v = (T4)((T)0);
  if (col < n && i < k) v = padded4(w + (offw + col * step_n + i * step_k), step_n, n - col);
  ((__global T4*)wp)[at] = v;
}

// x with rows of whole, aligned vectors; one work-item for four elements of a row.
//@kernel dense_pack_x
//@arg    0  x      in   T[m*ldx]
//@arg    1  xp     out  T[m*ceil(k/4)*4]
//@layout xp[m*ceil(k/4)*4 + i] = x[m][i], else 0
//@arg    2  m      int            rows
//@arg    3  k      int            elements of a row
//@arg    4  ldx    int
//@arg    5  offx   int
//@global ceil(ceil(k/4)/DENSE_LX)*DENSE_LX ceil(m/DENSE_LY)*DENSE_LY
//@local  DENSE_LX DENSE_LY
//@needs  m >= 1, k >= 1
__kernel GROUP void dense_pack_x(__global const T* x, __global T* xp, int m, int k, int ldx,
                                 int offx) {
  const int i = (int)get_global_id(0), row = get_global_id(1), k4 = (k + 3) / 4;
  if (i >= k4 || row >= m) return;
  ((__global T4*)xp)[row * k4 + i] = padded4(x + (offx + row * ldx + 4 * i), 1, k - 4 * i);
}
