// SPDX-License-Identifier: MIT
// conv2d_depthwise.cl - y[n,k,oy,ox] = act(sum_r,s w[k,r,s] * x[n,k/m,iy,ix] + b[k]) + r[n,k,oy,ox]
//                       iy = oy * stride_h - pad_t + r * dilation_h, and ix likewise;
//                       m = CONV2D_MULTIPLE; taps outside x are left out
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). Sums in the
// order of r, s by fma, in one float per output, or in one half with CONV2D_CHUNK. What follows the
// sum is float.
//
// All tensors are dense and start on multiples of 16 bytes; every byte offset into them fits an
// int. An absent b counts as zeros, and an absent r is not added; both may then be null. y may be
// r, element on element; else no output overlaps an input.
//
// A work-item computes a tile of CONV2D_ROWS x CONV2D_COLUMNS pixels of a map, and reads each row
// of x that the tile needs once. Rows of a tile are CONV2D_DILATION_H apart, so that they share
// rows of x. With 3x3 and stride 1:
//
//   row of x        0   1    2      3      4    5
//   adds to rows    0   0 1  0 1 2  1 2 3  2 3  3    of a tile of four
//
// It reads a row in pieces of CONV2D_VECTOR elements. A piece lies inside x or outside it as a
// whole. Outside, its address is moved inside, and zeros take the place of what is read there. A
// weight that is no finite number would make NaN of such a zero. Channels that have one are marked
// when weights are packed, and computed tap by tap.
//
//@define CLAM_F16           off              store tensors as half
//@define CLAM_NATIVE        off              activations by native_exp2 and native_recip
//@define CONV2D_LX          8                tiles of a map in a group
//@define CONV2D_LY          8                maps of a group
//@define CONV2D_ROWS        4 {1,2,3,4}      rows of a tile
//@define CONV2D_COLUMNS     4                columns of a tile
//@define CONV2D_R           3 {1,2,3,4,5,6,7}  rows of the filter
//@define CONV2D_S           3 {1,2,3,4,5,6,7}  columns of the filter
//@define CONV2D_STRIDE_H    1 {1,2,3,4}      stride
//@define CONV2D_STRIDE_W    1 {1,2,3,4}      stride
//@define CONV2D_DILATION_H  1                dilation
//@define CONV2D_DILATION_W  1                dilation
//@define CONV2D_MULTIPLE    1                channels of y for each of x
//@define CONV2D_TOP         1                rows of padding above x
//@define CONV2D_LEFT        1                columns of padding left of x
//@define CONV2D_BELOW       0                rows of x for a tile that never lie below x
//@define CONV2D_RIGHT       0                columns for a tile that never lie right of x
//@define CONV2D_VECTOR      1 {1,2,4}        elements of a row of x that are read at once
//@define CONV2D_STORED      1 {1,2,4}        elements of a row of y that are stored at once
//@define CONV2D_WHOLE_H     0 {0,1}          every row of every tile lies in y
//@define CONV2D_WHOLE_W     0 {0,1}          every column of every tile lies in y
//@define CONV2D_ONE         0 {0,1}          a row of a map is one tile
//@define CONV2D_CHUNK       0 {0,1}          sums are half
//@define CONV2D_SPLIT       0 {0,1}          sum lower halves of addresses alone: for Mesa on Mali
//@define CONV2D_BIAS        0 {0,1}          b is added
//@define CONV2D_RESIDUAL    0 {0,1}          r is added
//@define CONV2D_ACT         none {none,relu,relu6,silu,gelu,gelu_tanh,sigmoid,tanh,exp,hard_swish,clip,leaky_relu,hard_sigmoid,scaled}  activation

