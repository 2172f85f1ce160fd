// SPDX-License-Identifier: MIT
// conv2d_winograd.cl - y[k,p] = act(sum_c,r,s w[k,c,r,s] * x[c,p+r,s] + b[k]) + r[k,p], 3x3
//
// Winograd's F(2x2,3x3): a tile is 2 x 2 pixels of y, for which it reads 4 x 4 pixels d of x. With
//
//   B^T = 1  0 -1  0    G = 1    0   0     A^T = 1  1  1  0
//         0  1  1  0        1/2  1/2 1/2         0  1 -1 -1
//         0 -1  1  0        1/2 -1/2 1/2
//         0  1  0 -1        0    0   1
//
// V = B^T d B, U = G g G^T of a 3x3 filter g, M = sum_c U * V (element by element) and y = A^T M A.
// It multiplies 16 times for 4 pixels, where the plain sum does 36 times. Tiles of all images lie
// side by side, in vectors of 4; those behind the last are zeros.
//
//   conv2d_winograd_x      V of one tile and channel
//   conv2d_winograd_pack   U of one filter, in the order in which it is read
//   conv2d_winograd        M of 4 channels x CONV2D_VECTORS vectors at one of the 16 places an item,
//                          in order of c; then the items of a group exchange M and compute y.
//                          CONV2D_PARTS items share the channels, and their sums are added in order
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). U, V, M and all
// sums are float. The second vector lies half of all vectors behind the first. Where their number is
// odd, the last item has one.
//
// All tensors are dense and start on multiples of 16 bytes; every byte offset into them fits an
// int. An absent b counts as zeros, and an absent r is not added; both may then be null. y may be
// r, element on element; else no output overlaps an input.
//
// With CONV2D_SPLIT, a work-item whose bytes lie on both sides of a multiple of 4 GiB reads them by
// whole addresses, in the same order.
//
//@define CLAM_F16         off            store tensors as half
//@define CLAM_NATIVE      off            activations by native_exp2 and native_recip
//@define CONV2D_LX        4 {1,2,4,8,16,32,64,128,256}  work-items of a group along the tiles
//@define CONV2D_LY        1 {1,2,4,8,16,32,64,128,256}  work-items of a group along k, of x along c
//@define CONV2D_PLACES    16 {1,2,4,8,16}               work-items that share the places of a tile
//@define CONV2D_PARTS     1 {1,2,4,8}    work-items that share the channels of a place: of 16 places
//@define CONV2D_VECTORS   1 {1,2}        vectors of 4 tiles of a work-item
//@define CONV2D_SPLIT     0 {0,1}        addresses in two halves
//@define CONV2D_BIAS      0 {0,1}        b is added
//@define CONV2D_RESIDUAL  0 {0,1}        r is added
//@define CONV2D_ACT       none {none,relu,relu6,silu,gelu,gelu_tanh,sigmoid,tanh,exp,hard_swish,clip,leaky_relu,hard_sigmoid,scaled}  activation

