// SPDX-License-Identifier: MIT
// conv2d_nhwc.cl - y[n,oy,ox,k] = act(sum_r,s,c w[k,r,s,c] * x[n,iy,ix,c] + b[k]) + r[n,oy,ox,k]
//                  iy = oy * stride_h - pad_t + r * dilation_h, ix likewise; taps outside x are
//                  left out
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). Sums in the
// order of r, s, c by fma, in one float per output. With CONV2D_CHUNK, so many products of a tap
// are summed in half, and these sums in float. Where it is not 0, conv2d_nhwc_depthwise sums its
// nine products in half. What follows the sum is float.
//
// All tensors are dense and start on multiples of 16 bytes; every byte offset into them fits an
// int. An absent b counts as zeros, and an absent r is not added; both may then be null. y may be
// r, element on element; else no output overlaps an input. Output channels of a group of channels
// read the input channels of that group alone.
//
// A work-item of conv2d_nhwc computes a tile of 4 channels of one group x PIXELS pixels of a row.
// Tiles lie along x by channel, so the items of a group write side by side and read the same
// pixels. For each tap it is a product of two matrices:
//
//            k k k k
//   w        c c c c      one vector of 4 channels k for every c: packed
//            ...
//   x  c c c c            one vector of 4 channels c for every pixel
//      c c c c
//
// A tile over the end of a row or of a group of channels computes what it does not store.
//
// On Mali a load is cheapest if its address is a sum of 32 bits. So CONV2D_SPLIT keeps the upper
// half of an address and adds to the lower one. A multiple of 4 GiB may lie between the start of a
// tensor and the last byte that a work-item reads for a tap. Then the item uses 64-bit sums, in the
// same order.
//
//@define CLAM_F16         off                           store tensors as half
//@define CLAM_NATIVE      off                           activations by native_exp2 and native_recip
//@define CONV2D_LX        16 {1,2,4,8,16}               work-items of a group along k
//@define CONV2D_LY        4 {1,2,4,8,16,32,64,128,256}  work-items of a group along the map
//@define CONV2D_STRIDE    1 {1,2}                       stride of conv2d_nhwc_depthwise
//@define CONV2D_CHUNK     0 {0,4,8,16,32}               products that are summed in half; 0: none
//@define CONV2D_PIXEL     0                             fixes stride_w*groups*cg, of depthwise channels, where it is not 0
//@define CONV2D_RUN       8 {4,8}                       pixels of an item of conv2d_nhwc_depthwise
//@define CONV2D_SPLIT     0 {0,1}                       addresses are kept in two halves
//@define CONV2D_BIAS      0 {0,1}                       b is added
//@define CONV2D_RESIDUAL  0 {0,1}                       r is added
//@define CONV2D_ACT       none {none,relu,relu6,silu,gelu,gelu_tanh,sigmoid,tanh,exp,hard_swish,clip,leaky_relu,hard_sigmoid,scaled}  activation

//@shared options
#ifndef CONV2D_LX
#define CONV2D_LX 16
#endif
#if CONV2D_LX < 1 || CONV2D_LX > 16 || CONV2D_LX & (CONV2D_LX - 1)
#error "conv2d_nhwc.cl: CONV2D_LX must be a power of two from 1 to 16"
#endif
#ifndef CONV2D_LY
#define CONV2D_LY 4
#endif
#if CONV2D_LY < 1 || CONV2D_LY > 256 || CONV2D_LY & (CONV2D_LY - 1)
#error "conv2d_nhwc.cl: CONV2D_LY must be a power of two from 1 to 256"
#endif
#ifndef CONV2D_STRIDE
#define CONV2D_STRIDE 1
#endif
#if CONV2D_STRIDE != 1 && CONV2D_STRIDE != 2
#error "conv2d_nhwc.cl: CONV2D_STRIDE must be 1 or 2"
#endif
#ifndef CONV2D_CHUNK
#define CONV2D_CHUNK 0
#endif
#if CONV2D_CHUNK != 0 && CONV2D_CHUNK != 4 && CONV2D_CHUNK != 8 && \
    CONV2D_CHUNK != 16 && CONV2D_CHUNK != 32