//@shared options
#ifndef CONV2D_LX
#define CONV2D_LX 8
#endif
#ifndef CONV2D_LY
#define CONV2D_LY 8
#endif
#ifndef CONV2D_ROWS
#define CONV2D_ROWS 4
#endif
#if CONV2D_ROWS < 1 || CONV2D_ROWS > 4
#error "conv2d_depthwise.cl: CONV2D_ROWS must be 1 to 4"
#endif
#ifndef CONV2D_COLUMNS
#define CONV2D_COLUMNS 4
#endif
#ifndef CONV2D_R
#define CONV2D_R 3
#endif
#if CONV2D_R < 1 || CONV2D_R > 7
#error "conv2d_depthwise.cl: CONV2D_R must be 1 to 7"
#endif
#ifndef CONV2D_S
#define CONV2D_S 3
#endif
#if CONV2D_S < 1 || CONV2D_S > 7
#error "conv2d_depthwise.cl: CONV2D_S must be 1 to 7"
#endif
#ifndef CONV2D_STRIDE_H
#define CONV2D_STRIDE_H 1
#endif
#if CONV2D_STRIDE_H < 1 || CONV2D_STRIDE_H > 4
#error "conv2d_depthwise.cl: CONV2D_STRIDE_H must be 1 to 4"
#endif
#ifndef CONV2D_STRIDE_W
#define CONV2D_STRIDE_W 1
#endif
#if CONV2D_STRIDE_W < 1 || CONV2D_STRIDE_W > 4
#error "conv2d_depthwise.cl: CONV2D_STRIDE_W must be 1 to 4"
#endif
#ifndef CONV2D_DILATION_H
#define CONV2D_DILATION_H 1
#endif
#ifndef CONV2D_DILATION_W
#define CONV2D_DILATION_W 1
#endif
#ifndef CONV2D_MULTIPLE
#define CONV2D_MULTIPLE 1
#endif
#ifndef CONV2D_TOP
#define CONV2D_TOP 1
#endif
#ifndef CONV2D_LEFT
#define CONV2D_LEFT 1
#endif
#ifndef CONV2D_BELOW
#define CONV2D_BELOW 0
#endif
#ifndef CONV2D_RIGHT
#define CONV2D_RIGHT 0
#endif
#ifndef CONV2D_VECTOR
#define CONV2D_VECTOR 1
#endif
#if CONV2D_VECTOR != 1 && CONV2D_VECTOR != 2 && CONV2D_VECTOR != 4
#error "conv2d_depthwise.cl: CONV2D_VECTOR must be 1, 2 or 4"
#endif
#ifndef CONV2D_STORED
#define CONV2D_STORED 1
#endif
#if CONV2D_STORED != 1 && CONV2D_STORED != 2 && CONV2D_STORED != 4
#error "conv2d_depthwise.cl: CONV2D_STORED must be 1, 2 or 4"
#endif
#ifndef CONV2D_WHOLE_H
#define CONV2D_WHOLE_H 0
#endif
#if CONV2D_WHOLE_H != 0 && CONV2D_WHOLE_H != 1
#error "conv2d_depthwise.cl: CONV2D_WHOLE_H must be 0 or 1"
#endif
#ifndef CONV2D_WHOLE_W
#define CONV2D_WHOLE_W 0
#endif
#if CONV2D_WHOLE_W != 0 && CONV2D_WHOLE_W != 1
#error "conv2d_depthwise.cl: CONV2D_WHOLE_W must be 0 or 1"
#endif
#ifndef CONV2D_ONE
#define CONV2D_ONE 0
#endif
#if CONV2D_ONE != 0 && CONV2D_ONE != 1
#error "conv2d_depthwise.cl: CONV2D_ONE must be 0 or 1"
#endif
#ifndef CONV2D_CHUNK
#define CONV2D_CHUNK 0
#endif
#if CONV2D_CHUNK != 0 && CONV2D_CHUNK != 1
#error "conv2d_depthwise.cl: CONV2D_CHUNK must be 0 or 1"
#endif
#ifndef CONV2D_SPLIT
#define CONV2D_SPLIT 0
#endif
#if CONV2D_SPLIT != 0 && CONV2D_SPLIT != 1
#error "conv2d_depthwise.cl: CONV2D_SPLIT must be 0 or 1"
#endif
#ifndef CONV2D_BIAS
#define CONV2D_BIAS 0
#endif
#if CONV2D_BIAS != 0 && CONV2D_BIAS != 1
#error "conv2d_depthwise.cl: CONV2D_BIAS must be 0 or 1"
#endif
#ifndef CONV2D_RESIDUAL
#define CONV2D_RESIDUAL 0
#endif
#if CONV2D_RESIDUAL != 0 && CONV2D_RESIDUAL != 1
#error "conv2d_depthwise.cl: CONV2D_RESIDUAL must be 0 or 1"
#endif
#ifndef CONV2D_ACT
#define CONV2D_ACT none
#endif
#ifndef CLAM_ACT_ALPHA
#define CLAM_ACT_ALPHA 0.2f
#endif
#ifndef CLAM_ACT_BETA
#define CLAM_ACT_BETA 0.5f
#endif
#ifndef CLAM_ACT_OF
#define CLAM_ACT_OF none
#endif
#ifndef CLAM_ACT_SCALE
#define CLAM_ACT_SCALE 1.0f
#endif
#ifndef CLAM_ACT_SHIFT
#define CLAM_ACT_SHIFT 0.0f
#endif
//@end

