// SPDX-License-Identifier: MIT
// conv_transpose_phases.cl - y[n,k,oy,ox] = act(sum_r,c,s w[c,k,r,s] * x[n,c,iy,ix] + b[k])
//                            over taps with oy = iy * stride_h - pad_t + r, and ox likewise
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). Sums in the
// order of r, c, s by fma, in one float per output. What follows the sum is float too.
//
// A work-item computes CONVT_CHANNELS channels x 4 columns of x x CONVT_STRIDE_W phases: column
// CONVT_STRIDE_W * q + p of y is phase p of column q. So it writes 4 * CONVT_STRIDE_W columns of a
// row of y side by side. Of a row of x it reads the vector of columns q and, for wider filters, a
// column left and right of it. With stride 2, pad 1 and 4 columns of the filter:
//
//   tap       0      1      2      3
//   phase     1      0      1      0
//   takes x   q + 1  q      q      q - 1
//
// Left and right of x it multiplies zeros, so a weight of infinity or NaN makes NaN there. With
// CONVT_SPLIT, a work-item whose bytes lie on both sides of a multiple of 4 GiB reads them one by
// one, in the same order.
//
// All tensors are dense and start on multiples of 16 bytes; every byte offset into them fits an
// int. An absent b counts as zeros, and may be null. No output overlaps an input. Output channels of
// a group read the input channels of that group alone.
//
//@define CLAM_F16        off                           store tensors as half
//@define CLAM_NATIVE     off                           activations by native_exp2 and native_recip
//@define CONVT_LX        16 {1,2,4,8,16}               work-items of a group along the columns of x
//@define CONVT_LY        4 {1,2,4,8,16,32,64,128,256}  work-items of a group along the rows of y
//@define CONVT_CHANNELS  4 {1,2,4}                     channels of a tile; 4 up to stride 2
//@define CONVT_S         2 {1,2,3,4,5,6,7,8}           columns of the filter
//@define CONVT_STRIDE_W  2 {1,2,3,4}                   columns of y from a column of x to the next
//@define CONVT_LEFT      0                             columns cut off left of y
//@define CONVT_LOOSE     0 {0,1}                       a tile is no vector of a row of x
//@define CONVT_WHOLE     0 {0,1}                       rows of y are whole vectors
//@define CONVT_SPLIT     0 {0,1}                       addresses in two halves
//@define CONVT_BIAS      0 {0,1}                       b is added
//@define CONVT_ACT       none {none,relu,relu6,silu,gelu,gelu_tanh,sigmoid,tanh,exp}  activation

//@shared options
#ifndef CONVT_LX
#define CONVT_LX 16
#endif
#if CONVT_LX < 1 || CONVT_LX > 16 || CONVT_LX & (CONVT_LX - 1)
#error "conv_transpose_phases.cl: CONVT_LX must be a power of two from 1 to 16"
#endif
#ifndef CONVT_LY
#define CONVT_LY 4
#endif
#if CONVT_LY < 1 || CONVT_LY > 256 || CONVT_LY & (CONVT_LY - 1)
#error "conv_transpose_phases.cl: CONVT_LY must be a power of two from 1 to 256"
#endif
#ifndef CONVT_CHANNELS
#define CONVT_CHANNELS 4
#endif
#if CONVT_CHANNELS != 1 && CONVT_CHANNELS != 2 && CONVT_CHANNELS != 4
#error "conv_transpose_phases.cl: CONVT_CHANNELS must be 1, 2 or 4"
#endif
#ifndef CONVT_S
#define CONVT_S 2
#endif
#if CONVT_S < 1 || CONVT_S > 8
#error "conv_transpose_phases.cl: CONVT_S must be 1 to 8"
#endif
#ifndef CONVT_STRIDE_W
#define CONVT_STRIDE_W 2
#endif
#if CONVT_STRIDE_W < 1 || CONVT_STRIDE_W > 4
#error "conv_transpose_phases.cl: CONVT_STRIDE_W must be 1 to 4"
#endif
#ifndef CONVT_LEFT
#define CONVT_LEFT 0
#endif
#ifndef CONVT_LOOSE
#define CONVT_LOOSE 0
#endif
#if CONVT_LOOSE != 0 && CONVT_LOOSE != 1
#error "conv_transpose_phases.cl: CONVT_LOOSE must be 0 or 1"
#endif
#ifndef CONVT_WHOLE
#define CONVT_WHOLE 0
#endif
#if CONVT_WHOLE != 0 && CONVT_WHOLE != 1
#error "conv_transpose_phases.cl: CONVT_WHOLE must be 0 or 1"
#endif
#ifndef CONVT_SPLIT
#define CONVT_SPLIT 0
#endif
#if CONVT_SPLIT != 0 && CONVT_SPLIT != 1
#error "conv_transpose_phases.cl: CONVT_SPLIT must be 0 or 1"
#endif
#ifndef CONVT_BIAS
#define CONVT_BIAS 0
#endif
#if CONVT_BIAS != 0 && CONVT_BIAS != 1
#error "conv_transpose_phases.cl: CONVT_BIAS must be 0 or 1"
#endif
#ifndef CONVT_ACT
#define CONVT_ACT none
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

