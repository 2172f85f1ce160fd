// SPDX-License-Identifier: MIT
// conv_transpose.cl - y[n,k,oy,ox] = act(sum_r,c,s w[c,k,r,s] * x[n,c,iy,ix] + b[k])
//                     over taps with oy = iy * stride_h - pad_t + r * dilation_h, and ox likewise
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). Sums in the
// order of r, c, s by fma, in one float per output. What follows the sum is float too.
//
// All tensors are dense and start on multiples of 16 bytes; every byte offset into them fits an
// int. An absent b counts as zeros, and may be null. No output overlaps an input. w is
// w[groups*cg,kg,rows,columns]. Output channels of a group read the input channels of that group
// alone.
//
//@define CLAM_F16        off                           store tensors as half
//@define CLAM_NATIVE     off                           activations by native_exp2 and native_recip
//@define CONVT_LX        16 {1,2,4,8,16}               work-items of a group along the columns of y
//@define CONVT_LY        4 {1,2,4,8,16,32,64,128,256}  work-items of a group along the rows of y
//@define CONVT_CHANNELS  4 {1,2,4}                     channels of a tile of packed weights
//@define CONVT_BIAS      0 {0,1}                       b is added
//@define CONVT_ACT       none {none,relu,relu6,silu,gelu,gelu_tanh,sigmoid,tanh,exp,hard_swish,clip,leaky_relu,hard_sigmoid,scaled}  activation

//@shared options
#ifndef CONVT_LX
#define CONVT_LX 16
#endif
#if CONVT_LX < 1 || CONVT_LX > 16 || CONVT_LX & (CONVT_LX - 1)
#error "conv_transpose.cl: CONVT_LX must be a power of two from 1 to 16"
#endif
#ifndef CONVT_LY
#define CONVT_LY 4
#endif
#if CONVT_LY < 1 || CONVT_LY > 256 || CONVT_LY & (CONVT_LY - 1)
#error "conv_transpose.cl: CONVT_LY must be a power of two from 1 to 256"
#endif
#ifndef CONVT_CHANNELS
#define CONVT_CHANNELS 4
#endif
#if CONVT_CHANNELS != 1 && CONVT_CHANNELS != 2 && CONVT_CHANNELS != 4
#error "conv_transpose.cl: CONVT_CHANNELS must be 1, 2 or 4"
#endif
#ifndef CONVT_BIAS
#define CONVT_BIAS 0
#endif
#if CONVT_BIAS != 0 && CONVT_BIAS != 1
#error "conv_transpose.cl: CONVT_BIAS must be 0 or 1"
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

#define CHANNELS CONVT_CHANNELS

// ---- the kernels ----

// The first tap from which `at`, a row or column of y in front of which nothing is cut off, takes a
// pixel of x.
int first_tap(int at, int taps, int stride, int dilation) {
  int tap = 0;
  while (tap < taps && (at - tap * dilation) % stride != 0) ++tap;
  return tap;
}