#if CONV2D_ROWS < 1 || CONV2D_ROWS > 4 || CONV2D_COLUMNS < 1 || CONV2D_COLUMNS > 16
#error "conv2d_depthwise.cl: CONV2D_ROWS must be 1 to 4, and CONV2D_COLUMNS 1 to 16"
#endif
#if CONV2D_LX * CONV2D_LY > 256
#error "conv2d_depthwise.cl: a group has at most 256 work-items"
#endif
#if CONV2D_CHUNK && !defined(CLAM_F16)
#error "conv2d_depthwise.cl: CONV2D_CHUNK sums in half, so it needs CLAM_F16"
#endif

//@shared element2
#ifdef CLAM_F16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half T;
typedef half2 T2;
typedef half4 T4;
#else
typedef float T;
typedef float2 T2;
typedef float4 T4;
#endif

#define SIZE ((uint)sizeof(T))
//@end

// Of sums and packed weights.
#if CONV2D_CHUNK
typedef half S;
typedef half4 S4;
#else
typedef float S;
typedef float4 S4;
#endif

#define BYTES ((int)sizeof(T))  // a column left of x has a negative place
#define GROUP __attribute__((reqd_work_group_size(CONV2D_LX, CONV2D_LY, 1)))
#define UNROLL __attribute__((opencl_unroll_hint))
#define TAPS (CONV2D_R * CONV2D_S)
#define VECTORS (TAPS / 4 + 1)  // of the weights of a channel; the last element marks it
#define PACKED (4 * VECTORS)
#define PIXELS (CONV2D_ROWS * CONV2D_COLUMNS)

// ---- activations: CONV2D_ACT is the name of one of these, or of a built-in ----

//@shared activation
//@define CLAM_ACT_ALPHA 0.2f  slope of hard_sigmoid; of leaky_relu below 0; the least of clip
//@define CLAM_ACT_BETA  0.5f  hard_sigmoid of 0; the most of clip
//@define CLAM_ACT_OF    none  {none,relu,relu6,silu,gelu,gelu_tanh,sigmoid,tanh,exp,hard_swish,clip,leaky_relu,hard_sigmoid}  what `scaled` scales
//@define CLAM_ACT_SCALE 1.0f  the factor of `scaled`
//@define CLAM_ACT_SHIFT 0.0f  what `scaled` adds

float none(float z) { return z; }

// Written so that NaN stays NaN; fmax would swallow it.
float relu(float z) { return z < 0.0f ? 0.0f : z; }

float relu6(float z) { return z < 0.0f ? 0.0f : (z > 6.0f ? 6.0f : z); }

float clip(float z) {
  return z < CLAM_ACT_ALPHA ? CLAM_ACT_ALPHA : (z > CLAM_ACT_BETA ? CLAM_ACT_BETA : z);
}

float leaky_relu(float z) { return z < 0.0f ? CLAM_ACT_ALPHA * z : z; }

float hard_sigmoid(float z) {
  const float y = fma(CLAM_ACT_ALPHA, z, CLAM_ACT_BETA);
  return y < 0.0f ? 0.0f : (y > 1.0f ? 1.0f : y);
}

// A clamp may swallow NaN here: z is still a factor.
float hard_swish(float z) { return z * clamp(fma(z, 0.166666672f, 0.5f), 0.0f, 1.0f); }

// What follows takes exp of what is not above 0, and divides by what is in [1, 5]. A host defines
// CLAM_NATIVE where native_exp2 is within 4 ulp there, and so is a reciprocal by native_recip and a
// step of Newton.
#ifdef CLAM_NATIVE
float exp_minus(float a) { return native_exp2(a * -1.44269504f); }

float quotient(float a, float b) {
  const float r = native_recip(b);
  return a * fma(fma(-b, r, 1.0f), r, r);
}
#else
float exp_minus(float a) { return exp(-a); }

float quotient(float a, float b) { return a / b; }
#endif

// v * sigmoid(z)
float gate(float v, float z) {
  const float e = exp_minus(fabs(z));
  return quotient(z < 0.0f ? v * e : v, 1.0f + e);
}