#error "conv2d_nhwc.cl: CONV2D_CHUNK must be 0, 4, 8, 16 or 32"
#endif
#ifndef CONV2D_PIXEL
#define CONV2D_PIXEL 0
#endif
#ifndef CONV2D_RUN
#define CONV2D_RUN 8
#endif
#if CONV2D_RUN != 4 && CONV2D_RUN != 8
#error "conv2d_nhwc.cl: CONV2D_RUN must be 4 or 8"
#endif
#ifndef CONV2D_SPLIT
#define CONV2D_SPLIT 0
#endif
#if CONV2D_SPLIT != 0 && CONV2D_SPLIT != 1
#error "conv2d_nhwc.cl: CONV2D_SPLIT must be 0 or 1"
#endif
#ifndef CONV2D_BIAS
#define CONV2D_BIAS 0
#endif
#if CONV2D_BIAS != 0 && CONV2D_BIAS != 1
#error "conv2d_nhwc.cl: CONV2D_BIAS must be 0 or 1"
#endif
#ifndef CONV2D_RESIDUAL
#define CONV2D_RESIDUAL 0
#endif
#if CONV2D_RESIDUAL != 0 && CONV2D_RESIDUAL != 1
#error "conv2d_nhwc.cl: CONV2D_RESIDUAL must be 0 or 1"
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

#if CONV2D_CHUNK > 0 && !defined(CLAM_F16)
#error "conv2d_nhwc.cl: CONV2D_CHUNK sums in half, so it needs CLAM_F16"
#endif
#if CONV2D_PIXEL % 4 != 0
#error "conv2d_nhwc.cl: CONV2D_PIXEL must be a multiple of 4, so that vector loads are aligned"
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

#define PIXELS 4  // of a tile of conv2d_nhwc: beside 8 of them, operands would not fit in registers
#define RUN CONV2D_RUN  // pixels of an item of conv2d_nhwc_depthwise
#define GROUP __attribute__((reqd_work_group_size(CONV2D_LX, CONV2D_LY, 1)))

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

//@shared conv2d_address
// Where a loop reads: a base to which constant offsets are added.
#if CONV2D_SPLIT
typedef struct {
  uint lo, hi;
} Address;
#else
typedef __global const char* Address;
#endif

Address address_of(__global const char* p) {
#if CONV2D_SPLIT
  const uint2 halves = as_uint2((ulong)p);
  const Address address = {halves.x, halves.y};
  return address;
#else
  return p;
#endif
}

uint low_half(Address a) {
#if CONV2D_SPLIT
  return a.lo;
#else
  return (uint)(ulong)a;
#endif
}

// a + offset; with `carry` the sum may pass a multiple of 4 GiB. Offsets are ints, and some are
// negative.
__global const char* place(Address a, uint offset, int carry) {
#if CONV2D_SPLIT
  const ulong far = as_ulong((uint2)(a.lo, a.hi)) + (long)(int)offset;
  return (__global const char*)(carry ? far : as_ulong((uint2)(a.lo + offset, a.hi)));
#else
  return a + (int)offset;
#endif
}

Address advanced(Address a, uint offset, int carry) { return address_of(place(a, offset, carry)); }

// base + offset with the upper half of the base, which takes no register.
Address beside(__global const void* base, int offset) {
#if CONV2D_SPLIT
  const uint2 halves = as_uint2((ulong)base);
  const Address address = {halves.x + (uint)offset, halves.y};
  return address;
#else
  return (__global const char*)base + offset;
#endif
}

// Whether the last of `bytes` from the base on has another upper half than the base.
int ends_above(__global const void* base, uint bytes) {
  return CONV2D_SPLIT && (uint)(ulong)base + (bytes - 1) < (uint)(ulong)base;
}