//@shared options
#ifndef CONV2D_LX
#define CONV2D_LX 4
#endif
#if CONV2D_LX < 1 || CONV2D_LX > 256 || CONV2D_LX & (CONV2D_LX - 1)
#error "conv2d_winograd.cl: CONV2D_LX must be a power of two from 1 to 256"
#endif
#ifndef CONV2D_LY
#define CONV2D_LY 1
#endif
#if CONV2D_LY < 1 || CONV2D_LY > 256 || CONV2D_LY & (CONV2D_LY - 1)
#error "conv2d_winograd.cl: CONV2D_LY must be a power of two from 1 to 256"
#endif
#ifndef CONV2D_PLACES
#define CONV2D_PLACES 16
#endif
#if CONV2D_PLACES < 1 || CONV2D_PLACES > 16 || CONV2D_PLACES & (CONV2D_PLACES - 1)
#error "conv2d_winograd.cl: CONV2D_PLACES must be a power of two from 1 to 16"
#endif
#ifndef CONV2D_PARTS
#define CONV2D_PARTS 1
#endif
#if CONV2D_PARTS < 1 || CONV2D_PARTS > 8 || CONV2D_PARTS & (CONV2D_PARTS - 1)
#error "conv2d_winograd.cl: CONV2D_PARTS must be a power of two from 1 to 8"
#endif
#ifndef CONV2D_VECTORS
#define CONV2D_VECTORS 1
#endif
#if CONV2D_VECTORS != 1 && CONV2D_VECTORS != 2
#error "conv2d_winograd.cl: CONV2D_VECTORS must be 1 or 2"
#endif
#ifndef CONV2D_SPLIT
#define CONV2D_SPLIT 0
#endif
#if CONV2D_SPLIT != 0 && CONV2D_SPLIT != 1
#error "conv2d_winograd.cl: CONV2D_SPLIT must be 0 or 1"
#endif
#ifndef CONV2D_BIAS
#define CONV2D_BIAS 0
#endif
#if CONV2D_BIAS != 0 && CONV2D_BIAS != 1
#error "conv2d_winograd.cl: CONV2D_BIAS must be 0 or 1"
#endif
#ifndef CONV2D_RESIDUAL
#define CONV2D_RESIDUAL 0
#endif
#if CONV2D_RESIDUAL != 0 && CONV2D_RESIDUAL != 1
#error "conv2d_winograd.cl: CONV2D_RESIDUAL must be 0 or 1"
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

#define FLOATS ((uint)sizeof(float))
#define SPLIT CONV2D_SPLIT
#define DEEP (CONV2D_PLACES * CONV2D_PARTS)
#define GROUP __attribute__((reqd_work_group_size(CONV2D_LX, CONV2D_LY, DEEP)))
#define FLAT_GROUP __attribute__((reqd_work_group_size(CONV2D_LX, CONV2D_LY, 1)))
#define UNROLL __attribute__((opencl_unroll_hint))
#define LANES (CONV2D_LX * CONV2D_LY)
#define SUMS (CONV2D_VECTORS * 64 * LANES)  // vectors of M of a part

#if CONV2D_PARTS > 1 && CONV2D_PLACES != 16
#error "conv2d_winograd.cl: CONV2D_PARTS above 1 needs 16 places"
#endif

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

// ---- memory: a 64-bit base and an unsigned byte offset cost Mali compilers the least ----

//@shared memory
float load1(__global const char* p, uint at) { return (float)*(__global const T*)(p + at); }

float4 load4(__global const char* p, uint at) {
  const T4 v = *(__global const T4*)(p + at);
  return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w);
}

void store1(float v, __global char* p, uint at) { *(__global T*)(p + at) = (T)v; }

void store4(float4 v, __global char* p, uint at) {
  *(__global T4*)(p + at) = (T4)((T)v.x, (T)v.y, (T)v.z, (T)v.w);
}
//@end

// ---- addresses that a loop moves along ----

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

//@shared divide
// a / b for a >= 0, b >= 1. Division of integers takes Mali compilers 80 instructions, and 1.0f / b
// takes them 14. half_recip takes one, and is within 2^-10 on any device. A step of Newton makes
// that 2^-20; 2^-18 is taken off, so that both quotients are too small, by less than 2 in the end.
int divide(int a, int b) {
  const float of = (float)b, near = half_recip(of);
  const float inverse = fma(near, fma(-of, near, 0x1.ffff8p-1f), near);
  const int about = (int)((float)a * inverse), left = a - about * b;
  const int closer = about + (int)((float)left * inverse);
  return closer + (a - closer * b >= b);
}
//@end

// Where a tile lies: its image, and its row and column in tiles.
typedef struct {
  int image, row, column;
} Tile;

Tile tile_of(int t, int down, int across) {
  Tile tile;
  tile.image = divide(t, down * across);
  const int rest = t - tile.image * down * across;
  tile.row = divide(rest, across);
  tile.column = rest - tile.row * across;
  return tile;
}