float sigmoid(float z) { return gate(1.0f, z); }

float silu(float z) { return gate(z, z); }

// z * Phi(z), by Abramowitz and Stegun 7.1.26 for the tail of the normal distribution: within
// 2.6e-7 of the exact value. Past 16 the tail is 0 in float; the clamp keeps 0 * inf out.
float gelu(float z) {
  const float a = fmin(fabs(z), 16.0f);
  const float t = quotient(1.0f, fma(0.231641887f, a, 1.0f));
  float p = fma(1.061405429f, t, -1.453152027f);
  p = fma(p, t, 1.421413741f);
  p = fma(p, t, -0.284496736f);
  p = fma(p, t, 0.254829592f);
  return relu(z) - 0.5f * a * p * t * exp_minus(0.5f * a * a);
}

// z / 2 * (1 + tanh(u)) = z * sigmoid(2 u), u = sqrt(2 / pi) * (z + 0.044715 z^3)
float gelu_tanh(float z) { return gate(z, 1.5957691216f * fma(0.044715f * z * z, z, z)); }

// Another activation, with a factor and a term.
float scaled(float z) { return fma(CLAM_ACT_SCALE, CLAM_ACT_OF(z), CLAM_ACT_SHIFT); }
//@end

// ---- memory ----

#define SPLIT CONV2D_SPLIT
//@shared address
// With SPLIT, a load adds to the lower half of an address alone. Mesa's compilers for Mali spend
// two instructions on that. A sum of 64 bits takes three, and more registers. Right only where base
// and what is read have the same upper half: see ends_above. A loop moves on BEFORE a LIMIT.
#if SPLIT
typedef uint2 Address;
typedef uint Limit;
#define ADDRESS(base, at) (as_uint2((ulong)(base)) + (uint2)(at, 0))
#define PLACE(address, at) as_ulong((uint2)((address).x + (at), (address).y))
#define MOVE(address, bytes) (address).x += (bytes)
#define LOW(address) (address).x
#define LIMIT(address, bytes) ((address).x + (bytes))
#define BEFORE(address, limit) ((address).x < (limit))
#else
typedef __global const char *Address, *Limit;
#define ADDRESS(base, at) ((__global const char*)(base) + (at))
#define PLACE(address, at) ((address) + (at))
#define MOVE(address, bytes) (address) += (bytes)
#define LOW(address) ((uint)(ulong)(address))
#define LIMIT(address, bytes) ((address) + (bytes))
#define BEFORE(address, limit) ((address) < (limit))
#endif

// Whether what lies behind `bytes` from the base on has another upper half than the base.
int ends_above(__global const void* base, uint bytes) {
  return SPLIT && (uint)(ulong)base + bytes < (uint)(ulong)base;
}
//@end

// ---- a row of x ----

// Where taps share elements of a row, each is read once. Else each tap has its own.
#define RUN ((CONV2D_COLUMNS - 1) * CONV2D_STRIDE_W + (CONV2D_S - 1) * CONV2D_DILATION_W + 1)
#define SHARED (RUN <= CONV2D_S * CONV2D_COLUMNS)
// The first piece starts so many elements before the first tap: pieces are aligned.
#define SHIFT ((CONV2D_VECTOR - CONV2D_LEFT % CONV2D_VECTOR) % CONV2D_VECTOR)
#if SHARED
#define PIECES ((RUN + SHIFT + CONV2D_VECTOR - 1) / CONV2D_VECTOR)
#define ELEMENT(tap, pixel) ((pixel) * CONV2D_STRIDE_W + (tap) * CONV2D_DILATION_W + SHIFT)
#define COLUMN(piece) ((piece) * CONV2D_VECTOR - SHIFT)
#else
#define PIECES (CONV2D_S * CONV2D_COLUMNS)
#define ELEMENT(tap, pixel) ((tap) * CONV2D_COLUMNS + (pixel))
#define COLUMN(piece) \
  ((piece) % CONV2D_COLUMNS * CONV2D_STRIDE_W + (piece) / CONV2D_COLUMNS * CONV2D_DILATION_W)
#endif

#define MAY_LEAVE(piece) \
  (COLUMN(piece) < CONV2D_LEFT || COLUMN(piece) + CONV2D_VECTOR > CONV2D_RIGHT)

// Where a row is one tile, each piece lies inside x in all of them, or in none.
#define NEVER(piece) (CONV2D_ONE && MAY_LEAVE(piece))