T4 get4(Address a, uint at, int carry) { return *(__global const T4*)place(a, at, carry); }

T get1(Address a, uint at, int carry) { return *(__global const T*)place(a, at, carry); }

float4 load4(Address a, uint at, int carry) {
  const T4 v = get4(a, at, carry);
  return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w);
}

float load1(Address a, uint at, int carry) { return (float)get1(a, at, carry); }
//@end

//@shared conv2d_memory
float load_from(__global const char* p, uint at) { return (float)*(__global const T*)(p + at); }

float4 load4_from(__global const char* p, uint at) {
  const T4 v = *(__global const T4*)(p + at);
  return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w);
}

void store1(float v, __global char* p, uint at) { *(__global T*)(p + at) = (T)v; }

void store4(float4 v, __global char* p, uint at) {
  *(__global T4*)(p + at) = (T4)((T)v.x, (T)v.y, (T)v.z, (T)v.w);
}
//@end

#define WEIGHT_STEP (4 * CONV2D_LX * SIZE)

// ---- from the sum to the output ----

// The first `channels` of four channels from k on, of pixel `pixel` of all images; k_all channels
// a pixel. `whole`: there are four, and they are aligned.
void finish_pixel(float4 sum, int pixel, int k, int channels, int k_all, int whole,
                  __global const T* b, __global const T* r, __global T* y) {
  const uint at = (pixel * k_all + k) * SIZE;
  __global const char* from = (__global const char*)r;
  __global const char* bias = (__global const char*)b;
  __global char* to = (__global char*)y;
  if (whole) {
    const float4 z = CONV2D_BIAS ? sum + load4_from(bias, k * SIZE) : sum;
    float4 v = (float4)(CONV2D_ACT(z.x), CONV2D_ACT(z.y), CONV2D_ACT(z.z), CONV2D_ACT(z.w));
    if (CONV2D_RESIDUAL) v += load4_from(from, at);
    store4(v, to, at);
    return;
  }
#define FINISH_CHANNEL(i, of)                                                       \
  if (channels > i) {                                                               \
    float v = CONV2D_BIAS ? sum.of + load_from(bias, (k + i) * SIZE) : sum.of;      \
    v = CONV2D_ACT(v);                                                              \
    if (CONV2D_RESIDUAL) v += load_from(from, at + i * SIZE);                       \
    store1(v, to, at + i * SIZE);                                                   \
  }
  FINISH_CHANNEL(0, x)
  FINISH_CHANNEL(1, y)
  FINISH_CHANNEL(2, z)
  FINISH_CHANNEL(3, w)
#undef FINISH_CHANNEL
}

// ---- the sum over the channels of a tap ----

// x at the tile's first pixel, w at the tap's weights; `pixel`: bytes from a pixel to the next.
typedef struct {
  Address x, w;
  uint pixel;
  int channels;
} Tap;

#if CONV2D_CHUNK == 0

float4 add_products(float4 sum, float4 x, float4 w0, float4 w1, float4 w2, float4 w3) {
  sum = fma((float4)(x.x), w0, sum);
  sum = fma((float4)(x.y), w1, sum);
  sum = fma((float4)(x.z), w2, sum);
  return fma((float4)(x.w), w3, sum);
}

void add_tap(float4* sum, Tap tap) {
  const uint end = low_half(tap.x) + tap.channels * SIZE;
  do {
    const float4 w0 = load4(tap.w, 0, 0), w1 = load4(tap.w, WEIGHT_STEP, 0);
    const float4 w2 = load4(tap.w, 2 * WEIGHT_STEP, 0), w3 = load4(tap.w, 3 * WEIGHT_STEP, 0);
    for (int i = 0; i < PIXELS; ++i) {
      sum[i] = add_products(sum[i], load4(tap.x, i * tap.pixel, 0), w0, w1, w2, w3);
    }
    tap.x = advanced(tap.x, 4 * SIZE, 0);
    tap.w = advanced(tap.w, 4 * WEIGHT_STEP, 0);
  } while (low_half(tap.x) != end);
}