// ---- V ----

// Row iy of d, of the map that begins at byte `map`. What lies outside x is zero.
float4 load_row(__global const char* x, uint map, int iy, int is_there, int4 ix, int h, int w) {
  const int4 inside = ix >= 0 && ix < w && (int4)(-(is_there && iy >= 0 && iy < h));
  const uint4 at = inside ? map + as_uint4(iy * w + ix) * SIZE : (uint4)(map);
  const float4 d = (float4)(load1(x, at.x), load1(x, at.y), load1(x, at.z), load1(x, at.w));
  return inside ? d : (float4)(0.0f);
}

// t B, for one row.
float4 columns_of_v(float4 t) {
  return (float4)(t.x - t.z, t.y + t.z, t.z - t.y, t.y - t.w);
}

void store_row(float4 v, __global char* to, uint at, uint place) {
  *(__global float*)(to + at) = v.x;
  *(__global float*)(to + (at + place)) = v.y;
  *(__global float*)(to + (at + 2 * place)) = v.z;
  *(__global float*)(to + (at + 3 * place)) = v.w;
}

// One work-item for a channel of a tile.
//@kernel conv2d_winograd_x
//@arg    0  x       in   T[n*c*h*w]
//@arg    1  v       out  float[16*c*vectors*4]
//@layout v[4*i + j][c][t] = V[i][j] of channel c and tile t = (image*down + row)*across + column
//@arg    2  n       int  images
//@arg    3  c       int  input channels
//@arg    4  h       int  rows of x
//@arg    5  w       int  columns of x
//@arg    6  down    int  rows of tiles
//@arg    7  across  int  columns of tiles
//@arg    8  vectors int  vectors of 4 tiles, those of all images
//@arg    9  pad_t   int  rows of padding above x
//@arg    10 pad_l   int  columns of padding left of x
//@global ceil(vectors*4/CONV2D_LX)*CONV2D_LX ceil(c/CONV2D_LY)*CONV2D_LY 1
//@local  CONV2D_LX CONV2D_LY 1
//@needs  n >= 1, c >= 1, h >= 1, w >= 1, down >= 1, across >= 1, vectors >= ceil(n*down*across/4)
__kernel FLAT_GROUP void conv2d_winograd_x(__global const T* x, __global float* v, int n, int c,
                                           int h, int w, int down, int across, int vectors,
                                           int pad_t, int pad_l) {
  const int t = get_global_id(0), channel = get_global_id(1);
  if (t >= 4 * vectors || channel >= c) return;
  const Tile tile = tile_of(t, down, across);
  const int is_there = tile.image < n, iy = 2 * tile.row - pad_t;
  const int4 ix = 2 * tile.column - pad_l + (int4)(0, 1, 2, 3);
  const uint map = is_there ? (tile.image * c + channel) * h * w * SIZE : 0;
  __global const char* from = (__global const char*)x;
  const float4 d0 = load_row(from, map, iy, is_there, ix, h, w);
  const float4 d1 = load_row(from, map, iy + 1, is_there, ix, h, w);
  const float4 d2 = load_row(from, map, iy + 2, is_there, ix, h, w);
  const float4 d3 = load_row(from, map, iy + 3, is_there, ix, h, w);
  const uint place = c * vectors * 4 * FLOATS, at = (channel * vectors * 4 + t) * FLOATS;
  __global char* to = (__global char*)v;
  store_row(columns_of_v(d0 - d2), to, at, place);
  store_row(columns_of_v(d1 + d2), to, at + 4 * place, place);
  store_row(columns_of_v(d2 - d1), to, at + 8 * place, place);
  store_row(columns_of_v(d1 - d3), to, at + 12 * place, place);
}

// ---- U ----