#if CONV2D_VECTOR == 4
typedef T4 Piece;
#elif CONV2D_VECTOR == 2
typedef T2 Piece;
#else
typedef T Piece;
#endif

#define LOAD_PIECE(k)                                    \
  if (!NEVER(k)) {                                       \
    Piece v = *(__global const Piece*)PLACE(row, at[k]); \
    if (MAY_LEAVE(k)) v = inside[k] ? v : (Piece)((T)0); \
    SPREAD(k)                                            \
  }
#if CONV2D_VECTOR == 4
#define SPREAD(k)                                   \
  in[4 * (k)] = (S)v.x, in[4 * (k) + 1] = (S)v.y;   \
  in[4 * (k) + 2] = (S)v.z, in[4 * (k) + 3] = (S)v.w;
#elif CONV2D_VECTOR == 2
#define SPREAD(k) in[2 * (k)] = (S)v.x, in[2 * (k) + 1] = (S)v.y;
#else
#define SPREAD(k) in[k] = (S)v;
#endif

// ---- from the sums to the outputs ----

#define OUT(i) CONV2D_ACT((float)sum[i] + bias)
#if CONV2D_STORED == 4
#define STORE(to, from, i)                                                                    \
  {                                                                                           \
    float4 v = (float4)(OUT(i), OUT((i) + 1), OUT((i) + 2), OUT((i) + 3));                    \
    if (CONV2D_RESIDUAL) {                                                                    \
      const T4 u = *(__global const T4*)from;                                                 \
      v += (float4)((float)u.x, (float)u.y, (float)u.z, (float)u.w);                          \
    }                                                                                         \
    *(__global T4*)to = (T4)((T)v.x, (T)v.y, (T)v.z, (T)v.w);                                 \
  }
#elif CONV2D_STORED == 2
#define STORE(to, from, i)                              \
  {                                                     \
    float2 v = (float2)(OUT(i), OUT((i) + 1));          \
    if (CONV2D_RESIDUAL) {                              \
      const T2 u = *(__global const T2*)from;           \
      v += (float2)((float)u.x, (float)u.y);            \
    }                                                   \
    *(__global T2*)to = (T2)((T)v.x, (T)v.y);           \
  }
#else
#define STORE(to, from, i)                                        \
  {                                                               \
    float v = OUT(i);                                             \
    if (CONV2D_RESIDUAL) v += (float)*(__global const T*)from;    \
    *(__global T*)to = (T)v;                                      \
  }
#endif

// ---- the kernels ----