// Of those pixels alone whose column lies inside x, wherever they lie, two channels a trip.
void add_tap_anywhere(float4* sum, Tap tap, int column, int stride, int w) {
  for (int c = 0; c < tap.channels; c += 2) {
    const float4 w0 = load4(tap.w, 0, 1), w1 = load4(tap.w, WEIGHT_STEP, 1);
    for (int i = 0; i < PIXELS; ++i) {
      if ((uint)(column + i * stride) >= (uint)w) continue;
      const T2 v = *(__global const T2*)place(tap.x, i * tap.pixel, 1);
      sum[i] = fma((float4)((float)v.y), w1, fma((float4)((float)v.x), w0, sum[i]));
    }
    tap.x = advanced(tap.x, 2 * SIZE, 1);
    tap.w = advanced(tap.w, 2 * WEIGHT_STEP, 1);
  }
}

#else

// A chain of half sums has to begin with a multiplication: compilers then keep it in pairs.
half4 add_products(half4 sum, half4 x, half4 w0, half4 w1, half4 w2, half4 w3, int begins) {
  sum = begins ? (half4)(x.x) * w0 : fma((half4)(x.x), w0, sum);
  sum = fma((half4)(x.y), w1, sum);
  sum = fma((half4)(x.z), w2, sum);
  return fma((half4)(x.w), w3, sum);
}

float4 widened(half4 v) { return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w); }

void add_tap(float4* sum, Tap tap) {
  const uint end = low_half(tap.x) + tap.channels * SIZE;
  do {
    half4 part[PIXELS];
    for (int c = 0; c < CONV2D_CHUNK; c += 4) {
      const uint at = c * WEIGHT_STEP;
      const half4 w0 = get4(tap.w, at, 0), w1 = get4(tap.w, at + WEIGHT_STEP, 0);
      const half4 w2 = get4(tap.w, at + 2 * WEIGHT_STEP, 0);
      const half4 w3 = get4(tap.w, at + 3 * WEIGHT_STEP, 0);
      for (int i = 0; i < PIXELS; ++i) {
        const half4 v = get4(tap.x, i * tap.pixel + c * SIZE, 0);
        part[i] = add_products(part[i], v, w0, w1, w2, w3, c == 0);
      }
    }
    for (int i = 0; i < PIXELS; ++i) sum[i] += widened(part[i]);
    tap.x = advanced(tap.x, CONV2D_CHUNK * SIZE, 0);
    tap.w = advanced(tap.w, CONV2D_CHUNK * WEIGHT_STEP, 0);
  } while (low_half(tap.x) != end);
}

// Of those pixels alone whose column lies inside x, wherever they lie, in the same chunks.
void add_tap_anywhere(float4* sum, Tap tap, int column, int stride, int w) {
  for (int c = 0; c < tap.channels; c += CONV2D_CHUNK) {
    half4 part[PIXELS];
    for (int i = 0; i < PIXELS; ++i) part[i] = (half4)((half)0);
    const uint stop = low_half(tap.x) + CONV2D_CHUNK * SIZE;
    do {
      const half4 w0 = get4(tap.w, 0, 1), w1 = get4(tap.w, WEIGHT_STEP, 1);
      for (int i = 0; i < PIXELS; ++i) {
        if ((uint)(column + i * stride) >= (uint)w) continue;
        const half2 v = *(__global const half2*)place(tap.x, i * tap.pixel, 1);
        part[i] = fma((half4)(v.y), w1, fma((half4)(v.x), w0, part[i]));
      }
      tap.x = advanced(tap.x, 2 * SIZE, 1);
      tap.w = advanced(tap.w, 2 * WEIGHT_STEP, 1);
    } while (low_half(tap.x) != stop);
    for (int i = 0; i < PIXELS; ++i) sum[i] += widened(part[i]);
  }
}