// Row i of U = G g G^T times 4, from what follows of g in G g.
void store_filter(float a, float b, float c, __global float* to, int place) {
  const float half_sum = 0.5f * (a + c), half_b = 0.5f * b;
  to[0] = a;
  to[place] = half_sum + half_b;
  to[2 * place] = half_sum - half_b;
  to[3 * place] = c;
}

// One work-item for a filter, also behind k.
//@kernel conv2d_winograd_pack
//@arg    0  w   in   T[groups*k*c*9]
//@arg    1  wp  out  float[groups*ceil(k/(4*CONV2D_LY))*16*c*4*CONV2D_LY]
//@layout wp[(((g*ceil(k/(4*CONV2D_LY)) + j/(4*CONV2D_LY))*16 + 4*i + l)*c + q)*4*CONV2D_LY + j%(4*CONV2D_LY)] = U[i][l]
//@layout of input channel q and output channel j of group g; zeros behind k
//@arg    2  k   int  output channels of a group
//@arg    3  c   int  input channels of a group
//@global ceil(c/CONV2D_LX)*CONV2D_LX ceil(k/(4*CONV2D_LY))*4*CONV2D_LY groups
//@local  CONV2D_LX CONV2D_LY 1
//@needs  groups >= 1, k >= 1, c >= 1
__kernel FLAT_GROUP void conv2d_winograd_pack(__global const T* w, __global float* wp, int k,
                                              int c) {
  const int q = get_global_id(0), j = get_global_id(1), g = get_global_id(2);
  if (q >= c) return;
  const int width = 4 * CONV2D_LY, panels = (int)get_global_size(1) / width;
  const int inside = j < k, from = inside ? ((g * k + j) * c + q) * 9 : 0;
  __global float* to = wp + ((g * panels + j / width) * 16 * c + q) * width + j % width;
  float sum[3], half_sum[3], half_b[3], a[3], e[3];
  for (int s = 0; s < 3; ++s) {
    a[s] = inside ? (float)w[from + s] : 0.0f;
    const float b = inside ? (float)w[from + 3 + s] : 0.0f;
    e[s] = inside ? (float)w[from + 6 + s] : 0.0f;
    half_sum[s] = 0.5f * (a[s] + e[s]);
    half_b[s] = 0.5f * b;
  }
  const int place = c * width;
  store_filter(a[0], a[1], a[2], to, place);
  store_filter(half_sum[0] + half_b[0], half_sum[1] + half_b[1], half_sum[2] + half_b[2],
               to + 4 * place, place);
  store_filter(half_sum[0] - half_b[0], half_sum[1] - half_b[1], half_sum[2] - half_b[2],
               to + 8 * place, place);
  store_filter(e[0], e[1], e[2], to + 12 * place, place);
}

// ---- M ----

#define WEIGHT_STEP (4 * CONV2D_LY * FLOATS)

// Sums are variables of their own: arrays cost Mesa's compilers a fifth of the loop. m0_1 is that
// of channel 0 and vector 1.
#define EACH_CHANNEL(DO, v) DO(0, x, v) DO(1, y, v) DO(2, z, v) DO(3, w, v)

#if CONV2D_VECTORS == 1
#define EACH_VECTOR(DO, a) DO(0, a)
#define EACH_SUM(DO) EACH_CHANNEL(DO, 0)
#else
#define EACH_VECTOR(DO, a) DO(0, a) DO(1, a)
#define EACH_SUM(DO) EACH_CHANNEL(DO, 0) EACH_CHANNEL(DO, 1)
#endif
#define DECLARE(i, of, v) float4 m##i##_##v = (float4)(0.0f);
#define ADD(i, of, v) m##i##_##v = fma((float4)(weights.of), tiles, m##i##_##v);
#define WITH_TILES(v, FROM)                                               \
  {                                                                       \
    const float4 tiles = *(__global const float4*)FROM(x, (v) * second);  \
    EACH_CHANNEL(ADD, v)                                                  \
  }