#if CONVT_CHANNELS != 1 && CONVT_CHANNELS != 2 && (CONVT_CHANNELS != 4 || CONVT_STRIDE_W > 2)
#error "conv_transpose_phases.cl: CONVT_CHANNELS must be 1, 2, or 4 up to stride 2"
#endif
#if CONVT_LEFT < 0 || CONVT_LEFT > CONVT_STRIDE_W || CONVT_S > 2 * CONVT_STRIDE_W + CONVT_LEFT
#error "conv_transpose_phases.cl: a tap takes a column of x next to a tile, and none further away"
#endif

//@shared element
#ifdef CLAM_F16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half T;
typedef half4 T4;
#else
typedef float T;
typedef float4 T4;
#endif

#define SIZE ((uint)sizeof(T))
//@end

#define SPLIT CONVT_SPLIT
#define GROUP __attribute__((reqd_work_group_size(CONVT_LX, CONVT_LY, 1)))

// ---- activations: CONVT_ACT is the name of one of these, or of a built-in ----

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

// ---- the sums of conv_transpose_phases ----

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

#define CHANNELS CONVT_CHANNELS
#define STRIDE CONVT_STRIDE_W
#define LEFT CONVT_LEFT
#if CHANNELS == 1
typedef float Weights;
#define EACH_CHANNEL(DO, a) DO(0, weights, a)
#elif CHANNELS == 2
typedef float2 Weights;
#define EACH_CHANNEL(DO, a) DO(0, weights.x, a) DO(1, weights.y, a)
#else
typedef float4 Weights;
#define EACH_CHANNEL(DO, a) \
  DO(0, weights.x, a) DO(1, weights.y, a) DO(2, weights.z, a) DO(3, weights.w, a)
#endif
// From an input channel to the next, in bytes.
#define WEIGHT_STEP (CONVT_S * CHANNELS * (uint)sizeof(float))

// The phase of y that tap s adds to, and how far right of the tile it takes x: -1, 0 or 1.
#define PHASE(s) (((s) + STRIDE - LEFT) % STRIDE)
#define SHIFT(s) ((PHASE(s) + LEFT + STRIDE * 8 - (s)) / STRIDE - 8)
#define TAKES_LEFT (SHIFT(CONVT_S - 1) < 0)
#define TAKES_RIGHT (SHIFT(0) > 0)

// Column `column` of the row of x at whose byte `at` x lies. What is outside is read inside, and
// counts as 0.
float one_of(Address x, int at, int column, int w) {
  const int inside = min(max(column, 0), w - 1) * (int)SIZE;
  const float v = (float)*(__global const T*)PLACE(x, inside - at);
  return (uint)column < (uint)w ? v : 0.0f;
}