#endif

// ---- tiles ----

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

// ---- the kernels ----

// One work-item a tile. w is packed by conv2d_pack of conv2d.cl with CONV2D_LY = CONV2D_LX, so
// that the vectors which a group reads for one product lie side by side.
//@kernel conv2d_nhwc
//@arg    0  x           in   T[n*h*w*groups*cg]
//@arg    1  wp          in   T[ceil(groups*ceil(kg/4)/CONV2D_LX)*rows*columns*cg*4*CONV2D_LX]
//@layout wp[(tile/CONV2D_LX*taps + t)*4*CONV2D_LX + tile%CONV2D_LX*4 + i] = w[k][t], else 0
//@layout tile = g*ceil(kg/4) + j, k = g*kg + 4*j + i, t = (r*columns + s)*cg + c
//@arg    2  b           in   T[groups*kg]
//@arg    3  r           in   T[n*oh*ow*groups*kg]
//@arg    4  y           out  T[n*oh*ow*groups*kg]  may be r
//@arg    5  groups      int                        groups of channels
//@arg    6  cg          int                        input channels of a group
//@arg    7  h           int                        rows of x
//@arg    8  w           int                        columns of x
//@arg    9  kg          int                        output channels of a group
//@arg    10 rows        int                        rows of the filter
//@arg    11 columns     int                        columns of the filter
//@arg    12 oh          int                        rows of y
//@arg    13 ow          int                        columns of y
//@arg    14 stride_h    int
//@arg    15 stride_w    int
//@arg    16 pad_t       int                        rows of padding above x
//@arg    17 pad_l       int                        columns of padding left of x
//@arg    18 dilation_h  int
//@arg    19 dilation_w  int
//@null   b if CONV2D_BIAS==0
//@null   r if CONV2D_RESIDUAL==0
//@global ceil(groups*ceil(kg/4)/CONV2D_LX)*CONV2D_LX ceil(ceil(ow/4)*oh/CONV2D_LY)*CONV2D_LY n
//@local  CONV2D_LX CONV2D_LY
//@needs  groups >= 1, cg >= 1, kg >= 1, rows >= 1, columns >= 1, pad_t >= 0, pad_l >= 0
//@needs  h >= 1, w >= 1, oh >= 1, ow >= 1, cg % 4 == 0, cg % max(CONV2D_CHUNK,1) == 0
//@needs  stride_h >= 1, stride_w >= 1, dilation_h >= 1, dilation_w >= 1
__kernel GROUP void conv2d_nhwc(__global const T* x, __global const T* wp, __global const T* b,
                                __global const T* r, __global T* y, int groups, int cg, int h,
                                int w, int kg, int rows, int columns, int oh, int ow, int stride_h,
                                int stride_w, int pad_t, int pad_l, int dilation_h,
                                int dilation_w) {
  const int tile = get_global_id(0), at = get_global_id(1), n = get_group_id(2);
  const int tiles = (kg + 3) / 4, across = (ow + PIXELS - 1) / PIXELS;
  if (tile >= groups * tiles || at >= across * oh) return;
  const int group = divide(tile, tiles), in_group = 4 * (tile - group * tiles);
  const int oy = divide(at, across), ox = (at - oy * across) * PIXELS;
  const int c_all = groups * cg;
  const uint panel =
      ((int)get_group_id(0) * rows * columns * cg * CONV2D_LX + (int)get_local_id(0)) * 4 * SIZE;
  Tap tap;
  tap.pixel = (CONV2D_PIXEL ? CONV2D_PIXEL : stride_w * c_all) * SIZE;
  tap.channels = cg;
  float4 sum[PIXELS];
  for (int i = 0; i < PIXELS; ++i) sum[i] = (float4)(0.0f);
  for (int i = 0; i < rows; ++i) {
    const int row = oy * stride_h - pad_t + i * dilation_h;
    if ((uint)row >= (uint)h) continue;
    for (int j = 0; j < columns; ++j) {
      const int column = ox * stride_w - pad_l + j * dilation_w;
      const int last = column + (PIXELS - 1) * stride_w;
      if (column >= w || last < 0) continue;
      // Of a column left of the row, and of a later one that lies inside.
      const int x_at = (((n * h + row) * w + column) * c_all + group * cg) * (int)SIZE;
      const uint w_at = panel + (i * columns + j) * cg * WEIGHT_STEP;
      if (column < 0 || last >= w || ends_above(x, x_at + (PIXELS - 1) * tap.pixel + cg * SIZE) ||
          ends_above(wp, w_at + cg * WEIGHT_STEP)) {
        tap.x = address_of((__global const char*)x + x_at);
        tap.w = address_of((__global const char*)wp + w_at);
        add_tap_anywhere(sum, tap, column, stride_w, w);
      } else {
        tap.x = beside(x, x_at);
        tap.w = beside(wp, w_at);
        add_tap(sum, tap);
      }
    }
  }
  const int pixel = (n * oh + oy) * ow + ox, k = group * kg + in_group, k_all = groups * kg;
  // Groups of channels need not begin on multiples of 4.
  const int channels = kg - in_group, whole = channels > 3 && ((k | k_all) & 3) == 0;
#define FINISH(i) \
  if (ox + i < ow) finish_pixel(sum[i], pixel + i, k, channels, k_all, whole, b, r, y);
  FINISH(0)
  FINISH(1)
  FINISH(2)
  FINISH(3)
#undef FINISH
}