#define ONE(i)                                                                       \
  {                                                                                  \
    const float4 weights = *(__global const float4*)PLACE(w, (i) * WEIGHT_STEP);     \
    EACH_VECTOR(WITH_TILES, PLACE)                                                   \
    MOVE(x, channel);                                                                \
  }
#define HAND_ON(i, of, v) m[((v) * 64 + i) * LANES] = m##i##_##v;
#define BEHIND(p, at) ((p) + (at))

// M of all channels at one place: those of a channel begin `channel` bytes behind the last one's.
void sum_channels(__local float4* m, Address x, Address w, int channels, uint channel,
                  uint second) {
  EACH_SUM(DECLARE)
  const Limit end_trips = LIMIT(x, (uint)(channels / 8 * 8) * channel);
  const Limit end = LIMIT(x, (uint)channels * channel);
  while (BEFORE(x, end_trips)) {
    ONE(0) ONE(1) ONE(2) ONE(3) ONE(4) ONE(5) ONE(6) ONE(7)
    MOVE(w, 8 * WEIGHT_STEP);
  }
  while (BEFORE(x, end)) {
    ONE(0)
    MOVE(w, WEIGHT_STEP);
  }
  EACH_SUM(HAND_ON)
}

// The same by whole addresses.
void sum_slowly(__local float4* m, __global const char* x, __global const char* w, int channels,
                uint channel, uint second) {
  EACH_SUM(DECLARE)
  for (; channels > 0; --channels) {
    const float4 weights = *(__global const float4*)w;
    EACH_VECTOR(WITH_TILES, BEHIND)
    x += channel;
    w += WEIGHT_STEP;
  }
  EACH_SUM(HAND_ON)
}

// ---- y ----

// Two elements at an address that is a multiple of one alone.
typedef struct __attribute__((packed, aligned(sizeof(T)))) {
  T2 of;
} Loose2;

typedef struct {
  __global const char* r;
  __global char* y;
  int oh, ow;
  float bias;
} Outputs;

// A pixel of y, or two neighbours of a row. Mesa's compilers store both in one instruction.
void finish(float2 sum, int both, uint at, Outputs out) {
  float2 v = (float2)(CONV2D_ACT(sum.x + out.bias), CONV2D_ACT(sum.y + out.bias));
  if (both) {
    if (CONV2D_RESIDUAL) {
      const T2 r = ((__global const Loose2*)(out.r + at))->of;
      v += (float2)((float)r.x, (float)r.y);
    }
    ((__global Loose2*)(out.y + at))->of = (T2)((T)v.x, (T)v.y);
  } else {
    if (CONV2D_RESIDUAL) v.x += load1(out.r, at);
    store1(v.x, out.y, at);
  }
}

// The rows of A^T M A of one tile of an output channel, if it lies in one of n images.
void finish_tile(float2 upper, float2 lower, Tile tile, int n, int channels, int channel,
                 Outputs out) {
  if (tile.image >= n) return;
  const int oy = 2 * tile.row, ox = 2 * tile.column, both = ox + 1 < out.ow;
  const uint at = (((tile.image * channels + channel) * out.oh + oy) * out.ow + ox) * SIZE;
  finish(upper, both, at, out);
  if (oy + 1 < out.oh) finish(lower, both, at + out.ow * SIZE, out);
}

Tile next_of(Tile tile, int down, int across) {
  const int is_last = ++tile.column == across;
  tile.column = is_last ? 0 : tile.column;
  tile.row += is_last;
  const int is_end = tile.row == down;
  tile.row = is_end ? 0 : tile.row;
  tile.image += is_end;
  return tile;
}

// An item finishes as many neighbouring tiles of one vector as it has vectors.
#if CONV2D_VECTORS == 1
typedef float Tiles;
#define OF_FIRST(tiles) (tiles)
#else
typedef float2 Tiles;
#define OF_FIRST(tiles) (tiles).x
#endif