#if CONVT_LOOSE
#define START(column) 0
#define ONE_OF(i) one_of(x, 0, column + i, w)
float4 vector_of(Address x, int column, int w) {
  return (float4)(ONE_OF(0), ONE_OF(1), ONE_OF(2), ONE_OF(3));
}
#else
#define START(column) ((column) * (int)SIZE)
float4 vector_of(Address x, int column, int w) {
  return load4((__global const char*)PLACE(x, 0), 0);
}
#endif

// Sums are variables of their own: arrays cost Mesa's compilers a fifth of the loop. t1_0 is that
// of channel 1 and phase 0. Those that no tap adds to are never computed.
#define DECLARE(i, of, a) \
  float4 t##i##_0 = (float4)(0.0f), t##i##_1 = t##i##_0, t##i##_2 = t##i##_0, t##i##_3 = t##i##_0;
#define ADD(i, of, s)                                                       \
  if (PHASE(s) == 0) t##i##_0 = fma((float4)(of), shifted, t##i##_0);       \
  else if (PHASE(s) == 1) t##i##_1 = fma((float4)(of), shifted, t##i##_1);  \
  else if (PHASE(s) == 2) t##i##_2 = fma((float4)(of), shifted, t##i##_2);  \
  else t##i##_3 = fma((float4)(of), shifted, t##i##_3);
#define TAP(s, i_at)                                                                          \
  if (s < CONVT_S) {                                                                          \
    const Weights weights = *(__global const Weights*)PLACE(                                  \
        weight, (i_at) * WEIGHT_STEP + s * (uint)sizeof(Weights));                            \
    const float4 shifted = SHIFT(s) == 0 ? middle : SHIFT(s) < 0 ? from_left : from_right;    \
    EACH_CHANNEL(ADD, s)                                                                      \
  }
#define ONE(i_at)                                                                             \
  {                                                                                           \
    const float4 middle = vector_of(x_at, column, w);                                         \
    const float left = TAKES_LEFT ? one_of(x_at, START(column), column - 1, w) : 0.0f;        \
    const float right = TAKES_RIGHT ? one_of(x_at, START(column), column + 4, w) : 0.0f;      \
    const float4 from_left = (float4)(left, middle.x, middle.y, middle.z);                                      \
    const float4 from_right = (float4)(middle.y, middle.z, middle.w, right);                                    \
    TAP(0, i_at) TAP(1, i_at) TAP(2, i_at) TAP(3, i_at)                                       \
    TAP(4, i_at) TAP(5, i_at) TAP(6, i_at) TAP(7, i_at)                                       \
    MOVE(x_at, map);                                                                          \
  }

// Input channels of a trip of the loop. Longer trips spill beside neighbouring columns.
#if CONVT_S > CONVT_STRIDE_W
#define TRIP 2
#define ALL ONE(0) ONE(1)
#else
#define TRIP 4
#define ALL ONE(0) ONE(1) ONE(2) ONE(3)
#endif

// ---- from the sum to the output ----

// `at`: the byte of the tile's first output in its first channel. `map`: bytes from a channel to
// the next. `end`: columns of y from the tile's first one on.
typedef struct {
  __global const T* b;
  __global char* y;
  uint at, map;
  int channel, channels, end;
} Outputs;

// In the kernel. It is computed where it is used, for Mesa's register allocator.
#define OUTPUTS                                                                                \
  {b, (__global char*)y, (((group * kg + channel) * oh + oy) * ow + column * STRIDE) * SIZE,   \
   oh * ow * SIZE, own * kg + channel, kg - channel, ow - column * STRIDE}

// An absent b is a 0 that no compiler knows: sums of zeros would be -0 then.
float bias_of(int i, Outputs out) {
  return CONVT_BIAS ? (float)out.b[out.channel + i] : as_float(out.end >> 31);
}

// Vector v of a channel's row of y.
void store_vector(float4 sum, int v, float bias, uint at, Outputs out) {
  const int end = out.end - 4 * v;
  if (end <= 0) return;
  const float4 z = sum + (float4)(bias);
  const float4 y = (float4)(CONVT_ACT(z.x), CONVT_ACT(z.y), CONVT_ACT(z.z), CONVT_ACT(z.w));
  at += 4 * v * SIZE;
  if (CONVT_WHOLE) {
    store4(y, out.y, at);
    return;
  }
  store1(y.x, out.y, at);
  if (end > 1) store1(y.y, out.y, at + SIZE);
  if (end > 2) store1(y.z, out.y, at + 2 * SIZE);
  if (end > 3) store1(y.w, out.y, at + 3 * SIZE);
}

