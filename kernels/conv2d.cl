// SPDX-License-Identifier: MIT
// conv2d.cl - y[n,k,oy,ox] = act(sum_c,r,s w[k,c,r,s] * x[n,c,iy,ix] + b[k]) + r[n,k,oy,ox]
//             iy = oy * stride_h - pad_t + r * dilation_h, ix likewise; taps outside x are left out
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). Sums in the
// order of c, r, s by fma, in one float per output. What follows the sum is float
// too.
//
// All tensors are dense and start on multiples of 16 bytes; every byte offset into them fits an
// int. An absent b counts as zeros, and an absent r is not added; both may then be null. y may be
// r, element on element; else no output overlaps an input. Output channels of a group of channels
// read the input channels of that group alone.
//
//@define CLAM_F16         off                           store tensors as half
//@define CLAM_NATIVE      off                           activations by native_exp2 and native_recip
//@define CONV2D_LX        16 {1,2,4,8,16}               work-items of a group along the map
//@define CONV2D_LY        4 {1,2,4,8,16,32,64,128,256}  work-items of a group along k
//@define CONV2D_BIAS      0 {0,1}                       b is added
//@define CONV2D_RESIDUAL  0 {0,1}                       r is added
//@define CONV2D_ACT       none {none,relu,relu6,silu,gelu,gelu_tanh,sigmoid,tanh,exp,hard_swish,clip,leaky_relu,hard_sigmoid,scaled}  activation

//@shared options
#ifndef CONV2D_LX
#define CONV2D_LX 16
#endif
#if CONV2D_LX < 1 || CONV2D_LX > 16 || CONV2D_LX & (CONV2D_LX - 1)
#error "conv2d.cl: CONV2D_LX must be a power of two from 1 to 16"
#endif
#ifndef CONV2D_LY
#define CONV2D_LY 4
#endif
#if CONV2D_LY < 1 || CONV2D_LY > 256 || CONV2D_LY & (CONV2D_LY - 1)
#error "conv2d.cl: CONV2D_LY must be a power of two from 1 to 256"
#endif
#ifndef CONV2D_BIAS
#define CONV2D_BIAS 0
#endif
#if CONV2D_BIAS != 0 && CONV2D_BIAS != 1
#error "conv2d.cl: CONV2D_BIAS must be 0 or 1"
#endif
#ifndef CONV2D_RESIDUAL
#define CONV2D_RESIDUAL 0
#endif
#if CONV2D_RESIDUAL != 0 && CONV2D_RESIDUAL != 1
#error "conv2d.cl: CONV2D_RESIDUAL must be 0 or 1"
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

// ---- the kernels ----

// w into the panels that conv2d_3x3 and conv2d_nhwc read; one work-item for four channels at one
// tap. With layout=nhwc the order of t is that of w: (r*columns + s)*cg + c.
//@kernel conv2d_pack
//@arg    0  w       in   T[groups*kg*taps]
//@arg    1  wp      out  T[ceil(groups*ceil(kg/4)/CONV2D_LY)*taps*4*CONV2D_LY]
//@layout wp[(tile/CONV2D_LY*taps + t)*4*CONV2D_LY + tile%CONV2D_LY*4 + i] = w[k][t], else 0
//@layout tile = g*ceil(kg/4) + j, k = g*kg + 4*j + i, t = (c*rows + r)*columns + s
//@arg    2  groups  int            groups of channels
//@arg    3  kg      int            output channels of a group
//@arg    4  taps    int            weights of an output channel
//@global ceil(taps/CONV2D_LX)*CONV2D_LX ceil(groups*ceil(kg/4)/CONV2D_LY)*CONV2D_LY
//@local  CONV2D_LX CONV2D_LY
//@needs  groups >= 1, kg >= 1, taps >= 1
__kernel GROUP void conv2d_pack(__global const T* w, __global T* wp, int groups, int kg, int taps) {
  const int t = get_global_id(0), tiles = (kg + 3) / 4, tile = get_global_id(1);
  if (t >= taps) return;
  const int g = tile / tiles, in_group = 4 * (tile - g * tiles);
  const int channels = g < groups ? kg - in_group : 0;
  const int from = (g * kg + in_group) * taps + t;
  T4 v = (T4)((T)0);
  if (channels > 0) v.x = w[from];
  if (channels > 1) v.y = w[from + taps];
  if (channels > 2) v.z = w[from + 2 * taps];
  if (channels > 3) v.w = w[from + 3 * taps];
  const int at = ((int)get_group_id(1) * taps + t) * CONV2D_LY + (int)get_local_id(1);
  ((__global T4*)wp)[at] = v;
}

// One work-item an output, by scalar loads; w as it is, as w[k,cg,rows,columns].
//@kernel conv2d_plain
//@arg    0  x           in   T[n*groups*cg*h*w]
//@arg    1  weights     in   T[groups*kg*cg*rows*columns]
//@arg    2  b           in   T[groups*kg]
//@arg    3  r           in   T[n*groups*kg*oh*ow]
//@arg    4  y           out  T[n*groups*kg*oh*ow]  may be r
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
//@global ceil(ow/CONV2D_LX)*CONV2D_LX ceil(oh/CONV2D_LY)*CONV2D_LY n*groups*kg
//@local  CONV2D_LX CONV2D_LY
//@needs  groups >= 1, cg >= 1, kg >= 1, rows >= 1, columns >= 1, pad_t >= 0, pad_l >= 0
//@needs  h >= 1, w >= 1, oh >= 1, ow >= 1
//@needs  stride_h >= 1, stride_w >= 1, dilation_h >= 1, dilation_w >= 1
__kernel GROUP void conv2d_plain(__global const T* x, __global const T* weights,
                                 __global const T* b, __global const T* r, __global T* y,
                                 int groups, int cg, int h, int w, int kg, int rows, int columns,
                                 int oh, int ow, int stride_h, int stride_w, int pad_t, int pad_l,
                                 int dilation_h, int dilation_w) {
  const int ox = get_global_id(0), oy = get_global_id(1), plane = get_global_id(2);
  if (ox >= ow || oy >= oh) return;
  const int k = plane % (groups * kg);
  const int iy = oy * stride_h - pad_t, ix = ox * stride_w - pad_l;
  // plane / kg counts the groups of channels of all images.
  int from = (plane / kg * cg * h + iy) * w + ix, w_from = k * cg * rows * columns;
  float sum = 0.0f;
  for (int c = 0; c < cg; ++c, from += h * w) {
    for (int i = 0; i < rows; ++i) {
      const int inside = (uint)(iy + i * dilation_h) < (uint)h;
      for (int j = 0; j < columns; ++j, ++w_from) {
        if (!inside || (uint)(ix + j * dilation_w) >= (uint)w) continue;
        const int at = from + i * dilation_h * w + j * dilation_w;
        sum = fma((float)x[at], (float)weights[w_from], sum);
      }
    }
  }
  float v = CONV2D_ACT(sum + (CONV2D_BIAS ? (float)b[k] : 0.0f));
  const int to = (plane * oh + oy) * ow + ox;
  if (CONV2D_RESIDUAL) v += (float)r[to];
  y[to] = (T)v;
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops conv2d_plain
//@loop   cg  over the input channels
//@loop   rows  over the rows of the filter
//@loop   columns  over its columns