// m has M of the tiles at the first place.
void finish_tiles(__local const Tiles* m, Tile tile, int down, int across, int n, int channels,
                  int channel, Outputs out) {
  const int place = 16 * LANES / CONV2D_VECTORS;
  Tiles upper[4], lower[4];
  for (int j = 0; j < 4; ++j) {
    const Tiles m1 = m[(4 + j) * place], m2 = m[(8 + j) * place];
    upper[j] = m[j * place] + m1 + m2;
    lower[j] = m1 - m2 - m[(12 + j) * place];
  }
  const Tiles a = upper[0] + upper[1] + upper[2], b = upper[1] - upper[2] - upper[3];
  const Tiles c = lower[0] + lower[1] + lower[2], d = lower[1] - lower[2] - lower[3];
  finish_tile((float2)(OF_FIRST(a), OF_FIRST(b)), (float2)(OF_FIRST(c), OF_FIRST(d)), tile, n,
              channels, channel, out);
#if CONV2D_VECTORS == 2
  finish_tile((float2)(a.y, b.y), (float2)(c.y, d.y), next_of(tile, down, across), n, channels,
              channel, out);
#endif
}

// Whether the item at place p finishes tiles: `own` is the place of its vectors among `columns`, of
// which `middle` have two vectors.
int finishes(uint p, int own, int middle, int columns, int k) {
  const int j = (int)get_global_id(1) * 4 + p / 4;
  return j < k && own < (p / 2 % CONV2D_VECTORS == CONV2D_VECTORS - 1 ? columns : middle);
}

// A loop of one trip, or one over the vectors, would stay in the code that Mesa's compilers make of
// a long activation.
#if CONV2D_PLACES == 16
#define EACH_PLACE
#else
#define EACH_PLACE for (p = z; p < 16; p += CONV2D_PLACES)
#endif

// The sums of all parts become those of the first.
void add_parts(__local float4* m, int item) {
  UNROLL for (int i = 0; i < SUMS; i += DEEP * LANES) {
    if (SUMS % (DEEP * LANES) == 0 || item < SUMS) {
      float4 sum = m[i + item];
      UNROLL for (int part = 1; part < CONV2D_PARTS; ++part) sum += m[part * SUMS + i + item];
      m[i + item] = sum;
    }
  }
}