// One work-item an output, by scalar loads.
//@kernel conv_transpose_plain
//@arg    0  x           in   T[n*groups*cg*h*w]
//@arg    1  weights     in   T[groups*cg*kg*rows*columns]
//@arg    2  b           in   T[groups*kg]
//@arg    3  y           out  T[n*groups*kg*oh*ow]
//@arg    4  groups      int                        groups of channels
//@arg    5  cg          int                        input channels of a group
//@arg    6  h           int                        rows of x
//@arg    7  w           int                        columns of x
//@arg    8  kg          int                        output channels of a group
//@arg    9  rows        int                        rows of the filter
//@arg    10 columns     int                        columns of the filter
//@arg    11 oh          int                        rows of y
//@arg    12 ow          int                        columns of y
//@arg    13 stride_h    int
//@arg    14 stride_w    int
//@arg    15 pad_t       int                        rows cut off above y
//@arg    16 pad_l       int                        columns cut off left of y
//@arg    17 dilation_h  int
//@arg    18 dilation_w  int
//@arg    19 step_h      int                        rows of the filter from one of an output to its next
//@arg    20 step_w      int                        columns likewise
//@null   b if CONVT_BIAS==0
//@global ceil(ow/CONVT_LX)*CONVT_LX ceil(oh/CONVT_LY)*CONVT_LY n*groups*kg
//@local  CONVT_LX CONVT_LY
//@needs  groups >= 1, cg >= 1, kg >= 1, rows >= 1, columns >= 1, pad_t >= 0, pad_l >= 0
//@needs  h >= 1, w >= 1, oh >= 1, ow >= 1
//@needs  stride_h >= 1, stride_w >= 1, dilation_h >= 1, dilation_w >= 1
//@needs  step_h >= 1, step_w >= 1, step_h*dilation_h % stride_h == 0
//@needs  step_w*dilation_w % stride_w == 0
__kernel GROUP void conv_transpose_plain(__global const T* x, __global const T* weights,
                                         __global const T* b, __global T* y, int groups, int cg,
                                         int h, int w, int kg, int rows, int columns, int oh,
                                         int ow, int stride_h, int stride_w, int pad_t, int pad_l,
                                         int dilation_h, int dilation_w, int step_h, int step_w) {
  const int ox = get_global_id(0), oy = get_global_id(1), plane = get_global_id(2);
  if (ox >= ow || oy >= oh) return;
  // Groups of channels, those of all images counted.
  const int group = plane / kg, k = plane % (groups * kg), taps = rows * columns;
  const int first_s = first_tap(ox + pad_l, columns, stride_w, dilation_w);
  const int first_ix = (ox + pad_l - first_s * dilation_w) / stride_w;
  const int back = step_w * dilation_w / stride_w;
  float sum = 0.0f;
  for (int r = first_tap(oy + pad_t, rows, stride_h, dilation_h); r < rows; r += step_h) {
    const int iy = (oy + pad_t - r * dilation_h) / stride_h;
    if ((uint)iy >= (uint)h) continue;
    int from = (group * cg * h + iy) * w;
    int w_from = (k / kg * cg * kg + k % kg) * taps + r * columns;
    for (int c = 0; c < cg; ++c, from += h * w, w_from += kg * taps) {
      int ix = first_ix;
      for (int s = first_s; s < columns; s += step_w, ix -= back) {
        if ((uint)ix < (uint)w) sum = fma((float)x[from + ix], (float)weights[w_from + s], sum);
      }
    }
  }
  // An absent b is a 0 that no compiler knows: sums of zeros would be -0 then.
  const float bias = CONVT_BIAS ? (float)b[k] : as_float(ow >> 31);
  y[(plane * oh + oy) * ow + ox] = (T)CONVT_ACT(sum + bias);
}

// w into the order in which conv_transpose_phases reads it, as floats; one work-item for the
// channels of a tile at one tap.
//@kernel conv_transpose_pack
//@arg    0  w       in   T[groups*cg*kg*rows*columns]
//@arg    1  wp      out  float[groups*ceil(kg/CONVT_CHANNELS)*rows*cg*columns*CONVT_CHANNELS]
//@layout wp[(((g*ceil(kg/CONVT_CHANNELS) + j/CONVT_CHANNELS)*rows + r)*cg + c)*columns + s][j%CONVT_CHANNELS]
//@layout = w[g*cg + c][j][r][s], and zeros for j from kg on
//@arg    2  groups  int  groups of channels
//@arg    3  cg      int  input channels of a group
//@arg    4  kg      int  output channels of a group
//@arg    5  rows    int  rows of the filter
//@arg    6  columns int  columns of the filter
//@global ceil(rows*cg*columns/CONVT_LX)*CONVT_LX ceil(groups*ceil(kg/CONVT_CHANNELS)/CONVT_LY)*CONVT_LY
//@local  CONVT_LX CONVT_LY
//@needs  groups >= 1, cg >= 1, kg >= 1, rows >= 1, columns >= 1
__kernel GROUP void conv_transpose_pack(__global const T* w, __global float* wp, int groups, int cg,
                                        int kg, int rows, int columns) {
  const int at = get_global_id(0), tile = get_global_id(1);
  const int tiles = (kg + CHANNELS - 1) / CHANNELS, taps = rows * cg * columns;
  if (at >= taps || tile >= groups * tiles) return;
  const int g = tile / tiles, channel = (tile - g * tiles) * CHANNELS;
  const int r = at / (cg * columns), c = at / columns % cg, s = at % columns;
  for (int i = 0; i < CHANNELS; ++i) {
    const int k = channel + i;
    const int from = (((g * cg + c) * kg + min(k, kg - 1)) * rows + r) * columns + s;
    wp[(tile * taps + at) * CHANNELS + i] = k < kg ? (float)w[from] : 0.0f;
  }
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops conv_transpose_plain
//@loop   0..min(columns,stride_w)-1  over columns of the filter, up to the output's first
//@loop   0..min(rows,stride_h)-1  over its rows likewise
//@loop   floor(rows/step_h)..ceil(rows/step_h)  over the output's rows
//@loop   cg  over the input channels
//@loop   floor(columns/step_w)..ceil(columns/step_w)  over its columns

//@loops conv_transpose_pack
//@loop   CONVT_CHANNELS  over the channels of a tile