// Channel i of the tile: its phases side by side.
void finish(int i, float4 t0, float4 t1, float4 t2, float4 t3, Outputs out) {
  if (i >= out.channels) return;
  const float bias = bias_of(i, out);
  const uint at = out.at + i * out.map;
#if STRIDE == 1
  store_vector(t0, 0, bias, at, out);
#elif STRIDE == 2
  store_vector((float4)(t0.x, t1.x, t0.y, t1.y), 0, bias, at, out);
  store_vector((float4)(t0.z, t1.z, t0.w, t1.w), 1, bias, at, out);
#elif STRIDE == 3
  store_vector((float4)(t0.x, t1.x, t2.x, t0.y), 0, bias, at, out);
  store_vector((float4)(t1.y, t2.y, t0.z, t1.z), 1, bias, at, out);
  store_vector((float4)(t2.z, t0.w, t1.w, t2.w), 2, bias, at, out);
#else
  store_vector((float4)(t0.x, t1.x, t2.x, t3.x), 0, bias, at, out);
  store_vector((float4)(t0.y, t1.y, t2.y, t3.y), 1, bias, at, out);
  store_vector((float4)(t0.z, t1.z, t2.z, t3.z), 2, bias, at, out);
  store_vector((float4)(t0.w, t1.w, t2.w, t3.w), 3, bias, at, out);
#endif
}

#if SPLIT
// All outputs of a tile by scalar loads, in the same order. `at_row`, `at_column`: where the tile
// lies before anything is cut off above it, and from column `at_column` - LEFT on.
void sum_slowly(__global const char* x, __global const float* wp, int cg, int h, int w, int rows,
                int at_row, int stride_h, int at_column, Outputs out) {
  for (int i = 0; i < min(CHANNELS, out.channels) * 4 * STRIDE; ++i) {
    const int k = i / (4 * STRIDE), ox = i % (4 * STRIDE);
    if (ox >= out.end) continue;
    float sum = 0.0f;
    for (int r = at_row % stride_h; r < rows; r += stride_h) {
      const int iy = (at_row - r) / stride_h;
      if (iy < 0 || iy >= h) continue;
      for (int at = 0; at < cg * CONVT_S; ++at) {
        const int across = at_column + ox + LEFT - at % CONVT_S, ix = across / STRIDE;
        if (across % STRIDE != 0 || ix < 0 || ix >= w) continue;
        const float of_x = load1(x, ((at / CONVT_S * h + iy) * w + ix) * SIZE);
        sum = fma(of_x, wp[(r * cg * CONVT_S + at) * CHANNELS + k], sum);
      }
    }
    store1(CONVT_ACT(sum + bias_of(k, out)), out.y, out.at + k * out.map + ox * SIZE);
  }
}
#endif

// ---- the kernel ----