// CONV2D_PLACES * CONV2D_PARTS work-items for 4 channels of CONV2D_VECTORS vectors of 4 tiles.
//@kernel conv2d_winograd
//@arg    0  v       in   float[16*groups*c*vectors*4]
//@layout as conv2d_winograd_x writes it
//@arg    1  wp      in   float[groups*ceil(k/(4*CONV2D_LY))*16*c*4*CONV2D_LY]
//@layout as conv2d_winograd_pack writes it
//@arg    2  b       in   T[groups*k]
//@arg    3  r       in   T[n*groups*k*oh*ow]
//@arg    4  y       out  T[n*groups*k*oh*ow]  may be r
//@arg    5  n       int  images
//@arg    6  groups  int  groups of channels
//@arg    7  c       int  input channels of a group
//@arg    8  k       int  output channels of a group
//@arg    9  vectors int  vectors of 4 tiles, those of all images
//@arg    10 oh      int  rows of y
//@arg    11 ow      int  columns of y
//@arg    12 down    int  rows of tiles
//@arg    13 across  int  columns of tiles
//@null   b if CONV2D_BIAS==0
//@null   r if CONV2D_RESIDUAL==0
//@global ceil(ceil(vectors/CONV2D_VECTORS)/CONV2D_LX)*CONV2D_LX ceil(k/(4*CONV2D_LY))*CONV2D_LY groups*CONV2D_PLACES*CONV2D_PARTS
//@local  CONV2D_LX CONV2D_LY CONV2D_PLACES*CONV2D_PARTS
//@needs  n >= 1, groups >= 1, c >= 1, k >= 1, oh >= 1, ow >= 1, down == ceil(oh/2)
//@needs  across == ceil(ow/2), vectors >= ceil(n*down*across/4)
//@needs  c > ceil(c/CONV2D_PARTS)*(CONV2D_PARTS-1), CONV2D_PARTS == 1 || CONV2D_PLACES == 16
__kernel GROUP void conv2d_winograd(__global const float* v, __global const float* wp,
                                    __global const T* b, __global const T* r, __global T* y, int n,
                                    int groups, int c, int k, int vectors, int oh, int ow, int down,
                                    int across) {
  __local float4 m[CONV2D_PARTS * SUMS];
  const int middle = CONV2D_VECTORS == 1 ? 0 : vectors >> 1, columns = vectors - middle;
  const int own = get_global_id(0), first = min(own, columns - 1), g = get_group_id(2);
  const uint z = get_local_id(2);
  const int lane = (int)get_local_id(1) * CONV2D_LX + (int)get_local_id(0);
  const int panel = g * (int)get_num_groups(1) + (int)get_group_id(1);
  const uint channel = vectors * 4 * FLOATS, place = groups * c * channel;
  const int part = CONV2D_PARTS == 1 ? 0 : z / 16;
  const int range = (c + CONV2D_PARTS - 1) / CONV2D_PARTS, from = part * range;
  const int channels = CONV2D_PARTS == 1 ? c : min(range, c - from);
  uint p = CONV2D_PARTS == 1 ? z : z % 16;
  // Before the loops for Mesa 25's register allocator: later it costs each trip 15 moves.
  int is_own = finishes(p, own, middle, columns, k);
  // Every item stays, for the barrier; those without tiles share the last one's work.
  EACH_PLACE {
    const uint v_at = p * place + (g * c + from) * channel + first * 4 * FLOATS;
    const uint w_at =
        ((panel * 16 + p) * c + from) * WEIGHT_STEP + (int)get_local_id(1) * 4 * FLOATS;
    __local float4* to = m + part * SUMS + p * 4 * LANES + lane;
    // The loop's limit may lie a channel behind the last.
    if (ends_above(v, 17 * place) || ends_above(wp, w_at + c * WEIGHT_STEP)) {
      sum_slowly(to, (__global const char*)v + v_at, (__global const char*)wp + w_at, channels,
                 channel, middle * 4 * FLOATS);
    } else {
      sum_channels(to, ADDRESS(v, v_at), ADDRESS(wp, w_at), channels, channel,
                   middle * 4 * FLOATS);
    }
  }
  // All of M is there before any is read.
  barrier(CLK_LOCAL_MEM_FENCE);
#if CONV2D_PARTS > 1
  add_parts(m, (int)z * LANES + lane);
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  // An absent b is a 0 that no compiler knows: a sum of zeros stays +0.
  Outputs out = {(__global const char*)r, (__global char*)y, oh, ow, as_float(k >> 31)};
  EACH_PLACE {
    const int tiles = 4 / CONV2D_VECTORS, vector = p / 2 % CONV2D_VECTORS, tile = p % tiles;
    const int j = (int)get_global_id(1) * 4 + p / 4;
    if (CONV2D_PLACES < 16) is_own = finishes(p, own, middle, columns, k);
    if (is_own && (CONV2D_PARTS == 1 || z < 16)) {
      if (CONV2D_BIAS) out.bias = load1((__global const char*)b, (g * k + j) * SIZE);
      finish_tiles((__local const Tiles*)m + ((vector * 64 + p / 4) * LANES + lane) * tiles + tile,
                   tile_of((first + vector * middle) * 4 + tile * CONV2D_VECTORS, down, across),
                   down, across, n, groups * k, g * k + j, out);
    }
  }
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops conv2d_winograd
//@loop   floor(ceil(c/CONV2D_PARTS)/8)  over the channels of all parts but the last, eight a trip
//@loop   ceil(c/CONV2D_PARTS)%8  over those that are left
//@loop   0*c if CONV2D_SPLIT  over the channels of what lies across 4 GiB
