// SPDX-License-Identifier: MIT
// scale_shift.cl - dst = act(src * scale[c] + shift[c]), c being the place along an axis
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). The product and
// the sum are one fma in float; the activation is float, and its result is rounded once to T.
//
// Axes before and after the one of n channels are one each: src is [outer, n, inner].
//
//   scale_shift_rows  rows of `inner` elements of a channel: NCHW
//   scale_shift_last  inner is 1, so scale and shift lie as the elements of a row do: NHWC
//
// Every byte offset fits an int. Buffers start on multiples of 16 bytes, as OpenCL's do. dst may be
// src; else it overlaps no input.
//
//@define CLAM_F16          off                            store tensors as half
//@define CLAM_NATIVE       off                            activations by native_exp2 and native_recip
//@define SCALE_SHIFT_UNIT  1 {1,4}                        neighbours of an item
//@define SCALE_SHIFT_LX    16 {1,2,4,8,16,32,64,128,256}  work-items of a group along a row
//@define SCALE_SHIFT_LY    4 {1,2,4,8,16,32,64,128,256}   and across rows
//@define SCALE_SHIFT_ACT   none {none,relu,relu6,silu,gelu,gelu_tanh,sigmoid,tanh,exp,hard_swish,clip,leaky_relu,hard_sigmoid,scaled}  activation

//@shared options
#ifndef SCALE_SHIFT_UNIT
#define SCALE_SHIFT_UNIT 1
#endif
#if SCALE_SHIFT_UNIT != 1 && SCALE_SHIFT_UNIT != 4
#error "scale_shift.cl: SCALE_SHIFT_UNIT must be 1 or 4"
#endif
#ifndef SCALE_SHIFT_LX
#define SCALE_SHIFT_LX 16
#endif
#if SCALE_SHIFT_LX < 1 || SCALE_SHIFT_LX > 256 || SCALE_SHIFT_LX & (SCALE_SHIFT_LX - 1)
#error "scale_shift.cl: SCALE_SHIFT_LX must be a power of two from 1 to 256"
#endif
#ifndef SCALE_SHIFT_LY
#define SCALE_SHIFT_LY 4
#endif
#if SCALE_SHIFT_LY < 1 || SCALE_SHIFT_LY > 256 || SCALE_SHIFT_LY & (SCALE_SHIFT_LY - 1)
#error "scale_shift.cl: SCALE_SHIFT_LY must be a power of two from 1 to 256"
#endif
#ifndef SCALE_SHIFT_ACT
#define SCALE_SHIFT_ACT none
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

#define GROUP __attribute__((reqd_work_group_size(SCALE_SHIFT_LX, SCALE_SHIFT_LY, 1)))

// ---- activations: SCALE_SHIFT_ACT is the name of one of these, or of a built-in ----

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

// ---- units ----

// A 64-bit base and an unsigned byte offset cost Mali compilers the least.
#if SCALE_SHIFT_UNIT == 4
//@shared unit_of_four
typedef float4 Unit;

float4 load(__global const T* p, uint at) {
  const T4 v = *(__global const T4*)((__global const char*)p + at);
  return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w);
}

void store(float4 v, __global T* p, uint at) {
  *(__global T4*)((__global char*)p + at) = (T4)((T)v.x, (T)v.y, (T)v.z, (T)v.w);
}
//@end

float4 activated(float4 z) {
  return (float4)(SCALE_SHIFT_ACT(z.x), SCALE_SHIFT_ACT(z.y), SCALE_SHIFT_ACT(z.z),
                  SCALE_SHIFT_ACT(z.w));
}
#else
//@shared unit_of_one
typedef float Unit;

float load(__global const T* p, uint at) {
  return (float)*(__global const T*)((__global const char*)p + at);
}

void store(float v, __global T* p, uint at) { *(__global T*)((__global char*)p + at) = (T)v; }
//@end

float activated(float z) { return SCALE_SHIFT_ACT(z); }
#endif

// ---- kernels ----

//@kernel scale_shift_rows
//@arg    0 src   in  T[outer*n*inner]
//@arg    1 scale in  T[n]
//@arg    2 shift in  T[n]
//@arg    3 dst   out T[outer*n*inner]  may be src
//@arg    4 n     int
//@arg    5 inner int
//@global ceil(inner/SCALE_SHIFT_UNIT/SCALE_SHIFT_LX)*SCALE_SHIFT_LX, ceil(n/SCALE_SHIFT_LY)*SCALE_SHIFT_LY, outer
//@local  SCALE_SHIFT_LX, SCALE_SHIFT_LY
//@needs  n >= 1, inner >= 1, inner % SCALE_SHIFT_UNIT == 0
__kernel GROUP void scale_shift_rows(__global const T* src, __global const T* scale,
                                     __global const T* shift, __global T* dst, int n, int inner) {
  const uint i = get_global_id(0) * SCALE_SHIFT_UNIT, c = get_global_id(1);
  if (i >= (uint)inner || c >= (uint)n) return;
  const uint at = (((uint)get_global_id(2) * n + c) * inner + i) * SIZE;
  const float factor = (float)scale[c], term = (float)shift[c];
  store(activated(fma(load(src, at), (Unit)(factor), (Unit)(term))), dst, at);
}

//@kernel scale_shift_last
//@arg    0 src   in  T[rows*n]
//@arg    1 scale in  T[n]
//@arg    2 shift in  T[n]
//@arg    3 dst   out T[rows*n]  may be src
//@arg    4 n     int
//@arg    5 rows  int
//@global ceil(n/SCALE_SHIFT_UNIT/SCALE_SHIFT_LX)*SCALE_SHIFT_LX, ceil(rows/SCALE_SHIFT_LY)*SCALE_SHIFT_LY
//@local  SCALE_SHIFT_LX, SCALE_SHIFT_LY
//@needs  n >= 1, rows >= 1, n % SCALE_SHIFT_UNIT == 0
__kernel GROUP void scale_shift_last(__global const T* src, __global const T* scale,
                                     __global const T* shift, __global T* dst, int n, int rows) {
  const uint c = get_global_id(0) * SCALE_SHIFT_UNIT, row = get_global_id(1);
  if (c >= (uint)n || row >= (uint)rows) return;
  const uint at = (row * n + c) * SIZE;
  const Unit z = fma(load(src, at), load(scale, c * SIZE), load(shift, c * SIZE));
  store(activated(z), dst, at);
}