//@kernel conv2d_depthwise
//@arg    0  x         in   T[n*k/CONV2D_MULTIPLE*h*w]
//@arg    1  wp        in   S[k*4*ceil((CONV2D_R*CONV2D_S+1)/4)]
//@arg    2  b         in   T[k]
//@arg    3  r         in   T[n*k*oh*ow]
//@arg    4  y         out  T[n*k*oh*ow]  may be r
//@arg    5  k         int                   channels of y
//@arg    6  h         int                   rows of x
//@arg    7  w         int                   columns of x
//@arg    8  oh        int                   rows of y
//@arg    9  ow        int                   columns of y
//@arg    10 tiles     int                   tiles of a map
//@arg    11 across    int                   tiles of a row
//@arg    12 inverse   float                 1 / across
//@null   b if CONV2D_BIAS==0
//@null   r if CONV2D_RESIDUAL==0
//@global ceil(tiles/CONV2D_LX)*CONV2D_LX ceil(k/CONV2D_LY)*CONV2D_LY n
//@local  CONV2D_LX CONV2D_LY 1
//@needs  k >= 1, k % CONV2D_MULTIPLE == 0, h >= 1, w >= 1, oh >= 1, ow >= 1, tiles <= 2097152
//@needs  across == ceil(ow/CONV2D_COLUMNS)
//@needs  tiles == across*CONV2D_DILATION_H*ceil(ceil(oh/CONV2D_DILATION_H)/CONV2D_ROWS)
//@needs  w % CONV2D_VECTOR == 0, ow % CONV2D_STORED == 0, CONV2D_COLUMNS % CONV2D_STORED == 0
//@needs  CONV2D_ONE is across == 1; else CONV2D_COLUMNS * CONV2D_STRIDE_W % CONV2D_VECTOR is 0
//@needs  CONV2D_BELOW and CONV2D_RIGHT hold for the last tile; CONV2D_VECTOR is 1 unless SHARED
__kernel GROUP void conv2d_depthwise(__global const T* x, __global const S* wp,
                                     __global const T* b, __global const T* r, __global T* y,
                                     int k, int h, int w, int oh, int ow, int tiles, int across,
                                     float inverse) {
  const int tile = get_global_id(0), channel = get_global_id(1), n = get_global_id(2);
  if (tile >= tiles || channel >= k) return;
  const int ty = (int)(((float)tile + 0.5f) * inverse), tx = tile - ty * across;
  const int ox = tx * CONV2D_COLUMNS;
  const int block = ty / CONV2D_DILATION_H, phase = ty - block * CONV2D_DILATION_H;
  const int oy = block * (CONV2D_ROWS * CONV2D_DILATION_H) + phase;
  const int ix = ox * CONV2D_STRIDE_W - CONV2D_LEFT, iy = oy * CONV2D_STRIDE_H - CONV2D_TOP;
  const int plane = n * k + channel;
  const int from = n * (k / CONV2D_MULTIPLE) + channel / CONV2D_MULTIPLE;  // of x
  const uint map = h * w * BYTES, map_y = oh * ow * BYTES;
  __global const char* xs = (__global const char*)x + from * map;
  __global const char* ws = (__global const char*)wp + channel * (uint)(PACKED * sizeof(S));
  __global char* ys = (__global char*)y + plane * map_y;
  int at[PIECES], inside[PIECES];
  UNROLL for (int i = 0; i < PIECES; ++i) {
    inside[i] = !MAY_LEAVE(i) || (uint)(ix + COLUMN(i)) <= (uint)(w - CONV2D_VECTOR);
    at[i] = inside[i] ? COLUMN(i) * BYTES : -ix * BYTES;
  }
  // Else 0, which no compiler can know: Mesa's leave sums of -0 as they are where they can.
  const float bias = CONV2D_BIAS ? (float)b[(uint)channel] : as_float(k >> 31);
  __global const char* rs = (__global const char*)r + (CONV2D_RESIDUAL ? plane * map_y : 0);
  const int careful = ends_above(xs, map) | ends_above(ws, PACKED * sizeof(S)) |
                      ends_above(ys, map_y) | (CONV2D_RESIDUAL && ends_above(rs, map_y)) |
                      (((__global const S*)ws)[PACKED - 1] != (S)0);
  if (!careful) {
    Address row = ADDRESS(xs, (iy * w + ix) * BYTES);
    const Address weights = ADDRESS(ws, 0);
    S sum[PIXELS], f[PACKED];
    UNROLL for (int i = 0; i < PIXELS; ++i) sum[i] = (S)0;
#define TAP(s, tap, j)                                                                            \
  if ((s) < CONV2D_S) {                                                                           \
    UNROLL for (int p = 0; p < CONV2D_COLUMNS; ++p) {                                             \
      if (!NEVER(ELEMENT(s, p) / CONV2D_VECTOR)) {                                                \
        sum[(j) * CONV2D_COLUMNS + p] = fma(f[(tap) * CONV2D_S + (s)], in[ELEMENT(s, p)],         \
                                            sum[(j) * CONV2D_COLUMNS + p]);                       \
      }                                                                                           \
    }                                                                                             \
  }
#define ROW(i)                                                                                    \
  if ((i) < (CONV2D_ROWS - 1) * CONV2D_STRIDE_H + CONV2D_R) {                                     \
    UNROLL for (int j = 0; j < VECTORS; ++j) {                                                    \
      if ((i) * CONV2D_S <= 4 * j && 4 * j < ((i) + 1) * CONV2D_S) {                              \
        const S4 v = *(__global const S4*)PLACE(weights, j * (int)sizeof(S4));                    \
        f[4 * j] = v.x, f[4 * j + 1] = v.y, f[4 * j + 2] = v.z, f[4 * j + 3] = v.w;               \
      }                                                                                           \
    }                                                                                             \
    if ((i) > 0) MOVE(row, w * (CONV2D_DILATION_H * BYTES));                                       \
    if (((i) * CONV2D_DILATION_H >= CONV2D_TOP && (i) < CONV2D_BELOW) ||                          \
        (uint)(iy + (i) * CONV2D_DILATION_H) < (uint)h) {                                         \
      S in[PIECES * CONV2D_VECTOR];                                                               \
      UNROLL for (int p = 0; p < PIECES; ++p) { LOAD_PIECE(p) }                                   \
      UNROLL for (int j = 0; j < CONV2D_ROWS; ++j) {                                              \
        const int tap = (i) - j * CONV2D_STRIDE_H;                                                \
        if (tap >= 0 && tap < CONV2D_R) {                                                         \
          TAP(0, tap, j) TAP(1, tap, j) TAP(2, tap, j) TAP(3, tap, j)                             \
          TAP(4, tap, j) TAP(5, tap, j) TAP(6, tap, j)                                            \
        }                                                                                         \
      }                                                                                           \
    }                                                                                             \
  }
    ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7) ROW(8) ROW(9)
    ROW(10) ROW(11) ROW(12) ROW(13) ROW(14) ROW(15) ROW(16) ROW(17) ROW(18)
#undef ROW
#undef TAP
    Address out = ADDRESS(ys, (oy * ow + ox) * BYTES), add = ADDRESS(rs, (oy * ow + ox) * BYTES);
    UNROLL for (int j = 0; j < CONV2D_ROWS; ++j) {
      if (CONV2D_WHOLE_H || oy + j * CONV2D_DILATION_H < oh) {
        UNROLL for (int p = 0; p < CONV2D_COLUMNS; p += CONV2D_STORED) {
          if (CONV2D_WHOLE_W || p == 0 || ox + p < ow) {
            STORE(PLACE(out, p * BYTES), PLACE(add, p * BYTES), j * CONV2D_COLUMNS + p)
          }
        }
      }
      MOVE(out, ow * (CONV2D_DILATION_H * BYTES));
      MOVE(add, ow * (CONV2D_DILATION_H * BYTES));
    }
    return;
  }
  // A tap a trip.
  S sum = (S)0;
  for (int i = 0; i < PIXELS * TAPS; ++i) {
    const int pixel = i / TAPS, tap = i % TAPS;
    const int row = oy + pixel / CONV2D_COLUMNS * CONV2D_DILATION_H;
    const int column = ox + pixel % CONV2D_COLUMNS;
    const int from_row = row * CONV2D_STRIDE_H - CONV2D_TOP + tap / CONV2D_S * CONV2D_DILATION_H;
    const int from_column =
        column * CONV2D_STRIDE_W - CONV2D_LEFT + tap % CONV2D_S * CONV2D_DILATION_W;
    if ((uint)from_row < (uint)h && (uint)from_column < (uint)w) {
      sum = fma(((__global const S*)ws)[tap],
                (S)((__global const T*)xs)[from_row * w + from_column], sum);
    }
    if (tap + 1 < TAPS) continue;
    if (row < oh && column < ow) {
      const int to = row * ow + column;
      float v = CONV2D_ACT((float)sum + bias);
      if (CONV2D_RESIDUAL) v += (float)((__global const T*)rs)[to];
      ((__global T*)ys)[to] = (T)v;
    }
    sum = (S)0;
  }
}