// Of a 3x3 filter of each channel. One work-item for four channels of RUN pixels of a
// row: column by column of x, each read once for a row of taps.
#if CONV2D_CHUNK
typedef half4 Sum;
#else
typedef float4 Sum;
#endif

Sum sum_of(T4 v) {
#if CONV2D_CHUNK
  return v;
#else
  return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w);
#endif
}

#define LAST_COLUMN ((RUN - 1) * CONV2D_STRIDE + 2)

// `from`: the first column of the row; `inside` has a bit for each column that lies inside x.
void add_row_of_taps(Sum* sum, __global const char* from, uint column, int inside,
                     __global const char* w, uint tap) {
  const Sum w0 = sum_of(*(__global const T4*)w), w1 = sum_of(*(__global const T4*)(w + tap));
  const Sum w2 = sum_of(*(__global const T4*)(w + 2 * tap));
  for (int j = 0; j <= LAST_COLUMN; ++j) {
    if ((inside >> j & 1) == 0) continue;
    const Sum v = sum_of(*(__global const T4*)(from + (int)(j * column)));
    // Column j is tap 2, 1 and 0 of pixels side by side.
    const int i2 = (j - 2) / CONV2D_STRIDE, i1 = (j - 1) / CONV2D_STRIDE, i0 = j / CONV2D_STRIDE;
    if (j >= 2 && i2 * CONV2D_STRIDE == j - 2) sum[i2] = fma(v, w2, sum[i2]);
    if (j >= 1 && i1 * CONV2D_STRIDE == j - 1 && i1 < RUN) {
      sum[i1] = fma(v, w1, sum[i1]);
    }
    if (i0 * CONV2D_STRIDE == j && i0 < RUN) sum[i0] = fma(v, w0, sum[i0]);
  }
}

