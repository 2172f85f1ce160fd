// SPDX-License-Identifier: MIT
// unary.cl - dst = op(scale * src + shift), element by element
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). scale * src +
// shift is one fma in float. op is float too, and the result is rounded once to T. So exp of a half
// above 11.0899 is infinite.
//
// NaN gives NaN. Infinities, zeros of both signs and numbers outside of op's domain give what C's
// functions give. log(-1), sqrt(-1) and sin(inf) are NaN, log(0) is -inf, rsqrt(0) is inf. Where
// the device takes denormal numbers for 0, so does this.
//
// An item has four neighbours, as one vector; the last one has what is left, one by one.
//
//   item      0        1        2      3           n = 14
//   element   0 1 2 3  4 5 6 7  8 ...  12 13
//
// Every byte offset fits an int. Buffers start on multiples of 16 bytes, as OpenCL's do. dst may be
// src; else it does not overlap src.
//
//@define CLAM_F16      off                    store tensors as half
//@define CLAM_NATIVE   off                    activations by native_exp2 and native_recip
//@define UNARY_WG      64 {16,32,64,128,256}  work-items of a group
//@define UNARY_OP      exp {exp,log,erf_rational,gelu,gelu_tanh,sigmoid,silu,tanh,relu,relu6,sqrt,rsqrt,sin,cos,hard_swish,clip,leaky_relu,hard_sigmoid,elu,softplus,mish,fabs,negate,reciprocal,power,floor,ceil}  the function
//@define UNARY_AFFINE  1 {0,1}                0: scale is 1 and shift 0
//@define UNARY_WHOLE   0 {0,1}                1: n is a multiple of 4, nothing is left

//@shared options
#ifndef UNARY_WG
#define UNARY_WG 64
#endif
#if UNARY_WG < 16 || UNARY_WG > 256 || UNARY_WG & (UNARY_WG - 1)
#error "unary.cl: UNARY_WG must be a power of two from 16 to 256"
#endif
#ifndef UNARY_OP
#define UNARY_OP exp
#endif
#ifndef UNARY_AFFINE
#define UNARY_AFFINE 1
#endif
#if UNARY_AFFINE != 0 && UNARY_AFFINE != 1
#error "unary.cl: UNARY_AFFINE must be 0 or 1"
#endif
#ifndef UNARY_WHOLE
#define UNARY_WHOLE 0
#endif
#if UNARY_WHOLE != 0 && UNARY_WHOLE != 1
#error "unary.cl: UNARY_WHOLE must be 0 or 1"
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

#define WHOLE UNARY_WHOLE
#define GROUP __attribute__((reqd_work_group_size(UNARY_WG, 1, 1)))

// ---- activations: UNARY_OP is the name of one of these, of one below, or of a built-in ----

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

// ---- functions that are no activations ----

float negate(float z) { return -z; }

float reciprocal(float z) { return 1.0f / z; }

float power(float z) { return pow(z, CLAM_ACT_ALPHA); }

float elu(float z) { return z < 0.0f ? CLAM_ACT_ALPHA * expm1(z) : z; }

float softplus(float z) { return relu(z) + log1p(exp_minus(fabs(z))); }

// z * tanh(log(1 + exp(z))) = z * n / (n + 2), n = exp(z) * (exp(z) + 2); both over exp(z)^2 where
// z is above 0
float mish(float z) {
  const float e = exp_minus(fabs(z));
  const float n = z < 0.0f ? e * (e + 2.0f) : fma(2.0f, e, 1.0f);
  return z * (n / (n + (z < 0.0f ? 2.0f : 2.0f * e * e)));
}

// The error function by an odd rational approximation, x P(x^2) / Q(x^2) of degrees 13 and 8, with the coefficients of
// the library Eigen. Its relative error is at most 3.4e-7. From 3.92 on it is 1 in float.
float erf_rational(float x) {
  const float a = fabs(x) > 3.92f ? copysign(3.92f, x) : x;  // NaN stays NaN
  const float s = a * a;
  float p = fma(-2.72614225801306e-10f, s, 2.77068142495902e-08f);
  p = fma(p, s, -2.10102402082508e-06f);
  p = fma(p, s, -5.69250639462346e-05f);
  p = fma(p, s, -7.34990630326855e-04f);
  p = fma(p, s, -2.95459980854025e-03f);
  p = fma(p, s, -1.60960333262415e-02f);
  float q = fma(-1.45660718464996e-05f, s, -2.13374055278905e-04f);
  q = fma(q, s, -1.68282697438203e-03f);
  q = fma(q, s, -7.37332916720468e-03f);
  q = fma(q, s, -1.42647390514189e-02f);
  const float y = a * (p / q);
  return y > 1.0f ? 1.0f : (y < -1.0f ? -1.0f : y);
}

// ---- memory ----

//@shared some
// `count` elements from byte `at` on; four are a vector.
float4 load_some(__global const T* src, uint at, int count) {
  __global const T* p = (__global const T*)((__global const char*)src + at);
  if (WHOLE || count >= 4) {
    const T4 v = *(__global const T4*)p;
    return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w);
  }
  float4 v = (float4)(1.0f);
  v.x = (float)p[0];
  if (count > 1) v.y = (float)p[1];
  if (count > 2) v.z = (float)p[2];
  return v;
}

void store_some(float4 v, __global T* dst, uint at, int count) {
  __global T* p = (__global T*)((__global char*)dst + at);
  if (WHOLE || count >= 4) {
    *(__global T4*)p = (T4)((T)v.x, (T)v.y, (T)v.z, (T)v.w);
    return;
  }
  p[0] = (T)v.x;
  if (count > 1) p[1] = (T)v.y;
  if (count > 2) p[2] = (T)v.z;
}
//@end

//@kernel unary_vector
//@arg    0 src   in  T[n]
//@arg    1 dst   out T[n]  may be src
//@arg    2 n     int
//@arg    3 scale float     1 without UNARY_AFFINE
//@arg    4 shift float     0 without UNARY_AFFINE
//@global ceil(n/(4*UNARY_WG))*UNARY_WG
//@local  UNARY_WG
//@needs  n >= 1, n % 4 == 0 || UNARY_WHOLE == 0
__kernel GROUP void unary_vector(__global const T* src, __global T* dst, int n, float scale,
                                 float shift) {
  const uint i = get_global_id(0);
  const int count = n - (int)(4 * i);
  if (count <= 0) return;
  float4 z = load_some(src, 4 * i * SIZE, count);
  if (UNARY_AFFINE) z = fma((float4)(scale), z, (float4)(shift));
  const float4 y = (float4)(UNARY_OP(z.x), UNARY_OP(z.y), UNARY_OP(z.z), UNARY_OP(z.w));
  store_some(y, dst, 4 * i * SIZE, count);
}