// The weights of each channel in whole vectors, as numbers of the type of sums. A work-item one.
//@kernel conv2d_depthwise_pack
//@arg    0  weights  in   T[k*CONV2D_R*CONV2D_S]
//@arg    1  wp       out  S[k*4*ceil((CONV2D_R*CONV2D_S+1)/4)]
//@layout wp[k][t] = w[k][t], else 0; the last t of k is 1 where w[k][..] are not all finite
//@arg    2  k        int  channels of y
//@global ceil(4*ceil((CONV2D_R*CONV2D_S+1)/4)/CONV2D_LX)*CONV2D_LX ceil(k/CONV2D_LY)*CONV2D_LY 1
//@local  CONV2D_LX CONV2D_LY 1
//@needs  k >= 1
__kernel GROUP void conv2d_depthwise_pack(__global const T* weights, __global S* wp, int k) {
  const int tap = get_global_id(0), channel = get_global_id(1);
  if (tap >= PACKED || channel >= k) return;
  T v = tap < TAPS ? weights[channel * TAPS + tap] : (T)0;
  if (tap == PACKED - 1) {
    for (int i = 0; i < TAPS; ++i) {
      if (!isfinite((float)weights[channel * TAPS + i])) v = (T)1;
    }
  }
  wp[channel * PACKED + tap] = (S)v;
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops conv2d_depthwise
//@loop   0*h  over taps where a filter is not finite or bytes lie across 4 GiB: not counted