//@kernel conv2d_nhwc_depthwise
//@arg    0  x         in   T[n*h*w*channels]
//@arg    1  wp        in   T[9*channels]
//@layout wp[t*channels + c] = w[c][t], t = r*3 + s
//@arg    2  b         in   T[channels]
//@arg    3  r         in   T[n*oh*ow*channels]
//@arg    4  y         out  T[n*oh*ow*channels]  may be r
//@arg    5  channels  int                       channels of x and y
//@arg    6  h         int                       rows of x
//@arg    7  w         int                       columns of x
//@arg    8  oh        int                       rows of y
//@arg    9  ow        int                       columns of y
//@arg    10 pad_t     int                       rows of padding above x
//@arg    11 pad_l     int                       columns of padding left of x
//@null   b if CONV2D_BIAS==0
//@null   r if CONV2D_RESIDUAL==0
//@global ceil(channels/(4*CONV2D_LX))*CONV2D_LX ceil(ceil(ow/CONV2D_RUN)*oh/CONV2D_LY)*CONV2D_LY n
//@local  CONV2D_LX CONV2D_LY
//@needs  channels >= 4, channels % 4 == 0, h >= 1, w >= 1, pad_t >= 0, pad_l >= 0
__kernel GROUP void conv2d_nhwc_depthwise(__global const T* x, __global const T* wp,
                                          __global const T* b, __global const T* r,
                                          __global T* y, int channels, int h, int w, int oh,
                                          int ow, int pad_t, int pad_l) {
  const int c = (int)get_global_id(0) * 4, at = get_global_id(1), n = get_group_id(2);
  const int across = (ow + RUN - 1) / RUN;
  if (c >= channels || at >= across * oh) return;
  const int oy = divide(at, across), ox = (at - oy * across) * RUN;
  const int iy = oy * CONV2D_STRIDE - pad_t, ix = ox * CONV2D_STRIDE - pad_l;
  int inside = 0;
  for (int j = 0; j <= LAST_COLUMN; ++j) inside |= ((uint)(ix + j) < (uint)w) << j;
  const uint column = CONV2D_PIXEL ? CONV2D_PIXEL * SIZE : channels * SIZE, row = w * column;
  // ix and iy may be -1 or less: the sums are right again for every column and row inside.
  __global const char* from =
      (__global const char*)x + (((n * h + iy) * w + ix) * channels + c) * (int)SIZE;
  __global const char* weights = (__global const char*)wp + c * SIZE;
  Sum sum[RUN];
  for (int i = 0; i < RUN; ++i) sum[i] = (Sum)(0);
  const uint tap = column;
  if ((uint)iy < (uint)h) add_row_of_taps(sum, from, column, inside, weights, tap);
  if ((uint)(iy + 1) < (uint)h) {
    add_row_of_taps(sum, from + row, column, inside, weights + 3 * tap, tap);
  }
  if ((uint)(iy + 2) < (uint)h) {
    add_row_of_taps(sum, from + 2 * row, column, inside, weights + 6 * tap, tap);
  }
  const int pixel = (n * oh + oy) * ow + ox;
#define FINISH(i)                                                                               \
  if (ox + i < ow) {                                                                            \
    const float4 v = (float4)((float)sum[i].x, (float)sum[i].y, (float)sum[i].z, (float)sum[i].w); \
    finish_pixel(v, pixel + i, c, 4, channels, 1, b, r, y);                                        \
  }
  FINISH(0)
  FINISH(1)
  FINISH(2)
  FINISH(3)
#if RUN > 4
  FINISH(4)
  FINISH(5)
  FINISH(6)
  FINISH(7)
#endif
#undef FINISH
}

// w[c][t] into wp[t][c], for conv2d_nhwc_depthwise.
//@kernel conv2d_nhwc_transpose
//@arg    0  w         in   T[9*channels]
//@arg    1  wp        out  T[9*channels]
//@arg    2  channels  int
//@global ceil(channels/CONV2D_LX)*CONV2D_LX ceil(9/CONV2D_LY)*CONV2D_LY
//@local  CONV2D_LX CONV2D_LY
//@needs  channels >= 1
__kernel GROUP void conv2d_nhwc_transpose(__global const T* w, __global T* wp, int channels) {
  const int c = get_global_id(0), t = get_global_id(1);
  if (c < channels && t < 9) wp[t * channels + c] = w[c * 9 + t];
}