// One work-item a tile of a row of y.
//@kernel conv_transpose_phases
//@arg    0  x         in   T[n*groups*cg*h*w]
//@arg    1  wp        in   float[groups*ceil(kg/CONVT_CHANNELS)*rows*cg*CONVT_S*CONVT_CHANNELS]
//@layout as conv_transpose_pack writes it
//@arg    2  b         in   T[groups*kg]
//@arg    3  y         out  T[n*groups*kg*oh*ow]
//@arg    4  groups    int  groups of channels
//@arg    5  cg        int  input channels of a group
//@arg    6  h         int  rows of x
//@arg    7  w         int  columns of x
//@arg    8  kg        int  output channels of a group
//@arg    9  rows      int  rows of the filter
//@arg    10 oh        int  rows of y
//@arg    11 ow        int  columns of y
//@arg    12 stride_h  int
//@arg    13 pad_t     int  rows cut off above y
//@null   b if CONVT_BIAS==0
//@global ceil(ow/(4*CONVT_STRIDE_W*CONVT_LX))*CONVT_LX ceil(oh/CONVT_LY)*CONVT_LY n*groups*ceil(kg/CONVT_CHANNELS)
//@local  CONVT_LX CONVT_LY
//@needs  groups >= 1, cg >= 1, h >= 1, w >= 1, kg >= 1, rows >= 1, oh >= 1, ow >= 1
//@needs  stride_h >= 1, pad_t >= 0, ow % 4 == 0 || CONVT_WHOLE == 0
//@needs  CONVT_LOOSE == 1 || w % 4 == 0, CONVT_LOOSE == 1 || 4*ceil(ow/(4*CONVT_STRIDE_W)) <= w
__kernel GROUP void conv_transpose_phases(__global const T* x, __global const float* wp,
                                          __global const T* b, __global T* y, int groups, int cg,
                                          int h, int w, int kg, int rows, int oh, int ow,
                                          int stride_h, int pad_t) {
  const int column = 4 * (int)get_global_id(0), oy = get_global_id(1), z = get_global_id(2);
  if (column * STRIDE >= ow || oy >= oh) return;
  // Groups of channels, those of all images counted.
  const int tiles = (kg + CHANNELS - 1) / CHANNELS, group = divide(z, tiles);
  const int tile = z - group * tiles, channel = tile * CHANNELS;
  const int own = group - divide(group, groups) * groups;
  const uint map = h * w * SIZE;
  const int panel = (own * tiles + tile) * rows;
#if SPLIT
  if (ends_above(x, (group + 1) * cg * map) ||
      ends_above(wp, (panel + rows) * cg * WEIGHT_STEP)) {
    const Outputs out = OUTPUTS;
    sum_slowly((__global const char*)x + group * cg * map, wp + panel * cg * CONVT_S * CHANNELS, cg,
               h, w, rows, oy + pad_t, stride_h, column * STRIDE, out);
    return;
  }
#endif
  EACH_CHANNEL(DECLARE, )
  int iy = divide(oy + pad_t, stride_h);
  for (int r = oy + pad_t - iy * stride_h; r < rows; r += stride_h, --iy) {
    if ((uint)iy >= (uint)h) continue;
    Address x_at = ADDRESS(x, (group * cg * h + iy) * w * SIZE + START(column));
    Address weight = ADDRESS(wp, (panel + r) * cg * WEIGHT_STEP);
    const Limit rest = LIMIT(weight, cg / TRIP * TRIP * WEIGHT_STEP);
    const Limit end = LIMIT(weight, cg * WEIGHT_STEP);
    if (BEFORE(weight, rest)) {
      do {
        ALL
        MOVE(weight, TRIP * WEIGHT_STEP);
      } while (BEFORE(weight, rest));
    }
    if (BEFORE(weight, end)) {
      do {
        ONE(0)
        MOVE(weight, WEIGHT_STEP);
      } while (BEFORE(weight, end));
    }
  }
  const Outputs out = OUTPUTS;
#define FINISH(i, of, a) finish(i, t##i##_0, t##i##_1, t##i##_2, t##i##_3, out);
  EACH_CHANNEL(FINISH, )
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops conv_transpose_phases
//@loop   floor(rows/stride_h)..ceil(rows/stride_h)  over the output's rows of the filter
//@loop   floor(cg/4) if CONVT_S<=CONVT_STRIDE_W  over the input channels, four a trip
//@loop   floor(cg/2) if CONVT_S>CONVT_STRIDE_W  over the input channels, two a trip
//@loop   cg%4 if CONVT_S<=CONVT_STRIDE_W  over those that are left
//@loop   cg%2 if CONVT_S>CONVT_STRIDE_W  over those that are left
//@loop   0*cg if CONVT_SPLIT  over the outputs of a tile that lies across 4 GiB
//@loop   0*cg if CONVT_SPLIT  over the rows of the filter
//@loop   0*cg if CONVT_SPLIT  over the products of a row