// One work-item an output, by scalar loads; w as it is, as w[k,rows,columns,cg].
//@kernel conv2d_nhwc_plain
//@arg    0  x           in   T[n*h*w*groups*cg]
//@arg    1  weights     in   T[groups*kg*rows*columns*cg]
//@arg    2  b           in   T[groups*kg]
//@arg    3  r           in   T[n*oh*ow*groups*kg]
//@arg    4  y           out  T[n*oh*ow*groups*kg]  may be r
//@arg    5  groups      int                        groups of channels
//@arg    6  cg          int                        input channels of a group
//@arg    7  h           int                        rows of x
//@arg    8  w           int                        columns of x
//@arg    9  kg          int                        output channels of a group
//@arg    10 rows        int                        rows of the filter
//@arg    11 columns     int                        columns of the filter
//@arg    12 oh          int                        rows of y
//@arg    13 ow          int                        columns of y
//@arg    14 stride_h    int
//@arg    15 stride_w    int
//@arg    16 pad_t       int                        rows of padding above x
//@arg    17 pad_l       int                        columns of padding left of x
//@arg    18 dilation_h  int
//@arg    19 dilation_w  int
//@null   b if CONV2D_BIAS==0
//@null   r if CONV2D_RESIDUAL==0
//@global ceil(groups*kg/CONV2D_LX)*CONV2D_LX ceil(ow/CONV2D_LY)*CONV2D_LY n*oh
//@local  CONV2D_LX CONV2D_LY
//@needs  groups >= 1, cg >= 1, kg >= 1, rows >= 1, columns >= 1, pad_t >= 0, pad_l >= 0
//@needs  h >= 1, w >= 1, oh >= 1, ow >= 1
//@needs  stride_h >= 1, stride_w >= 1, dilation_h >= 1, dilation_w >= 1
__kernel GROUP void conv2d_nhwc_plain(__global const T* x, __global const T* weights,
                                      __global const T* b, __global const T* r, __global T* y,
                                      int groups, int cg, int h, int w, int kg, int rows,
                                      int columns, int oh, int ow, int stride_h, int stride_w,
                                      int pad_t, int pad_l, int dilation_h, int dilation_w) {
  const int k = get_global_id(0), ox = get_global_id(1), row = get_global_id(2);
  if (k >= groups * kg || ox >= ow) return;
  const int n = row / oh, oy = row - n * oh;
  const int iy = oy * stride_h - pad_t, ix = ox * stride_w - pad_l;
  float sum = 0.0f;
  for (int i = 0; i < rows; ++i) {
    const int y_in = iy + i * dilation_h;
    if ((uint)y_in >= (uint)h) continue;
    for (int j = 0; j < columns; ++j) {
      const int x_in = ix + j * dilation_w;
      if ((uint)x_in >= (uint)w) continue;
      const int from = (((n * h + y_in) * w + x_in) * groups + k / kg) * cg;
      const int w_from = ((k * rows + i) * columns + j) * cg;
      for (int c = 0; c < cg; ++c) {
        sum = fma((float)x[from + c], (float)weights[w_from + c], sum);
      }
    }
  }
  float v = CONV2D_ACT(sum + (CONV2D_BIAS ? (float)b[k] : 0.0f));
  const int to = (row * ow + ox) * groups * kg + k;
  if (CONV2D_RESIDUAL) v += (float)r[to];
  y[to] = (T)v;
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops conv2d_nhwc
//@loop   rows  over the rows of the filter
//@loop   columns  over its columns; of rows that lie inside x
//@loop   cg/max(CONV2D_CHUNK,4)  over the channels of a tap
//@loop   0*cg  over channels of taps that some pixels do not have: few, and not counted
//@loop   0*cg if CONV2D_CHUNK>0  over the channels of a chunk, there

//@loops conv2d_nhwc_plain
//@loop   rows  over the rows of the filter
//@loop   columns  over its columns
//@loop   cg  over the input channels
